/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "sema/charge.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* RFC 3810 section 5.2. */
enum { MLD2_LISTENER = 143 };

bool
judge_asks(const struct judge *j, dd_t set)
{
    return dd_and(j->space->dd, set, j->within) != DD_NONE;
}

dd_t
expect_leaf(struct judge *j, const struct expect *expect)
{
    return DD_LEAF(pool_add(&j->expects, expect, sizeof *expect) + 2);
}

const struct expect *
expect_get(const struct judge *j, dd_t leaf)
{
    size_t size;

    return pool_get(&j->expects, dd_leaf(leaf) - 2, &size);
}

dd_t
expect_deny(struct judge *j, const struct origin *s, enum reason reason)
{
    struct expect expect;

    memset(&expect, 0, sizeof expect);
    expect.reason = reason;
    expect.from = judge_any_of(s->q.from);
    expect.counted = s->counted;
    expect.zones[0] = s->zone;
    return expect_leaf(j, &expect);
}

/* A set of packets that is asked for again and again. */
struct known_set {
    dd_t (*make)(struct judge *, const struct known_set *);
    const struct policy_service *service;
    enum field a, b;
};

/* In the place of an empty set that is known. */
#define NO_PACKETS DD_LEAF(2)

static dd_t
find_set(struct judge *j, const struct known_set *key)
{
    dd_t set = *memo_find(&j->sets, key, sizeof *key);

    if (set == DD_NONE) {
        set = key->make(j, key);
        *memo_find(&j->sets, key, sizeof *key)
            = set == DD_NONE ? NO_PACKETS : set;
    }
    return set == NO_PACKETS ? DD_NONE : set;
}

bool
seen_is_backward(const struct seen *seen)
{
    return seen->track == TRACK_REPLY || seen->track == TRACK_RELATED;
}

bool
is_here(const struct judge *j, const struct policy_endpoint *e)
{
    struct meaning_question q = { .node = j->node };

    return endpoint_is_here(&q, e);
}

