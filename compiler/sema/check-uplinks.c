/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "base/nearest.h"
#include "sema/charge.h"
#include "sema/policy.h"
#include "sema/tree.h"

/* May the network take the uplink?  By its name, its plane, or in any case. */
static bool
may_take(const struct policy_network *network,
         const struct intent_uplink *uplink)
{
    const struct text *plane = &network->intent->plane;
    const struct text *name = &network->intent->uplink;

    return (name->s ? !strcmp(name->s, uplink->name.s)
            : !plane->s || !strcmp(plane->s, intent_plane(uplink)));
}

const struct intent_uplink *
network_uplink(const struct policy_network *network,
               const struct intent_node *node)
{
    const struct intent_uplink *found = NULL;

    for (size_t i = 0; i < node->uplinks.n; i++) {
        if (may_take(network, &node->uplinks.v[i])) {
            if (found) {
                return NULL;
            }
            found = &node->uplinks.v[i];
        }
    }
    return found;
}

bool
tenant_is_at(const struct policy_tenant *tenant,
             const struct intent_node *node,
             const struct intent_uplink *uplink)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        if (endpoint_takes(tenant->endpoints.v[i], node, uplink)) {
            return true;
        }
    }
    return false;
}

bool
tenant_takes(const struct policy_tenant *tenant,
             const struct intent_node *node,
             const struct intent_uplink *uplink)
{
    return (tenant_is_at(tenant, node, uplink)
            || find_payer(tenant, node, uplink));
}

/* "rail0, rail1": those of the node that the network may take, or all. */
static const char *
list_uplinks(const struct policy_network *network,
             const struct intent_node *node, bool all, struct arena *arena)
{
    const char *list = "";

    for (size_t i = 0; i < node->uplinks.n; i++) {
        if (all || may_take(network, &node->uplinks.v[i])) {
            list = arena_printf(arena, "%s%s%s", list, *list ? ", " : "",
                                node->uplinks.v[i].name.s);
        }
    }
    return list;
}

/* The network has an endpoint on 'node' and takes none of its uplinks. */
static void
report_none(const struct policy_network *network,
            const struct intent_node *node, struct diags *diags)
{
    const struct text *name = &network->intent->uplink;
    const struct text *plane = &network->intent->plane;
    struct nearest nearest = nearest_init(name->s ? name->s : "");
    struct diag *d = value_error(diags, name->s ? name->at : plane->at,
                                 name->s ? "node '%s', where the network has "
                                 "endpoints, has no uplink '%s'"
                                 : "node '%s', where the network has "
                                 "endpoints, has no uplink on plane '%s'",
                                 node->name.s, name->s ? name->s : plane->s);

    for (size_t i = 0; name->s && i < node->uplinks.n; i++) {
        nearest_try(&nearest, node->uplinks.v[i].name.s);
    }
    if (nearest.best) {
        diag_remedy(diags, d, "did you mean '%s'?", nearest.best);
    } else {
        diag_remedy(diags, d, "name one of its uplinks: %s",
                    list_uplinks(network, node, true, diags->arena));
    }
    diag_see(diags, d, node->name.at->key_span, "the node");
}

static void
report_several(const struct policy_network *network,
               const struct intent_node *node, struct diags *diags)
{
    const struct text *plane = &network->intent->plane;
    const char *list = list_uplinks(network, node, false, diags->arena);
    struct diag *d;

    if (plane->s) {
        d = value_error(diags, plane->at, "node '%s', where the network has "
                        "endpoints, has several uplinks on plane '%s': %s",
                        node->name.s, plane->s, list);
    } else {
        d = value_key_error(diags, network->intent->name.at,
                            "node '%s', where the network has endpoints, has "
                            "several uplinks: %s", node->name.s, list);
    }
    diag_remedy(diags, d, "name one of them as the network's \"uplink\"%s",
                plane->s ? ", instead of the plane" : ", or its \"plane\"");
    diag_see(diags, d, node->name.at->key_span, "the node");
}

/* Reports the first node of the network's endpoints whose uplink is not
 * clear. */
static void
check_network(const struct policy_network *network, struct diags *diags)
{
    const struct policy_tenant *tenant = network->tenant;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->network == network && e->node
            && !network_uplink(network, e->node)) {
            const char *list = list_uplinks(network, e->node, false,
                                            diags->arena);

            if (*list) {
                report_several(network, e->node, diags);
            } else {
                report_none(network, e->node, diags);
            }
            return;
        }
    }
}

void
check_uplinks(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            check_network(tenant->networks.v[j], diags);
        }
    }
}
