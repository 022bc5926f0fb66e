/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* What fields and predicates of OVN's expressions say (ovn-sb(5)).  All that
 * is here is IP between addresses of endpoints. */

enum { CONJOIN_WORK = 64 };     /* Beside that of sets, in words. */

struct ovn_box *
ovn_add_box(struct ovn *m, ovn_boxes *boxes)
{
    struct ovn_box *box = vec_push(m->arena, boxes);

    *box = (struct ovn_box) { .dst = ovn_any, .src = ovn_any };
    return box;
}

/* Has one of two sets nothing of the other?  Both NULL are all. */
static bool
are_apart(struct ovn *m, const unsigned long *a, const unsigned long *b)
{
    return (a || b) && !ovn_meet(m, a, b);
}

void
ovn_conjoin(struct ovn *m, const struct ovn_box *a, const struct ovn_box *b,
            ovn_boxes *out)
{
    struct ovn_box box;

    m->work += CONJOIN_WORK;
    if (are_apart(m, a->from, b->from) || are_apart(m, a->to, b->to)
        || (a->forward && b->reply) || (a->reply && b->forward)) {
        return;
    }
    box = (struct ovn_box) {
        .from = a->from && b->from ? ovn_and(m, a->from, b->from)
                : a->from ? a->from : b->from,
        .to = a->to && b->to ? ovn_and(m, a->to, b->to)
              : a->to ? a->to : b->to,
        .dst = ovn_common(m, &a->dst, &b->dst),
        .src = ovn_common(m, &a->src, &b->src),
        .at_port = a->at_port || b->at_port,
        .at_router = a->at_router && b->at_router
                     ? ovn_and(m, a->at_router, b->at_router)
                     : a->at_router ? a->at_router : b->at_router,
        .local = a->local || b->local,
        .vague = a->vague || b->vague,
        .forbidden = a->forbidden || b->forbidden,
        .fragment = a->fragment || b->fragment,
        .established = a->established || b->established,
        .forward = a->forward || b->forward,
        .reply = a->reply || b->reply,
    };

    if (!ovn_service_is_empty(&box.dst) && !ovn_service_is_empty(&box.src)) {
        *vec_push(m->arena, out) = box;
    }
}

static bool
are_same(struct ovn *m, const unsigned long *a, const unsigned long *b)
{
    return ovn_has(m, a, b) && ovn_has(m, b, a);
}

/* Is what either says all that both together would? */
static bool
can_join(struct ovn *m, const struct ovn_box *a, const struct ovn_box *b)
{
    return (a->stateless == b->stateless && a->deny == b->deny
            && a->back == b->back
            && a->vague == b->vague && a->fragment == b->fragment
            && a->established == b->established && a->forward == b->forward
            && a->reply == b->reply && are_same(m, a->from, b->from)
            && are_same(m, a->to, b->to)
            && (ovn_service_equals(m, &a->src, &b->src)
                || ovn_service_equals(m, &a->dst, &b->dst)
                || !ovn_service_meets(&a->dst, &b->dst)));
}

void
ovn_join(struct ovn *m, ovn_boxes *boxes)
{
    size_t n = 0;

    for (size_t i = 0; i < boxes->n && !ovn_is_too_much(m); i++) {
        struct ovn_box *box = &boxes->v[i];
        bool found = false;

        for (size_t j = 0; j < n && !found; j++) {
            struct ovn_box *b = &boxes->v[j];

            found = can_join(m, b, box);
            if (found) {
                b->dst = ovn_union(m, &b->dst, &box->dst);
                b->src = ovn_union(m, &b->src, &box->src);
            }
        }
        if (!found) {
            boxes->v[n++] = *box;
        }
    }
    boxes->n = n;
}

/* Narrower, nobody knows how. */
static void
add_vague(struct ovn *m, ovn_boxes *boxes)
{
    ovn_add_box(m, boxes)->vague = true;
}

/* Digits only; -1 if it is anything else, or more than 65535. */
static int
parse_number(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return n && n <= 5 && !s[n] && atoi(s) <= UINT16_MAX ? atoi(s) : -1;
}

