/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/charge.h"

#include "base/diag.h"
#include "sema/check.h"
#include "sema/meaning-reach.h"
#include "sema/tree.h"

/* Of a rule that charges one of its sides. */
static const endpoint_vec *
charged_side(const struct policy_rule *rule)
{
    return rule->charge == CHARGE_FROM ? &rule->from : &rule->to;
}

const struct policy_tenant *
rule_payer(const struct policy_rule *rule, const struct policy_endpoint *a,
           const struct policy_endpoint *b)
{
    if (rule->charge == CHARGE_SENDER) {
        return NULL;
    }
    return (endpoint_is_in(a, charged_side(rule)) ? a : b)->tenant;
}

const struct policy_payer *
find_payer(const struct policy_tenant *tenant, const struct intent_node *node,
           const struct intent_uplink *uplink)
{
    const struct policy *policy = tenant->policy;

    for (size_t i = 0; i < policy->payers.n; i++) {
        const struct policy_payer *payer = &policy->payers.v[i];

        if (payer->tenant == tenant && payer->node == node
            && payer->uplink == uplink) {
            return payer;
        }
    }
    return NULL;
}

/* Do packets go between 'e' and endpoints on 'node'? */
static bool
is_joined(const struct policy *policy, const struct policy_endpoint *e,
          const struct intent_node *node)
{
    return (e->bound
            && (e->node == node
                || (policy->intent->encapsulation.s && e->node->tunnel.at
                    && node->tunnel.at)));
}

/* Of the tenant of 'side' from 'i' on, of which the next begins at the value
 * that is returned: does it pay for 'other', which is bound? */
static size_t
add_payer(struct policy *policy, const struct policy_rule *rule,
          const endpoint_vec *side, size_t i,
          const struct policy_endpoint *other, struct arena *arena)
{
    const struct policy_tenant *tenant = side->v[i]->tenant;
    const struct intent_uplink *uplink = network_uplink(other->network,
                                                        other->node);
    bool joined = false;

    for (; i < side->n && side->v[i]->tenant == tenant; i++) {
        joined = joined || is_joined(policy, side->v[i], other->node);
    }
    if (joined && uplink && !find_payer(tenant, other->node, uplink)) {
        *vec_push(arena, &policy->payers) = (struct policy_payer) {
            tenant, other->node, uplink, rule,
        };
    }
    return i;
}

static void
add_payers(struct policy *policy, const struct policy_rule *rule,
           struct arena *arena)
{
    const endpoint_vec *side = charged_side(rule);
    const endpoint_vec *others = (rule->charge == CHARGE_FROM ? &rule->to
                                  : &rule->from);
    const struct policy_endpoint *last = NULL;

    for (size_t i = 0; i < others->n; i++) {
        const struct policy_endpoint *other = others->v[i];

        if (!other->bound || (last && last->network == other->network
                              && last->node == other->node)) {
            continue;
        }
        last = other;
        for (size_t j = 0; j < side->n; ) {
            j = add_payer(policy, rule, side, j, other, arena);
        }
    }
}

void
find_payers(struct policy *policy, struct arena *arena)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        if (policy->rules.v[i]->charge != CHARGE_SENDER) {
            add_payers(policy, policy->rules.v[i], arena);
        }
    }
}

void
see_payer(struct diags *diags, struct diag *d,
          const struct policy_tenant *tenant, const struct intent_node *node,
          const struct intent_uplink *uplink)
{
    const struct policy_payer *payer = find_payer(tenant, node, uplink);

    if (payer && !tenant_is_at(tenant, node, uplink)) {
        diag_see(diags, d, policy_rule_span(payer->peering),
                 "tenant '%s' has it there because it pays for this peering",
                 tenant->name);
    }
}
