/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-policy.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "util.h"

/* What rules say, as POLICY is to say it. */

VEC_TYPEDEF(dd_vec, dd_t);

static dd_t
join_all(struct policy_space *s, dd_vec *sets)
{
    return sets->n ? dd_over_all(s->dd, sets->v, sets->n) : DD_NONE;
}

/* What a side of a rule has of a group. */
struct member {
    uint32_t side;
    bool many, here;            /* As in side_of_policy. */
    const struct policy_endpoint *endpoint;     /* One of them. */
};
VEC_TYPEDEF(member_vec, struct member);

static int
compare_members(const void *a_, const void *b_)
{
    const struct member *a = a_, *b = b_;

    return a->side < b->side ? -1 : a->side > b->side;
}

/* Puts those of one group together, which are side by side. */
static void
merge_members(member_vec *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++) {
        struct member *last = n ? &v->v[n - 1] : NULL;

        if (last && last->side == v->v[i].side) {
            last->many = true;
            last->here |= v->v[i].here;
        } else {
            v->v[n++] = v->v[i];
        }
    }
    v->n = n;
}

static void
add_parts(struct policy_space *s, const range_vec *ranges, member_vec *v)
{
    for (size_t i = s->n_own; i < s->sides.n; i++) {
        const struct side_of_policy *side = &s->sides.v[i];

        for (size_t k = 0; k < ranges->n; k++) {
            if (ranges->v[k].external == side->external
                && (!ranges->v[k].cidr
                    || range_holds(ranges->v[k].cidr, &side->prefix))) {
                *vec_push(s->arena, v) = (struct member) {
                    i, false, false, NULL,
                };
            }
        }
    }
}

/* Those of endpoints, and of externals if 'ranges' is not NULL. */
static member_vec
members_of(struct policy_space *s, const endpoint_vec *endpoints,
           const range_vec *ranges)
{
    member_vec v = VEC_INIT;

    for (size_t i = 0; i < endpoints->n; i++) {
        const struct policy_endpoint *e = endpoints->v[i];
        uint32_t side = s->of_endpoints[e->index];

        if (side) {
            *vec_push(s->arena, &v) = (struct member) {
                side - 1, false, endpoint_is_at(s->contract, e), e,
            };
        }
    }
    if (ranges) {
        add_parts(s, ranges, &v);
    }
    if (v.n) {
        qsort(v.v, v.n, sizeof *v.v, compare_members);
    }
    merge_members(&v);
    return v;
}

/* The groups, or those of which one is here. */
static dd_t
are_of(struct policy_space *s, enum policy_digit digit, const member_vec *v,
       bool every, bool here)
{
    dd_vec runs = VEC_INIT;

    if (every && s->n_own) {
        *vec_push(s->arena, &runs)
            = (here ? s->here[digit == P_TO]
               : policy_sides(s, digit, 0, s->n_own));
    }
    for (size_t i = 0, n; i < v->n; i += MAX(n, 1)) {
        for (n = 0; i + n < v->n && (!here || v->v[i + n].here)
             && v->v[i + n].side == v->v[i].side + n; n++) {
            continue;
        }
        if (n) {
            *vec_push(s->arena, &runs)
                = policy_sides(s, digit, v->v[i].side, v->v[i].side + n);
        }
    }
    return join_all(s, &runs);
}

dd_t
policy_within(struct policy_space *s, uint32_t side)
{
    return dd_and(s->dd, policy_sides(s, P_FROM, side, side + 1),
                  policy_sides(s, P_TO, side, side + 1));
}

/* What is between two of which one is here, and not the same. */
static dd_t
are_joined(struct policy_space *s, const member_vec *from, bool from_every,
           const member_vec *to, bool to_every)
{
    struct dd *dd = s->dd;
    dd_t set = dd_or(dd, dd_and(dd, are_of(s, P_FROM, from, from_every, true),
                                are_of(s, P_TO, to, to_every, false)),
                     dd_and(dd, are_of(s, P_FROM, from, from_every, false),
                            are_of(s, P_TO, to, to_every, true)));

    for (size_t i = 0, k = 0; i < from->n && k < to->n; ) {
        const struct member *a = &from->v[i], *b = &to->v[k];

        if (a->side == b->side && !a->many && !b->many && !from_every
            && !to_every && (a->endpoint == b->endpoint
                             || (!a->here && !b->here))) {
            set = dd_and(dd, set, dd_not(dd, policy_within(s, a->side)));
        }
        i += a->side <= b->side;
        k += a->side >= b->side;
    }
    return set;
}

