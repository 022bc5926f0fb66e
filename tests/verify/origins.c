/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Whatever flow a packet meets, it must be one of those that can meet it, as
 * origin.h says: asked of a packet for each thing that becomes of packets, by
 * the tables of random intents, some with a bug planted.
 *
 * usage: tests/verify/origins [SEED [WORLDS]] */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "mutate.h"
#include "openvswitch/vlog.h"
#include "proving.h"
#include "sema/interface.h"
#include "util.h"
#include "verify/exec.h"
#include "verify/origin.h"

struct count {
    size_t packets, steps, outside, missed;
};

enum { N_KEPT = 256, N_MIXED = 20 };

struct packet {
    u128 values[N_FIELDS];
};

/* What becomes of packets by one port. */
struct run {
    struct table_set *tables;
    struct arena *arena;
    struct space space;
    struct terms *terms;
    struct effects *effects;
    struct exec_fields *fields;
    struct exec *exec;
    struct origins *origins;
    struct ingress ingress;
    comers_vec *known;          /* By order of flow. */
    unsigned long *found;       /* 1-bits: flows of which it is. */
    struct packet packets[N_KEPT];      /* Met before. */
    size_t n_packets;
    struct rng *rng;
    struct count *count;
};

static bool
holds(struct run *run, const struct table_flow *flow, const u128 digits[])
{
    comers_vec *comers = &run->known[flow->order];

    if (!bitmap_is_set(run->found, flow->order)) {
        bitmap_set1(run->found, flow->order);
        origins_find(run->origins, flow, &run->space, run->arena, comers);
    }
    return dd_eval(run->space.dd, origin_by_port(comers, run->ingress.port,
                                                 &run->space),
                   digits) != DD_NONE;
}

static void
walk(struct run *run, const u128 values[])
{
    struct arena *arena = arena_create();
    u128 digits[ARRAY_SIZE(run->space.digits)];
    step_vec steps = VEC_INIT;

    for (size_t i = 0; i < run->space.n_digits; i++) {
        const struct digit *d = &run->space.digits[i];

        digits[i] = values[d->field] >> d->ofs & field_ones(d->width);
    }
    if (dd_eval(run->space.dd, run->space.real, digits) != DD_NONE) {
        exec_walk(run->exec, &run->ingress, values, arena, &steps);
        run->count->packets++;
    }
    for (size_t i = 0; i < steps.n; i++) {
        run->count->steps++;
        if (!holds(run, steps.v[i], digits)) {
            run->count->missed++;
            printf("not ok - a packet by port %"PRIu32" cannot meet %s\n",
                   run->ingress.port, steps.v[i]->text);
        }
    }
    arena_destroy(arena);
}

/* Walks the packet, and some that are partly it and partly others. */
static bool
visit(void *run_, dd_t leaf OVS_UNUSED, const u128 digits[])
{
    struct run *run = run_;
    struct packet *packet = &run->packets[run->n_packets++ % N_KEPT];
    size_t n = MIN(run->n_packets, N_KEPT);

    space_packet(&run->space, digits, packet->values);
    walk(run, packet->values);
    for (int i = 0; i < N_MIXED; i++) {
        const struct packet *other = &run->packets[rng_below(run->rng, n)];
        struct packet mixed = *packet;

        for (int f = F_FIRST_OF_PACKET; f < N_FIELDS; f++) {
            if (rng_chance(run->rng, 20)) {
                mixed.values[f] = other->values[f];
            }
        }
        walk(run, mixed.values);
    }
    return false;
}

/* Is there a flow that not all packets of the port can meet?  Else nothing is
 * asked. */
static void
count_outside(struct run *run)
{
    for (size_t i = 0; i < run->tables->flows.n; i++) {
        if (bitmap_is_set(run->found, i)
            && origin_by_port(&run->known[i], run->ingress.port,
                              &run->space) != DD_ALL) {
            run->count->outside++;
        }
    }
}

static void
run_port(struct run *run, ofp_port_t port)
{
    dd_t result;

    run->ingress = (struct ingress) { .port = port };
    result = exec_run(run->exec, &run->ingress);
    result = dd_cut(run->space.dd, run->space.real, result);
    dd_leaves(run->space.dd, result, visit, run);
    count_outside(run);
}

static void
run_world(struct proving *p, struct rng *rng, struct count *count)
{
    const struct policy *policy = p->task.policy;
    struct run run = {
        .tables = p->task.tables, .arena = p->arena, .rng = rng,
        .count = count,
    };
    size_t n = run.tables->flows.n + 1;

    space_init(&run.space, LAYOUT_BITS);
    run.terms = terms_create();
    run.effects = effects_create();
    run.fields = exec_fields_create(run.tables);
    run.exec = exec_create(run.tables, run.fields, &run.space, run.terms,
                           run.effects, table_set_port(run.tables,
                                                       INTERFACE_TUNNEL), 0);
    exec_by_port(run.exec);
    run.origins = origins_create(run.tables);
    run.known = arena_zalloc(p->arena, n * sizeof *run.known);
    run.found = bitmap_allocate(n);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];

            if (e->bound && !strcmp(e->node->name.s, p->task.node)) {
                run_port(&run, table_set_port(run.tables,
                                              e->intent->interface.s));
            }
        }
    }
    free(run.found);
    origins_destroy(run.origins);
    exec_destroy(run.exec);
    exec_fields_destroy(run.fields);
    effects_destroy(run.effects);
    terms_destroy(run.terms);
    space_destroy(&run.space);
}

/* The tables as they are, and with a bug. */
static void
try_world(uint64_t seed, struct count *count)
{
    struct rng rng = { seed };
    struct proved_world w;

    if (proved_world_init(&w, seed) && proved_world_is_small(&w)) {
        run_world(&w.proving, &rng, count);
        for (int i = 0; i < 3; i++) {
            struct compiled bad = w.compiled;
            struct proving p;
            line_vec lines;

            bad.plan.flows.v = xmemdup(bad.plan.flows.v, bad.plan.flows.n
                                       * sizeof *bad.plan.flows.v);
            bad.plan.flows.allocated = bad.plan.flows.n;
            mutate(&bad.plan, rng_below(&rng, n_mutations), &rng);
            lines = proving_lines(&bad);
            proving_init(&p, &bad, &lines);
            if (!p.unreadable) {
                run_world(&p, &rng, count);
            }
            proving_destroy(&p);
        }
    }
    proved_world_destroy(&w);
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    struct count count = { 0 };
    bool ok;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    printf("# seed %"PRIu64"\n", seed);
    for (size_t i = 0; i < n; i++) {
        try_world(seed + i, &count);
    }
    ok = !count.missed && count.steps >= 1000 && count.outside >= 100;
    printf("%sok - %"PRIuSIZE" packets met %"PRIuSIZE" flows, of which "
           "%"PRIuSIZE" not by all; %"PRIuSIZE" of them were not said to\n",
           ok ? "" : "not ", count.packets, count.steps, count.outside,
           count.missed);
    return ok ? 0 : 1;
}
