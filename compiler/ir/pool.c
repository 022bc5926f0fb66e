/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/meter.h"

#include <string.h>

#include "sema/ident.h"
#include "sema/policy.h"
#include "sema/tree.h"

static void
add_pool(struct ir_prog *prog, const struct policy *policy,
         const struct intent_node *node, const struct intent_uplink *uplink,
         bool receive, struct ident_set *numbers)
{
    struct arena *arena = numbers->arena;
    struct ir_meter *pool = arena_zalloc(arena, sizeof *pool);

    pool->name = arena_printf(arena, "%s:%s", receive ? "receive" : "send",
                              uplink->name.s);
    pool->place = ir_place_of(arena, uplink->rate.at, false);
    pool->uplink = uplink->name.s;
    pool->receive = receive;
    pool->number = ident_take(numbers, "meter", pool->name, 28);
    pool->rate_kbps = tree_rate(policy, node, uplink, receive) / 1000;
    pool->burst_bytes = uplink->burst.n;
    *vec_push(arena, &prog->meters) = pool;
}

void
ir_add_pools(struct ir_prog *prog, const struct policy *policy,
             const struct intent_node *node, struct ident_set *numbers)
{
    for (size_t i = 0; i < node->uplinks.n; i++) {
        const struct intent_uplink *uplink = &node->uplinks.v[i];

        for (int receive = 0; receive < 2; receive++) {
            if (tree_is_there(policy, node, uplink, receive)) {
                add_pool(prog, policy, node, uplink, receive, numbers);
            }
        }
    }
}

const struct ir_meter *
ir_find_pool(const struct ir_prog *prog, const char *uplink, bool receive)
{
    for (size_t i = 0; i < prog->meters.n && !prog->meters.v[i]->tenant; i++) {
        const struct ir_meter *pool = prog->meters.v[i];

        if (pool->receive == receive && !strcmp(pool->uplink, uplink)) {
            return pool;
        }
    }
    return NULL;
}