static dd_t
is_kind(struct policy_space *s, enum policy_service_kind kind)
{
    return dd_range(s->dd, P_KIND, kind, kind);
}

/* ICMP is IPv4's alone, and ICMPv6 IPv6's. */
static dd_t
is_protocol(struct policy_space *s, uint8_t protocol,
            enum policy_digit digit, enum policy_digit ip6)
{
    dd_t set = dd_range(s->dd, digit, protocol, protocol);

    return (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6
            ? dd_and(s->dd, set, dd_range(s->dd, ip6,
                                          protocol == IPPROTO_ICMPV6,
                                          protocol == IPPROTO_ICMPV6))
            : set);
}

static dd_t
is_match(struct policy_space *s, const struct service_match *m,
         enum policy_digit protocol, enum policy_digit ip6,
         enum policy_digit port)
{
    dd_t set = is_protocol(s, m->protocol, protocol, ip6);

    return (m->ports.last
            ? dd_and(s->dd, set, dd_range(s->dd, port, m->ports.first,
                                          m->ports.last)) : set);
}

static dd_t
is_service(struct policy_space *s, const struct policy_service *service,
           enum policy_digit protocol, enum policy_digit ip6,
           enum policy_digit port)
{
    dd_vec sets = VEC_INIT;

    for (size_t i = 0; service && i < service->matches.n; i++) {
        *vec_push(s->arena, &sets)
            = is_match(s, &service->matches.v[i], protocol, ip6, port);
    }
    return service ? join_all(s, &sets) : DD_ALL;
}

/* The ports of symmetric services that are in 'service', too. */
static dd_t
is_symmetric_port(struct policy_space *s,
                  const struct policy_service *service)
{
    const struct policy *policy = s->contract->task->policy;
    dd_vec sets = VEC_INIT;

    if (!service) {
        return DD_ALL;
    }
    for (size_t i = 0; i < policy->services.n; i++) {
        if (policy->services.v[i]->symmetric) {
            *vec_push(s->arena, &sets)
                = is_service(s, policy->services.v[i], P_SERVICE_PROTO,
                             P_SERVICE_IP6, P_SERVICE_PORT);
        }
    }
    return dd_and(s->dd, join_all(s, &sets),
                  is_service(s, service, P_SERVICE_PROTO, P_SERVICE_IP6,
                             P_SERVICE_PORT));
}

static unsigned int
weakness(const struct policy_rule *rule, bool after)
{
    return ((2 * rule_kind_rank(rule->kind) + after) * (MAX_DEPTH + 1)
            + MAX_DEPTH - rule->depth);
}

static uint32_t
class_value(const struct policy_class *class)
{
    return class ? CLASS_VALUE(class->dscp, class->queue) & INT32_MAX : 0;
}

/* 'back': what the rule calls the opener is the receiver. */
static enum payer
payer(const struct policy_rule *rule, bool back)
{
    return (rule->charge == CHARGE_SENDER ? PAYER_SENDER
            : (rule->charge == CHARGE_FROM) != back ? PAYER_FROM : PAYER_TO);
}

static void
add_decision(struct policy_space *s, const struct policy_rule *rule,
             dd_t set, const struct policy_class *class, bool back,
             bool after)
{
    struct decision *d;

    if (set == DD_NONE) {
        return;
    }
    d = vec_push(s->arena, &s->rules);
    d->weakness = weakness(rule, after);
    d->set = set;
    d->rule = rule;
    d->outcome.allow = !rule_kind_denies(rule->kind);
    if (d->outcome.allow) {
        d->outcome.class = class_value(class);
        d->outcome.payer = payer(rule, back);
    }
}

