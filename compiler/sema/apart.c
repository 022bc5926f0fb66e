/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/apart.h"

#include <string.h>

#include "base/diag.h"
#include "sema/policy.h"

/* Do tunnels end at its node? */
static bool
has_tunnel(const struct policy *policy, const struct policy_endpoint *e)
{
    return policy->intent->encapsulation.s && e->node->tunnel.at;
}

const char *
apart_reason(const struct policy *policy, const struct policy_endpoint *a,
             const struct policy_endpoint *b, struct arena *arena)
{
    const struct policy_endpoint *without = has_tunnel(policy, a) ? b : a;

    if (a->node == b->node || has_tunnel(policy, without)) {
        return NULL;
    }
    return (!policy->intent->encapsulation.s
            ? "the fabric has no \"encapsulation\""
            : arena_printf(arena, "%s has no \"tunnel_address\"",
                           without->node->name.s));
}

/* Is the side every tenant's?  Then it is known that some are far. */
static bool
is_every(const selector_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        const char *tenant = side->v[i].tenant.s;

        if (tenant && !strcmp(tenant, POLICY_EVERY_TENANT)) {
            return true;
        }
    }
    return false;
}

/* The first of the side that is bound, not to 'node', and, if 'lone', to one
 * without tunnels; or NULL. */
static const struct policy_endpoint *
find_bound(const struct policy *policy, const endpoint_vec *side, bool lone,
           const struct intent_node *node)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct policy_endpoint *e = side->v[i];

        if (e->bound && e->node != node
            && !(lone && has_tunnel(policy, e))) {
            return e;
        }
    }
    return NULL;
}

/* Finds one of 'lone' on a node without tunnels, and one of 'side' on another
 * node.  Returns false if there are none. */
static bool
find_pair(const struct policy *policy, const endpoint_vec *lone,
          const endpoint_vec *side, const struct policy_endpoint **a,
          const struct policy_endpoint **b)
{
    *a = find_bound(policy, lone, true, NULL);
    *b = *a ? find_bound(policy, side, false, (*a)->node) : NULL;
    if (*a && !*b) {
        /* All of 'side' are on that node. */
        *b = find_bound(policy, side, false, NULL);
        *a = *b ? find_bound(policy, lone, true, (*b)->node) : NULL;
    }
    return *a && *b;
}

void
doubt_tunnels(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];
        const struct policy_endpoint *a, *b;

        if (rule->intent && !is_every(&rule->intent->from)
            && !is_every(&rule->intent->to)
            && (rule->kind == RULE_ALLOW || rule->kind == RULE_PEERING)
            && (find_pair(policy, &rule->from, &rule->to, &a, &b)
                || find_pair(policy, &rule->to, &rule->from, &a, &b))) {
            struct diag *d = diag_warning(
                diags, policy_rule_span(rule),
                value_pointer(rule->at, diags->arena), "nothing passes by "
                "this between '%s' on node '%s' and '%s' on '%s': %s",
                a->name, a->node->name.s, b->name, b->node->name.s,
                apart_reason(policy, a, b, diags->arena));

            diag_remedy(diags, d, "give %s, or ignore this if it is for "
                        "endpoints of one node",
                        policy->intent->encapsulation.s
                        ? "the node one"
                        : "it one, and the nodes a \"tunnel_address\"");
        }
    }
}
