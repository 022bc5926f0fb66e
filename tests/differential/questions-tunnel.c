/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "questions.h"

#include <string.h>

#include "packets.h"
#include "world.h"

static const struct intent_node *
any_node(const struct policy *policy, struct rng *rng)
{
    return &policy->intent->nodes.v[rng_below(rng, policy->intent->nodes.n)];
}

static const struct policy_network *
any_network(const struct policy *policy, struct rng *rng)
{
    for (;;) {
        const struct policy_tenant *tenant
            = policy->tenants.v[rng_below(rng, policy->tenants.n)];

        if (tenant->networks.n) {
            return tenant->networks.v[rng_below(rng, tenant->networks.n)];
        }
    }
}

/* The tunnel address of 'node', or, of one that has none, the kind of its
 * 'like'. */
static struct in6_addr
tunnel_address(const struct intent_node *node, const struct in6_addr *like)
{
    return (node->tunnel.at ? node->tunnel.ip
            : !like || IN6_IS_ADDR_V4MAPPED(like)
            ? in6_addr_mapped_ipv4(htonl(0xc00002fe)) : in6addr_all_routers);
}

static void
set_outer(struct flow_tnl *outer, struct in6_addr source,
          struct in6_addr destination)
{
    bool ip4 = IN6_IS_ADDR_V4MAPPED(&destination);

    memset(outer, 0, sizeof *outer);
    if (ip4 && IN6_IS_ADDR_V4MAPPED(&source)) {
        outer->ip_src = in6_addr_get_mapped_ipv4(&source);
        outer->ip_dst = in6_addr_get_mapped_ipv4(&destination);
    } else {
        outer->ipv6_src = source;
        outer->ipv6_dst = destination;
    }
}

/* As the node of 'from' does. */
static void
route(struct flow *packet, const struct policy_endpoint *from,
      const struct policy_endpoint *to)
{
    if (eth_addr_equals(packet->dl_dst, from->network->gateway_mac)) {
        packet->dl_src = to->network->gateway_mac;
        packet->dl_dst = to->intent->mac;
    }
}

/* Makes one thing wrong that only tunnels have. */
static void
spoil(struct flow *packet, const struct policy *policy,
      const struct policy_endpoint *to, struct rng *rng)
{
    struct in6_addr source = flow_tnl_src(&packet->tunnel);
    struct in6_addr destination = flow_tnl_dst(&packet->tunnel);
    ovs_be64 vni = packet->tunnel.tun_id;

    switch (rng_below(rng, 5)) {
    case 0:
        source = tunnel_address(any_node(policy, rng), &destination);
        set_outer(&packet->tunnel, source, destination);
        break;
    case 1:
        destination = tunnel_address(any_node(policy, rng), &source);
        set_outer(&packet->tunnel, source, destination);
        break;
    case 2: vni = htonll(any_network(policy, rng)->intent->vni); break;
    case 3: vni ^= htonll(UINT64_C(1) << rng_below(rng, 24)); break;
    case 4: packet->dl_src = to->network->gateway_mac; break;
    }
    packet->tunnel.tun_id = vni;
}

void
question_tunnel(struct question *q, const struct policy *policy,
                const struct policy_endpoint *from,
                const struct policy_endpoint *to, struct rng *rng)
{
    const struct intent_node *here = &policy->intent->nodes.v[0];
    struct flow *packet = &q->packet;

    q->tunnel = true;
    packet->in_port.ofp_port = u16_to_ofp(TUNNEL_PORT);
    set_outer(&packet->tunnel,
              tunnel_address(from->node ? from->node : here,
                             &here->tunnel.ip),
              tunnel_address(here, NULL));
    packet->tunnel.tun_id = htonll(to->network->intent->vni);
    route(packet, from, to);
    if (rng_chance(rng, 25)) {
        spoil(packet, policy, to, rng);
    }
}
