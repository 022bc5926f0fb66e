/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "questions.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "draft.h"
#include "packets.h"
#include "util.h"
#include "world.h"

static const struct policy_endpoint *
pick(struct rng *rng, const endpoint_vec *set)
{
    return set->n ? set->v[rng_below(rng, set->n)] : NULL;
}

static const struct policy_endpoint *
any_endpoint(const struct draft *d)
{
    for (;;) {
        const struct policy_tenant *tenant
            = d->policy->tenants.v[rng_below(d->rng, d->policy->tenants.n)];

        if (tenant->endpoints.n) {
            return tenant->endpoints.v[rng_below(d->rng,
                                                 tenant->endpoints.n)];
        }
    }
}

/* A rule, often a peering, one that says who pays, or one that names externals
 * or overrules others, of which there are fewer. */
static const struct policy_rule *
pick_rule(const struct draft *d)
{
    unsigned int wish = rng_below(d->rng, 5);
    const struct policy_rule *rule = NULL;

    for (int i = 0; i < 12; i++) {
        rule = d->policy->rules.v[rng_below(d->rng, d->policy->rules.n)];
        if (wish == 0 ? rule->kind == RULE_PEERING
            : wish == 1 ? rule->from_ranges.n || rule->to_ranges.n
            : wish == 2 ? rule->charge != CHARGE_SENDER
            : wish == 3 ? rule->depth > 0 : true) {
            break;
        }
    }
    return rule;
}

static void
draft_ends(struct draft *d)
{
    const struct policy *policy = d->policy;

    d->rule = NULL;
    d->from = d->to = NULL;
    d->reply = rng_chance(d->rng, 40);
    if (policy->rules.n && rng_chance(d->rng, 75)) {
        d->rule = pick_rule(d);
        d->from = pick(d->rng, d->reply ? &d->rule->to : &d->rule->from);
        d->to = pick(d->rng, d->reply ? &d->rule->from : &d->rule->to);
    }
    if (!d->from || rng_chance(d->rng, 5)) {
        d->from = any_endpoint(d);
    }
    if (!d->to || d->to == d->from || rng_chance(d->rng, 5)) {
        d->to = (rng_chance(d->rng, 70) && d->from->tenant->endpoints.n
                 ? d->from->tenant->endpoints.v[
                     rng_below(d->rng, d->from->tenant->endpoints.n)]
                 : any_endpoint(d));
    }
}

/* A port of the service, or one beside it. */
static int
port_near(struct rng *rng, const struct service_match *m)
{
    if (!m || !m->ports.last) {
        return rng_below(rng, 65536);
    }
    switch (rng_below(rng, 12)) {
    case 0: return m->ports.first;
    case 1: return m->ports.last;
    case 2: return m->ports.first - 1;
    case 3: return (m->ports.last + 1) & 0xffff;
    default: return m->ports.first + rng_below(rng, m->ports.last
                                               - m->ports.first + 1);
    }
}

static bool
has_ports(uint8_t protocol)
{
    return (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP
            || protocol == IPPROTO_SCTP);
}

static void
set_icmp(struct rng *rng, struct flow *packet)
{
    static const uint8_t types[] = {
        0, 1, 3, 5, 8, 9, 10, 11, 128, 129, 130, 131, 132, 133, 134, 137, 143,
    };

    if ((packet->nw_proto == IPPROTO_ICMPV6
         && packet->dl_type == htons(ETH_TYPE_IPV6))
        || (packet->nw_proto == IPPROTO_ICMP
            && packet->dl_type == htons(ETH_TYPE_IP))) {
        packet->tp_src = htons(types[rng_below(rng, ARRAY_SIZE(types))]);
        packet->tp_dst = htons(rng_below(rng, 2));
    }
}

/* A match of another stateless rule: what one sees as a request may be an
 * answer to the other. */
static const struct service_match *
draft_match(const struct draft *d)
{
    for (int i = 0; i < 12; i++) {
        const struct policy_rule *rule
            = d->policy->rules.v[rng_below(d->rng, d->policy->rules.n)];

        if (rule != d->rule && rule->stateless && rule->service) {
            return &rule->service->matches.v[
                rng_below(d->rng, rule->service->matches.n)];
        }
    }
    return NULL;
}

