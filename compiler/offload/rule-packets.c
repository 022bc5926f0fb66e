/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/rule-packets.h"

#include <netinet/icmp6.h>
#include <string.h>

#include "ir/ir.h"
#include "offload/walk.h"
#include "flow.h"
#include "packets.h"
#include "sema/packet.h"
#include "util.h"

/* A client's port (RFC 6335 section 6), and that of a service that may be
 * any. */
enum { CLIENT_PORT = 49152, SOME_PORT = 1024 };
enum { FIRST_TTL = 64 };

/* Stands for all protocols that nobody names (RFC 3692 section 2.1). */
enum { OTHER_PROTOCOL = 253 };

/* One side of a packet. */
struct end {
    const struct ir_endpoint *endpoint;
    const struct ir_part *part;         /* Of an external, if that is NULL. */
};

/* Ends that differ in their addresses only.  A packet may be from and to one
 * kind, so two stand for it. */
struct kind {
    struct end ends[2];
    size_t n;                           /* Of the rule's, all. */
};

VEC_TYPEDEF(kind_vec, struct kind);

struct maker {
    const struct ir_prog *prog;
    const struct ir_rule *rule;
    const struct walker *walker;
    struct arena *arena;
    rule_packet_vec *out;
};

static bool
has_own_meter(const struct maker *m, const struct ir_endpoint *e, bool receive)
{
    return ir_own_meter(m->prog, e, receive) != NULL;
}

static const struct in6_addr *
find_address(struct end end, bool ip4)
{
    const ir_addresses *own = end.endpoint ? &end.endpoint->addresses : NULL;

    for (size_t i = 0; own && i < own->n; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&own->v[i]) == ip4) {
            return &own->v[i];
        }
    }
    for (size_t i = 0; end.part && i < end.part->prefixes.n; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&end.part->prefixes.v[i].ip) == ip4) {
            return &end.part->prefixes.v[i].ip;
        }
    }
    return NULL;
}

/* What makes its port: see struct ir_dpdk_port. */
enum port_kind { PORT_SYSTEM, PORT_DEVICE, PORT_SOCKET };

static enum port_kind
port_kind(const struct ir_prog *prog, const struct ir_endpoint *e)
{
    for (size_t i = 0; !e->node && i < prog->dpdk_ports.n; i++) {
        if (!strcmp(prog->dpdk_ports.v[i]->name, e->name)) {
            return prog->dpdk_ports.v[i]->socket ? PORT_SOCKET : PORT_DEVICE;
        }
    }
    return PORT_SYSTEM;
}

static bool
is_same_kind(const struct maker *m, struct end a, struct end b)
{
    const struct ir_endpoint *x = a.endpoint, *y = b.endpoint;

    if (!x || !y) {
        return x == y && a.part == b.part;
    }
    return (x->network == y->network && !x->node == !y->node
            && !find_address(a, true) == !find_address(b, true)
            && !find_address(a, false) == !find_address(b, false)
            && has_own_meter(m, x, false) == has_own_meter(m, y, false)
            && has_own_meter(m, x, true) == has_own_meter(m, y, true)
            && port_kind(m->prog, x) == port_kind(m->prog, y));
}

static void
add_end(const struct maker *m, struct end end, kind_vec *kinds)
{
    for (size_t i = 0; i < kinds->n; i++) {
        struct kind *kind = &kinds->v[i];

        if (is_same_kind(m, kind->ends[0], end)) {
            if (kind->n++ == 1) {
                kind->ends[1] = end;
            }
            return;
        }
    }
    *vec_push(m->arena, kinds) = (struct kind) { { end, end }, 1 };
}

static kind_vec
make_kinds(const struct maker *m, const struct ir_side *side)
{
    kind_vec kinds = VEC_INIT;

    for (size_t i = 0; i < side->endpoints.n; i++) {
        add_end(m, (struct end) { side->endpoints.v[i], NULL }, &kinds);
    }
    for (size_t i = 0; i < side->parts.n; i++) {
        add_end(m, (struct end) { NULL, side->parts.v[i] }, &kinds);
    }
    return kinds;
}

static bool
is_remote(struct end end)
{
    return end.endpoint && end.endpoint->node;
}

static bool
is_one_network(struct end a, struct end b)
{
    return (a.endpoint && b.endpoint
            && a.endpoint->network == b.endpoint->network);
}

