/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <stdlib.h>
#include <string.h>

#include "sema/charge.h"
#include "sema/policy.h"
#include "util.h"

VEC_TYPEDEF(rule_vec, const struct policy_rule *);

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

static void
check_class(const struct policy_rule *a, const struct policy_rule *b,
            struct diags *diags)
{
    if ((a->class != b->class || a->reply_class != b->reply_class)
        && rules_intersect(a, b)) {
        struct diag *d = diag_error(diags, policy_rule_span(b),
                                    value_pointer(b->at, diags->arena),
                                    "this allows packets that rule '%s' "
                                    "allows with another class", a->name);
        diag_remedy(diags, d, "give both the same class, or make them match "
                    "different packets%s", !rules_join_same(a, b)
                    && rules_join_opposite(a, b) ? BOTH_WAYS : "");
        diag_see(diags, d, policy_rule_span(a), "the other rule");
    }
}

/* Two rules that allow the same packet must give it the same class. */
static void
check_classes(const struct policy *policy, struct arena *arena,
              struct diags *diags)
{
    rule_vec allows = VEC_INIT;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if ((rule->kind == RULE_ALLOW || rule->kind == RULE_PEERING)
            && rule->from.n + rule->from_ranges.n
            && rule->to.n + rule->to_ranges.n) {
            *vec_push(arena, &allows) = rule;
        }
    }
    /* Rules of one tenant, and peerings, stand together. */
    for (size_t i = 0; i < allows.n; i++) {
        for (size_t j = i + 1;
             j < allows.n && allows.v[i]->tenant == allows.v[j]->tenant; j++) {
            check_class(allows.v[i], allows.v[j], diags);
        }
    }
}

static int
compare_ids(const void *a_, const void *b_)
{
    const struct policy_rule *const *a = a_;
    const struct policy_rule *const *b = b_;

    return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

/* Ids are hashes of names: equal ones are equal names, or a collision. */
static void
check_ids(const struct policy *policy, struct arena *arena,
          struct diags *diags)
{
    size_t n = policy->rules.n;
    const struct policy_rule **rules = arena_zalloc(arena, n * sizeof *rules);

    for (size_t i = 0; i < n; i++) {
        rules[i] = policy->rules.v[i];
        claim_number(policy->claims, "rule", rules[i]->id, rules[i]->name);
    }
    if (n) {
        qsort(rules, n, sizeof *rules, compare_ids);
    }
    for (size_t i = 1; i < n; i++) {
        const struct policy_rule *a = rules[i - 1], *b = rules[i];

        if (a->id == b->id) {
            bool later = a->at->span.start > b->at->span.start;
            const struct policy_rule *first = later ? b : a;
            const struct policy_rule *second = later ? a : b;
            struct diag *d = value_error(diags, second->at,
                                         strcmp(a->name, b->name)
                                         ? "rule '%s' has the same id as '%s'"
                                         : "rule '%s' stands twice",
                                         second->name, first->name);
            diag_remedy(diags, d, "give it another name");
            diag_see(diags, d, first->at->span, "the other one");
        }
    }
}

void
policy_check(const struct policy *policy, struct arena *arena,
             struct diags *diags)
{
    size_t n_errors = diags->n_errors;

    check_addressing(policy, arena, diags);
    check_uplinks(policy, diags);
    check_hosts(policy, diags);
    if (diags->n_errors == n_errors) {
        check_peerings(policy, arena, diags);
        check_externals(policy, arena, diags);
        check_overlay(policy, diags);
        check_frames(policy, diags);
    } else {
        diags->unchecked = (policy->externals.n
                            ? "peerings, externals and tunnels"
                            : "peerings and tunnels");
    }
    check_receivers(policy, diags);
    check_bandwidth(policy, diags);
    check_sums(policy, diags);
    check_splits(policy, diags);
    check_dscp_in(policy, diags);
    check_classes(policy, arena, diags);
    check_charges(policy, diags);
    check_ids(policy, arena, diags);
    if (diags->n_errors == n_errors) {
        check_doubts(policy, diags);
        check_redundant(policy, diags);
        check_redundant_externals(policy, diags);
    }
}