/* All of the values, each one of 'wanted'? */
static bool
are_all(const ovn_names *values, const char *wanted)
{
    for (size_t i = 0; i < values->n; i++) {
        const char *word = values->v[i];
        const char *found = wanted;
        size_t n = strlen(word);

        while ((found = strstr(found, word))
               && ((found > wanted && found[-1] != ' ')
                   || (found[n] && found[n] != ' '))) {
            found++;
        }
        if (!found) {
            return false;
        }
    }
    return values->n > 0;
}

/* What comes to a switch from its router: nobody knows from which, if it has
 * several. */
static void
add_from_routers(struct ovn *m, const unsigned long *routers,
                 ovn_boxes *boxes)
{
    for (size_t i = 0; i < m->switches.n; i++) {
        const unsigned long *own = m->switches.v[i]->own;

        if (ovn_meet(m, routers, own)) {
            struct ovn_box *box = ovn_add_box(m, boxes);

            box->from = ovn_without(m, NULL, own);
            box->to = ovn_and(m, own, NULL);
            box->vague = true;
        }
    }
}

/* "inport" or "outport": ports of groups, or by name. */
static void
add_ports(struct ovn *m, bool out, enum ovn_relation relation,
          const ovn_names *values, bool to_lport, ovn_boxes *boxes)
{
    ovn_set set = ovn_empty(m), routers = ovn_empty(m);
    bool vague = false, near = out == to_lport;
    struct ovn_box *box;

    for (size_t i = 0; i < values->n; i++) {
        const char *v = values->v[i];
        struct ovn_named port = { .missing = true };
        const struct ovn_named *named = &port;

        if (v[0] == '@') {
            named = ovn_find_set(m, v);
        } else if (v[0] == '"') {
            port = ovn_find_port(m, v + 1);
        }
        vague |= named->missing;
        if (named->set) {
            ovn_add(m, set, named->set);
        }
        if (named->routers) {
            ovn_add(m, routers, named->routers);
        }
    }
    if ((out && !to_lport) || vague || relation > OVN_NE) {
        add_vague(m, boxes);
        return;
    }
    box = ovn_add_box(m, boxes);
    box->at_port = near && relation == OVN_EQ;
    box->local = !near;
    *(out ? &box->to : &box->from) = (relation == OVN_EQ ? set
                                      : ovn_without(m, NULL, set));
    if (near && relation == OVN_EQ && !ovn_is_empty(m, routers)) {
        box = ovn_add_box(m, boxes);
        box->at_port = true;
        box->at_router = routers;
    } else if (!near && relation == OVN_EQ) {
        add_from_routers(m, routers, boxes);
    }
}

static void
add_addresses(struct ovn *m, bool ip4, bool destination,
              enum ovn_relation relation, const ovn_names *values,
              ovn_boxes *boxes)
{
    const unsigned long *family = ip4 ? m->ip4 : m->ip6;
    ovn_set set = ovn_empty(m);
    bool vague = relation > OVN_NE;
    struct ovn_box *box;

    for (size_t i = 0; i < values->n; i++) {
        struct address range;

        if (values->v[i][0] == '$') {
            const struct ovn_named *named = ovn_find_set(m, values->v[i]);

            vague |= named->missing;
            ovn_add(m, set, named->set);
        } else if (ovn_parse_prefix(values->v[i], &range)) {
            ovn_add(m, set, ovn_within(m, &range));
        } else {
            vague = true;
        }
    }
    box = ovn_add_box(m, boxes);
    box->vague = vague;
    box->from = box->to = ovn_and(m, family, NULL);
    if (!vague) {
        *(destination ? &box->to : &box->from)
            = (relation == OVN_EQ ? ovn_and(m, set, family)
               : ovn_without(m, family, set));
    }
}

/* Adds the ports that a relation to 'n' leaves, or of OVN_NE those that it
 * takes. */