static void
set_addresses(struct flow *flow, const struct in6_addr *from,
              const struct in6_addr *to, bool ip4)
{
    if (ip4) {
        flow->dl_type = htons(ETH_TYPE_IP);
        flow->nw_src = in6_addr_get_mapped_ipv4(from);
        flow->nw_dst = in6_addr_get_mapped_ipv4(to);
    } else {
        flow->dl_type = htons(ETH_TYPE_IPV6);
        flow->ipv6_src = *from;
        flow->ipv6_dst = *to;
    }
}

/* Where the packet comes in, and as what. */
static void
set_origin(const struct maker *m, struct flow *flow, struct end from,
           struct end to)
{
    const struct ir_endpoint *e = from.endpoint;
    const char *port = PLAN_TUNNEL;

    if (!e) {
        port = from.part->external->interface;
        flow->dl_src = from.part->external->mac;
    } else if (!e->node) {
        port = e->interface;
        flow->dl_src = e->mac;
    } else {
        packet_encapsulate(flow, &e->node->address, &m->prog->tunnel_address,
                           to.endpoint->network->vni);
        flow->tunnel.flags = FLOW_TNL_F_KEY;
        flow->dl_src = (is_one_network(from, to) ? e->mac
                        : to.endpoint->network->gateway_mac);
    }
    flow->in_port.ofp_port = u16_to_ofp(walker_port(m->walker, port));
}

static void
set_destination(struct flow *flow, struct end from, struct end to)
{
    if (!from.endpoint) {
        flow->dl_dst = from.part->external->gateway_mac;
    } else if (is_one_network(from, to) || is_remote(from)) {
        flow->dl_dst = to.endpoint->mac;
    } else {
        flow->dl_dst = from.endpoint->network->gateway_mac;
    }
    flow->nw_ttl = FIRST_TTL - (is_remote(from)
                                && !is_one_network(from, to));
}

/* Ports, or what ICMP has instead; 'back' is of the answer. */
static void
set_service(struct flow *flow, const struct ir_match *match, bool back)
{
    flow->nw_proto = match->protocol;
    switch (match->protocol) {
    case IPPROTO_ICMP:
        flow->tp_src = htons(back ? ICMP4_ECHO_REPLY : ICMP4_ECHO_REQUEST);
        break;
    case IPPROTO_ICMPV6:
        flow->tp_src = htons(back ? ICMP6_ECHO_REPLY : ICMP6_ECHO_REQUEST);
        break;
    case IPPROTO_TCP:
    case IPPROTO_UDP:
        flow->tp_src = htons(back ? match->first : CLIENT_PORT);
        flow->tp_dst = htons(back ? CLIENT_PORT : match->first);
        break;
    }
}

/* Is it the port of a service that goes round connection tracking?  Such a
 * service has one port for both directions. */
static bool
is_symmetric(const struct ir_prog *prog, const struct ir_match *match)
{
    for (size_t i = 0; i < prog->services.n; i++) {
        const struct ir_service *s = prog->services.v[i];

        for (size_t j = 0; s->symmetric && j < s->matches.n; j++) {
            if (s->matches.v[j].protocol == match->protocol
                && s->matches.v[j].first == match->first) {
                return true;
            }
        }
    }
    return false;
}

static const char *
service_name(struct arena *arena, const struct ir_match *match)
{
    switch (match->protocol) {
    case IPPROTO_ICMP: return "icmp";
    case IPPROTO_ICMPV6: return "icmp6";
    case IPPROTO_TCP: return arena_printf(arena, "tcp %u", match->first);
    case IPPROTO_UDP: return arena_printf(arena, "udp %u", match->first);
    case OTHER_PROTOCOL: return "other protocols";
    default: return arena_printf(arena, "protocol %u", match->protocol);
    }
}

static const char *
end_name(struct end end)
{
    return end.endpoint ? end.endpoint->name : end.part->name;
}

/* The class of what goes forth, or back. */
static const struct ir_class *
direction_class(const struct ir_rule *rule, bool back)
{
    return back && rule->replies ? rule->reply_class : rule->class;
}

/* The DSCP that it lets in, or 0. */
static uint8_t
dscp_in(const struct ir_rule *rule, bool back)
{
    const struct ir_class *class = direction_class(rule, back);

    return class ? class->dscp_in : 0;
}

/* What comes by tunnel has the DSCP of its class, inside and outside, for the
 * sender's node has written it. */
static void
set_dscp(struct flow *flow, const struct ir_rule *rule, bool back,
         struct end from, bool kept)
{
    const struct ir_class *class = direction_class(rule, back);
    uint8_t dscp = kept ? dscp_in(rule, back) : 0;

