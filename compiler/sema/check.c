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
    check_dpdk(policy, diags);
    check_legacy(policy, diags);
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
    check_buffers(policy, diags);
    check_classes(policy, diags);
    check_charges(policy, diags);
    check_ids(policy, arena, diags);
    if (diags->n_errors == n_errors) {
        check_doubts(policy, diags);
        check_redundant(policy, diags);
        check_redundant_externals(policy, diags);
    }
}
