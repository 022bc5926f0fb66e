/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "draft.h"

#include <netinet/icmp6.h>
#include <string.h>

#include "packets.h"
#include "util.h"
#include "world.h"

/* Addresses in and beside the ranges of world-external.c. */
static const char *const near4[] = {
    "198.51.100.1", "198.51.100.65", "198.51.100.130", "198.51.100.200",
    "198.51.7.7", "10.33.0.9", "10.70.0.1", "10.200.0.1", "10.3.0.77",
    "10.1.0.200", "8.8.8.8", "9.9.9.9", "203.0.113.9", "192.0.2.77",
    "192.0.2.1", "192.0.2.2", "127.0.0.1", "169.254.3.3", "224.0.0.5",
    "239.1.1.1", "255.255.255.255", "0.0.0.0", "0.1.2.3", "240.1.1.1",
    "100.64.0.1",
};
static const char *const near6[] = {
    "2001:db8:51::9", "2001:db8:51:1::9", "2001:db8:51:2::9",
    "2001:db8:99::1", "2001:db8::1", "2001:db8::2", "2600::1",
    "2a00::1", "fd00:1::99", "fd00:1234::1", "fd80::1", "fe80::1", "ff15::1",
    "ff02::1", "::1", "::", "::ffff:198.51.100.1", "2600:0:1::1",
};

static const range_vec *
ranges_of(const struct policy_rule *rule)
{
    return rule->from_ranges.n ? &rule->from_ranges : &rule->to_ranges;
}

static const struct policy_attachment *
pick_attachment(const struct draft *d, const struct policy_external *e)
{
    return external_at(e, &d->policy->intent->nodes.v[0]);
}

void
draft_outside(struct draft *d)
{
    const struct policy *policy = d->policy;
    const struct policy_rule *rule = d->rule;
    bool named = rule && ranges_of(rule)->n;

    if (named && rng_chance(d->rng, 85)) {
        const range_vec *ranges = ranges_of(rule);
        size_t i = rng_below(d->rng, ranges->n);

        d->outside = pick_attachment(d, ranges->v[i].external);
        d->inward = d->reply == (rule->to_ranges.n > 0);
    } else if (policy->externals.n && rng_chance(d->rng, 12)) {
        size_t i = rng_below(d->rng, policy->externals.n);

        d->outside = pick_attachment(d, policy->externals.v[i]);
        d->inward = rng_chance(d->rng, 60);
    }
    if (d->outside && d->inward) {
        d->from = d->to;        /* Its families are those that matter. */
    } else if (d->outside) {
        d->to = d->from;
    }
}

/* A range of the family that the rule names, or else one of the external, or
 * of another; NULL if there is none. */
static const struct address *
pick_range(struct draft *d, bool ip6)
{
    const range_vec *ranges = d->rule ? ranges_of(d->rule) : NULL;
    const struct policy_external *any = d->policy->externals.v[
        rng_below(d->rng, d->policy->externals.n)];
    const address_vec *all = (rng_chance(d->rng, 80)
                              ? &d->outside->external->intent->addresses
                              : &any->intent->addresses);
    const struct address *range
        = (ranges && ranges->n
           && rng_chance(d->rng, 80)
           ? ranges->v[rng_below(d->rng, ranges->n)].cidr : NULL);

    for (int i = 0; i < 4 && (!range || !IN6_IS_ADDR_V4MAPPED(&range->ip)
                                        != ip6); i++) {
        range = &all->v[rng_below(d->rng, all->n)];
    }
    return range && !IN6_IS_ADDR_V4MAPPED(&range->ip) == ip6 ? range : NULL;
}

/* One in the external, or near it. */
static struct in6_addr
draft_near(struct draft *d, bool ip6)
{
    const struct address *range = (rng_chance(d->rng, 80)
                                   ? pick_range(d, ip6) : NULL);
    struct in6_addr ip;
    ovs_be32 ip4;

    if (range) {
        ip = range->ip;
        for (int i = range->plen; i < 128; i++) {
            ip.s6_addr[i / 8] |= rng_below(d->rng, 2) << (7 - i % 8);
        }
        return ip;
    }
    if (ip6) {
        ovs_assert(ipv6_parse(near6[rng_below(d->rng, ARRAY_SIZE(near6))],
                              &ip));
        return ip;
    }
    ovs_assert(ip_parse(near4[rng_below(d->rng, ARRAY_SIZE(near4))], &ip4));
    return in6_addr_mapped_ipv4(ip4);
}

/* The router asks for the node, or for something else. */
static void
draft_question(struct draft *d)
{
    const address_vec *gateways = &d->outside->intent->gateways;
    struct flow *packet = &d->q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);

    if (!eth_addr_is_zero(packet->arp_sha)) {
        packet->arp_sha = packet->dl_src;
    }
    for (size_t i = 0; i < gateways->n && rng_chance(d->rng, 80); i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&gateways->v[i].ip) != ip6) {
            continue;
        } else if (!ip6) {
            packet->nw_dst = in6_addr_get_mapped_ipv4(&gateways->v[i].ip);
        } else if (!packet->tp_dst) {
            packet->nd_target = gateways->v[i].ip;
        }
    }
}

static void
set_address(struct flow *packet, const struct in6_addr *ip,
            ovs_be32 *nw, struct in6_addr *ipv6)
{
    if (packet->dl_type == htons(ETH_TYPE_IPV6)) {
        *ipv6 = *ip;
    } else {
        *nw = in6_addr_get_mapped_ipv4(ip);
    }
}

void
draft_leave(struct draft *d)
{
    struct flow *packet = &d->q->packet;
    bool neighbor = (packet->dl_type == htons(ETH_TYPE_ARP)
                     || is_nd(packet, NULL));
    struct in6_addr ip = draft_near(d, packet->dl_type
                                       == htons(ETH_TYPE_IPV6));

    if (!d->inward && !neighbor) {
        set_address(packet, &ip, &packet->nw_dst, &packet->ipv6_dst);
        packet->dl_dst = d->from->network->gateway_mac;
    } else if (d->inward) {
        d->q->from[0] = '\0';
        ovs_strlcpy(d->q->external, d->outside->external->name,
                    sizeof d->q->external);
        packet->in_port.ofp_port
            = u16_to_ofp(external_port(d->outside->external));
        packet->dl_src = d->outside->intent->mac;
        if (neighbor) {
            draft_question(d);
        } else {
            packet->dl_dst = d->outside->gateway_mac;
            set_address(packet, &ip, &packet->nw_src, &packet->ipv6_src);
        }
    }
}

void
draft_opened(struct draft *d)
{
    struct question *q = d->q;
    bool ip6 = q->packet.dl_type == htons(ETH_TYPE_IPV6);

    q->opener.outside = (ip6 ? q->packet.ipv6_src
                         : in6_addr_mapped_ipv4(q->packet.nw_src));
    if (q->external[0] && q->connection == CONNECTION_RELATED
        && rng_chance(d->rng, 70)) {
        q->opener.outside = draft_near(d, ip6 && rng_chance(d->rng, 80));
    }
}
