/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"

#include <string.h>

static bool
is_taken(const struct ir_prog *prog, const char *uplink)
{
    for (size_t i = 0; i < prog->networks.n; i++) {
        const char *taken = prog->networks.v[i]->uplink;

        if (taken && !strcmp(taken, uplink)) {
            return true;
        }
    }
    return false;
}

void
ir_add_uplinks(struct ir_prog *prog, const struct intent_node *node,
               struct arena *arena)
{
    for (size_t i = 0; i < node->uplinks.n; i++) {
        const struct intent_uplink *intent = &node->uplinks.v[i];

        if (is_taken(prog, intent->name.s)) {
            struct ir_uplink *uplink = arena_zalloc(arena, sizeof *uplink);

            uplink->name = intent->name.s;
            uplink->place = ir_place_of(arena, intent->interface.at, false);
            uplink->interface = intent->interface.s;
            uplink->rate_kbps = intent->rate.n / 1000;
            *vec_push(arena, &prog->uplinks) = uplink;
        }
    }
}

const struct ir_uplink *
ir_find_uplink(const struct ir_prog *prog, const char *name)
{
    for (size_t i = 0; i < prog->uplinks.n; i++) {
        if (!strcmp(prog->uplinks.v[i]->name, name)) {
            return prog->uplinks.v[i];
        }
    }
    return NULL;
}