    if (is_remote(from)) {
        dscp = dscp || !class ? dscp : class->dscp;
        flow->tunnel.ip_tos = dscp << 2;
    }
    flow->nw_tos = dscp << 2;
}

/* 'kept': with the DSCP that its class lets in. */
static void
add_packet(const struct maker *m, struct end from, struct end to, bool ip4,
           const struct ir_match *match, size_t n_pairs, bool kept)
{
    const struct in6_addr *source = find_address(from, ip4);
    const struct in6_addr *destination = find_address(to, ip4);
    struct rule_packet *p;

    if (!source || !destination
        || match->protocol == (ip4 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
        return;
    }
    p = vec_push(m->arena, m->out);
    p->from = end_name(from);
    p->to = end_name(to);
    p->service = service_name(m->arena, match);
    p->n_pairs = n_pairs;
    set_addresses(&p->opens, source, destination, ip4);
    set_origin(m, &p->opens, from, to);
    set_destination(&p->opens, from, to);
    set_service(&p->opens, match, false);
    set_addresses(&p->back, destination, source, ip4);
    set_origin(m, &p->back, to, from);
    set_destination(&p->back, to, from);
    set_service(&p->back, match, !is_symmetric(m->prog, match));
    set_dscp(&p->opens, m->rule, false, from, kept);
    set_dscp(&p->back, m->rule, true, to, kept);
    if (kept) {
        uint8_t forth = dscp_in(m->rule, false);

        p->service = arena_printf(m->arena, "%s dscp %u", p->service,
                                  forth ? forth : dscp_in(m->rule, true));
    }
}

static void
add_packets(const struct maker *m, struct end from, struct end to, bool ip4,
            const struct ir_match *match, size_t n_pairs)
{
    add_packet(m, from, to, ip4, match, n_pairs, false);
    /* What comes from outside keeps nothing. */
    if ((dscp_in(m->rule, false) || dscp_in(m->rule, true))
        && from.endpoint && to.endpoint) {
        add_packet(m, from, to, ip4, match, n_pairs, true);
    }
}

/* A packet of each match of the service. */
static void
add_services(const struct maker *m, struct end from, struct end to, bool ip4,
             size_t n_pairs)
{
    static const struct ir_match any[] = {
        { IPPROTO_TCP, SOME_PORT, SOME_PORT },
        { IPPROTO_UDP, SOME_PORT, SOME_PORT },
        { IPPROTO_ICMP, 0, 0 }, { IPPROTO_ICMPV6, 0, 0 },
        { OTHER_PROTOCOL, 0, 0 },
    };
    const struct ir_service *service = m->rule->service;

    for (size_t i = 0; service && i < service->matches.n; i++) {
        add_packets(m, from, to, ip4, &service->matches.v[i], n_pairs);
    }
    for (size_t i = 0; !service && i < ARRAY_SIZE(any); i++) {
        add_packets(m, from, to, ip4, &any[i], n_pairs);
    }
    for (size_t i = 0; !service && i < m->prog->services.n; i++) {
        const struct ir_service *s = m->prog->services.v[i];

        if (s->symmetric) {
            add_packets(m, from, to, ip4, &s->matches.v[0], n_pairs);
        }
    }
}

static void
add_pair(const struct maker *m, const struct kind *from,
         const struct kind *to)
{
    struct end a = from->ends[0], b = to->ends[0];
    bool same = a.endpoint && a.endpoint == b.endpoint;

    if (same) {
        b = to->ends[1];
    }
    if ((a.endpoint && a.endpoint == b.endpoint)
        || (!a.endpoint && !b.endpoint) || (is_remote(a) && is_remote(b))
        || (is_remote(a) && !b.endpoint) || (!a.endpoint && is_remote(b))) {
        return;
    }
    add_services(m, a, b, true, from->n * to->n - (same ? from->n : 0));
    add_services(m, a, b, false, from->n * to->n - (same ? from->n : 0));
}

void
rule_packets(const struct ir_prog *prog, const struct ir_rule *rule,
             const struct walker *walker, struct arena *arena,
             rule_packet_vec *packets)
{
    struct maker m = { prog, rule, walker, arena, packets };
    kind_vec from = make_kinds(&m, &rule->from);
    kind_vec to = make_kinds(&m, &rule->to);

    for (size_t i = 0; i < from.n; i++) {
        for (size_t j = 0; j < to.n; j++) {
            add_pair(&m, &from.v[i], &to.v[j]);
        }
    }
}
