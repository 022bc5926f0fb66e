/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "pass/pass.h"

#include "ir/ir.h"
#include "util.h"

/* Groups are found by partition refinement (Paige and Tarjan, "Three Partition
 * Refinement Algorithms", 1987): all endpoints of a tenant begin in one group,
 * and each side of a rule that holds only some of a group divides it.  The
 * time is proportional to the sizes of the sides. */
struct grouper {
    struct ir_prog *prog;
    struct arena *arena;
    size_t n;                   /* Groups so far, at most one an endpoint. */
    size_t *group;              /* Of each endpoint, by its index. */
    size_t *size;               /* Of each group. */
    size_t *here;               /* Of each group, on the side at hand. */
    size_t *part;               /* The group that those go to, or 0. */
    size_t *touched, n_touched; /* Groups on the side at hand. */
};

static void
refine(struct grouper *g, const struct ir_run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        size_t group = g->group[run->v[i]->index];

        if (!g->here[group]++) {
            g->touched[g->n_touched++] = group;
        }
    }
    for (size_t i = 0; i < run->n; i++) {
        size_t *group = &g->group[run->v[i]->index];

        if (g->here[*group] < g->size[*group]) {
            if (!g->part[*group]) {
                g->part[*group] = g->n++;
            }
            *group = g->part[*group];
        }
    }
    while (g->n_touched) {
        size_t group = g->touched[--g->n_touched];

        if (g->part[group]) {
            g->size[group] -= g->here[group];
            g->size[g->part[group]] = g->here[group];
        }
        g->here[group] = g->part[group] = 0;
    }
}

static void
refine_side(struct grouper *g, const struct ir_side *side)
{
    for (size_t i = 0; i < side->endpoints.n; ) {
        struct ir_run run = ir_run_at(&side->endpoints, i);

        if (!ir_run_is_whole(&run)) {
            refine(g, &run);
        }
        i += run.n;
    }
}

static void
begin(struct grouper *g)
{
    const struct ir_tenant *tenant = NULL;

    for (size_t i = 0; i < g->prog->endpoints.n; i++) {
        if (g->prog->endpoints.v[i]->tenant != tenant) {
            tenant = g->prog->endpoints.v[i]->tenant;
            g->size[g->n++] = tenant->n_endpoints;
        }
        g->group[i] = g->n - 1;
    }
}

static void
number_groups(struct grouper *g)
{
    struct ir_group *groups = arena_zalloc(g->arena, g->n * sizeof *groups);

    for (size_t i = 0; i < g->prog->endpoints.n; i++) {
        struct ir_endpoint *e = g->prog->endpoints.v[i];
        struct ir_group *group = &groups[g->group[i]];

        if (!group->n_endpoints++) {
            group->number = e->number;
        }
        e->group = group;
    }
}

void
pass_group(struct ir_prog *prog, struct arena *arena)
{
    size_t size = (prog->endpoints.n + 1) * sizeof(size_t);
    struct grouper g = {
        .prog = prog, .arena = arena,
        .group = arena_zalloc(arena, size), .size = arena_zalloc(arena, size),
        .here = arena_zalloc(arena, size), .part = arena_zalloc(arena, size),
        .touched = arena_zalloc(arena, size),
    };

    begin(&g);
    for (size_t i = 0; i < prog->rules.n; i++) {
        refine_side(&g, &prog->rules.v[i]->from);
        refine_side(&g, &prog->rules.v[i]->to);
    }
    number_groups(&g);
    ir_name_sides(prog, arena);
}
