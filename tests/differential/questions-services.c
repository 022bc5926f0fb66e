/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "draft.h"

#include <string.h>

#include "packets.h"
#include "util.h"

struct in6_addr
draft_address(struct rng *rng, const struct policy_endpoint *e, bool ip6)
{
    size_t n = e->intent->addresses.n, start = rng_below(rng, n);

    for (size_t i = 0; i < n; i++) {
        const struct in6_addr *ip
            = &e->intent->addresses.v[(start + i) % n].ip;

        if (!IN6_IS_ADDR_V4MAPPED(ip) == ip6) {
            return *ip;
        }
    }
    return ip6 ? in6addr_any : in6_addr_mapped_ipv4(htonl(0x0a010163));
}

void
draft_set_source(struct flow *packet, struct in6_addr ip)
{
    if (packet->dl_type == htons(ETH_TYPE_IPV6)) {
        packet->ipv6_src = ip;
    } else {
        packet->nw_src = in6_addr_get_mapped_ipv4(&ip);
    }
}

void
draft_set_destination(struct flow *packet, struct in6_addr ip)
{
    if (packet->dl_type == htons(ETH_TYPE_IPV6)) {
        packet->ipv6_dst = ip;
    } else {
        packet->nw_dst = in6_addr_get_mapped_ipv4(&ip);
    }
}

/* Another endpoint of the sender's network, if there is one. */
static const struct policy_endpoint *
neighbor(struct draft *d)
{
    const struct policy_tenant *tenant = d->from->tenant;
    size_t n = tenant->endpoints.n, start = rng_below(d->rng, n);

    for (size_t i = 0; i < n; i++) {
        const struct policy_endpoint *e
            = tenant->endpoints.v[(start + i) % n];

        if (e != d->from && e->network == d->from->network) {
            return e;
        }
    }
    return d->to;
}

uint8_t
draft_tos(struct draft *d)
{
    uint8_t tos = rng_below(d->rng, 256);
    size_t i = (tos >> 2) % (d->policy->classes.n + 1);

    if (i < d->policy->classes.n && d->policy->classes.v[i]->dscp_in) {
        tos = (d->policy->classes.v[i]->dscp_in->dscp << 2
               | (tos & IP_ECN_MASK));
    }
    return tos;
}

void
draft_dhcp(struct draft *d)
{
    static const struct eth_addr all_servers = ETH_ADDR_C(33,33,00,01,00,02);
    const struct policy_endpoint *server = d->from->network->dhcp_server;
    struct flow *packet = &d->q->packet;
    bool ip6 = rng_chance(d->rng, 50);
    bool request = d->from != server || rng_chance(d->rng, 10);
    int client_port = ip6 ? 546 : 68, server_port = ip6 ? 547 : 67;

    packet->dl_type = htons(ip6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    packet->nw_proto = IPPROTO_UDP;
    packet->nw_ttl = 64;
    packet->nw_tos = draft_tos(d);
    packet->tp_src = htons(request ? client_port : server_port);
    packet->tp_dst = htons(request ? server_port : client_port);
    if (rng_chance(d->rng, 5)) {        /* Beside it. */
        packet->tp_dst ^= htons(1 << rng_below(d->rng, 4));
    }
    draft_set_source(packet, draft_address(d->rng, d->from, ip6));
    if (ip6 && rng_chance(d->rng, 60)) {
        in6_generate_lla(d->from->intent->mac, &packet->ipv6_src);
    } else if (!ip6 && rng_chance(d->rng, request ? 60 : 10)) {
        packet->nw_src = 0;
    }

    d->to = (rng_chance(d->rng, 10) ? d->to : request ? server
             : neighbor(d));
    packet->dl_dst = d->to->intent->mac;
    draft_set_destination(packet, draft_address(d->rng, d->to, ip6));
    if (ip6 && rng_chance(d->rng, request ? 70 : 10)) {
        packet->dl_dst = all_servers;
        ipv6_parse("ff02::1:2", &packet->ipv6_dst);
    } else if (ip6 && rng_chance(d->rng, 70)) {
        in6_generate_lla(d->to->intent->mac, &packet->ipv6_dst);
    } else if (!ip6 && rng_chance(d->rng, 60)) {
        packet->dl_dst = eth_addr_broadcast;
        packet->nw_dst = htonl(INADDR_BROADCAST);
    }
}

/* Some address of 'group'. */
static struct in6_addr
pick_in(struct rng *rng, const struct address *group)
{
    struct in6_addr ip = group->ip;

    for (int bit = group->plen; bit < 128; bit++) {
        ip.s6_addr[bit / 8] |= rng_below(rng, 2) << (7 - bit % 8);
    }
    return ip;
}

void
draft_group(struct draft *d)
{
    const address_vec *groups = &d->from->network->intent->groups;
    const struct address *group = &groups->v[rng_below(d->rng, groups->n)];
    struct flow *packet = &d->q->packet;
    struct in6_addr ip = pick_in(d->rng, group);
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    uint8_t *mac = packet->dl_dst.ea;

    if (IN6_IS_ADDR_V4MAPPED(&ip) ? ip6 && rng_chance(d->rng, 80) : !ip6) {
        return;
    }
    if (rng_chance(d->rng, 10)) {       /* Perhaps beside the group. */
        ip.s6_addr[12 + rng_below(d->rng, 4)] ^= 1 << rng_below(d->rng, 8);
    }
    draft_set_destination(packet, ip);
    memcpy(mac + 2, &ip.s6_addr[12], 4);
    mac[0] = mac[1] = 0x33;
    if (!ip6) {
        mac[0] = 0x01;
        mac[1] = 0x00;
        mac[2] = 0x5e;
        mac[3] &= 0x7f;
    }
    if (rng_chance(d->rng, 10)) {
        mac[rng_below(d->rng, 6)] ^= 1 << rng_below(d->rng, 8);
    }
}
