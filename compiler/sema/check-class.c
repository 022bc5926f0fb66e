/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/narrower.h"
#include "sema/policy.h"
#include "util.h"

/* Rules that allow the same packet with different classes: the narrower one
 * decides.  A rule's depth is one more than that of any that it overrules so;
 * of all that allow a packet the deepest have the class that it gets. */

VEC_TYPEDEF(mutable_rule_vec, struct policy_rule *);

/* A rule, and one that it overrules. */
struct overruling {
    struct policy_rule *narrow;
    const struct policy_rule *wide;
};

struct search {
    const struct policy *policy;
    struct arena *arena;
    struct diags *diags;
    VEC(struct overruling) found;
};

/* Counts the endpoints in both sets, which are sorted, and stores one. */
static size_t
intersect(const endpoint_vec *a, const endpoint_vec *b,
          const struct policy_endpoint **one)
{
    size_t i = 0, j = 0, n = 0;

    while (i < a->n && j < b->n) {
        if (a->v[i]->index == b->v[j]->index) {
            *one = a->v[i];
            n++;
            i++;
            j++;
        } else if (a->v[i]->index < b->v[j]->index) {
            i++;
        } else {
            j++;
        }
    }
    return n;
}

/* Is there a sender and another endpoint as receiver in both? */
static bool
pairs_intersect(const endpoint_vec *from_a, const endpoint_vec *to_a,
                const endpoint_vec *from_b, const endpoint_vec *to_b)
{
    const struct policy_endpoint *from = NULL, *to = NULL;
    size_t n_from = intersect(from_a, from_b, &from);
    size_t n_to = n_from ? intersect(to_a, to_b, &to) : 0;

    return n_to && (n_from > 1 || n_to > 1 || from != to);
}

bool
services_intersect(const struct policy_service *a,
                   const struct policy_service *b)
{
    if (!a || !b) {
        return true;
    }
    for (size_t i = 0; i < a->matches.n; i++) {
        for (size_t j = 0; j < b->matches.n; j++) {
            const struct service_match *x = &a->matches.v[i];
            const struct service_match *y = &b->matches.v[j];

            if (x->protocol == y->protocol
                && x->ports.first <= y->ports.last
                && y->ports.first <= x->ports.last) {
                return true;
            }
        }
    }
    return false;
}

/* Is there a packet between an endpoint and an external in both? */
static bool
outside_intersects(const struct policy_rule *a, const struct policy_rule *b)
{
    const struct policy_endpoint *one;

    return ((ranges_intersect(&a->to_ranges, &b->to_ranges)
             && intersect(&a->from, &b->from, &one))
            || (ranges_intersect(&a->from_ranges, &b->from_ranges)
                && intersect(&a->to, &b->to, &one)));
}

bool
rules_join_same(const struct policy_rule *a, const struct policy_rule *b)
{
    return pairs_intersect(&a->from, &a->to, &b->from, &b->to);
}

bool
rules_join_opposite(const struct policy_rule *a, const struct policy_rule *b)
{
    return (service_has_symmetric(a->service)
            && service_has_symmetric(b->service)
            && pairs_intersect(&a->from, &a->to, &b->to, &b->from));
}

/* Can both rules match one packet? */
static bool
rules_intersect(const struct policy_rule *a, const struct policy_rule *b)
{
    return (services_intersect(a->service, b->service)
            && (rules_join_same(a, b) || outside_intersects(a, b)
                || rules_join_opposite(a, b)));
}

static bool
same_classes(const struct policy_rule *a, const struct policy_rule *b)
{
    return a->class == b->class && a->reply_class == b->reply_class;
}

/* Does 'a' overrule 'b'?  What a stateless rule takes past tracking, rules
 * that are tracked say nothing about. */
static bool
overrules(const struct search *s, const struct policy_rule *a,
          const struct policy_rule *b)
{
    bool silent = (b->stateless && !a->stateless
                   && !(a->service && a->service->symmetric));

    return !silent && rule_is_narrower(s->policy, a, b);
}

static void
check_class(struct search *s, struct policy_rule *a, struct policy_rule *b)
{
    if (same_classes(a, b) || !rules_intersect(a, b)) {
        return;
    } else if (overrules(s, a, b)) {
        *vec_push(s->arena, &s->found) = (struct overruling) { a, b };
    } else if (overrules(s, b, a)) {
        *vec_push(s->arena, &s->found) = (struct overruling) { b, a };
    } else {
        report_contradiction(s->policy, a, b, s->diags);
    }
}

static void
report_too_deep(const struct search *s, const struct overruling *o)
{
    struct diag *d = diag_error(s->diags, policy_rule_span(o->narrow),
                                value_pointer(o->narrow->at,
                                              s->diags->arena),
                                "more than %d rules, each narrower than the "
                                "one before and of another class, allow this",
                                MAX_DEPTH);

    diag_remedy(s->diags, d, "give some of them the same class");
    diag_see(s->diags, d, policy_rule_span(o->wide), "one of them");
}

/* Depths are the longest ways from rules that overrule none. */
static void
find_depths(const struct search *s)
{
    bool deeper = true;

    while (deeper) {
        deeper = false;
        for (size_t i = 0; i < s->found.n; i++) {
            const struct overruling *o = &s->found.v[i];

            if (o->narrow->depth > o->wide->depth) {
                continue;
            } else if (o->wide->depth == MAX_DEPTH) {
                report_too_deep(s, o);
                return;
            }
            o->narrow->depth = o->wide->depth + 1;
            deeper = true;
        }
    }
}

bool
rule_allows_for(const struct policy_rule *other,
                const struct policy_rule *rule)
{
    return (other->depth > rule->depth
            || (other->depth == rule->depth && same_classes(other, rule)));
}

/* A peering with an external allows what rules of tenants may allow, too. */
static void
check_outside_classes(struct search *s, const mutable_rule_vec *allows)
{
    for (size_t i = 0; i < allows->n; i++) {
        struct policy_rule *peering = allows->v[i];
        bool outside = peering->from_ranges.n || peering->to_ranges.n;

        for (size_t j = 0; !peering->tenant && outside && j < allows->n;
             j++) {
            if (allows->v[j]->tenant) {
                check_class(s, peering, allows->v[j]);
            }
        }
    }
}

void
check_classes(const struct policy *policy, struct diags *diags)
{
    mutable_rule_vec allows = VEC_INIT;
    struct search s = { policy, arena_create(), diags, VEC_INIT };

    for (size_t i = 0; i < policy->rules.n; i++) {
        struct policy_rule *rule = policy->rules.v[i];

        if ((rule->kind == RULE_ALLOW || rule->kind == RULE_PEERING)
            && rule->from.n + rule->from_ranges.n
            && rule->to.n + rule->to_ranges.n) {
            *vec_push(s.arena, &allows) = rule;
        }
    }
    /* Rules of one tenant, and peerings, stand together. */
    for (size_t i = 0; i < allows.n; i++) {
        for (size_t j = i + 1;
             j < allows.n && allows.v[i]->tenant == allows.v[j]->tenant; j++) {
            check_class(&s, allows.v[i], allows.v[j]);
        }
    }
    check_outside_classes(&s, &allows);
    find_depths(&s);
    arena_destroy(s.arena);
}