static void
draft_transport(struct draft *d)
{
    static const uint8_t protocols[] = {
        IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_SCTP,
        2, 47, 50, 0, 255,
    };
    static const uint16_t famous[] = {
        22, 53, 67, 68, 80, 123, 443, 500, 546, 547, 1000, 4420, 4791, 4793,
        8009,
    };
    const struct policy_service *service = d->rule ? d->rule->service : NULL;
    const struct service_match *m = NULL;
    struct flow *packet = &d->q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    int near, other = rng_below(d->rng, 65536);

    packet->nw_proto = protocols[rng_below(d->rng, rng_chance(d->rng, 80) ? 4
                                           : ARRAY_SIZE(protocols))];
    if (service) {
        m = &service->matches.v[rng_below(d->rng, service->matches.n)];
        packet->nw_proto = m->protocol;
    }
    if (packet->nw_proto == IPPROTO_ICMP && ip6 && rng_chance(d->rng, 95)) {
        packet->nw_proto = IPPROTO_ICMPV6;
    }
    near = port_near(d->rng, m);
    if (!m && rng_chance(d->rng, 50)) {
        near = famous[rng_below(d->rng, ARRAY_SIZE(famous))];
    }
    if (rng_chance(d->rng, 5)) {
        other = famous[rng_below(d->rng, ARRAY_SIZE(famous))];
    }
    if (d->rule && d->rule->stateless && rng_chance(d->rng, 30)) {
        other = port_near(d->rng, draft_match(d));
    }
    if (has_ports(packet->nw_proto)) {
        packet->tp_src = htons(d->reply ? near : other);
        packet->tp_dst = htons(d->reply ? other : near);
        if ((near == 1000 || near == 4791 || near == 4793)
            && rng_chance(d->rng, 50)) {
            packet->tp_dst = htons(near);   /* Both ways the same. */
        }
    }
    set_icmp(d->rng, packet);
}

static bool
has_family(const struct policy_endpoint *e, bool ip6)
{
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&e->intent->addresses.v[i].ip) == ip6) {
            return true;
        }
    }
    return false;
}