dd_t
is_family(struct judge *j, bool ip6)
{
    return space_is(j->space, F_ETH_TYPE, ip6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
}

dd_t
is_ip(struct judge *j)
{
    return dd_or(j->space->dd, is_family(j, false), is_family(j, true));
}

dd_t
is_mac(struct judge *j, enum field f, struct eth_addr mac)
{
    return space_is(j->space, f, eth_addr_to_uint64(mac));
}

dd_t
is_fragment(struct judge *j)
{
    return space_bits(j->space, F_NW_FRAG, 1, 1);
}

dd_t
is_in_range(struct judge *j, enum field field4, enum field field6,
            const struct in6_addr *ip, int plen)
{
    bool ip4 = IN6_IS_ADDR_V4MAPPED(ip) && plen >= 96;
    u128 mask = plen ? ~(u128) 0 << (128 - plen) : 0;

    return dd_and(j->space->dd, is_family(j, !ip4),
                  space_bits(j->space, ip4 ? field4 : field6,
                             field_from_ip(ip),
                             ip4 ? (uint32_t) mask : mask));
}

dd_t
is_from_range(struct judge *j, const struct in6_addr *ip, int plen)
{
    return is_in_range(j, F_NW_SRC, F_IPV6_SRC, ip, plen);
}

dd_t
is_to_range(struct judge *j, const struct in6_addr *ip, int plen)
{
    return is_in_range(j, F_NW_DST, F_IPV6_DST, ip, plen);
}

/* Packets of which the addresses of a side are the endpoint's. */
static dd_t
find_addresses(struct judge *j, const struct policy_endpoint *e, bool from)
{
    struct {
        const struct policy_endpoint *endpoint;
        uint64_t from;
    } key = { e, from };
    dd_t set = *memo_find(&j->addresses, &key, sizeof key);
    bool known = set != DD_NONE;

    for (size_t i = 0; i < e->intent->addresses.n && !known; i++) {
        const struct in6_addr *ip = &e->intent->addresses.v[i].ip;

        set = dd_or(j->space->dd, set, from ? is_from_range(j, ip, 128)
                    : is_to_range(j, ip, 128));
    }
    return *memo_find(&j->addresses, &key, sizeof key) = set;
}

dd_t
is_from(struct judge *j, const struct policy_endpoint *e)
{
    return find_addresses(j, e, true);
}

dd_t
is_to(struct judge *j, const struct policy_endpoint *e)
{
    return find_addresses(j, e, false);
}

dd_t
is_icmp_type(struct judge *j, bool ip6, uint8_t type)
{
    struct dd *dd = j->space->dd;
    dd_t set = dd_and(dd, is_family(j, ip6), space_is(
        j->space, F_NW_PROTO, ip6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP));

    set = dd_and(dd, set, dd_not(dd, is_fragment(j)));
    return dd_and(dd, set, space_is(j->space, F_TP_SRC, type));
}

static dd_t
make_dhcp_answer(struct judge *j, const struct known_set *key)
{
    static const uint16_t servers[] = { 67, 547 }, clients[] = { 68, 546 };
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE;

    for (int ip6 = 0; ip6 < 2; ip6++) {
        dd_t ports = dd_or(dd, space_is(j->space, key->a, servers[ip6]),
                           space_is(j->space, key->b, clients[ip6]));

        set = dd_or(dd, set, dd_and(dd, is_family(j, ip6), ports));
    }
    return set;
}

dd_t
is_dhcp_answer(struct judge *j, enum field proto, enum field source,
               enum field destination)
{
    struct known_set key = { make_dhcp_answer, NULL, source, destination };

    return dd_and(j->space->dd, find_set(j, &key),
                  space_is(j->space, proto, IPPROTO_UDP));
}

static dd_t
make_forbidden(struct judge *j, const struct known_set *key OVS_UNUSED)
{
    static const uint8_t types6[] = {
        ND_ROUTER_SOLICIT, ND_ROUTER_ADVERT, ND_REDIRECT, MLD_LISTENER_QUERY,
        MLD_LISTENER_REPORT, MLD_LISTENER_REDUCTION, MLD2_LISTENER,
    };
    static const uint8_t types4[] = {
        ICMP_REDIRECT, ICMP_ROUTERADVERT, ICMP_ROUTERSOLICIT,
    };
    struct dd *dd = j->space->dd;
    dd_t set = dd_and(dd, is_dhcp_answer(j, F_NW_PROTO, F_TP_SRC, F_TP_DST),
                      dd_not(dd, is_fragment(j)));

    for (size_t i = 0; i < ARRAY_SIZE(types6); i++) {
        set = dd_or(dd, set, is_icmp_type(j, true, types6[i]));
    }
    for (size_t i = 0; i < ARRAY_SIZE(types4); i++) {
        set = dd_or(dd, set, is_icmp_type(j, false, types4[i]));
    }
    set = dd_or(dd, set, dd_and(dd, is_family(j, false), space_is(
        j->space, F_NW_PROTO, IPPROTO_IGMP)));
    return dd_or(dd, set, dd_and(dd, is_ip(j), space_is(j->space, F_NW_PROTO,
                                                        0)));
}

dd_t
is_forbidden(struct judge *j)
{
    struct known_set key = { make_forbidden, NULL, N_FIELDS, N_FIELDS };

    return find_set(j, &key);
}

dd_t
is_icmp(struct judge *j)
{
    return dd_or(j->space->dd, space_is(j->space, F_NW_PROTO, IPPROTO_ICMP),
                 space_is(j->space, F_NW_PROTO, IPPROTO_ICMPV6));
}

/* Whole packets of which judge_opened() would say something else if it took
 * them for fragments, but for those that go past connection tracking. */
static dd_t
make_unlike_fragments(struct judge *j, const struct known_set *key OVS_UNUSED)
{
    struct dd *dd = j->space->dd;
    dd_t answers = is_dhcp_answer(j, F_NW_PROTO, F_TP_SRC, F_TP_DST);
    dd_t icmp = dd_and(dd, is_icmp(j),
                       is_for_symmetric(j, F_NW_PROTO, F_OPEN_SRC));
    dd_t set = dd_and(dd, dd_or(dd, answers, icmp),
                      dd_not(dd, is_fragment(j)));

    return dd_and(dd, set, dd_not(dd, is_forbidden(j)));
}

/* With any opener, judge_opened() takes all packets for fragments.  That makes
 * no difference for what is forbidden anyhow; of what is not, it is not known
 * what is meant.  There is none as long as all symmetric services are of UDP:
 * this is for the day that one is of ICMP, or that fewer answers are
 * forbidden. */
dd_t
expect_forbidden(struct judge *j, const struct origin *s, dd_t others)
{
    struct known_set key = { make_unlike_fragments, NULL, N_FIELDS,
                             N_FIELDS };
    struct dd *dd = j->space->dd;
    struct expect unknown;

    memset(&unknown, 0, sizeof unknown);
    unknown.unknown = true;
    if (j->any_opener) {
        others = dd_choose(dd, find_set(j, &key), expect_leaf(j, &unknown),
                           others);
    }
    return dd_choose(dd, is_forbidden(j),
                     expect_deny(j, s, REASON_FORBIDDEN_REPLY), others);
}

static dd_t
make_neighbor_message(struct judge *j, const struct known_set *key OVS_UNUSED)
{
    struct dd *dd = j->space->dd;

    return dd_or(dd, space_is(j->space, F_ETH_TYPE, ETH_TYPE_ARP),
                 dd_or(dd, is_icmp_type(j, true, ND_NEIGHBOR_SOLICIT),
                       is_icmp_type(j, true, ND_NEIGHBOR_ADVERT)));
}

dd_t
is_neighbor_message(struct judge *j)
{
    struct known_set key = { make_neighbor_message, NULL, N_FIELDS,
                             N_FIELDS };

    return find_set(j, &key);
}

static dd_t
make_service(struct judge *j, const struct known_set *key)
{
    const struct policy_service *service = key->service;
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < service->matches.n; i++) {
        const struct service_match *m = &service->matches.v[i];
        dd_t part = space_is(j->space, key->a, m->protocol);

        if (m->protocol == IPPROTO_ICMP || m->protocol == IPPROTO_ICMPV6) {
            part = dd_and(dd, part, is_family(j, m->protocol
                                              == IPPROTO_ICMPV6));
        }
        if (m->ports.last) {
            part = dd_and(dd, part, space_range(j->space, key->b,
                                                m->ports.first,
                                                m->ports.last));
        }
        set = dd_or(dd, set, part);
    }
    return set;
}

