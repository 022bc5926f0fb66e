/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "sema/meaning-endpoint.h"
#include "sema/meaning-meters.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

enum { OP_STRONGER = DD_OP_USER + 16, OP_AGREE, OP_ADD_COPY };

/* Leaves of is_agreed(). */
#define AGREED_NEW DD_LEAF(1)
#define AGREED_KNOWN DD_LEAF(2)

const struct policy_rule *const *
expect_rules(const struct judge *j, uint32_t rules, size_t *n)
{
    size_t size = 0;
    const void *v = rules ? pool_get(&j->rules, rules - 1, &size) : NULL;

    *n = size / sizeof(struct policy_rule *);
    return v;
}

/* The rules of both, which are of one rank. */
static uint32_t
join_rules(struct judge *j, uint32_t a, uint32_t b)
{
    size_t n_a, n_b, n;
    const struct policy_rule *const *x = expect_rules(j, a, &n_a);
    const struct policy_rule *const *y = expect_rules(j, b, &n_b);
    const struct policy_rule **both;
    uint32_t joined;

    if (!a || !b) {
        return a | b;
    }
    both = xmalloc((n_a + n_b) * sizeof *both);
    memcpy(both, x, n_a * sizeof *both);
    n = n_a;
    for (size_t i = 0; i < n_b; i++) {
        both[n++] = y[i];
    }
    joined = pool_add(&j->rules, both, n * sizeof *both) + 1;
    free(both);
    return joined;
}

/* Of two expectations about one packet: the stronger rule decides. */
static dd_t
leaf_stronger(void *judge, dd_t a, dd_t b)
{
    struct judge *j = judge;
    const struct expect *x, *y;
    struct expect both;

    x = expect_get(j, a);
    y = expect_get(j, b);
    if (x->rank != y->rank) {
        return x->rank < y->rank ? a : b;
    }
    both = *x;
    both.rules = join_rules(j, x->rules, y->rules);
    return expect_leaf(j, &both);
}

/* Of an expectation, and whether the second zone agrees. */
static dd_t
leaf_agree(void *judge, dd_t a, dd_t b)
{
    struct judge *j = judge;
    struct expect expect = *expect_get(j, a);

    if (!expect.conditional) {
        return a;
    }
    expect.conditional = false;
    expect.commit[1] = b == AGREED_NEW;
    if (b == DD_NONE) {
        expect.allow = expect.rules = 0;
        expect.reason = REASON_CT_INVALID;
    }
    return expect_leaf(j, &expect);
}

void
judge_init(struct judge *j, struct judge_facts *facts, struct space *space,
           const uint32_t marks[], struct arena *arena)
{
    memset(j, 0, sizeof *j);
    j->facts = facts;
    j->policy = facts->policy;
    j->node = facts->node;
    j->space = space;
    j->arena = arena;
    j->marks = marks;
    j->within = DD_ALL;
    pool_init(&j->expects);
    pool_init(&j->rules);
    pool_init(&j->copies);
    pool_init(&j->bases);
    j->stronger = (struct dd_op) {
        leaf_stronger, NULL, j, false, true, OP_STRONGER,
    };
    j->agree = (struct dd_op) {
        leaf_agree, NULL, j, false, false, OP_AGREE,
    };
    j->add_copy = (struct dd_op) {
        expect_add_copy, NULL, j, true, false, OP_ADD_COPY,
    };
    memo_init(&j->verdicts);
    memo_init(&j->connections);
    memo_init(&j->between);
    memo_init(&j->passed);
    memo_init(&j->answers);
    memo_init(&j->sets);
    memo_init(&j->shapes);
    memo_init(&j->addresses);
    memo_init(&j->sent);
    memo_init(&j->settled);
}

void
judge_destroy(struct judge *j)
{
    pool_destroy(&j->expects);
    pool_destroy(&j->rules);
    pool_destroy(&j->copies);
    pool_destroy(&j->bases);
    memo_destroy(&j->verdicts);
    memo_destroy(&j->connections);
    memo_destroy(&j->between);
    memo_destroy(&j->passed);
    memo_destroy(&j->answers);
    memo_destroy(&j->sets);
    memo_destroy(&j->shapes);
    memo_destroy(&j->addresses);
    memo_destroy(&j->sent);
    memo_destroy(&j->settled);
}

static dd_t
is_on_side(struct judge *j, const struct end *end,
           const endpoint_vec *endpoints, const range_vec *ranges)
{
    dd_t set = DD_NONE;

    if (end->endpoint) {
        return endpoint_is_in(end->endpoint, endpoints) ? DD_ALL : DD_NONE;
    }
    for (size_t i = 0; i < ranges->n; i++) {
        const struct policy_range *range = &ranges->v[i];

        if (range->external == end->external) {
            set = dd_or(j->space->dd, set, !range->cidr ? DD_ALL
                        : is_in_range(j, end->field4, end->field6,
                                      &range->cidr->ip, range->cidr->plen));
        }
    }
    return set;
}