static void
draft_ip(struct draft *d)
{
    struct flow *packet = &d->q->packet;
    const struct policy_network *network = d->from->network;
    bool both4 = has_family(d->from, false) && has_family(d->to, false);
    bool both6 = has_family(d->from, true) && has_family(d->to, true);
    bool ip6 = both4 == both6 ? rng_chance(d->rng, 50) : both6;

    packet->dl_type = htons(ip6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    draft_set_source(packet, draft_address(d->rng, d->from, ip6));
    draft_set_destination(packet, draft_address(d->rng, d->to, ip6));
    packet->dl_dst = (d->to->network == network && rng_chance(d->rng, 85)
                      ? d->to->intent->mac : network->gateway_mac);
    packet->nw_ttl = (rng_chance(d->rng, 92) ? 64
                      : (int[]) { 0, 1, 2, 255 }[rng_below(d->rng, 4)]);
    packet->nw_tos = draft_tos(d);
    draft_transport(d);
}

/* What somebody may ask for: the gateway's address, the receiver's, ... */
static struct in6_addr
draft_target(struct draft *d, bool ip6)
{
    const struct intent_network *n = d->from->network->intent;

    if (n->gateways.n && rng_chance(d->rng, 30)) {
        return n->gateways.v[rng_below(d->rng, n->gateways.n)].ip;
    }
    return draft_address(d->rng, rng_chance(d->rng, 15) ? d->from : d->to,
                         ip6);
}

static void
draft_arp(struct draft *d)
{
    struct flow *packet = &d->q->packet;
    struct in6_addr target = draft_target(d, false);

    packet->dl_type = htons(ETH_TYPE_ARP);
    packet->dl_dst = eth_addr_broadcast;
    packet->nw_proto = rng_chance(d->rng, 80) ? ARP_OP_REQUEST
                       : rng_below(d->rng, 4);
    draft_set_source(packet, draft_address(d->rng, d->from, false));
    packet->nw_dst = in6_addr_get_mapped_ipv4(&target);
    packet->arp_sha = packet->dl_src;
}

static void
draft_nd(struct draft *d)
{
    struct flow *packet = &d->q->packet;
    bool solicit = rng_chance(d->rng, 85);

    packet->dl_type = htons(ETH_TYPE_IPV6);
    packet->dl_dst = (struct eth_addr) ETH_ADDR_C(33,33,ff,00,00,01);
    packet->nw_proto = IPPROTO_ICMPV6;
    packet->nw_ttl = 255;
    packet->tp_src = htons(solicit ? ND_NEIGHBOR_SOLICIT : ND_NEIGHBOR_ADVERT);
    packet->tp_dst = htons(rng_chance(d->rng, 5));
    packet->ipv6_src = draft_address(d->rng, d->from, true);
    if (rng_chance(d->rng, 25)) {
        in6_generate_lla(rng_chance(d->rng, 80) ? d->from->intent->mac
                         : d->to->intent->mac, &packet->ipv6_src);
    }
    if (packet->tp_dst) {
        return;                 /* Then it has no options to look at. */
    }
    packet->nd_target = draft_target(d, true);
    if (IN6_IS_ADDR_V4MAPPED(&packet->nd_target) && rng_chance(d->rng, 80)) {
        packet->nd_target = draft_address(d->rng, d->to, true);
    }
    if (rng_chance(d->rng, 15)) {
        in6_generate_lla(d->to->intent->mac, &packet->nd_target);
    }
    in6_addr_solicited_node(&packet->ipv6_dst, &packet->nd_target);
    if (!solicit) {
        packet->arp_tha = d->from->intent->mac;
    } else if (rng_chance(d->rng, 95)) {
        packet->arp_sha = d->from->intent->mac;
    }
}

/* No transport header that the switch looks at, as in a later fragment. */
static void
forget_transport(struct flow *packet)
{
    packet->tp_src = packet->tp_dst = 0;
    packet->nd_target = in6addr_any;
    if (packet->dl_type != htons(ETH_TYPE_ARP)) {
        packet->arp_sha = packet->arp_tha = eth_addr_zero;
    }
}

static void
make_fragment(struct draft *d)
{
    struct flow *packet = &d->q->packet;

    if (is_ip_any(packet) && !packet->nw_frag) {
        packet->nw_frag = FLOW_NW_FRAG_ANY;
        if (rng_chance(d->rng, 50)) {
            packet->nw_frag |= FLOW_NW_FRAG_LATER;
            forget_transport(packet);
        }
    }
}

/* An address of IPv4 in a packet of IPv6, as "::ffff:192.0.2.1". */
static void
write_as_mapped(struct draft *d)
{
    struct flow *packet = &d->q->packet;

    if (packet->dl_type != htons(ETH_TYPE_IPV6)) {
        return;
    } else if (rng_chance(d->rng, 50)) {
        packet->ipv6_src = draft_address(d->rng, d->from, false);
    } else {
        packet->ipv6_dst = draft_address(d->rng, d->to, false);
    }
}

static void
spoil_network(struct draft *d)
{
    const struct policy_endpoint *e = any_endpoint(d);
    struct flow *packet = &d->q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);

    switch (rng_below(d->rng, 6)) {
    case 0: draft_set_source(packet, draft_address(d->rng, e, ip6)); break;
    case 1:
        draft_set_destination(packet, draft_address(d->rng, e, ip6));
        break;
    case 2: packet->arp_sha = (packet->dl_type == htons(ETH_TYPE_ARP)
                               || is_nd(packet, NULL)
                               ? e->intent->mac : eth_addr_zero); break;
    case 3: draft_set_destination(packet, ip6 ? in6addr_all_hosts
                            : in6_addr_mapped_ipv4(htonl(0xffffffff))); break;
    case 4: make_fragment(d); break;
    case 5: write_as_mapped(d); break;
    }
}

static void
spoil_transport(struct draft *d)
{
    struct flow *packet = &d->q->packet;

    if (packet->dl_type != htons(ETH_TYPE_ARP)
        && has_ports(packet->nw_proto)) {
        switch (rng_below(d->rng, 4)) {
        case 0: packet->tp_dst = htons(rng_below(d->rng, 65536)); break;
        case 1: packet->tp_src = htons(rng_below(d->rng, 65536)); break;
        case 2: packet->nw_proto = (packet->nw_proto == IPPROTO_TCP
                                    ? IPPROTO_UDP : IPPROTO_TCP); break;
        case 3: {
            ovs_be16 port = packet->tp_src;

            packet->tp_src = packet->tp_dst;
            packet->tp_dst = port;
        }
        }
    }
}

