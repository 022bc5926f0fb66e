/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <netinet/in.h>

#include "packets.h"
#include "sema/policy.h"
#include "util.h"

enum { DEFAULT_MTU = 1500 };

/* RFC 8926 section 3.4, without options, and RFC 7348 section 5. */
enum { GENEVE_LEN = 8, VXLAN_LEN = 8 };
BUILD_ASSERT_DECL(GENEVE_LEN == VXLAN_LEN);

/* Tunnel addresses are of one family: that of the first is all others'. */
static const struct intent_node *
first_with_tunnel(const struct policy *policy)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        if (policy->intent->nodes.v[i].tunnel.at) {
            return &policy->intent->nodes.v[i];
        }
    }
    return NULL;
}

int
tunnel_bytes(bool ip4)
{
    return ((ip4 ? IP_HEADER_LEN : IPV6_HEADER_LEN) + UDP_HEADER_LEN
            + GENEVE_LEN + ETH_HEADER_LEN);
}

int
encapsulation_bytes(const struct policy *policy)
{
    const struct intent_node *node = first_with_tunnel(policy);

    if (!node || !policy->intent->encapsulation.s) {
        return 0;
    }
    return tunnel_bytes(IN6_IS_ADDR_V4MAPPED(&node->tunnel.ip));
}

uint16_t
uplink_mtu(const struct intent_uplink *uplink)
{
    return uplink->mtu.at ? uplink->mtu.n : DEFAULT_MTU;
}

/* The node of an endpoint of 'network', one with tunnels if 'tunnels', whose
 * uplink leaves least, in '*room', or NULL if there is none. */
static const struct intent_node *
find_narrowest(const struct policy *policy,
               const struct policy_network *network, bool tunnels, int *room)
{
    const struct policy_tenant *tenant = network->tenant;
    const struct intent_node *narrowest = NULL;
    int overhead = encapsulation_bytes(policy);

    *room = DEFAULT_MTU;
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct intent_node *node = tenant->endpoints.v[i]->node;

        if (node && (node->tunnel.at || !tunnels)
            && tenant->endpoints.v[i]->network == network) {
            int left = (uplink_mtu(network_uplink(network, node))
                        - (node->tunnel.at ? overhead : 0));

            if (!narrowest || left < *room) {
                narrowest = node;
                *room = left;
            }
        }
    }
    return narrowest;
}

uint16_t
network_mtu(const struct policy *policy, const struct policy_network *network)
{
    int room;

    find_narrowest(policy, network, false, &room);
    return network->intent->mtu.at ? network->intent->mtu.n : room;
}

static void
check_mtu(const struct policy *policy, const struct policy_network *network,
          struct diags *diags)
{
    const struct mtu *mtu = &network->intent->mtu;
    int room;
    const struct intent_node *node = find_narrowest(policy, network, true,
                                                    &room);

    if (mtu->at && node && mtu->n > room) {
        const struct intent_uplink *uplink = network_uplink(network, node);
        const struct value *name = uplink->name.at;
        int overhead = encapsulation_bytes(policy);
        struct diag *d = value_error(
            diags, mtu->at, "%u bytes, and %d of %s over %s around them, are "
            "%d, above the mtu of %d of the uplink of node '%s'", mtu->n,
            overhead, policy->intent->encapsulation.s,
            IN6_IS_ADDR_V4MAPPED(&node->tunnel.ip) ? "IPv4" : "IPv6",
            mtu->n + overhead, uplink_mtu(uplink), node->name.s);

        diag_remedy(diags, d, "lower it to %d, or leave it out; or raise the "
                    "uplink's \"mtu\"", room);
        diag_see(diags, d, uplink->mtu.at ? uplink->mtu.at->span
                 : name->key_span, "the uplink");
    }
}

/* Whoever can send to a node's tunnel address, or from one, can forge. */
static void
check_underlay(const struct policy *policy,
               const struct policy_network *network, struct diags *diags)
{
    for (size_t i = 0; i < network->intent->subnets.n; i++) {
        const struct address *subnet = &network->intent->subnets.v[i];

        for (size_t j = 0; j < policy->intent->nodes.n; j++) {
            const struct intent_node *node = &policy->intent->nodes.v[j];

            if (node->tunnel.at && subnet_holds(subnet, &node->tunnel.ip)) {
                struct diag *d = value_error(
                    diags, subnet->at, "this subnet holds the tunnel address "
                    "of node '%s': tenants must not reach the underlay, "
                    "where they could forge each other's packets",
                    node->name.s);
                diag_remedy(diags, d, "give tenants and nodes different "
                            "addresses");
                diag_see(diags, d, node->tunnel.at->span,
                         "the tunnel address");
                break;
            }
        }
    }
}

static void
check_families(const struct policy *policy, struct diags *diags)
{
    const struct intent_node *first = first_with_tunnel(policy);

    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct address *tunnel = &policy->intent->nodes.v[i].tunnel;

        if (tunnel->at && !policy->intent->encapsulation.s) {
            struct diag *d = value_error(diags, tunnel->at,
                                         "the fabric has no tunnels");
            diag_remedy(diags, d, "add \"encapsulation\": \"geneve\" to the "
                        "fabric");
        } else if (tunnel->at && !IN6_IS_ADDR_V4MAPPED(&tunnel->ip)
                   != !IN6_IS_ADDR_V4MAPPED(&first->tunnel.ip)) {
            struct diag *d = value_error(diags, tunnel->at,
                                         "this tunnel address is of another "
                                         "family than that of node '%s'",
                                         first->name.s);
            diag_remedy(diags, d, "write all of them as IPv4, or all as "
                        "IPv6");
            diag_see(diags, d, first->tunnel.at->span, "the other one");
        }
    }
}

void
check_overlay(const struct policy *policy, struct diags *diags)
{
    check_families(policy, diags);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            check_underlay(policy, tenant->networks.v[j], diags);
            check_mtu(policy, tenant->networks.v[j], diags);
        }
    }
}
