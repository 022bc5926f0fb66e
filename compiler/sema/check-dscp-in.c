/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/policy.h"

/* A switch knows a class by DSCP and queue. */
static void
check_distinct(const struct policy *policy, const struct policy_class *class,
               struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        const struct policy_class *other = policy->classes.v[i];

        if (other != class && other->dscp == class->dscp
            && other->queue == class->queue) {
            struct diag *d = value_error(
                diags, class->dscp_in->at, "packets of class '%s' would keep "
                "this too: it has the same \"dscp\" and \"queue\"",
                other->name);

            diag_remedy(diags, d, "give one of the two another queue, or use "
                        "one class for both");
            diag_see(diags, d, other->at->key_span, "the other class");
        }
    }
}

void
check_dscp_in(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        const struct policy_class *class = policy->classes.v[i];
        const struct intent_dscp_in *in = class->dscp_in;

        if (!in) {
            continue;
        }
        check_rate(diags, &in->limit);
        check_burst(diags, &in->burst);
        check_distinct(policy, class, diags);
        if (in->dscp == class->dscp) {
            struct diag *d = value_error(diags, in->at, "the class writes "
                                         "DSCP %d into all of its packets",
                                         in->dscp);

            diag_remedy(diags, d, "remove \"dscp_in\", or let in another "
                        "DSCP");
        }
    }
}

/* The limit below 'rate' of what one of 'side' sends, or NULL. */
static const struct quantity *
find_lower(const endpoint_vec *side, uint64_t rate)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct quantity *limit = &side->v[i]->tenant->intent->send.limit;

        if (limit->at && limit->n < rate) {
            return limit;
        }
    }
    return NULL;
}

/* The limit of a tenant that is below the one for what of the class keeps its
 * DSCP, or NULL. */
static const struct quantity *
find_lower_limit(const struct policy *policy,
                 const struct policy_class *class)
{
    uint64_t rate = class->dscp_in->limit.n;
    const struct quantity *lower = NULL;

    for (size_t i = 0; i < policy->rules.n && !lower; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->class == class || rule->reply_class == class) {
            lower = find_lower(&rule->from, rate);
            lower = lower ? lower : find_lower(&rule->to, rate);
        }
    }
    return lower;
}

static bool
an_uplink_has(const struct intent *intent, uint64_t rate)
{
    for (size_t i = 0; i < intent->nodes.n; i++) {
        const struct intent_node *node = &intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            if (node->uplinks.v[j].rate.n >= rate) {
                return true;
            }
        }
    }
    return false;
}

static void
doubt_limit(const struct policy *policy, const struct policy_class *class,
            struct diags *diags)
{
    const struct quantity *limit = &class->dscp_in->limit;
    const struct quantity *lower = find_lower_limit(policy, class);
    struct diag *d;

    if (!an_uplink_has(policy->intent, limit->n)) {
        d = value_warning(diags, limit->at, "this limits nothing: no uplink "
                          "is so fast");
        diag_remedy(diags, d, "lower it to what is to pass at most");
    } else if (lower) {
        d = value_warning(diags, limit->at, "this limits nothing where a "
                          "tenant has less for all that it sends");
        diag_remedy(diags, d, "lower it to what is to pass at most");
        diag_see(diags, d, lower->at->span, "the tenant's limit");
    }
}

/* To the fabric they are of the class that has this DSCP. */
static void
doubt_looks(const struct policy *policy, const struct policy_class *class,
            struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        const struct policy_class *other = policy->classes.v[i];

        if (other != class && other->dscp == class->dscp_in->dscp) {
            struct diag *d = value_warning(
                diags, class->dscp_in->at, "what keeps DSCP %u looks like "
                "class '%s' to the fabric, and tenants mark it themselves",
                other->dscp, other->name);

            diag_remedy(diags, d, "give one of the two another DSCP, or "
                        "ignore this if they are to be treated alike");
            diag_see(diags, d, other->at->key_span, "the other class");
            return;
        }
    }
}

void
doubt_dscp_in(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        if (policy->classes.v[i]->dscp_in) {
            doubt_limit(policy, policy->classes.v[i], diags);
            doubt_looks(policy, policy->classes.v[i], diags);
        }
    }
}
