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

VEC_TYPEDEF(port_vec, ofp_port_t);

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
    if (dd_eval(run->space.dd, space_real(&run->space), digits) != DD_NONE) {
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
    result = dd_cut(run->space.dd, space_real(&run->space), result);
    dd_leaves(run->space.dd, result, visit, run);
    count_outside(run);
}

static void
run_tables(struct table_set *tables, struct arena *arena, struct rng *rng,
           struct count *count, const port_vec *ports)
{
    struct run run = {
        .tables = tables, .arena = arena, .rng = rng, .count = count,
    };
    size_t n = tables->flows.n + 1;

    space_init(&run.space, LAYOUT_BITS);
    run.terms = terms_create();
    run.effects = effects_create();
    run.fields = exec_fields_create(tables);
    run.exec = exec_create(tables, run.fields, &run.space, run.terms,
                           run.effects, table_set_port(tables,
                                                       INTERFACE_TUNNEL), 0);
    exec_by_port(run.exec);
    run.origins = origins_create(tables);
    run.known = arena_zalloc(arena, n * sizeof *run.known);
    run.found = bitmap_allocate(n);
    for (size_t i = 0; i < ports->n; i++) {
        run_port(&run, ports->v[i]);
    }
    free(run.found);
    origins_destroy(run.origins);
    exec_destroy(run.exec);
    exec_fields_destroy(run.fields);
    effects_destroy(run.effects);
    terms_destroy(run.terms);
    space_destroy(&run.space);
}

static void
run_world(struct proving *p, struct rng *rng, struct count *count)
{
    const struct policy *policy = p->task.policy;
    port_vec ports = VEC_INIT;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];

            if (e->bound && !strcmp(e->node->name.s, p->task.node)) {
                *vec_push(p->arena, &ports) = table_set_port(
                    p->task.tables, e->intent->interface.s);
            }
        }
    }
    run_tables(p->task.tables, p->arena, rng, count, &ports);
}

/* What no compiled tables do, as mutations of them do not: a port that is
 * changed, a field that is copied where it was changed, and two zones of which
 * neither is behind the other. */
static void
try_made(struct count *count)
{
    static const char *const texts[] = {
        "table=0,ip actions=set_field:7->in_port,resubmit(,1)\n"
        "table=1,ip,in_port=7 actions=drop\n"
        "table=1,priority=0 actions=drop\n",
        "table=0,ip actions=set_field:3->nw_ttl,"
        "move:nw_ttl[0..7]->reg0[0..7],resubmit(,1)\n"
        "table=1,ip,reg0=3/0xff actions=drop\n",
        "table=0,ip actions=ct(table=1,zone=1),ct(table=1,zone=2)\n"
        "cookie=1,table=1,ip,ct_state=+new+trk actions=drop\n"
        "table=1,priority=0 actions=drop\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct arena *arena = arena_create();
        struct rng rng = { 1 };
        port_vec ports = VEC_INIT;
        struct ofputil_port_map map;
        struct table_set tables;

        ofputil_port_map_init(&map);
        table_set_init(&tables, "made", arena, &map);
        ovs_assert(!table_set_parse(&tables, texts[i], strlen(texts[i]))
                   && !table_set_finish(&tables));
        *vec_push(arena, &ports) = table_set_port(&tables, "p0");
        run_tables(&tables, arena, &rng, count, &ports);
        table_set_destroy(&tables);
        ofputil_port_map_destroy(&map);
        arena_destroy(arena);
    }
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
    try_made(&count);
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
