/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-external.h"

#include <netinet/icmp6.h>
#include <string.h>

#include "flow.h"
#include "packets.h"
#include "sema/check.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-packet.h"
#include "sema/meaning-reach.h"
#include "util.h"

/* The longest of 'ranges' that holds 'ip', or NULL. */
static const struct address *
longest(const address_vec *ranges, const struct in6_addr *ip)
{
    const struct address *best = NULL;

    for (size_t i = 0; i < ranges->n; i++) {
        if (subnet_holds(&ranges->v[i], ip)
            && (!best || ranges->v[i].plen > best->plen)) {
            best = &ranges->v[i];
        }
    }
    return best;
}

/* Is 'ip' in a subnet of a user of 'e', or of a peer of one, or a node's on
 * the underlay? */
static bool
is_inside(const struct policy *policy, const struct policy_external *e,
          const struct in6_addr *ip)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct address *tunnel = &policy->intent->nodes.v[i].tunnel;

        if (tunnel->at && ipv6_addr_equals(&tunnel->ip, ip)) {
            return true;
        }
    }
    for (size_t i = 0; i < e->inside.n; i++) {
        if (subnet_holds(e->inside.v[i], ip)) {
            return true;
        }
    }
    return false;
}

/* Is 'ip' an address that routers forward from and to? */
static bool
is_routable(const struct in6_addr *ip)
{
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);
        uint8_t first = ntohl(ip4) >> 24;

        return (first != 0 && first != 127 && first < 224
                && (ip4 & htonl(0xffff0000)) != htonl(0xa9fe0000));
    }
    return !(ipv6_is_zero(ip) || IN6_IS_ADDR_LOOPBACK(ip)
             || IN6_IS_ADDR_LINKLOCAL(ip) || ipv6_addr_is_multicast(ip));
}

const struct policy_external *
external_find(const struct policy *policy, const struct in6_addr *ip)
{
    const struct policy_external *found = NULL;
    int plen = -1;

    for (size_t i = 0; i < policy->externals.n && is_routable(ip); i++) {
        const struct policy_external *e = policy->externals.v[i];
        const struct address *range = longest(&e->intent->addresses, ip);

        if (range && range->plen > plen && !longest(&e->intent->excepts, ip)) {
            found = e;
            plen = range->plen;
        }
    }
    return found && !is_inside(policy, found, ip) ? found : NULL;
}

bool
external_is_in(const struct policy_external *e, const struct in6_addr *ip,
               const range_vec *ranges)
{
    for (size_t i = 0; i < ranges->n; i++) {
        if (ranges->v[i].external == e
            && (!ranges->v[i].cidr || subnet_holds(ranges->v[i].cidr, ip))) {
            return true;
        }
    }
    return false;
}

const struct policy_attachment *
external_way_out(const struct policy *policy,
                 const struct meaning_question *q)
{
    struct in6_addr ip = packet_destination(q->packet);
    const struct policy_external *e = external_find(policy, &ip);

    if (!e || !packet_has_family(q->packet, &ip)
        || !external_is_used_by(e, q->from->tenant)) {
        return NULL;
    }
    for (size_t i = 0; i < e->attachments.n; i++) {
        if (e->attachments.v[i]->node == q->from->node) {
            return e->attachments.v[i];
        }
    }
    return NULL;
}

bool
external_is_here(const struct meaning_question *q)
{
    return !strcmp(q->external->node->name.s, q->node);
}

const struct policy_endpoint *
external_receiver(const struct meaning_question *q)
{
    const tenant_vec *users = &q->external->external->users;
    struct in6_addr ip = packet_destination(q->packet);

    if (!eth_addr_equals(q->packet->dl_dst, q->external->gateway_mac)
        || !(packet_is_ip4(q->packet) || packet_is_ip6(q->packet))) {
        return NULL;
    }
    for (size_t i = 0; i < users->n; i++) {
        for (size_t j = 0; j < users->v[i]->endpoints.n; j++) {
            const struct policy_endpoint *e = users->v[i]->endpoints.v[j];

            if (endpoint_is_here(q, e) && e->network->intent->gateways.n
                && endpoint_has_address(e, q->packet, &ip)) {
                return e;
            }
        }
    }
    return NULL;
}

bool
external_is_true(const struct policy *policy, const struct meaning_question *q)
{
    const struct flow *packet = q->packet;
    struct in6_addr ip = packet_source(packet);

    return ((packet_is_ip4(packet) || packet_is_ip6(packet))
            && eth_addr_equals(packet->dl_src, q->external->intent->mac)
            && packet_has_family(packet, &ip)
            && external_find(policy, &ip) == q->external->external);
}

struct in6_addr
external_source(const struct meaning_question *q)
{
    return (q->connection == CONNECTION_RELATED && q->opener
            ? q->opener->outside : packet_source(q->packet));
}

bool
external_has_source(const struct policy *policy,
                    const struct meaning_question *q)
{
    struct in6_addr ip = external_source(q);

    return (packet_has_family(q->packet, &ip)
            && external_find(policy, &ip) == q->external->external);
}

bool
external_is_request(const struct meaning_question *q)
{
    const struct flow *packet = q->packet;
    struct eth_addr mac = q->external->intent->mac;

    return (eth_addr_equals(packet->dl_src, mac)
            && eth_addr_equals(packet->arp_sha, mac)
            && (packet->dl_type == htons(ETH_TYPE_ARP)
                ? packet->nw_proto == ARP_OP_REQUEST
                : (packet_icmp6_type(packet) == ND_NEIGHBOR_SOLICIT
                   && !packet->tp_dst)));
}

bool
external_is_gateway(const struct meaning_question *q)
{
    const address_vec *gateways = &q->external->intent->gateways;
    struct in6_addr target = (packet_is_ip6(q->packet) ? q->packet->nd_target
                              : in6_addr_mapped_ipv4(q->packet->nw_dst));

    for (size_t i = 0; i < gateways->n; i++) {
        if (ipv6_addr_equals(&gateways->v[i].ip, &target)) {
            return true;
        }
    }
    return false;
}
