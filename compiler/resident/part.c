/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/part.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "sema/policy.h"
#include "util.h"

/* Adds the peerings that name 'tenant', each once in a slice. */
static void
add_peerings(struct resident *r, const struct tenant *tenant,
             struct intent *slice, struct arena *arena)
{
    const peering_vec *peerings = shash_find_data(&r->peerings_of,
                                                  tenant->intent->name.s);

    for (size_t i = 0; peerings && i < peerings->n; i++) {
        if (peerings->v[i]->mark != r->mark) {
            peerings->v[i]->mark = r->mark;
            *vec_push(arena, &slice->peerings) = *peerings->v[i]->intent;
        }
    }
}

/* The intent of some tenants.  What it leaves out, known.c does not know. */
static const struct intent *
slice(struct resident *r, const struct tenant_list *tenants,
      struct arena *arena)
{
    struct intent *slice = arena_zalloc(arena, sizeof *slice);

    slice->encapsulation = r->intent->encapsulation;
    slice->nodes = r->intent->nodes;
    slice->classes = r->intent->classes;
    slice->services = r->intent->services;
    r->mark++;
    for (size_t i = 0; i < tenants->n; i++) {
        *vec_push(arena, &slice->tenants) = *tenants->v[i]->intent;
        add_peerings(r, tenants->v[i], slice, arena);
    }
    return slice;
}

const struct intent *
resident_intent(const struct resident *r, struct arena *arena)
{
    struct intent *whole = arena_zalloc(arena, sizeof *whole);
    size_t n = shash_count(&r->tenants);
    struct shash_node *node;

    *whole = *r->intent;
    whole->tenants.v = arena_zalloc(arena, n * sizeof *whole->tenants.v);
    whole->tenants.n = 0;
    whole->tenants.allocated = n;
    SHASH_FOR_EACH (node, &r->tenants) {
        const struct tenant *tenant = node->data;

        *vec_push(arena, &whole->tenants) = *tenant->intent;
    }
    return whole;
}

bool
compile_tenants(struct resident *r, const struct tenant_list *tenants,
                struct diags *diags, struct compilation *c)
{
    *c = (struct compilation) { .arena = arena_create() };

    const struct intent *intent = (tenants ? slice(r, tenants, c->arena)
                                   : resident_intent(r, c->arena));
    const struct policy *policy = policy_resolve(intent, c->arena, diags);

    if (!policy) {
        return false;
    }
    c->policy = policy;
    c->claims = policy->claims;

    struct ir_prog *prog = ir_build(policy, r->node, c->arena);
    if (!backend_compile(r->backend, prog, c->arena, diags, &c->plan)) {
        return false;
    }
    if (c->plan.conflict) {
        diag_error(diags, (struct span) { NULL, 0, 0 }, NULL,
                   "flows contradict each other: %s", c->plan.conflict);
        return false;
    }
    return true;
}

void
compilation_destroy(struct compilation *c)
{
    arena_destroy(c->arena);
    c->arena = NULL;
}

void
part_destroy(struct part *part)
{
    arena_destroy(part->notes.arena);
    free(part->tenants.v);
    free(part->held.v);
    free(part->shares);
    free(part);
}

void
tenant_list_add(struct tenant_list *list, struct tenant *tenant)
{
    if (list->n == list->allocated) {
        list->v = x2nrealloc(list->v, &list->allocated, sizeof *list->v);
    }
    list->v[list->n++] = tenant;
}

static struct usage
plan_usage(const struct plan *plan)
{
    struct usage usage = {
        .ports = plan->ports.n + (plan->tunnel.type != NULL),
        .meters = plan->meters.n,
        .rule_flows = plan->n_rule_flows,
        .conjunctions = plan->n_conjunctions,
    };

    for (size_t i = 0; i < plan->tenants.n; i++) {
        usage.zones += plan->tenants.v[i].zone != 0;
    }
    return usage;
}

bool
part_compile(struct resident *r, struct part *part, struct arena *diags,
             const struct fact_vec *likely, struct compilation *c,
             struct fact **clash)
{
    bool ok;

    r->stats.compilations++;
    r->stats.tenants += part->tenants.n;
    part->diags = arena_zalloc(diags, sizeof *part->diags);
    diags_init(part->diags, diags);
    ok = compile_tenants(r, part->all ? NULL : &part->tenants, part->diags,
                         c);
    *clash = NULL;
    if (ok) {
        part->usage = plan_usage(&c->plan);
        part_share(r, part, c->claims);
        *clash = facts_hold(&r->facts, &c->plan, c->claims, likely,
                            &part->held);
        if (*clash) {
            facts_release(&r->facts, &part->held);
        } else {
            plan_init(&part->notes, arena_create(), r->node,
                      r->backend->name);
            plan_copy_notes(&part->notes, &c->plan);
        }
    }
    return ok;
}

bool
part_holds(const struct part *part, const struct fact *fact)
{
    for (size_t i = 0; i < part->held.n; i++) {
        if (part->held.v[i] == fact) {
            return true;
        }
    }
    return false;
}

void
usage_add(struct usage *sum, const struct usage *usage)
{
    sum->ports += usage->ports;
    sum->zones += usage->zones;
    sum->meters += usage->meters;
    sum->rule_flows += usage->rule_flows;
    sum->conjunctions += usage->conjunctions;
}

void
usage_subtract(struct usage *sum, const struct usage *usage)
{
    sum->ports -= usage->ports;
    sum->zones -= usage->zones;
    sum->meters -= usage->meters;
    sum->rule_flows -= usage->rule_flows;
    sum->conjunctions -= usage->conjunctions;
}

bool
is_near_limit(const struct resident *r, const struct usage *usage)
{
    const struct backend_caps *caps = r->backend->caps;

    for (size_t i = 0; i < ARRAY_SIZE(r->facts.n_flows); i++) {
        if (r->facts.n_flows[i] > caps->n_flows) {
            return true;
        }
    }
    return (usage->ports > caps->n_ports || usage->zones > caps->n_zones
            || usage->meters > caps->n_meters
            || usage->rule_flows > caps->n_flows
            || usage->conjunctions > caps->n_conjunctions);
}