static void
add_related(struct ovn *m, enum ovn_relation relation, int n,
            port_ranges *ranges)
{
    bool below = relation == OVN_LT || relation == OVN_LE;
    bool above = relation == OVN_GT || relation == OVN_GE;

    ranges_add(m->arena, ranges, below ? 0 : n + (relation == OVN_GT),
               above ? UINT16_MAX : n - (relation == OVN_LT));
}

/* The ports that are none of them. */
static port_ranges
others_than(struct ovn *m, const port_ranges *ranges)
{
    port_ranges out = VEC_INIT;
    int next = 0;

    for (size_t i = 0; i < ranges->n; i++) {
        ranges_add(m->arena, &out, next, ranges->v[i].first - 1);
        next = ranges->v[i].last + 1;
    }
    ranges_add(m->arena, &out, next, UINT16_MAX);
    return out;
}

static void
add_port_numbers(struct ovn *m, uint8_t protocol, bool destination,
                 enum ovn_relation relation, const ovn_names *values,
                 ovn_boxes *boxes)
{
    struct ovn_service all = ovn_ports(m, protocol, 0, UINT16_MAX);
    struct ovn_service some;
    port_ranges ranges = VEC_INIT;
    struct ovn_box *box;

    for (size_t i = 0; i < values->n; i++) {
        int n = parse_number(values->v[i]);

        if (n < 0) {
            add_vague(m, boxes);
            return;
        }
        add_related(m, relation, n, &ranges);
    }
    ranges = ranges_join(m->arena, &ranges);
    if (relation == OVN_NE) {
        ranges = others_than(m, &ranges);
    }
    some = ovn_of_ranges(m, protocol, &ranges);
    if (!ovn_service_is_empty(&some)) {
        box = ovn_add_box(m, boxes);
        box->dst = destination ? some : all;
        box->src = destination ? all : some;
    }
}

static void
add_protocols(struct ovn *m, enum ovn_relation relation,
              const ovn_names *values, ovn_boxes *boxes)
{
    for (size_t i = 0; i < values->n; i++) {
        int n = parse_number(values->v[i]);
        struct ovn_box *box;

        if (relation == OVN_EQ && (n == 0 || n == IPPROTO_IGMP)) {
            ovn_add_box(m, boxes)->forbidden = true;
            continue;
        } else if (relation != OVN_EQ || n < 0 || n > UINT8_MAX) {
            add_vague(m, boxes);
            return;
        }
        box = ovn_add_box(m, boxes);
        box->dst = ovn_ports(m, n, 0, UINT16_MAX);
        box->src = box->dst;
        if (ovn_service_is_empty(&box->dst)) {
            box->dst = box->src = ovn_any;
            box->vague = true;
        }
    }
}

/* Types of ICMP that no intent lets pass: redirects, and what routers and
 * listeners to groups say. */
static void
add_icmp_types(struct ovn *m, bool ip4, enum ovn_relation relation,
               const ovn_names *values, ovn_boxes *boxes)
{
    struct ovn_box *box = ovn_add_box(m, boxes);

    box->from = box->to = ovn_and(m, ip4 ? m->ip4 : m->ip6, NULL);
    box->dst = box->src = ovn_ports(m, IPPROTO_ICMP, 0, 0);
    box->forbidden = relation == OVN_EQ
                     && are_all(values, ip4 ? "5 9 10"
                                : "130 131 132 133 134 137 143");
    box->vague = !box->forbidden;
}

static void
add_protocol(struct ovn *m, const char *name, ovn_boxes *boxes)
{
    struct ovn_box *box = ovn_add_box(m, boxes);

    if (!strcmp(name, "icmp4") || !strcmp(name, "icmp6")) {
        box->from = box->to = ovn_and(m, name[4] == '4' ? m->ip4 : m->ip6,
                                      NULL);
    }
    box->dst = box->src = ovn_ports(m, !strcmp(name, "tcp") ? IPPROTO_TCP
                                    : !strcmp(name, "udp") ? IPPROTO_UDP
                                    : !strcmp(name, "sctp") ? IPPROTO_SCTP
                                    : IPPROTO_ICMP, 0, UINT16_MAX);
}