dd_t
rule_joins(struct judge *j, const struct policy_rule *rule,
           const struct end *from, const struct end *to)
{
    if (from->endpoint == to->endpoint) {
        return DD_NONE;
    }
    return dd_and(j->space->dd,
                  is_on_side(j, from, &rule->from, &rule->from_ranges),
                  is_on_side(j, to, &rule->to, &rule->to_ranges));
}

/* The packets from sender to receiver that the rule speaks about. */
static dd_t
rule_speaks(struct judge *j, const struct policy_rule *rule,
            const struct seen *seen, const struct end *sender,
            const struct end *receiver)
{
    const struct policy_service *service = rule->service;
    struct dd *dd = j->space->dd;
    dd_t set;

    if (seen->stateless) {
        set = (sender->endpoint && receiver->endpoint
               ? dd_or(dd, rule_joins(j, rule, sender, receiver),
                       rule_joins(j, rule, receiver, sender)) : DD_NONE);
    } else if (service && service->symmetric) {
        return DD_NONE;
    } else {
        set = (seen_is_backward(seen) ? rule_joins(j, rule, receiver, sender)
               : rule_joins(j, rule, sender, receiver));
    }
    return (service && set != DD_NONE
            ? dd_and(dd, set, is_of_service(j, service, seen->proto,
                                            seen->port)) : set);
}

/* What a rule decides that allows by 'class', of packets that may keep their
 * DSCP. */
static dd_t
verdict_kept(struct judge *j, const struct expect *verdict,
             const struct policy_class *class)
{
    struct expect kept = *verdict;

    kept.kept = class;
    kept.dscp = class->dscp_in->dscp;
    kept.queue = class->dscp_in->queue;
    return dd_choose(j->space->dd, space_is(j->space, F_IP_DSCP, kept.dscp),
                     expect_leaf(j, &kept), expect_leaf(j, verdict));
}

dd_t
verdict_of_class(struct judge *j, const struct policy_rule *rule,
                 const struct policy_class *class, const struct seen *seen,
                 const struct policy_tenant *zone, const struct end *sender,
                 bool after)
{
    struct expect verdict;

    memset(&verdict, 0, sizeof verdict);
    verdict.open = true;
    verdict.asked = seen->asked;
    verdict.zones[0] = zone;
    verdict.commit[0] = seen->track == TRACK_NEW;
    if (!rule) {
        verdict.rank = UINT16_MAX;
        verdict.reason = REASON_DEFAULT;
    } else {
        verdict.rank = ((2 * rule_kind_rank(rule->kind) + after)
                        * (MAX_DEPTH + 1)
                        + MAX_DEPTH - rule->depth);
        verdict.rules = pool_add(&j->rules, &rule, sizeof rule) + 1;
        verdict.allow = !rule_kind_denies(rule->kind);
        verdict.dscp = class && verdict.allow ? class->dscp : 0;
        verdict.queue = class && verdict.allow ? class->queue : 0;
    }
    return (verdict.allow && sender->endpoint && class && class->dscp_in
            ? verdict_kept(j, &verdict, class) : expect_leaf(j, &verdict));
}

dd_t
verdict_by(struct judge *j, const struct policy_rule *rule,
           const struct seen *seen, const struct policy_tenant *zone,
           const struct end *sender, bool after)
{
    bool back = seen_is_backward(seen) && !seen->stateless;

    return verdict_of_class(j, rule, rule ? expect_class(
        rule, back ? JUDGE_BACKWARD : JUDGE_FORWARD) : NULL, seen, zone,
                            sender, after);
}

/* The packets that the second zone lets pass, as the first. */
static dd_t
is_agreed(struct judge *j, const struct policy_tenant *tenant, bool backward)
{
    struct space *space = j->space;
    struct dd *dd = space->dd;
    dd_t owned = space_is(space, F_MARK2, j->marks[judge_tenant(j, tenant)]);
    dd_t known;

    if (backward) {
        known = dd_or(dd, space_is(space, F_CONN2, TRACK_REPLY),
                      space_is(space, F_CONN2, TRACK_RELATED));
        return dd_cut(dd, dd_and(dd, known, owned), AGREED_KNOWN);
    }
    known = dd_and(dd, space_is(space, F_CONN2, TRACK_FORWARD), owned);
    return dd_over(dd, dd_cut(dd, known, AGREED_KNOWN),
                   dd_cut(dd, space_is(space, F_CONN2, TRACK_NEW),
                          AGREED_NEW));
}

