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

/* What is guaranteed to endpoints, or classes, of a tenant together. */
struct sum {
    uint64_t n;
    const struct value *last;
};

static void
add_guarantee(struct sum *sum, const struct quantity *guarantee)
{
    if (guarantee->at) {
        sum->n += guarantee->n;
        sum->last = guarantee->at;
    }
}

static struct sum
sum_guarantees(const struct policy_tenant *tenant,
               const struct intent_node *node,
               const struct intent_uplink *uplink, bool receive)
{
    struct sum sum = { .n = 0 };

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (endpoint_takes(e, node, uplink)) {
            add_guarantee(&sum, &endpoint_bandwidth(e, receive)->guarantee);
        }
    }
    return sum;
}

static void
refuse_sum(const struct policy_tenant *tenant, const char *who,
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
        d = value_error(diags, sum->last, "%s are guaranteed %s together, "
                        "above the tenant's %s", who,
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
            refuse_sum(tenant, arena_printf(
                           diags->arena, "endpoints of tenant '%s' on node "
                           "'%s'", tenant->name, node->name.s), whole, &sum,
                       diags);
            sent = sum;
        }
    }
}

/* Which of two is meant, where a packet is of a class and of an endpoint, each
 * with a part, nobody says. */
static void
check_either(const struct policy_tenant *tenant, bool receive,
             struct diags *diags)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct intent_bandwidth *own
            = endpoint_bandwidth(tenant->endpoints.v[i], receive);

        if (own->limit.at) {
            struct diag *d = value_error(
                diags, own->limit.at, "tenant '%s' shares its bandwidth out "
                "among classes, and an endpoint has its own beside them",
                tenant->name);

            diag_remedy(diags, d, "remove the endpoint's \"bandwidth\", or "
                        "the tenant's \"classes\"");
            diag_see(diags, d, tenant->parts[receive].v[0].at->key_span,
                     "the tenant's classes");
            return;
        }
    }
}

static void
check_parts(const struct policy_tenant *tenant, bool receive,
            struct diags *diags)
{
    const struct intent_bandwidth *whole = tenant_bandwidth(tenant, receive);
    struct sum sum = { .n = 0 };

    for (size_t i = 0; i < tenant->parts[receive].n; i++) {
        const struct intent_bandwidth *b
            = tenant->parts[receive].v[i].bandwidth;

        check_direction(b, diags);
        if (b->limit.n > whole->limit.n) {
            struct diag *d = value_error(diags, b->limit.at, "this limit is "
                                         "above that of tenant '%s', which "
                                         "its classes share", tenant->name);

            diag_remedy(diags, d, "lower it to the tenant's limit");
            diag_see(diags, d, whole->limit.at->span, "the tenant's limit");
        }
        add_guarantee(&sum, &b->guarantee);
    }
    if (sum.last && sum.n > whole->guarantee.n) {
        refuse_sum(tenant, arena_printf(diags->arena, "classes of tenant "
                                        "'%s'", tenant->name),
                   &whole->guarantee, &sum, diags);
    }
    if (tenant->parts[receive].n) {
        check_either(tenant, receive, diags);
    }
}

void
check_splits(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        size_t n_errors = diags->n_errors;

        check_parts(tenant, false, diags);
        /* One text may be for both directions. */
        if (diags->n_errors == n_errors) {
            check_parts(tenant, true, diags);
        }
    }
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
