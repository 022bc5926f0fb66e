/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/meter.h"

#include "sema/ident.h"

static bool
has_endpoint_of(const struct ir_side *side, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < side->endpoints.n; i++) {
        if (side->endpoints.v[i]->tenant == tenant) {
            return true;
        }
    }
    return false;
}

/* May packets of the tenant be of the class? */
static bool
has_class(const struct ir_prog *prog, const struct ir_tenant *tenant,
          const struct ir_class *class)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if ((rule->class == class || rule->reply_class == class)
            && (has_endpoint_of(&rule->from, tenant)
                || has_endpoint_of(&rule->to, tenant))) {
            return true;
        }
    }
    return false;
}

static void
add_cap(struct ir_prog *prog, const struct ir_tenant *tenant,
        const struct ir_class *class, struct ident_set *numbers)
{
    struct ir_cap *cap = arena_zalloc(numbers->arena, sizeof *cap);

    cap->name = arena_printf(numbers->arena, "%s/dscp_in/%s", tenant->name,
                             class->name);
    cap->place = class->place;
    cap->tenant = tenant;
    cap->class = class;
    cap->number = ident_take(numbers, "meter", cap->name, 28);
    *vec_push(numbers->arena, &prog->caps) = cap;
}

void
ir_add_caps(struct ir_prog *prog, struct ident_set *numbers)
{
    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];

        for (size_t j = 0; class->dscp_in && j < prog->tenants.n; j++) {
            const struct ir_tenant *tenant = prog->tenants.v[j];

            if (tenant->here && has_class(prog, tenant, class)) {
                add_cap(prog, tenant, class, numbers);
            }
        }
    }
}
