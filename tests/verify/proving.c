/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "proving.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

enum { MAX_DIAGRAMS = 200000 };

line_vec
proving_lines(const struct compiled *c)
{
    line_vec lines = VEC_INIT;

    for (size_t i = 0; i < c->plan.flows.n; i++) {
        *vec_push(c->arena, &lines) = plan_flow_string(&c->plan,
                                                       &c->plan.flows.v[i]);
    }
    return lines;
}

static void
read_lines(struct proving *p, const line_vec *lines)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < lines->n; i++) {
        if (lines->v[i]) {
            ds_put_format(&ds, "%s\n", lines->v[i]);
        }
    }
    table_set_init(&p->tables, "flows.txt", p->arena, &p->ports);
    p->unreadable = table_set_parse(&p->tables, ds_cstr(&ds), ds.length);
    if (!p->unreadable) {
        p->unreadable = table_set_finish(&p->tables);
    }
    ds_destroy(&ds);
}

void
proving_init(struct proving *p, const struct compiled *c,
             const line_vec *lines)
{
    uint32_t *meters;

    memset(p, 0, sizeof *p);
    p->arena = arena_create();
    ofputil_port_map_init(&p->ports);
    read_lines(p, lines);
    if (p->unreadable) {
        return;
    }
    meters = arena_zalloc(p->arena, (c->plan.meters.n + 1) * sizeof *meters);
    for (size_t i = 0; i < c->plan.meters.n; i++) {
        meters[i] = c->plan.meters.v[i].id;
    }
    p->task = (struct verify_task) {
        .policy = c->policy, .node = WORLD_NODE, .tables = &p->tables,
        .meters = meters, .n_meters = c->plan.meters.n,
        .tags = c->plan.telemetry, .contracts = true, .n_jobs = 3,
    };
    verify(&p->task, p->arena, &p->result);
    p->digests = arena_zalloc(p->arena, (c->policy->tenants.n + 1)
                              * sizeof *p->digests);
    if (!verify_digest(&p->task, p->arena, p->digests)) {
        p->digests = NULL;
    }
}

void
proving_again(struct proving *p, const struct proving *before,
              struct verify_result *result)
{
    struct verify_task task = p->task;
    size_t n = task.policy->tenants.n;
    bool *tenants = arena_zalloc(p->arena, n + 1);

    for (size_t i = 0; i < n; i++) {
        tenants[i] = (!p->digests || !before->digests
                      || strcmp(p->digests[i], before->digests[i]));
    }
    task.tenants = tenants;
    verify(&task, p->arena, result);
}

void
proving_destroy(struct proving *p)
{
    table_set_destroy(&p->tables);
    ofputil_port_map_destroy(&p->ports);
    arena_destroy(p->arena);
}

void
proving_print(const struct proving *p)
{
    if (p->unreadable || p->result.unproved) {
        printf("# %s\n", p->unreadable ? p->unreadable : p->result.unproved);
    }
    for (size_t i = 0; i < p->result.differences.n; i++) {
        const struct verify_difference *d = &p->result.differences.v[i];

        printf("# %s: from %s: %s\n#   meant %s\n#   found %s\n#   %s%s\n",
               verify_kind_name(d->kind), d->from, d->what, d->meant,
               d->found, d->ct_next, d->packet);
        for (size_t k = 0; k < d->steps.n; k++) {
            printf("#   %s\n", d->steps.v[k]->text);
        }
    }
    for (size_t i = 0; i < p->result.shadowed.n; i++) {
        printf("# shadowed: %s\n", p->result.shadowed.v[i].flow->text);
    }
}

bool
proved_world_init(struct proved_world *w, uint64_t seed)
{
    struct proving *p = &w->proving;
    bool ok;

    world_init(&w->world, seed);
    world_compile(&w->world, &w->compiled);
    compiled_lower(&w->compiled, WORLD_NODE);
    w->lines = proving_lines(&w->compiled);
    proving_init(p, &w->compiled, &w->lines);
    ok = !p->unreadable && verify_is_proved(&p->result);
    if (!ok) {
        printf("not ok - seed %"PRIu64" is not proved\n%s", seed,
               w->compiled.text);
        proving_print(p);
    }
    return ok;
}

void
proved_world_destroy(struct proved_world *w)
{
    proving_destroy(&w->proving);
    compiled_destroy(&w->compiled);
}

bool
proved_world_is_small(const struct proved_world *w)
{
    return w->proving.result.n_nodes <= MAX_DIAGRAMS;
}
