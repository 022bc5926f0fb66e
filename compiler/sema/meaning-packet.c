/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-packet.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include "flow.h"
#include "packets.h"
#include "util.h"

/* UDP ports that DHCP servers send from and clients hear at (RFC 2131 section
 * 4.1, RFC 8415 section 7.2). */
enum {
    DHCP_SERVER = 67, DHCP_CLIENT = 68,
    DHCPV6_SERVER = 547, DHCPV6_CLIENT = 546,
};

/* RFC 3810 section 5.2; <netinet/icmp6.h> has the types of MLDv1. */
enum { MLD2_LISTENER_REPORT = 143 };

bool
packet_is_ip4(const struct flow *packet)
{
    return packet->dl_type == htons(ETH_TYPE_IP);
}

bool
packet_is_ip6(const struct flow *packet)
{
    return packet->dl_type == htons(ETH_TYPE_IPV6);
}

struct in6_addr
packet_source(const struct flow *packet)
{
    return (packet_is_ip6(packet) ? packet->ipv6_src
            : in6_addr_mapped_ipv4(packet->nw_src));
}

struct in6_addr
packet_destination(const struct flow *packet)
{
    return (packet_is_ip6(packet) ? packet->ipv6_dst
            : in6_addr_mapped_ipv4(packet->nw_dst));
}

bool
packet_is_fragment(const struct flow *packet)
{
    return ((packet_is_ip4(packet) || packet_is_ip6(packet))
            && packet->nw_frag & FLOW_NW_FRAG_ANY);
}

bool
packet_has_family(const struct flow *packet, const struct in6_addr *ip)
{
    return !packet_is_ip6(packet) == IN6_IS_ADDR_V4MAPPED(ip);
}

int
packet_icmp6_type(const struct flow *packet)
{
    return (packet_is_ip6(packet) && packet->nw_proto == IPPROTO_ICMPV6
            && !packet_is_fragment(packet)
            ? ntohs(packet->tp_src) : -1);
}

static int
icmp_type(const struct flow *packet)
{
    return (packet_is_ip4(packet) && packet->nw_proto == IPPROTO_ICMP
            && !packet_is_fragment(packet) ? ntohs(packet->tp_src) : -1);
}

/* Clients hear at their port, whatever port it comes from. */
static bool
could_be_dhcp_answer(const struct flow *packet)
{
    if (packet->nw_proto != IPPROTO_UDP || packet_is_fragment(packet)) {
        return false;
    }
    return ((packet_is_ip4(packet)
             && (packet->tp_src == htons(DHCP_SERVER)
                 || packet->tp_dst == htons(DHCP_CLIENT)))
            || (packet_is_ip6(packet)
                && (packet->tp_src == htons(DHCPV6_SERVER)
                    || packet->tp_dst == htons(DHCPV6_CLIENT))));
}

bool
packet_is_forbidden(const struct flow *packet)
{
    switch (packet_icmp6_type(packet)) {
    case ND_ROUTER_SOLICIT:
    case ND_ROUTER_ADVERT:
    case ND_REDIRECT:
    case MLD_LISTENER_QUERY:
    case MLD_LISTENER_REPORT:
    case MLD_LISTENER_REDUCTION:
    case MLD2_LISTENER_REPORT:
        return true;
    }
    switch (icmp_type(packet)) {
    case ICMP_REDIRECT:
    case ICMP_ROUTERADVERT:
    case ICMP_ROUTERSOLICIT:
        return true;
    }
    if (packet_is_ip4(packet) && packet->nw_proto == IPPROTO_IGMP) {
        return true;
    }
    if ((packet_is_ip4(packet) || packet_is_ip6(packet))
        && !packet->nw_proto) {
        return true;
    }
    return could_be_dhcp_answer(packet);
}

bool
packet_is_neighbor_message(const struct flow *packet)
{
    return (packet->dl_type == htons(ETH_TYPE_ARP)
            || packet_icmp6_type(packet) == ND_NEIGHBOR_SOLICIT
            || packet_icmp6_type(packet) == ND_NEIGHBOR_ADVERT);
}