/* What is not tracked, since a rule says so, is judged by its headers. */
static void
add_untracked(struct policy_space *s, const struct policy_rule *rule,
              dd_t there, dd_t back)
{
    const struct policy_service *service = rule->service;
    dd_t forth, answers;

    if ((!rule->stateless && !rule_kind_denies(rule->kind))
        || (service && service->symmetric)) {
        return;
    }
    forth = dd_and(s->dd, dd_and(s->dd, there, is_kind(
        s, SERVICE_KIND_UNTRACKED)), is_service(s, service, P_PROTO, P_IP6,
                                                P_DST));
    answers = dd_and(s->dd, dd_and(s->dd, back, is_kind(
        s, SERVICE_KIND_UNTRACKED)), is_service(s, service, P_PROTO, P_IP6,
                                                P_SRC));
    add_decision(s, rule, forth, rule->class, false, false);
    add_decision(s, rule, answers, rule->class, true,
                 rule->stateless != NULL);
}

/* What is tracked is also between endpoints and externals. */
static void
add_tracked(struct policy_space *s, const struct policy_rule *rule)
{
    const struct policy_service *service = rule->service;
    member_vec from = members_of(s, &rule->from, &rule->from_ranges);
    member_vec to = members_of(s, &rule->to, &rule->to_ranges);
    struct dd *dd = s->dd;
    dd_t set;

    if (service && service->symmetric) {
        return;
    }
    set = dd_and(dd, are_joined(s, &from, rule->from_every, &to,
                                rule->to_every),
                 is_service(s, service, P_SERVICE_PROTO, P_SERVICE_IP6,
                            P_SERVICE_PORT));
    add_decision(s, rule, dd_and(dd, set, is_kind(s, SERVICE_KIND_OPENER)),
                 rule->class, false, false);
    add_decision(s, rule, dd_and(dd, set, is_kind(s, SERVICE_KIND_REPLY)),
                 rule->reply_class, false, false);
}

static void
add_rule(struct policy_space *s, const struct policy_rule *rule)
{
    member_vec from = members_of(s, &rule->from, NULL);
    member_vec to = members_of(s, &rule->to, NULL);
    struct dd *dd = s->dd;
    dd_t there = are_joined(s, &from, rule->from_every, &to, rule->to_every);
    dd_t back = are_joined(s, &to, rule->to_every, &from, rule->from_every);
    dd_t set = dd_and(dd, is_kind(s, SERVICE_KIND_STATELESS),
                      is_symmetric_port(s, rule->service));

    add_tracked(s, rule);
    add_decision(s, rule, dd_and(dd, there, set), rule->class, false, false);
    add_decision(s, rule, dd_and(dd, back, set), rule->class, true, false);
    add_untracked(s, rule, there, back);
}

/* Widens what the rule speaks of by one of its sides. */
static void
widen(const struct policy_space *s, const endpoint_vec *endpoints,
      const range_vec *ranges, bool every, struct speaking *rule)
{
    for (size_t i = 0; i < endpoints->n; i++) {
        uint32_t side = s->of_endpoints[endpoints->v[i]->index];

        if (side) {
            rule->first = MIN(rule->first, side - 1);
            rule->end = MAX(rule->end, side);
        }
    }
    if (every) {
        rule->first = 0;
    }
    if (every || ranges->n) {
        rule->first = MIN(rule->first, s->n_own);
        rule->end = s->sides.n;
    }
}

void
policy_find_rules(struct policy_space *s)
{
    const struct policy *policy = s->contract->task->policy;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];
        struct speaking *speaking = vec_push(s->contract->arena,
                                             &s->speaking);

        *speaking = (struct speaking) { rule, s->sides.n, 0 };
        widen(s, &rule->from, &rule->from_ranges, rule->from_every, speaking);
        widen(s, &rule->to, &rule->to_ranges, rule->to_every, speaking);
    }
}

void
policy_add_rules(struct policy_space *s)
{
    for (size_t i = 0; i < s->speaking.n; i++) {
        const struct speaking *rule = &s->speaking.v[i];

        if (rule->first < s->end && rule->end > s->first) {
            add_rule(s, rule->rule);
        }
    }
}
