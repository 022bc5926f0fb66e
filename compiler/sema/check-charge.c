/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/charge.h"

#include "base/diag.h"
#include "sema/check.h"

/* "from" and "to" of a rule that is read the other way round. */
static enum charge
opposite(enum charge charge)
{
    return (charge == CHARGE_FROM ? CHARGE_TO
            : charge == CHARGE_TO ? CHARGE_FROM : CHARGE_SENDER);
}

static void
check_pair(const struct policy_rule *a, const struct policy_rule *b,
           struct diags *diags)
{
    if (services_intersect(a->service, b->service)
        && ((a->charge != b->charge && rules_join_same(a, b))
            || (a->charge != opposite(b->charge)
                && rules_join_opposite(a, b)))) {
        struct diag *d = diag_error(diags, policy_rule_span(b),
                                    value_pointer(b->at, diags->arena),
                                    "this allows packets for which, by "
                                    "'%s', somebody else pays", a->name);

        diag_remedy(diags, d, "let \"charge\" of both name the same tenants, "
                    "or make them match different packets%s",
                    rules_join_same(a, b) ? "" : BOTH_WAYS);
        diag_see(diags, d, policy_rule_span(a), "the other peering");
    }
}

void
check_charges(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *a = policy->rules.v[i];

        for (size_t j = 0; j < i && a->kind == RULE_PEERING; j++) {
            const struct policy_rule *b = policy->rules.v[j];

            if (b->kind == RULE_PEERING
                && (a->charge != CHARGE_SENDER
                    || b->charge != CHARGE_SENDER)) {
                check_pair(b, a, diags);
            }
        }
    }
}
