/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/narrower.h"
#include "sema/policy.h"

/* Rules about externals that change nothing: another rule of the tenant, or of
 * the operator, says all of it.  That several do together is not found. */

VEC_TYPEDEF(rule_vec, const struct policy_rule *);

/* For the rules of a tenant; what takes more is not found. */
enum { MAX_STEPS = 2000 * 1000 };

static bool
endpoints_hold(const endpoint_vec *all, const endpoint_vec *some)
{
    size_t j = 0;

    for (size_t i = 0; i < some->n; i++, j++) {
        while (j < all->n && all->v[j]->index < some->v[i]->index) {
            j++;
        }
        if (j == all->n || all->v[j] != some->v[i]) {
            return false;
        }
    }
    return true;
}

static bool
ranges_hold_one(const range_vec *all, const struct policy_range *one)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct policy_range *range = &all->v[i];

        if (range->external == one->external
            && (!range->cidr
                || (one->cidr && range_holds(range->cidr, one->cidr)))) {
            return true;
        }
    }
    return false;
}

static bool
ranges_hold(const range_vec *all, const range_vec *some)
{
    for (size_t i = 0; i < some->n; i++) {
        if (!ranges_hold_one(all, &some->v[i])) {
            return false;
        }
    }
    return true;
}

static bool
settles(const struct policy_rule *other, const struct policy_rule *rule)
{
    return (rule_may_settle(other, rule)
            && service_holds(other->service, rule->service)
            && endpoints_hold(&other->from, &rule->from)
            && endpoints_hold(&other->to, &rule->to)
            && ranges_hold(&other->from_ranges, &rule->from_ranges)
            && ranges_hold(&other->to_ranges, &rule->to_ranges));
}

/* What it takes to ask settles() both ways, more or less. */
static size_t
steps_of(const struct policy_rule *a, const struct policy_rule *b)
{
    return (1 + a->from.n + a->to.n + b->from.n + b->to.n
            + a->from_ranges.n * b->from_ranges.n
            + a->to_ranges.n * b->to_ranges.n
            + (a->service && b->service
               ? a->service->matches.n * b->service->matches.n : 0));
}

/* One of 'all' that settles the rule.  What tenants say settles nothing of the
 * operator's.  Of two that say the same, the later in the file changes
 * nothing, or the tenant's. */
static const struct policy_rule *
find_settling(const rule_vec *all, const struct policy_rule *rule,
              size_t *n_steps)
{
    for (size_t i = 0; i < all->n && *n_steps <= MAX_STEPS; i++) {
        const struct policy_rule *other = all->v[i];

        if (other->tenant && other->tenant != rule->tenant) {
            continue;
        }
        *n_steps += steps_of(other, rule);
        if (settles(other, rule)
            && (other->tenant != rule->tenant || !settles(rule, other)
                || other->at->span.start < rule->at->span.start)) {
            return other;
        }
    }
    return NULL;
}

static void
report(const struct policy_rule *rule, const struct policy_rule *other,
       struct diags *diags)
{
    struct diag *d = diag_warning(
        diags, policy_rule_span(rule), value_pointer(rule->at, diags->arena),
        "this changes nothing: '%s' %s all of it", other->name,
        rule_kind_denies(other->kind) ? "denies" : "allows");

    diag_remedy(diags, d, "remove it, or correct what one of them is about");
    diag_see(diags, d, policy_rule_span(other), "'%s' is this", other->name);
}

void
check_redundant_externals(const struct policy *policy, struct diags *diags)
{
    struct arena *arena = arena_create();
    const struct policy_tenant *tenant = NULL;
    rule_vec all = VEC_INIT;
    size_t n_steps = 0;

    for (size_t i = 0; i < policy->rules.n; i++) {
        if (policy->rules.v[i]->from_ranges.n
            + policy->rules.v[i]->to_ranges.n) {
            *vec_push(arena, &all) = policy->rules.v[i];
        }
    }
    for (size_t i = 0; i < all.n; i++) {
        const struct policy_rule *rule = all.v[i], *other;

        n_steps = rule->tenant == tenant ? n_steps : 0;
        tenant = rule->tenant;
        /* Who selects nobody was warned. */
        other = (rule->from.n || rule->to.n
                 ? find_settling(&all, rule, &n_steps) : NULL);
        if (other) {
            report(rule, other, diags);
        }
    }
    arena_destroy(arena);
}
