/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-dhcp.h"

#include <netinet/in.h>

#include "flow.h"
#include "packets.h"
#include "sema/check.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-packet.h"
#include "sema/meaning-reach.h"
#include "util.h"

/* RFC 2131 section 4.1, RFC 8415 section 7.2. */
enum { CLIENT = 68, SERVER = 67, CLIENT6 = 546, SERVER6 = 547 };

static bool
has_ports(const struct flow *packet, uint16_t source, uint16_t destination,
          uint16_t source6, uint16_t destination6)
{
    bool ip6 = packet_is_ip6(packet);

    return ((ip6 || packet_is_ip4(packet))
            && packet->nw_proto == IPPROTO_UDP && !packet_is_fragment(packet)
            && packet->tp_src == htons(ip6 ? source6 : source)
            && packet->tp_dst == htons(ip6 ? destination6 : destination));
}

static bool
is_request(const struct flow *packet)
{
    return has_ports(packet, CLIENT, SERVER, CLIENT6, SERVER6);
}

static bool
is_answer(const struct flow *packet)
{
    return has_ports(packet, SERVER, CLIENT, SERVER6, CLIENT6);
}

/* Is 'ip', which 'packet' carries, an address of 'e' or its link-local? */
static bool
is_address_of(const struct policy_endpoint *e, const struct flow *packet,
              const struct in6_addr *ip)
{
    return (endpoint_has_address(e, packet, ip)
            || endpoint_has_link_local(e, ip));
}

static bool
has_true_source(const struct policy_endpoint *e, const struct flow *packet)
{
    struct in6_addr source = packet_source(packet);

    return (eth_addr_equals(packet->dl_src, e->intent->mac)
            && is_address_of(e, packet, &source));
}

/* A client may have no IPv4 address yet. */
static bool
is_true_request(const struct policy_endpoint *e, const struct flow *packet)
{
    return (has_true_source(e, packet)
            || (packet_is_ip4(packet) && !packet->nw_src
                && eth_addr_equals(packet->dl_src, e->intent->mac)
                && endpoint_has_family(e, false)));
}

static bool
is_to(const struct policy_endpoint *e, const struct flow *packet)
{
    struct in6_addr destination = packet_destination(packet);

    return (eth_addr_equals(packet->dl_dst, e->intent->mac)
            && is_address_of(e, packet, &destination));
}

static bool
is_broadcast(const struct flow *packet)
{
    return (packet_is_ip4(packet) && eth_addr_is_broadcast(packet->dl_dst)
            && packet->nw_dst == htonl(INADDR_BROADCAST));
}

/* All_DHCP_Relay_Agents_and_Servers, RFC 8415 section 7.1. */
static bool
is_to_all_servers(const struct flow *packet)
{
    static const struct in6_addr all_servers = { .s6_addr = {
        0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2,
    } };
    static const struct eth_addr mac = ETH_ADDR_C(33,33,00,01,00,02);

    return (packet_is_ip6(packet) && eth_addr_equals(packet->dl_dst, mac)
            && ipv6_addr_equals(&packet->ipv6_dst, &all_servers));
}

bool
dhcp_speaks(const struct meaning_question *q)
{
    const struct policy_network *network = q->from->network;
    const struct policy_endpoint *server = network->dhcp_server;

    return (((server || network->intent->native_dhcp)
             && is_request(q->packet))
            || (server && q->from == server && is_answer(q->packet)
                && has_true_source(server, q->packet)));
}

/* Best effort, for the sender's account. */
static struct meaning
allow(const struct meaning_question *q)
{
    return (struct meaning) {
        .allow = true, .untracked = true, .from = q->from,
        .charged = q->from->tenant,
    };
}

static struct meaning
judge_request(const struct meaning_question *q)
{
    const struct policy_endpoint *server = q->from->network->dhcp_server;
    const struct flow *packet = q->packet;
    struct meaning m = allow(q);

    if (!is_true_request(q->from, packet)) {
        return (struct meaning) { .reason = REASON_SPOOF };
    }
    if (server == q->from || !endpoint_is_here(q, server)
        || !endpoint_has_family(server, packet_is_ip6(packet))
        || !(is_broadcast(packet) || is_to_all_servers(packet)
             || is_to(server, packet))) {
        return (struct meaning) { .reason = REASON_UNREACHABLE };
    }
    m.to = server;
    return m;
}

static struct meaning
judge_answer(const struct meaning_question *q)
{
    const struct policy_tenant *tenant = q->from->tenant;
    struct meaning m = allow(q);

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = tenant->endpoints.v[i];

        if (to == q->from || to->network != q->from->network
            || !endpoint_is_here(q, to)) {
            continue;
        }
        if (is_broadcast(q->packet) && endpoint_has_family(to, false)) {
            m.copies[m.n_copies++].to = to;
        } else if (is_to(to, q->packet)) {
            m.to = to;
        }
    }
    m.many = m.n_copies > 0;
    return (m.to || m.many ? m
            : (struct meaning) { .reason = REASON_UNREACHABLE });
}

/* What the fabric gives an endpoint: its first address of IPv4. */
static const struct in6_addr *
find_lease(const struct policy_endpoint *e)
{
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&e->intent->addresses.v[i].ip)) {
            return &e->intent->addresses.v[i].ip;
        }
    }
    return NULL;
}

/* Is 'packet' for the gateway of the subnet that 'lease' is in? */
static bool
is_to_gateway(const struct policy_network *network,
              const struct in6_addr *lease, const struct flow *packet)
{
    const struct intent_network *intent = network->intent;
    struct in6_addr to = packet_destination(packet);
    const struct address *subnet = NULL;

    for (size_t i = 0; i < intent->subnets.n; i++) {
        if (subnet_holds(&intent->subnets.v[i], lease)) {
            subnet = &intent->subnets.v[i];
        }
    }
    for (size_t i = 0; subnet && i < intent->gateways.n; i++) {
        if (subnet_holds(subnet, &intent->gateways.v[i].ip)) {
            return (ipv6_addr_equals(&intent->gateways.v[i].ip, &to)
                    && eth_addr_equals(packet->dl_dst, network->gateway_mac));
        }
    }
    return false;
}

/* A request that the fabric answers, of IPv4 in the name of the gateway. */
static bool
is_for_fabric(const struct policy_endpoint *e, const struct flow *packet)
{
    const struct in6_addr *lease = find_lease(e);
    struct in6_addr source = packet_source(packet);

    if (packet_is_ip6(packet)) {
        return endpoint_has_family(e, true) && is_to_all_servers(packet);
    }
    return (lease
            && (ipv6_addr_equals(&source, lease)
                ? (is_broadcast(packet)
                   || is_to_gateway(e->network, lease, packet))
                : !packet->nw_src && is_broadcast(packet)));
}

static struct meaning
judge_native(const struct meaning_question *q)
{
    const struct policy_network *network = q->from->network;

    if (!is_true_request(q->from, q->packet)) {
        return (struct meaning) { .reason = REASON_SPOOF };
    } else if (!is_for_fabric(q->from, q->packet)) {
        return (struct meaning) { .reason = REASON_UNREACHABLE };
    }
    return (struct meaning) {
        .allow = true, .answered = true, .answer = network->gateway_mac,
        .answer_router = true,
    };
}

struct meaning
dhcp_judge(const struct meaning_question *q)
{
    if (q->from->network->intent->native_dhcp) {
        return judge_native(q);
    }
    return is_request(q->packet) ? judge_request(q) : judge_answer(q);
}
