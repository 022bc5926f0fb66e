/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/ir.h"

#include <string.h>

#include "util.h"

struct ir_run
ir_run_at(const ir_endpoint_vec *endpoints, size_t i)
{
    struct ir_run run = { &endpoints->v[i], 1 };

    while (i + run.n < endpoints->n
           && run.v[run.n]->tenant == run.v[0]->tenant) {
        run.n++;
    }
    return run;
}

bool
ir_run_is_whole(const struct ir_run *run)
{
    return run->n > 1 && run->n == run->v[0]->tenant->n_endpoints;
}

/* Divides 'side', whose endpoints have their groups. */
static void
name_side(struct ir_side *side, struct arena *arena)
{
    side->tenants.n = side->groups.n = 0;
    for (size_t i = 0; i < side->endpoints.n; ) {
        struct ir_run run = ir_run_at(&side->endpoints, i);

        if (ir_run_is_whole(&run)) {
            *vec_push(arena, &side->tenants) = run.v[0]->tenant;
        } else {
            for (size_t j = 0; j < run.n; j++) {
                if (run.v[j]->group->first == run.v[j]) {
                    *vec_push(arena, &side->groups) = run.v[j]->group;
                }
            }
        }
        i += run.n;
    }
}

void
ir_name_sides(struct ir_prog *prog, struct arena *arena)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        name_side(&prog->rules.v[i]->from, arena);
        name_side(&prog->rules.v[i]->to, arena);
    }
}

bool
ir_rule_is_of(const struct ir_rule *rule, const struct ir_tenant *tenant)
{
    size_t n = strlen(tenant->name);

    return !strncmp(rule->name, tenant->name, n) && rule->name[n] == '/';
}

struct ir_charge
ir_charge_of(const struct ir_rule *rule)
{
    const ir_endpoint_vec *from = &rule->from.endpoints;
    const ir_endpoint_vec *to = &rule->to.endpoints;

    return (rule->charge_from ? (struct ir_charge) { from, to }
            : rule->charge_to ? (struct ir_charge) { to, from }
            : (struct ir_charge) { NULL, NULL });
}
