/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "packets.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* The fields that hold an address of an external. */
struct place {
    struct judge *judge;
    enum field field4, field6;
};

static dd_t
is_in(const struct place *p, const struct address *range)
{
    return is_in_range(p->judge, p->field4, p->field6, &range->ip,
                       range->plen);
}

static dd_t
is_in_any(const struct place *p, const struct address *ranges, size_t n)
{
    dd_t set = DD_NONE;

    for (size_t i = 0; i < n; i++) {
        set = dd_or(p->judge->space->dd, set, is_in(p, &ranges[i]));
    }
    return set;
}

/* Whose subnets these are, or a node's own address. */
static dd_t
is_inside(const struct place *p, const struct policy_external *e)
{
    const struct policy *policy = p->judge->policy;
    struct dd *dd = p->judge->space->dd;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        struct address tunnel = policy->intent->nodes.v[i].tunnel;

        tunnel.plen = 128;
        set = tunnel.at ? dd_or(dd, set, is_in(p, &tunnel)) : set;
    }
    for (size_t i = 0; i < e->inside.n; i++) {
        set = dd_or(dd, set, is_in(p, e->inside.v[i]));
    }
    return set;
}

/* The addresses of 'e' that it has by a prefix as long as 'plen' or longer,
 * if they are not excepted. */
static dd_t
has_by(const struct place *p, const struct policy_external *e, int plen)
{
    struct dd *dd = p->judge->space->dd;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (e->intent->addresses.v[i].plen >= plen) {
            set = dd_or(dd, set, is_in(p, &e->intent->addresses.v[i]));
        }
    }
    return dd_and(dd, set, dd_not(dd, is_in_any(p, e->intent->excepts.v,
                                                e->intent->excepts.n)));
}

/* IPv6 that is IPv4 is nobody's. */
static dd_t
is_mapped(const struct place *p)
{
    struct judge *j = p->judge;

    return dd_and(j->space->dd, is_family(j, true), space_bits(
        j->space, p->field6, (u128) 0xffff << 32,
        ~(u128) 0 << 32));
}

dd_t
is_external(struct judge *j, const struct policy_external *e,
            enum field field4, enum field field6)
{
    struct place p = { j, field4, field6 };
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE, nobodys;

    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        const struct address *range = &e->intent->addresses.v[i];
        dd_t part = is_in(&p, range);

        for (size_t k = 0; k < j->policy->externals.n; k++) {
            const struct policy_external *other = j->policy->externals.v[k];

            if (other != e) {
                part = dd_and(dd, part, dd_not(dd, has_by(&p, other,
                                                          range->plen)));
            }
        }
        set = dd_or(dd, set, part);
    }
    nobodys = dd_or(dd, is_in_any(&p, unroutable, n_unroutable),
                    is_inside(&p, e));
    nobodys = dd_or(dd, nobodys, is_mapped(&p));
    nobodys = dd_or(dd, nobodys, is_in_any(&p, e->intent->excepts.v,
                                           e->intent->excepts.n));
    return dd_and(dd, set, dd_not(dd, nobodys));
}

/* ARP and neighbor discovery of the router. */
static dd_t
judge_neighbor_message(struct judge *j, const struct origin *s)
{
    const struct policy_attachment *at = s->q.external;
    struct dd *dd = j->space->dd;
    dd_t answers = DD_NONE;

    for (size_t i = 0; i < at->intent->gateways.n; i++) {
        answers = dd_over(dd, answers, expect_answer(
            j, s, at->gateway_mac, true, &at->intent->gateways.v[i].ip));
    }
    answers = dd_over(dd, answers, expect_deny(j, s, REASON_UNANSWERED));
    return dd_choose(dd, is_true_neighbor_request(
                         j, has_macs(j, at->intent->mac), NULL),
                     answers, expect_deny(j, s, REASON_SPOOF));
}

/* The packets for an endpoint that 'at' reaches, by those of each tenant. */
static dd_t
is_received(struct judge *j, const struct policy_attachment *at,
            const struct policy_tenant *tenant)
{
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (is_here(j, e) && e->network->intent->gateways.n) {
            set = dd_or(dd, set, is_to(j, e));
        }
    }
    return dd_and(dd, set, is_mac(j, F_ETH_DST, at->gateway_mac));
}

/* All questions about packets that count for 'tenant'; NULL: nobody gets
 * them. */
static dd_t
judge_for(struct judge *j, const struct policy_attachment *at,
          const struct policy_tenant *tenant)
{
    struct origin s = {
        .q = { .node = j->node, .external = at }, .zone = tenant,
        .counted = (tenant && tenant->intent->packet_rate.at ? tenant
                    : NULL),
    };
    struct dd *dd = j->space->dd;
    dd_t true_source = dd_and(dd, is_mac(j, F_ETH_SRC, at->intent->mac),
                              is_external(j, at->external, F_NW_SRC,
                                          F_IPV6_SRC));
    dd_t result = (tenant ? expect_connection(j, &s)
                   : expect_deny(j, &s, REASON_UNREACHABLE));

    result = dd_choose(dd, true_source, result,
                       expect_deny(j, &s, REASON_SPOOF));
    result = dd_choose(dd, is_neighbor_message(j),
                       judge_neighbor_message(j, &s), result);
    return expect_forbidden(j, &s, result);
}

dd_t
expect_from_external(struct judge *j, const struct policy_attachment *at)
{
    const tenant_vec *users = &at->external->users;
    struct dd *dd = j->space->dd;
    dd_t result = judge_for(j, at, NULL);
    dd_t tagged = space_bits(j->space, F_VLAN_TCI, VLAN_CFI, VLAN_CFI);

    for (size_t i = 0; i < users->n; i++) {
        result = dd_choose(dd, is_received(j, at, users->v[i]),
                           judge_for(j, at, users->v[i]), result);
    }
    return dd_choose(dd, tagged, expect_from_nobody(j), result);
}