/* Makes one thing wrong. */
static void
spoil(struct draft *d)
{
    static const uint16_t types[] = { 0x88cc, 0x8035, 0x8847, 0x9000, 0x0600 };
    const struct policy_endpoint *e = any_endpoint(d);
    struct flow *packet = &d->q->packet;

    switch (rng_below(d->rng, 8)) {
    case 0: packet->dl_src = e->intent->mac; break;
    case 1: packet->dl_dst = e->intent->mac; break;
    case 2: packet->dl_dst = e->network->gateway_mac; break;
    case 3: packet->dl_dst = (rng_chance(d->rng, 50) ? eth_addr_broadcast
                              : d->to->network->gateway_mac); break;
    case 4:
        if (rng_chance(d->rng, 50)) {
            packet->vlans[0].tpid = htons(ETH_TYPE_VLAN);
            packet->vlans[0].tci = htons(VLAN_CFI | (rng_chance(d->rng, 50)
                                                     ? 0 : 5));
        } else if (rng_chance(d->rng, 20)) {
            struct flow bare = { .in_port = packet->in_port };

            bare.dl_src = packet->dl_src;
            bare.dl_dst = packet->dl_dst;
            bare.dl_type = htons(types[rng_below(d->rng, ARRAY_SIZE(types))]);
            *packet = bare;
        }
        break;
    case 5:
    case 6: spoil_network(d); break;
    case 7: spoil_transport(d); break;
    }
}

/* An ICMP error about the connection that the packet was drafted for. */
static void
draft_error(struct draft *d)
{
    struct flow *packet = &d->q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);

    packet->nw_proto = ip6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
    packet->tp_src = htons(ip6 ? 1 : rng_chance(d->rng, 10) ? 5 : 3);
    packet->tp_dst = htons(4);
}

static bool
is_here(const struct policy_endpoint *e)
{
    return e->node && !strcmp(e->node->name.s, WORLD_NODE);
}

/* Endpoints of other nodes mostly send by tunnel, others pretend to. */
static bool
by_tunnel(const struct draft *d)
{
    return (d->policy->intent->encapsulation.s
            && rng_chance(d->rng, is_here(d->from) ? 2 : 90));
}

static void
send_from(struct draft *d, const struct policy_endpoint *from)
{
    d->from = from;
    ovs_strlcpy(d->q->from, from->name, sizeof d->q->from);
    d->q->packet.in_port.ofp_port = u16_to_ofp(endpoint_port(from));
    d->q->packet.dl_src = from->intent->mac;
}

void
question_init(struct question *q, const struct policy *policy,
              struct rng *rng)
{
    struct draft d = { .policy = policy, .rng = rng, .q = q };
    unsigned int kind = rng_below(rng, 100);
    struct flow whole;
    struct rng own = { ~rng->state };   /* All else is as without it. */

    memset(q, 0, sizeof *q);
    do {
        draft_ends(&d);
    } while (!is_here(d.from) && !is_here(d.to) && rng_chance(rng, 90));
    draft_outside(&d);
    send_from(&d, d.from);
    if (kind < 8) {
        draft_arp(&d);
    } else if (kind < 16) {
        draft_nd(&d);
    } else if (kind < 32 && d.from->network->dhcp_server) {
        if (rng_chance(rng, 40)) {
            send_from(&d, d.from->network->dhcp_server);
        }
        draft_dhcp(&d);
    } else {
        draft_ip(&d);
        if (d.from->network->intent->groups.n && rng_chance(rng, 20)) {
            draft_group(&d);
        }
    }
    if (d.outside) {
        draft_leave(&d);
    } else if (by_tunnel(&d)) {
        question_tunnel(q, policy, d.from, d.to, rng);
    }
    draft_foreign(&d);
    q->connection = draft_connection(&d);
    q->beyond = draft_beyond(&d);
    whole = q->packet;
    if (kind >= 16 && q->connection == CONNECTION_RELATED) {
        draft_error(&d);
    }
    for (int i = 0; i < 3 && rng_chance(rng, 25); i++) {
        spoil(&d);
    }
    if (kind >= 16 && rng_chance(rng, 5)) {
        make_fragment(&d);
    }
    if (q->packet.nw_proto != whole.nw_proto
        && q->connection != CONNECTION_RELATED) {
        whole = q->packet;
    }
    draft_opener(&d, &whole);
    draft_opened(&d);
    q->full = rng_chance(&own, 40);
}
