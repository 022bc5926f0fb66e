/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/policy.h"

/* A tenant that owns its hosts owns what enforces the policy there, unless
 * that is a DPU. */
void
check_hosts(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (tenant->intent->bare_metal && e->node && !e->node->dpu) {
                struct diag *d = value_error(
                    diags, e->intent->node.at, "the host enforces the policy "
                    "on node '%s', and tenant '%s' owns its hosts",
                    e->node->name.s, tenant->name);

                diag_remedy(diags, d, "bind it to a node whose \"enforcer\" "
                            "is \"dpu\", or take \"bare_metal\" away");
                diag_see(diags, d, e->node->name.at->key_span, "the node");
                diag_see(diags, d, tenant->intent->bare_metal->span,
                         "it owns them");
            }
        }
    }
}
