/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/common.h"

#include <netinet/icmp6.h>
#include <string.h>

#include "ir/ir.h"
#include "offload/walk.h"
#include "flow.h"
#include "packets.h"
#include "util.h"

enum { FIRST_TTL = 64, ND_HOP_LIMIT = 255 };
enum { DHCP_CLIENT = 68, DHCP_SERVER = 67 };

const char *const common_packet_names[N_COMMON_PACKETS] = {
    [COMMON_SPOOF] = "anti-spoofing",
    [COMMON_NEIGHBOR] = "arp and nd",
    [COMMON_DHCP] = "dhcp",
};

/* Another source address than the sender's own: its own with one bit more or
 * less. */
static void
make_spoof(struct flow *flow, const struct ir_endpoint *e)
{
    const struct in6_addr *own = &e->addresses.v[0];

    flow->nw_ttl = FIRST_TTL;
    flow->nw_proto = IPPROTO_TCP;
    flow->dl_dst = e->network->gateway_mac;
    if (IN6_IS_ADDR_V4MAPPED(own)) {
        flow->dl_type = htons(ETH_TYPE_IP);
        flow->nw_src = in6_addr_get_mapped_ipv4(own) ^ htonl(0x8000);
        flow->nw_dst = in6_addr_get_mapped_ipv4(own);
    } else {
        flow->dl_type = htons(ETH_TYPE_IPV6);
        flow->ipv6_src = flow->ipv6_dst = *own;
        flow->ipv6_src.s6_addr[14] ^= 0x80;
    }
}

/* Who has the address 'of'? */
static void
make_request(struct flow *flow, const struct ir_endpoint *e,
             const struct in6_addr *own, const struct in6_addr *of)
{
    if (IN6_IS_ADDR_V4MAPPED(of)) {
        flow->dl_type = htons(ETH_TYPE_ARP);
        flow->dl_dst = eth_addr_broadcast;
        flow->nw_proto = ARP_OP_REQUEST;
        flow->nw_src = in6_addr_get_mapped_ipv4(own);
        flow->nw_dst = in6_addr_get_mapped_ipv4(of);
        flow->arp_sha = e->mac;
    } else {
        flow->dl_type = htons(ETH_TYPE_IPV6);
        flow->nw_proto = IPPROTO_ICMPV6;
        flow->nw_ttl = ND_HOP_LIMIT;
        flow->tp_src = htons(ND_NEIGHBOR_SOLICIT);
        flow->ipv6_src = *own;
        in6_addr_solicited_node(&flow->ipv6_dst, of);
        ipv6_multicast_to_ethernet(&flow->dl_dst, &flow->ipv6_dst);
        flow->nd_target = *of;
        flow->arp_sha = e->mac;
    }
}

static void
make_dhcp(struct flow *flow)
{
    flow->dl_type = htons(ETH_TYPE_IP);
    flow->dl_dst = eth_addr_broadcast;
    flow->nw_dst = htonl(INADDR_BROADCAST);
    flow->nw_proto = IPPROTO_UDP;
    flow->nw_ttl = FIRST_TTL;
    flow->tp_src = htons(DHCP_CLIENT);
    flow->tp_dst = htons(DHCP_SERVER);
}

static struct flow *
add_packet(const struct ir_endpoint *e, const char *service,
           const struct walker *walker, struct arena *arena,
           rule_packet_vec *packets)
{
    struct rule_packet *p = vec_push(arena, packets);

    p->from = e->name;
    p->to = "";
    p->service = service;
    p->n_pairs = 1;
    p->opens.in_port.ofp_port = u16_to_ofp(walker_port(walker, e->interface));
    p->opens.dl_src = e->mac;
    return &p->opens;
}

/* Requests for the gateway of the network, for each of its families that the
 * endpoint has an address of. */
static void
add_requests(const struct ir_endpoint *e, const struct walker *walker,
             struct arena *arena, rule_packet_vec *packets)
{
    for (size_t i = 0; i < e->network->gateways.n; i++) {
        const struct in6_addr *of = &e->network->gateways.v[i];
        bool ip4 = IN6_IS_ADDR_V4MAPPED(of);

        for (size_t j = 0; j < e->addresses.n; j++) {
            const struct in6_addr *own = &e->addresses.v[j];

            if (IN6_IS_ADDR_V4MAPPED(own) == ip4) {
                make_request(add_packet(e, ip4 ? "arp" : "nd", walker, arena,
                                        packets), e, own, of);
                break;
            }
        }
    }
}

void
common_packets(const struct ir_prog *prog, enum common_packet which,
               const struct walker *walker, struct arena *arena,
               rule_packet_vec *packets)
{
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        if (e->node) {
            continue;
        }
        switch (which) {
        case COMMON_SPOOF:
            make_spoof(add_packet(e, "spoofed", walker, arena, packets), e);
            break;
        case COMMON_NEIGHBOR:
            add_requests(e, walker, arena, packets);
            break;
        case COMMON_DHCP:
            if (e->network->dhcp && !e->dhcp_server
                && IN6_IS_ADDR_V4MAPPED(&e->addresses.v[0])) {
                make_dhcp(add_packet(e, "dhcp", walker, arena, packets));
            }
            break;
        case N_COMMON_PACKETS:
            OVS_NOT_REACHED();
        }
    }
}
