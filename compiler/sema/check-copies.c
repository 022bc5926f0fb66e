/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "base/nearest.h"
#include "packets.h"
#include "sema/policy.h"
#include "simap.h"
#include "util.h"

/* The endpoint that 'name' says; an error if there is none. */
static const struct policy_endpoint *
find_server(const struct policy_tenant *tenant, const struct text *name,
            struct diags *diags)
{
    const struct policy_endpoint *found = tenant_endpoint(tenant, name->s);
    struct nearest nearest = nearest_init(name->s);

    if (found) {
        return found;
    }
    for (size_t i = 0; i < tenant->endpoints.n
         && !diags_are_full(diags, DIAG_ERROR); i++) {
        nearest_try(&nearest, tenant->endpoints.v[i]->intent->name.s);
    }

    struct diag *d = value_error(diags, name->at, strchr(name->s, '/')
                                 ? "'%s' is no endpoint of tenant '%s': DHCP "
                                   "never crosses to another tenant"
                                 : "there is no endpoint '%s' in tenant '%s'",
                                 name->s, tenant->name);
    if (nearest.best) {
        diag_remedy(diags, d, "did you mean '%s'?", nearest.best);
    } else {
        diag_remedy(diags, d, "name an endpoint of this network");
    }
    return NULL;
}

void
resolve_dhcp(const struct policy_tenant *tenant, struct diags *diags)
{
    for (size_t i = 0; i < tenant->networks.n; i++) {
        struct policy_network *network = tenant->networks.v[i];
        const struct text *name = &network->intent->dhcp_server;
        const struct policy_endpoint *server
            = name->s ? find_server(tenant, name, diags) : NULL;

        if (server && server->network && server->network != network) {
            struct diag *d = value_error(diags, name->at,
                                         "'%s' is in network '%s': DHCP is "
                                         "not relayed between networks",
                                         name->s,
                                         server->network->intent->name.s);
            diag_remedy(diags, d, "give the server an endpoint in this "
                        "network too, and name that");
        }
        network->dhcp_server = server;
    }
}

/* Counts the endpoints of 'network' on each node. */
static void
check_network(const struct policy_network *network, const struct value *at,
              struct diags *diags)
{
    struct simap on_node = SIMAP_INITIALIZER(&on_node);
    const endpoint_vec *all = (const endpoint_vec *)
                              &network->tenant->endpoints;
    const struct simap_node *node;

    for (size_t i = 0; i < all->n; i++) {
        if (all->v[i]->network == network && all->v[i]->bound) {
            simap_increase(&on_node, all->v[i]->intent->node.s, 1);
        }
    }
    SIMAP_FOR_EACH (node, &on_node) {
        if (node->data > MAX_RECEIVERS) {
            struct diag *d = value_error(diags, at, "the network has %u "
                                         "endpoints on node '%s', more than "
                                         "packets can be copied to",
                                         node->data, node->name);
            diag_remedy(diags, d, "divide the network: up to %d endpoints of "
                        "it may be on a node", MAX_RECEIVERS);
            break;
        }
    }
    simap_destroy(&on_node);
}

/* Is all of 'group' multicast, and none of it of a scope that ends at the link
 * or has no meaning (RFC 5771 section 4, RFC 4291 section 2.7)? */
static const char *
check_group(const struct address *group)
{
    const struct in6_addr *ip = &group->ip;
    int scope = ip->s6_addr[1] & 0xf;

    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);
        ovs_be32 mask = be32_prefix_mask(group->plen - 96);

        return (!ip_is_multicast(ip4) || group->plen < 96 + 4
                ? "these are not multicast groups"
                : !((ip4 ^ htonl(0xe0000000)) & mask & htonl(0xffffff00))
                ? "groups of 224.0.0.0/24 are the link's, and among these"
                : NULL);
    }
    return (!ipv6_addr_is_multicast(ip) || group->plen < 8
            ? "these are not multicast groups"
            : group->plen < 16 ? "these are groups of several scopes"
            : scope <= 2 || scope == 0xf
            ? "groups of this scope do not leave a link" : NULL);
}

static void
check_groups(const struct policy_network *network, struct diags *diags)
{
    for (size_t i = 0; i < network->intent->groups.n; i++) {
        const struct address *group = &network->intent->groups.v[i];
        const char *error = check_group(group);

        if (error) {
            struct diag *d = value_error(diags, group->at, "%s", error);

            diag_remedy(diags, d, "write groups like \"239.1.0.0/16\", or "
                        "like \"ff15::/16\" with a scope from 3 to e");
        }
    }
}

void
check_receivers(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            const struct policy_network *network = tenant->networks.v[j];

            if (network->dhcp_server) {
                check_network(network, network->intent->dhcp_server.at,
                              diags);
            }
            if (network->intent->groups.n) {
                check_network(network, network->intent->groups.v[0].at,
                              diags);
                check_groups(network, diags);
            }
        }
    }
}
