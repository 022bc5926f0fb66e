/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "intent/exceed.h"
#include "sema/policy.h"

/* Warns of what is said of classes that no packet is of, or looks to be of
 * another. */

/* A switch knows a class by DSCP and queue. */
static bool
is_alike(const struct policy_class *a, const struct policy_class *b)
{
    return a && b && a->dscp == b->dscp && a->queue == b->queue;
}

/* Is one of the side's endpoints the tenant's?  NULL: anybody's. */
static bool
has_endpoint_of(const endpoint_vec *side, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < side->n; i++) {
        if (!tenant || side->v[i]->tenant == tenant) {
            return true;
        }
    }
    return false;
}

/* Does a rule that allows something, of the tenant if that is not NULL, say
 * the class for packets or for replies?  What is like best-effort needs no
 * rule. */
static bool
is_used(const struct policy *policy, const struct policy_class *class,
        const struct policy_tenant *tenant)
{
    if (!class->dscp && !class->queue) {
        return true;
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if ((rule->kind == RULE_ALLOW || rule->kind == RULE_PEERING)
            && (is_alike(rule->class, class)
                || is_alike(rule->reply_class, class))
            && (has_endpoint_of(&rule->from, tenant)
                || has_endpoint_of(&rule->to, tenant))) {
            return true;
        }
    }
    return false;
}

static void
doubt_parts(const struct policy_tenant *tenant, bool receive,
            struct diags *diags)
{
    for (size_t i = 0; i < tenant->parts[receive].n; i++) {
        const struct policy_part *part = &tenant->parts[receive].v[i];

        /* The short form is for both directions. */
        if (!is_used(tenant->policy, part->class, tenant)
            && !(receive && i < tenant->parts[false].n
                 && tenant->parts[false].v[i].at == part->at)) {
            struct diag *d = diag_warning(
                diags, part->at->key_span,
                value_pointer(part->at, diags->arena), "nobody needs this "
                "part: no rule of tenant '%s' says class '%s'", tenant->name,
                part->class->name);

            diag_remedy(diags, d, "say the class in a rule, or remove the "
                        "part");
        }
    }
}

/* What exceeds passes with a DSCP that the fabric knows as a class. */
static void
doubt_exceed(const struct policy_tenant *tenant, struct diags *diags)
{
    const struct intent_microburst *m = &tenant->intent->microburst;

    for (size_t i = 0; m->at && i < tenant->policy->classes.n; i++) {
        const struct policy_class *class = tenant->policy->classes.v[i];

        if (m->exceed == EXCEED_DSCP + class->dscp
            && !is_used(tenant->policy, class, tenant)) {
            struct diag *d = value_warning(
                diags, value_member(m->at, "exceed"), "what exceeds looks "
                "like class '%s' to the fabric, which no rule of tenant '%s' "
                "says", class->name, tenant->name);

            diag_remedy(diags, d, "choose another DSCP, or ignore this if "
                        "the two are to be treated alike");
            diag_see(diags, d, class->at->key_span, "the class");
            return;
        }
    }
}

void
doubt_unused(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->classes.n; i++) {
        const struct policy_class *class = policy->classes.v[i];

        if (class->dscp_in && !is_used(policy, class, NULL)) {
            struct diag *d = value_warning(
                diags, class->dscp_in->at, "nothing can come with this DSCP: "
                "no rule says class '%s'", class->name);

            diag_remedy(diags, d, "say the class in a rule, or remove this");
        }
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        doubt_parts(policy->tenants.v[i], false, diags);
        doubt_parts(policy->tenants.v[i], true, diags);
        doubt_exceed(policy->tenants.v[i], diags);
    }
}
