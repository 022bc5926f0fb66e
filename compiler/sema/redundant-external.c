/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/narrower.h"
#include "sema/policy.h"

/* Rules of tenants about externals that change nothing: another rule of the
 * tenant says all of it.  That several do together is not found. */

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
    return ((other->kind == RULE_DENY
             || (rule->kind == RULE_ALLOW && rule_allows_for(other, rule)))
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

/* The rules of a tenant stand together, so from 'first' on.  Of two that say
 * the same, the later in the file changes nothing. */
static const struct policy_rule *
find_settling(const struct policy *policy, size_t first,
              const struct policy_rule *rule, size_t *n_steps)
{
    for (size_t i = first; i < policy->rules.n && *n_steps <= MAX_STEPS
         && policy->rules.v[i]->tenant == rule->tenant; i++) {
        const struct policy_rule *other = policy->rules.v[i];

        *n_steps += steps_of(other, rule);
        if (other != rule && settles(other, rule)
            && (!settles(rule, other)
                || other->at->span.start < rule->at->span.start)) {
            return other;
        }
    }
    return NULL;
}

void
check_redundant_externals(const struct policy *policy, struct diags *diags)
{
    size_t first = 0, n_steps = 0;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i], *other;

        if (rule->tenant != policy->rules.v[first]->tenant) {
            first = i;
            n_steps = 0;
        }
        other = (rule->from_ranges.n + rule->to_ranges.n > 0
                 ? find_settling(policy, first, rule, &n_steps) : NULL);
        if (other) {
            struct diag *d = diag_warning(
                diags, policy_rule_span(rule),
                value_pointer(rule->at, diags->arena), "this changes nothing: "
                "'%s' %s all of it", other->name,
                other->kind == RULE_DENY ? "denies" : "allows");

            diag_remedy(diags, d, "remove it, or correct what one of them is "
                        "about");
            diag_see(diags, d, policy_rule_span(other), "'%s' is this",
                     other->name);
        }
    }
}
