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
