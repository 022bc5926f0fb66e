/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Rules that are not stateful: what they take past connection tracking, and
 * who decides of it.  Nobody knows whether such a packet goes or comes back,
 * so rules speak of it as both. */

#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

/* The packets of which 'port' is one that the rule is for. */
static dd_t
holds_port(struct judge *j, const struct policy_rule *rule, enum field port)
{
    return (!rule->service ? DD_ALL
            : rule->service->symmetric ? DD_NONE
            : is_of_service(j, rule->service, F_NW_PROTO, port));
}

/* The packets from 'from' for an endpoint of 'side' that so pass, of which
 * 'port' says so. */
static dd_t
pass_to(struct judge *j, const struct origin *s, const endpoint_vec *side,
        dd_t ports)
{
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < side->n && ports != DD_NONE; i++) {
        if (endpoint_is_reached(j->policy, &s->q, side->v[i])) {
            set = dd_or(dd, set, is_to(j, side->v[i]));
        }
    }
    return dd_and(dd, set, ports);
}

static dd_t
find_passing(struct judge *j, const struct origin *s)
{
    const struct policy_endpoint *from = s->q.from;
    const rule_vec *rules = &j->facts->of_tenants[
        judge_tenant(j, from->tenant)];
    struct dd *dd = j->space->dd;
    dd_t set = DD_NONE;

    for (size_t i = 0; i < rules->n; i++) {
        const struct policy_rule *rule = rules->v[i];

        if (rule->stateless && endpoint_is_in(from, &rule->from)) {
            set = dd_or(dd, set, pass_to(j, s, &rule->to,
                                         holds_port(j, rule, F_TP_DST)));
        }
        if (rule->stateless && endpoint_is_in(from, &rule->to)) {
            set = dd_or(dd, set, pass_to(j, s, &rule->from,
                                         holds_port(j, rule, F_TP_SRC)));
        }
    }
    return dd_and(dd, set, dd_not(dd, is_fragment(j)));
}

dd_t
is_passed_by_rules(struct judge *j, const struct origin *s)
{
    struct {
        const void *from;
        uint64_t tunnel;
    } key = { s->q.from, s->q.tunnel };
    dd_t *known, set;

    if (!s->q.from) {
        return DD_NONE;
    }
    known = memo_find(&j->passed, &key, sizeof key);
    if (*known == DD_NONE) {
        set = find_passing(j, s);
        *memo_find(&j->passed, &key, sizeof key) = set;
        return set;
    }
    return *known;
}

dd_t
find_untracked(struct judge *j, const struct policy_tenant *zone,
               const struct end *sender, const struct end *receiver)
{
    struct seen seen = { TRACK_NONE, true, true, F_NW_PROTO, F_TP_DST };
    const rule_vec *rules
        = &j->facts->of_tenants[judge_tenant(
            j, sender->endpoint->tenant)];
    struct dd *dd = j->space->dd;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < rules->n; i++) {
        const struct policy_rule *rule = rules->v[i];
        dd_t forth, back;

        if (!rule->stateless && !rule_kind_denies(rule->kind)) {
            continue;
        }
        forth = dd_and(dd, rule_joins(j, rule, sender, receiver),
                       holds_port(j, rule, F_TP_DST));
        back = dd_and(dd, rule_joins(j, rule, receiver, sender),
                      holds_port(j, rule, F_TP_SRC));
        back = dd_and(dd, back, dd_not(dd, forth));
        result = dd_apply(dd, &j->stronger, result, dd_cut(
            dd, forth, verdict_by(j, rule, &seen, zone, sender, false)));
        result = dd_apply(dd, &j->stronger, result, dd_cut(
            dd, back, verdict_by(j, rule, &seen, zone, sender,
                                 rule->stateless != NULL)));
    }
    return dd_over(dd, result, verdict_by(j, NULL, &seen, zone, sender,
                                          false));
}
