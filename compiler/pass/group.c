/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "pass/pass.h"

#include "base/partition.h"
#include "hmapx.h"
#include "ir/ir.h"

/* All endpoints of a tenant begin in one group, and each side of a rule that
 * holds only some of a group divides it. */
struct grouper {
    struct ir_prog *prog;
    struct arena *arena;
    struct partition partition; /* Of endpoints, by their indexes. */
    size_t *set;                /* Room for as many. */
};

static void
refine(struct grouper *g, const struct ir_run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        g->set[i] = run->v[i]->index;
    }
    partition_refine(&g->partition, g->set, run->n);
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
    for (size_t i = 0; i < g->prog->endpoints.n; ) {
        size_t n = g->prog->endpoints.v[i]->tenant->n_endpoints;

        partition_add(&g->partition, i, n);
        i += n;
    }
}

/* The number of a group that begins with 'e'.  Twins may be apart, in a
 * program that was parsed: then one group only is called after theirs. */
static uint32_t
number_of(const struct ir_endpoint *e, struct hmapx *twins)
{
    return (e->twin && hmapx_add(twins, (void *) (uintptr_t) e->twin)
            ? e->twin : e->number);
}

static void
number_groups(struct grouper *g)
{
    struct ir_group *groups = arena_zalloc(g->arena, (g->partition.n + 1)
                                                     * sizeof *groups);
    struct hmapx twins = HMAPX_INITIALIZER(&twins);

    for (size_t i = 0; i < g->prog->endpoints.n; i++) {
        struct ir_endpoint *e = g->prog->endpoints.v[i];
        struct ir_group *group = &groups[g->partition.part[i]];

        if (!group->n_endpoints++) {
            group->first = e;
            group->number = number_of(e, &twins);
        }
        e->group = group;
    }
    hmapx_destroy(&twins);
}

void
pass_group(struct ir_prog *prog, struct arena *arena)
{
    size_t n = prog->endpoints.n;
    struct grouper g = {
        .prog = prog, .arena = arena,
        .set = arena_zalloc(arena, (n + 1) * sizeof *g.set),
    };

    partition_init(&g.partition, n, arena);
    begin(&g);
    for (size_t i = 0; i < prog->rules.n; i++) {
        refine_side(&g, &prog->rules.v[i]->from);
        refine_side(&g, &prog->rules.v[i]->to);
    }
    number_groups(&g);
    ir_name_sides(prog, arena);
}
