/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"

#include <string.h>

#include "ir/meter.h"
#include "util.h"

bool
ir_is_fabric(const struct ir_prog *prog)
{
    return !strcmp(prog->node, IR_FABRIC);
}

/* Has the tenant endpoints on 'node', which take uplinks there?  Says so for
 * each of its networks, which are the program's last. */
static bool
enter_node(struct ir_prog *prog, const struct ir_tenant *tenant,
           const struct ir_node *node)
{
    bool any = false;

    for (size_t i = prog->networks.n; i-- > 0
         && prog->networks.v[i]->tenant == tenant; ) {
        prog->networks.v[i]->uplink = NULL;
    }
    for (size_t i = prog->endpoints.n; node && i-- > 0
         && prog->endpoints.v[i]->tenant == tenant; ) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        if (e->node == node) {
            CONST_CAST(struct ir_network *, e->network)->uplink = e->uplink;
            any = true;
        }
    }
    return any;
}

/* "WHAT:NODE:UPLINK" of "WHAT:UPLINK". */
static const char *
spread_name(struct arena *arena, const char *name, const struct ir_node *node)
{
    int n = strrchr(name, ':') - name;

    return arena_printf(arena, "%.*s:%s%s", n, name, node->name, name + n);
}

/* ir_add_meters() knows one node, by the uplinks of networks: it is asked for
 * one after the other. */
void
ir_add_fabric_meters(struct ir_prog *prog, const struct policy *policy,
                     struct ir_node *const nodes[],
                     const struct policy_tenant *tenant_policy,
                     const struct ir_tenant *tenant, struct arena *arena)
{
    struct ident_set numbers;

    ident_set_init(&numbers, arena, NULL);
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        size_t first = prog->meters.n;

        if (!nodes[i] || !enter_node(prog, tenant, nodes[i])) {
            continue;
        }
        ir_add_meters(prog, &policy->intent->nodes.v[i], tenant_policy,
                      tenant, &numbers);
        for (size_t j = first; j < prog->meters.n; j++) {
            struct ir_meter *meter = prog->meters.v[j];

            meter->name = spread_name(arena, meter->name, nodes[i]);
            meter->node = nodes[i];
            meter->number = 0;
        }
    }
    enter_node(prog, tenant, NULL);
    ident_set_destroy(&numbers);
}

static void
add_attachment(struct ir_prog *prog, const struct policy_attachment *policy,
               struct arena *arena, struct ident_set *tenant_numbers,
               struct ident_set *endpoint_numbers)
{
    const struct policy_external *external = policy->external;
    struct ir_external *e = arena_zalloc(arena, sizeof *e);

    e->name = arena_printf(arena, "%s:%s", external->name,
                           policy->node->name.s);
    e->place = ir_place_of(arena, policy->intent->node.at, true);
    e->number = ident_take(tenant_numbers, "external", e->name, 32);
    e->port = ident_take(endpoint_numbers, "external", e->name, 32);
    e->interface = policy->intent->interface.s;
    e->mac = policy->intent->mac;
    e->gateway_mac = policy->gateway_mac;
    ir_copy_addresses(arena, &policy->intent->gateways, &e->gateways);
    *vec_push(arena, &prog->externals) = e;
}

void
ir_add_attachments(struct ir_prog *prog, const struct policy *policy,
                   struct arena *arena, struct ident_set *tenant_numbers,
                   struct ident_set *endpoint_numbers)
{
    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *external = policy->externals.v[i];

        for (size_t j = 0; external->users.n && j < external->attachments.n;
             j++) {
            add_attachment(prog, external->attachments.v[j], arena,
                           tenant_numbers, endpoint_numbers);
        }
    }
}
