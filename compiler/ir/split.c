/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/meter.h"

#include <string.h>

#include "sema/policy.h"
#include "sema/tree.h"

bool
ir_meter_is_rest(const struct ir_meter *meter)
{
    return (meter->parent && meter->parent->split && !meter->endpoint
            && !meter->class);
}

bool
ir_meter_is_alone(const struct ir_meter *meter)
{
    return (!meter->endpoint || meter->no_borrow
            || (meter->parent && meter->parent->split));
}

void
ir_split_meter(struct ir_prog *prog, struct ir_meter *meter,
               const struct policy_tenant *policy,
               const struct intent_node *node,
               const struct intent_uplink *uplink, struct arena *arena)
{
    struct ir_meter *rest = arena_zalloc(arena, sizeof *rest);

    meter->split = true;
    meter->apart_kbps = tenant_apart(policy, node, uplink,
                                     meter->receive) / 1000;
    *rest = (struct ir_meter) {
        .name = arena_printf(arena, "%s/rest", meter->name),
        .place = meter->place,
        .tenant = meter->tenant,
        .parent = meter,
        .uplink = meter->uplink,
        .receive = meter->receive,
        .rate_kbps = meter->rate_kbps,
        .burst_bytes = meter->burst_bytes,
        .unlimited = true,
    };
    *vec_push(arena, &prog->meters) = meter;
    *vec_push(arena, &prog->meters) = rest;
}

const struct ir_meter *
ir_find_split(const struct ir_prog *prog, const struct ir_meter *meter)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *all = prog->meters.v[i];

        if (all->split && all->tenant == meter->tenant
            && all->receive == meter->receive
            && !strcmp(all->uplink, meter->uplink)) {
            return all;
        }
    }
    return NULL;
}

void
ir_join_split(const struct ir_prog *prog, struct ir_meter *meter)
{
    if (!meter->no_borrow) {
        meter->parent = ir_find_split(prog, meter);
    }
}
