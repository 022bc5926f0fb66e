/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/ir.h"

#include <string.h>

#include "sema/policy.h"

struct concern {
    const char *node;
    bool *concerned;            /* By index of the endpoint. */
};

static bool
is_here(const struct concern *c, const struct policy_endpoint *e)
{
    return e->bound && !strcmp(e->intent->node.s, c->node);
}

static void
add_tenant(struct concern *c, const struct policy_tenant *tenant)
{
    bool here = false;

    for (size_t i = 0; i < tenant->endpoints.n && !here; i++) {
        here = is_here(c, tenant->endpoints.v[i]);
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        c->concerned[tenant->endpoints.v[i]->index] |= here;
    }
}

/* Adds all of 'to' if one of 'from' is here. */
static void
add_side(struct concern *c, const endpoint_vec *from, const endpoint_vec *to)
{
    bool here = false;

    for (size_t i = 0; i < from->n && !here; i++) {
        here = is_here(c, from->v[i]);
    }
    for (size_t i = 0; i < to->n; i++) {
        c->concerned[to->v[i]->index] |= here;
    }
}

bool *
ir_concerned(const struct policy *policy, const char *node,
             struct arena *arena)
{
    struct concern c = { .node = node };
    size_t n = policy_n_endpoints(policy);

    c.concerned = arena_zalloc(arena, n * sizeof *c.concerned);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        add_tenant(&c, policy->tenants.v[i]);
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind == RULE_PEERING) {
            add_side(&c, &rule->from, &rule->to);
            add_side(&c, &rule->to, &rule->from);
        }
    }
    return c.concerned;
}