dd_t
is_of_service(struct judge *j, const struct policy_service *service,
              enum field proto, enum field port)
{
    struct known_set key = { make_service, service, proto, port };

    return find_set(j, &key);
}

static dd_t
make_symmetric(struct judge *j, const struct known_set *key)
{
    dd_t set = DD_NONE;

    for (size_t i = 0; i < j->policy->services.n; i++) {
        if (j->policy->services.v[i]->symmetric) {
            set = dd_or(j->space->dd, set, is_of_service(
                j, j->policy->services.v[i], key->a, key->b));
        }
    }
    return set;
}

dd_t
is_for_symmetric(struct judge *j, enum field proto, enum field port)
{
    struct known_set key = { make_symmetric, NULL, proto, port };

    return find_set(j, &key);
}

/* In the place of a shape that is not there. */
#define NO_SHAPE DD_ALL

/* The shape of these packets and of all others, once for all that have the
 * same. */
static dd_t
find_shape(struct judge *j, const dd_t packets[], size_t n)
{
    size_t size = n * sizeof *packets;
    dd_t shape = *memo_find(&j->shapes, packets, size);

    if (shape == DD_NONE) {
        struct dd *dd = j->space->dd;
        dd_t *sets = xmalloc((n + 1) * sizeof *sets);

        memcpy(sets, packets, size);
        sets[n] = dd_not(dd, dd_over_all(dd, sets, n));
        memcpy(sets, packets, size);
        shape = dd_shape(dd, sets, n + 1);
        shape = shape == DD_NONE ? NO_SHAPE : shape;
        *memo_find(&j->shapes, packets, size) = shape;
        free(sets);
    }
    return shape;
}

dd_t
expect_each(struct judge *j, const dd_t packets[], const dd_t parts[],
            size_t n)
{
    struct dd *dd = j->space->dd;
    dd_t shape = n ? find_shape(j, packets, n) : NO_SHAPE, result;
    int deepest = shape == NO_SHAPE ? 0 : dd_deepest(dd, shape);
    dd_t *v;

    for (size_t i = 0; i < n; i++) {
        if (shape == NO_SHAPE || dd_first(dd, parts[i]) <= deepest) {
            return DD_NONE;
        }
    }
    v = xmalloc((n + 1) * sizeof *v);
    memcpy(v, parts, n * sizeof *v);
    v[n] = DD_NONE;
    result = n ? dd_fill(dd, shape, v) : DD_NONE;
    free(v);
    return result;
}

void
expect_payer(const struct judge *j, struct expect *e)
{
    size_t n;
    const struct policy_rule *const *rules = expect_rules(j, e->rules, &n);

    if (e->allow && e->from && e->to && n) {
        e->payer = rule_payer(rules[0], e->from, e->to);
        e->charged = e->charged && e->payer ? e->payer : e->charged;
    }
}