/* The rules that could speak of packets between the two; to be freed. */
static const struct policy_rule **
find_rules(const struct judge *j, const struct end *sender,
           const struct end *receiver, size_t *n)
{
    const struct policy_tenant *tenant
        = (sender->endpoint ? sender->endpoint : receiver->endpoint)->tenant;
    const rule_vec *all = &j->facts->of_tenants[judge_tenant(j, tenant)];
    const struct policy_rule **rules = xmalloc((all->n + 1) * sizeof *rules);

    *n = all->n;
    if (sender->endpoint && receiver->endpoint) {
        *n = judge_joining(j, sender->endpoint, receiver->endpoint, rules);
    } else if (all->n) {
        memcpy(rules, all->v, all->n * sizeof *rules);
    }
    return rules;
}

/* Question 8. */
static dd_t
make_verdict(struct judge *j, const struct seen *seen,
             const struct policy_tenant *zone, const struct end *sender,
             const struct end *receiver)
{
    struct dd *dd = j->space->dd;
    const struct policy_rule **rules;
    dd_t result = DD_NONE;
    size_t n;

    if (j->outcomes) {
        return find_any_verdict(j, seen, zone, sender, receiver);
    } else if (seen->passed) {
        return find_untracked(j, zone, sender, receiver);
    }
    rules = find_rules(j, sender, receiver, &n);
    for (size_t i = 0; i < n; i++) {
        dd_t set = rule_speaks(j, rules[i], seen, sender, receiver);

        if (judge_asks(j, set)) {
            result = dd_apply(dd, &j->stronger, result, dd_cut(
                dd, set, verdict_by(j, rules[i], seen, zone, sender, false)));
        }
    }
    free(rules);
    return dd_over(dd, result, verdict_by(j, NULL, seen, zone, sender,
                                          false));
}

/* Between endpoints, once for all that rules treat alike. */
dd_t
find_verdict(struct judge *j, const struct seen *seen,
             const struct policy_tenant *zone, const struct end *sender,
             const struct end *receiver)
{
    struct verdict_key key;
    dd_t *known;

    if (!sender->endpoint || !receiver->endpoint
        || sender->endpoint == receiver->endpoint) {
        return make_verdict(j, seen, zone, sender, receiver);
    }
    memset(&key, 0, sizeof key);
    key.from = judge_alike(j, sender->endpoint);
    key.to = judge_alike(j, receiver->endpoint);
    key.tenant = sender->endpoint->tenant;
    key.zone = zone;
    key.track = seen->track;
    key.stateless = seen->stateless + seen->passed;
    key.proto = seen->proto;
    key.port = seen->port;
    key.asked = seen->asked;
    known = memo_find(&j->verdicts, &key, sizeof key);
    if (*known == DD_NONE) {
        *known = make_verdict(j, seen, zone, sender, receiver);
    }
    return *known;
}

static dd_t
expect_strongest(struct judge *j, const struct seen *seen,
                 const struct expect *base, const struct end *sender,
                 const struct end *receiver)
{
    dd_t verdict = find_verdict(j, seen, base->zones[0], sender,
                                receiver);

    if (j->unbound) {
        return verdict;
    }
    return (j->by_port || base->conditional
            ? expect_base_each(j, verdict, expect_base_number(j, base))
            : dd_bind(j->space->dd, verdict, expect_base_number(j, base)));
}

/* Each copy has a verdict of its own. */
dd_t
expect_between(struct judge *j, const struct seen *seen,
               const struct expect *base)
{
    struct end sender = { base->from, NULL, F_NW_SRC, F_IPV6_SRC };
    struct end receiver = { base->to, NULL, F_NW_DST, F_IPV6_DST };

    return expect_base_each(j, find_verdict(j, seen, base->zones[0], &sender,
                                            &receiver),
                            expect_base_number(j, base));
}

dd_t
expect_rule(struct judge *j, const struct origin *s, const struct seen *seen,
            const struct policy_endpoint *to,
            const struct policy_attachment *out, bool routed)
{
    struct expect base = expect_base(j, s, seen, to, out, routed);
    bool error = seen->track == TRACK_RELATED;
    struct end sender = { s->q.from, NULL, error ? F_OUTSIDE : F_NW_SRC,
                          error ? F_OUTSIDE6 : F_IPV6_SRC };
    struct end receiver = { to, out ? out->external : NULL, F_NW_DST,
                            F_IPV6_DST };
    dd_t result;

    sender.external = s->q.external ? s->q.external->external : NULL;
    result = expect_strongest(j, seen, &base, &sender, &receiver);
    return (base.conditional
            ? dd_apply(j->space->dd, &j->agree, result, is_agreed(
                j, to->tenant, seen_is_backward(seen))) : result);
}
