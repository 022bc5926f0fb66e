/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "intent/units.h"
#include "sema/policy.h"
#include "sema/tree.h"

/* What is guaranteed to endpoints of a tenant together. */
struct sum {
    uint64_t n;
    const struct value *last;
};

static struct sum
sum_guarantees(const struct policy_tenant *tenant,
               const struct intent_node *node,
               const struct intent_uplink *uplink, bool receive)
{
    struct sum sum = { .n = 0 };

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];
        const struct quantity *own = &endpoint_bandwidth(e,
                                                         receive)->guarantee;

        if (own->at && endpoint_takes(e, node, uplink)) {
            sum.n += own->n;
            sum.last = own->at;
        }
    }
    return sum;
}

static void
refuse_sum(const struct policy_tenant *tenant, const struct intent_node *node,
           const struct quantity *whole, const struct sum *sum,
           struct diags *diags)
{
    struct diag *d;

    if (!whole->at) {
        d = value_error(diags, sum->last, "tenant '%s' has no guarantee of "
                        "which this could be a part", tenant->name);
        diag_remedy(diags, d, "give the tenant a \"guarantee\" of at least "
                    "%s, or remove this one", rate_text(sum->n, diags->arena));
    } else {
        d = value_error(diags, sum->last, "endpoints of tenant '%s' on node "
                        "'%s' are guaranteed %s together, above the tenant's "
                        "%s", tenant->name, node->name.s,
                        rate_text(sum->n, diags->arena),
                        rate_text(whole->n, diags->arena));
        diag_remedy(diags, d, "lower guarantees by %s, or raise the tenant's",
                    rate_text(sum->n - whole->n, diags->arena));
        diag_see(diags, d, whole->at->span, "the tenant's guarantee");
    }
}

static void
check_uplink(const struct policy_tenant *tenant,
             const struct intent_node *node,
             const struct intent_uplink *uplink, struct diags *diags)
{
    struct sum sent = { .n = 0 };

    for (int receive = 0; receive < 2; receive++) {
        const struct quantity *whole
            = &tenant_bandwidth(tenant, receive)->guarantee;
        struct sum sum = sum_guarantees(tenant, node, uplink, receive);

        /* One text may be for both directions. */
        if (sum.last && sum.n > whole->n && sum.last != sent.last) {
            refuse_sum(tenant, node, whole, &sum, diags);
            sent = sum;
        }
    }
}

void
check_splits(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            for (size_t k = 0; k < policy->tenants.n; k++) {
                check_uplink(policy->tenants.v[k], node, &node->uplinks.v[j],
                             diags);
            }
        }
    }
}
