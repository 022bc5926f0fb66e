/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"
#include "base/partition.h"

static void
refine(struct partition *p, const endpoint_vec *side, size_t set[])
{
    for (size_t i = 0; i < side->n; i++) {
        set[i] = side->v[i]->index;
    }
    partition_refine(p, set, side->n);
}

const struct policy_endpoint **
ir_find_twins(const struct policy *policy, struct arena *arena)
{
    const struct policy_endpoint **twins, **first;
    struct partition p;
    size_t *set, n = policy_n_endpoints(policy);

    partition_init(&p, n, arena);
    set = arena_zalloc(arena, (n + 1) * sizeof *set);
    for (size_t i = n = 0; i < policy->tenants.n; i++) {
        partition_add(&p, n, policy->tenants.v[i]->endpoints.n);
        n += policy->tenants.v[i]->endpoints.n;
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        refine(&p, &policy->rules.v[i]->from, set);
        refine(&p, &policy->rules.v[i]->to, set);
    }
    twins = arena_zalloc(arena, (n + 1) * sizeof *twins);
    first = arena_zalloc(arena, (n + 1) * sizeof *first);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];
            const struct policy_endpoint **of_part = &first[p.part[e->index]];

            *of_part = *of_part ? *of_part : e;
            twins[e->index] = *of_part;
        }
    }
    return twins;
}
