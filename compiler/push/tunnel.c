/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <ctype.h>
#include <string.h>

#include "util.h"

/* Options that change nothing about who a packet comes from or goes to.  All
 * others are unknown to the plan, such as "in_key", which would give every
 * packet a VNI. */
static bool
is_free_option(const char *key)
{
    static const char *const options[] = {
        "csum", "df_default", "dst_port", "ttl",
    };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (!strcmp(key, options[i])) {
            return true;
        }
    }
    return false;
}

/* What is wrong with the interface, or NULL. */
static const char *
find_fault(const struct push *push)
{
    const struct plan *plan = push->plan;
    struct plan_option options[N_TUNNEL_OPTIONS];
    const char *type = smap_get(&push->info.types, PLAN_TUNNEL);
    size_t n = 0;

    if (!type) {
        return "it is not there";
    } else if (strcmp(type, plan->tunnel.type)) {
        return arena_printf(plan->arena, "its type is '%s'", type);
    }
    plan_tunnel_options(plan, options);
    for (size_t i = 0; i < N_TUNNEL_OPTIONS; i++) {
        const char *value = smap_get(&push->info.tunnel_options,
                                     options[i].key);

        if (!value || strcmp(value, options[i].value)) {
            return arena_printf(plan->arena, "its \"%s\" is %s",
                                options[i].key, value ? value : "not set");
        }
    }

    const struct smap_node *node;
    SMAP_FOR_EACH (node, &push->info.tunnel_options) {
        n += !is_free_option(node->key);
    }
    return (n > N_TUNNEL_OPTIONS
            ? "it has options that Bulkhead does not know"
            : ofputil_port_map_get_number(&push->info.ports, PLAN_TUNNEL)
              == OFPP_NONE ? "ovs-vswitchd could not open it" : NULL);
}

/* Has 'bridge' nothing in it that means something to a shell? */
static bool
is_plain(const char *bridge)
{
    while (isalnum((unsigned char) *bridge) || (*bridge
                                                && strchr("-_.", *bridge))) {
        bridge++;
    }
    return !*bridge;
}

const char *
push_check_tunnel(const struct push *push)
{
    const char *bridge = push->target->bridge;
    const char *fault = push->plan->tunnel.type ? find_fault(push) : NULL;

    return (!fault ? NULL
            : arena_printf(push->plan->arena, "bridge %s has no such tunnel "
                           "port "PLAN_TUNNEL" as the intent needs: %s; %s",
                           bridge, fault,
                           plan_tunnel_command(push->plan, is_plain(bridge)
                                               ? bridge : "BRIDGE")));
}
