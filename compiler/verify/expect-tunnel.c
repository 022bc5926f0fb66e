/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "packets.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* Packets whose outer header has this address. */
static dd_t
is_outer(struct judge *j, bool source, const struct in6_addr *ip)
{
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        return space_is(j->space, source ? F_TUN_SRC : F_TUN_DST,
                        ntohl(in6_addr_get_mapped_ipv4(ip)));
    }
    return space_is(j->space, source ? F_TUN_IPV6_SRC : F_TUN_IPV6_DST,
                    field_from_ip(ip));
}

static const struct intent_node *
find_node(const struct judge *j)
{
    for (size_t i = 0; i < j->policy->intent->nodes.n; i++) {
        if (!strcmp(j->policy->intent->nodes.v[i].name.s, j->node)) {
            return &j->policy->intent->nodes.v[i];
        }
    }
    OVS_NOT_REACHED();
}

/* The packets in 'network' that 'e', on another node, may have sent. */
static dd_t
is_sent_by(struct judge *j, const struct policy_network *network,
           const struct policy_endpoint *e)
{
    struct meaning_question q = { .node = j->node, .tunnel = true };
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE, gateway = DD_NONE;

    if (network->intent->gateways.n > 0) {
        gateway = is_mac(j, F_ETH_SRC, network->gateway_mac);
    }
    if (e->network == network) {
        set = dd_and(dd, is_mac(j, F_ETH_SRC, e->intent->mac),
                     dd_not(dd, gateway));
    }
    if (gateway != DD_NONE
        && judge_joins(j, &q, network->tenant, e)) {
        set = dd_or(dd, set, gateway);
    }
    return dd_and(dd, set, is_from(j, e));
}

/* All but the outer header, of packets that came from 'node' in 'network'. */
static dd_t
judge_inner(struct judge *j, const struct intent_node *node,
            const struct policy_network *network)
{
    struct origin s = { .q = { .node = j->node, .tunnel = true },
                        .network = network, .zone = network->tenant };
    const struct policy *policy = j->policy;
    struct dd *dd = j->space->dd;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];
            struct origin from = s;
            dd_t set;

            if (!e->bound || e->node != node) {
                continue;
            }
            set = is_sent_by(j, network, e);
            if (set != DD_NONE) {
                from.q.from = e;
                result = dd_over(dd, result, dd_cut(
                    dd, set, expect_connection(j, &from)));
            }
        }
    }
    result = dd_over(dd, result, expect_deny(j, &s, REASON_SPOOF));
    result = dd_choose(dd, is_neighbor_message(j),
                       expect_deny(j, &s, REASON_SPOOF), result);
    return expect_forbidden(j, &s, result);
}

/* Has 'node' an endpoint that those here may have to do with?  That is
 * tunnel_is_known() of a packet from there. */
static bool
is_known(struct judge *j, const struct intent_node *here,
         const struct intent_node *node)
{
    struct meaning_question q = { .node = j->node, .tunnel = true };
    struct flow packet;

    memset(&packet, 0, sizeof packet);
    if (IN6_IS_ADDR_V4MAPPED(&here->tunnel.ip)) {
        packet.tunnel.ip_src = in6_addr_get_mapped_ipv4(&node->tunnel.ip);
        packet.tunnel.ip_dst = in6_addr_get_mapped_ipv4(&here->tunnel.ip);
    } else {
        packet.tunnel.ipv6_src = node->tunnel.ip;
        packet.tunnel.ipv6_dst = here->tunnel.ip;
    }
    q.packet = &packet;
    return node != here && node->tunnel.at
           && tunnel_is_known(j->policy, &q);
}

/* What is to become of packets from 'node', by their VNI. */
static dd_t
judge_from_node(struct judge *j, const struct intent_node *node, dd_t unknown)
{
    const struct policy *policy = j->policy;
    struct dd *dd = j->space->dd;
    dd_t result = unknown;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t k = 0; k < tenant->networks.n; k++) {
            const struct policy_network *network = tenant->networks.v[k];
            bool here = false;

            for (size_t l = 0; l < tenant->endpoints.n; l++) {
                here |= (tenant->endpoints.v[l]->network == network
                         && is_here(j, tenant->endpoints.v[l]));
            }
            if (here) {
                result = dd_choose(dd, space_is(j->space, F_TUN_ID,
                                                network->intent->vni),
                                   judge_inner(j, node, network), result);
            }
        }
    }
    return result;
}

dd_t
expect_from_tunnel(struct judge *j)
{
    const struct intent_node *here = find_node(j);
    struct origin s = { .q = { .node = j->node, .tunnel = true } };
    struct dd *dd = j->space->dd;
    dd_t tagged = space_bits(j->space, F_VLAN_TCI, VLAN_CFI, VLAN_CFI);
    dd_t unknown = expect_deny(j, &s, REASON_UNKNOWN_PEER);
    dd_t result = unknown;

    if (!here->tunnel.at) {
        return expect_deny(j, &s, REASON_UNBOUND);
    }
    for (size_t i = 0; i < j->policy->intent->nodes.n; i++) {
        const struct intent_node *node = &j->policy->intent->nodes.v[i];

        if (is_known(j, here, node)) {
            dd_t set = dd_and(dd, is_outer(j, true, &node->tunnel.ip),
                              is_outer(j, false, &here->tunnel.ip));

            result = dd_choose(dd, set, judge_from_node(j, node, unknown),
                               result);
        }
    }
    return dd_choose(dd, tagged, unknown, result);
}
