/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/meter.h"

#include "sema/ident.h"

/* Sends one of the tenant's endpoints by tunnel to here?  '*i' is the first of
 * them, and then the one behind them. */
static bool
sends_from_afar(const struct ir_prog *prog, const struct ir_tenant *tenant,
                size_t *i)
{
    bool sends = false;

    for (; *i < prog->endpoints.n && prog->endpoints.v[*i]->tenant == tenant;
         ++*i) {
        sends |= prog->endpoints.v[*i]->node != NULL;
    }
    return sends;
}

static bool
has_tenant(const ir_tenant_vec *tenants, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < tenants->n; i++) {
        if (tenants->v[i] == tenant) {
            return true;
        }
    }
    return false;
}

/* Who may pay for what others send by tunnel. */
static ir_tenant_vec
find_payers_of_arrivals(const struct ir_prog *prog, struct arena *arena)
{
    ir_tenant_vec payers = VEC_INIT;

    for (size_t i = 0; prog->peers.n && i < prog->rules.n; i++) {
        struct ir_charge charge = ir_charge_of(prog->rules.v[i]);

        for (size_t j = 0; charge.payers && j < charge.payers->n; ) {
            struct ir_run run = ir_run_at(charge.payers, j);

            if (!has_tenant(&payers, run.v[0]->tenant)) {
                *vec_push(arena, &payers) = run.v[0]->tenant;
            }
            j += run.n;
        }
    }
    return payers;
}

/* Comes something from outside that a meter of what it gets counts? */
static bool
gets_from_outside(const struct ir_prog *prog, const struct ir_tenant *tenant)
{
    for (size_t i = 0; prog->externals.n && i < prog->networks.n; i++) {
        const struct ir_network *network = prog->networks.v[i];

        if (network->tenant == tenant && network->here
            && ir_find_meter(prog, ir_account_of(network), true)) {
            return true;
        }
    }
    return false;
}

void
ir_add_tags(struct ir_prog *prog, struct ident_set *numbers)
{
    ir_tenant_vec payers = VEC_INIT;
    size_t endpoint = 0;

    if (prog->telemetry) {
        payers = find_payers_of_arrivals(prog, numbers->arena);
    }
    for (size_t i = 0; prog->telemetry && i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];
        bool arrives = sends_from_afar(prog, tenant, &endpoint);
        bool pays = has_tenant(&payers, tenant);
        struct ir_tag *tag;

        if (arrives || pays || gets_from_outside(prog, tenant)) {
            tag = arena_zalloc(numbers->arena, sizeof *tag);
            tag->name = arena_printf(numbers->arena, "%s/tag", tenant->name);
            tag->place = tenant->place;
            tag->tenant = tenant;
            tag->number = ident_take(numbers, "meter", tag->name, 28);
            tag->arrives = arrives;
            tag->pays = pays;
            *vec_push(numbers->arena, &prog->tags) = tag;
        }
    }
}
