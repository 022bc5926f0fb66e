/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Slices to which flows come one after the other say what those say that are
 * made of all flows at once (slice.h): asked of the tables of random intents.
 *
 * usage: tests/verify/slices [SEED [WORLDS]] */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "proving.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/slice.h"

struct count {
    size_t flows, came, wrong;
};

/* Takes some flows away, in a random order.  'slices' may be NULL. */
static line_vec
take_away(struct proving *p, struct slices *slices, struct rng *rng)
{
    struct table_set *tables = &p->tables;
    size_t n = 1 + rng_below(rng, tables->flows.n / 2 + 1);
    line_vec texts = VEC_INIT;

    for (size_t i = 0; i < n && tables->flows.n > 1; i++) {
        const struct table_flow *flow
            = tables->flows.v[rng_below(rng, tables->flows.n)];
        const char *text = arena_strdup(p->arena, flow->text);
        struct table_flow *gone;

        ovs_assert(!table_set_remove(tables, text, &gone));
        if (slices) {
            slices_remove(slices, gone, tables->flows.n);
        }
        *vec_push(p->arena, &texts) = text;
    }
    return texts;
}

static void
bring_back(struct proving *p, struct slices *slices, const line_vec *texts,
           struct count *count)
{
    for (size_t i = texts->n; i > 0; i--) {
        struct table_flow *flow;

        ovs_assert(!table_set_add(&p->tables, texts->v[i - 1], &flow)
                   && slices_add(slices, flow));
        count->came++;
    }
}

static void
compare(const struct proving *p, const struct slices *slices,
        struct count *count)
{
    struct slices *anew = slices_create(&p->task);
    size_t n = p->task.policy->tenants.n + 1;

    for (size_t i = 0; i < p->tables.flows.n; i++) {
        const struct table_flow *flow = p->tables.flows.v[i];

        count->flows++;
        if (!bitmap_equal(slices_of(slices, flow), slices_of(anew, flow),
                          n)) {
            count->wrong++;
            printf("not ok - others can meet %s\n", flow->text);
        }
    }
    slices_destroy(anew);
}

static void
try_world(uint64_t seed, struct count *count)
{
    struct rng rng = { seed };
    struct proved_world w;

    if (proved_world_init(&w, seed)) {
        struct proving *p = &w.proving;
        line_vec before = take_away(p, NULL, &rng), after;
        struct slices *slices = slices_create(&p->task);

        if (slices) {
            after = take_away(p, slices, &rng);
            bring_back(p, slices, &after, count);
            bring_back(p, slices, &before, count);
            compare(p, slices, count);
        }
        slices_destroy(slices);
    } else {
        count->wrong++;
    }
    proved_world_destroy(&w);
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 40;
    struct count count = { 0 };
    bool ok;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    printf("# seed %"PRIu64"\n", seed);
    for (size_t i = 0; i < n; i++) {
        try_world(seed + i, &count);
    }
    ok = !count.wrong && count.came >= 100 * n;
    printf("%sok - of %"PRIuSIZE" flows, as %"PRIuSIZE" came one by one, "
           "%"PRIuSIZE" are in other slices than of all at once\n",
           ok ? "" : "not ", count.flows, count.came, count.wrong);
    return ok ? 0 : 1;
}
