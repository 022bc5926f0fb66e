/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>

#include "sema/policy.h"
#include "util.h"

/* What tenants may send at once must fit the buffer of the port that their
 * uplink ends at.  The burst of a tenant without "bandwidth" is the uplink's,
 * which is counted once even if there is no such tenant. */
static void
check_buffer(const struct policy *policy, const struct intent_node *node,
             const struct intent_uplink *uplink, struct diags *diags)
{
    uint64_t own = 0, n_others = 0, sum;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        if (!tenant_takes(tenant, node, uplink)) {
            continue;
        } else if (tenant->intent->send.limit.at) {
            own += tenant->intent->send.burst.n;
        } else {
            n_others++;
        }
    }
    sum = own + MAX(n_others, 1) * uplink->burst.n;
    if (sum > uplink->buffer.n) {
        struct diag *d = value_error(
            diags, uplink->buffer.at, "this buffer of %"PRIu64" bytes does "
            "not hold what may be sent at once: bursts of %"PRIu64" bytes of "
            "tenants with \"bandwidth\", and %"PRIu64" times the uplink's "
            "%"PRIu64", are %"PRIu64, uplink->buffer.n, own,
            MAX(n_others, 1), uplink->burst.n, sum);

        diag_remedy(diags, d, "lower the bursts, or give \"bandwidth\" to "
                    "tenants that have none");
        diag_see(diags, d, uplink->burst.at->span, "the uplink's burst");
    }
}

void
check_sums(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            if (node->uplinks.v[j].buffer.at) {
                check_buffer(policy, node, &node->uplinks.v[j], diags);
            }
        }
    }
}
