/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/plan.h"

#include <string.h>

/* Flows say where a packet goes and in which network; the port adds the
 * node's own address and copies DSCP and ECN to the outer header. */
void
plan_tunnel_options(const struct plan *plan,
                    struct plan_option options[N_TUNNEL_OPTIONS])
{
    const struct plan_option all[N_TUNNEL_OPTIONS] = {
        { "key", "flow" }, { "local_ip", plan->tunnel.local_ip },
        { "remote_ip", "flow" }, { "tos", "inherit" },
    };

    memcpy(options, all, sizeof all);
}

const char *
plan_tunnel_command(const struct plan *plan, const char *bridge)
{
    struct plan_option options[N_TUNNEL_OPTIONS];
    const char *map = "";

    plan_tunnel_options(plan, options);
    for (size_t i = 0; i < N_TUNNEL_OPTIONS; i++) {
        map = arena_printf(plan->arena, "%s%s%s=\"%s\"", map, i ? ", " : "",
                           options[i].key, options[i].value);
    }
    return arena_printf(plan->arena, "ovs-vsctl --may-exist add-port %s "
                        PLAN_TUNNEL" -- set interface "PLAN_TUNNEL" type=%s "
                        "'options={%s}'", bridge, plan->tunnel.type, map);
}