static void
add_ether_type(struct ovn *m, enum ovn_relation relation,
               const ovn_names *values, ovn_boxes *boxes)
{
    if (relation == OVN_EQ && are_all(values, "0x800 0x0800")) {
        ovn_predicate(m, "ip4", false, boxes);
    } else if (relation == OVN_EQ && are_all(values, "0x86dd")) {
        ovn_predicate(m, "ip6", false, boxes);
    } else if (relation != OVN_EQ || !are_all(values, "0x806 0x0806")) {
        add_vague(m, boxes);
    }
}

void
ovn_field(struct ovn *m, const char *field, enum ovn_relation relation,
          const ovn_names *values, bool to_lport, ovn_boxes *boxes)
{
    if (!strcmp(field, "inport") || !strcmp(field, "outport")) {
        add_ports(m, field[0] == 'o', relation, values, to_lport, boxes);
    } else if (!strcmp(field, "ip4.src") || !strcmp(field, "ip4.dst")
               || !strcmp(field, "ip6.src") || !strcmp(field, "ip6.dst")) {
        add_addresses(m, field[2] == '4', field[4] == 'd', relation, values,
                      boxes);
    } else if (!strcmp(field, "tcp.src") || !strcmp(field, "tcp.dst")) {
        add_port_numbers(m, IPPROTO_TCP, field[4] == 'd', relation, values,
                         boxes);
    } else if (!strcmp(field, "udp.src") || !strcmp(field, "udp.dst")) {
        add_port_numbers(m, IPPROTO_UDP, field[4] == 'd', relation, values,
                         boxes);
    } else if (!strcmp(field, "sctp.src") || !strcmp(field, "sctp.dst")) {
        add_protocol(m, "sctp", boxes);         /* Of which no service has */
        boxes->v[boxes->n - 1].vague = true;    /* a part of the ports. */
    } else if (!strcmp(field, "ip.proto")) {
        add_protocols(m, relation, values, boxes);
    } else if (!strcmp(field, "icmp4.type") || !strcmp(field, "icmp6.type")) {
        add_icmp_types(m, field[4] == '4', relation, values, boxes);
    } else if (!strcmp(field, "eth.type")) {
        add_ether_type(m, relation, values, boxes);
    } else if (strcmp(field, "arp.op")) {       /* That is no IP. */
        add_vague(m, boxes);
    }
}

static void
add_family(struct ovn *m, bool ip4, ovn_boxes *boxes)
{
    struct ovn_box *box = ovn_add_box(m, boxes);

    box->from = box->to = ovn_and(m, ip4 ? m->ip4 : m->ip6, NULL);
}

void
ovn_predicate(struct ovn *m, const char *name, bool negated, ovn_boxes *boxes)
{
    static const char no_ip[]
        = "arp rarp nd nd_ns nd_na nd_rs nd_ra eth.bcast eth.mcast ip4.mcast "
          "ip6.mcast mldv1 mldv2 igmp";
    ovn_names names = VEC_INIT;

    *vec_push(m->arena, &names) = name;
    if (!strcmp(name, "ip")) {
        if (!negated) {
            ovn_add_box(m, boxes);
        }
    } else if (are_all(&names, no_ip)) {
        if (negated) {
            ovn_add_box(m, boxes);
        }
    } else if (!strcmp(name, "ip4") || !strcmp(name, "ip6")) {
        add_family(m, (name[2] == '4') != negated, boxes);
    } else if (are_all(&names, "tcp udp sctp icmp icmp4 icmp6") && !negated) {
        add_protocol(m, name, boxes);
    } else if (!strcmp(name, "ip.is_frag") && !negated) {
        ovn_add_box(m, boxes)->fragment = true;
    } else if (!strcmp(name, "ct.rpl")) {
        struct ovn_box *box = ovn_add_box(m, boxes);

        box->reply = !negated;
        box->forward = negated;
    } else if (!strcmp(name, "ct.est") && !negated) {
        ovn_add_box(m, boxes)->established = true;
    } else {
        add_vague(m, boxes);
    }
}
