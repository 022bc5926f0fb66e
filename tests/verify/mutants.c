/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Random intents whose compiled tables must be proved, and the same with a
 * leak or black hole planted, which must be found.
 *
 * Whether what was planted changes anything at all, random packets say: they
 * are asked of the tables and of the reference meaning, as differential.c
 * does.  Where they differ, the verifier must have seen it; and so must a
 * proof of the tenants alone whose digests are others than before.  So it must
 * where the intent changes and the tables do not. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/edits.h"
#include "differential/outcome.h"
#include "differential/questions.h"
#include "differential/tables.h"
#include "mutate.h"
#include "openvswitch/vlog.h"
#include "proving.h"
#include "util.h"

enum { MUTANTS_A_WORLD = 25, PACKETS_A_MUTANT = 1000, EDITS_A_WORLD = 12 };

struct count {
    size_t worlds, mutants, found, refused, same, missed;
    size_t tenants, proved;     /* There, and proved again for a bug. */
    size_t edits, wrong;        /* Of intents; so that the tables are. */
};

/* Does the differential test see that the tables differ? */
static const char *
differ(struct compiled *c, struct rng *rng)
{
    const char *reason, *difference = NULL;
    struct tables *tables = tables_create(c->prog, &c->plan, &reason);

    for (int i = 0; i < PACKETS_A_MUTANT && tables && !difference; i++) {
        struct question q;
        struct outcome o;

        question_init(&q, c->policy, rng);
        tables_run(tables, &q, &o);
        difference = outcome_compare(c, &q, &o, c->arena);
    }
    if (tables) {
        tables_destroy(tables);
    }
    return difference;
}

/* Is the bug, or change, found too by a proof of those tenants only that it
 * can concern? */
static void
prove_again(struct proving *p, const struct proving *before,
            const char *what, struct count *count)
{
    struct verify_result result;

    proving_again(p, before, &result);
    count->tenants += p->result.n_tenants;
    count->proved += result.n_tenants;
    if (verify_is_proved(&result) != verify_is_proved(&p->result)) {
        count->missed++;
        printf("not ok - %s: of %"PRIuSIZE" tenants of %"PRIuSIZE" another "
               "proof\n", what, result.n_tenants, p->result.n_tenants);
    }
}

static void
plant(struct compiled *c, const struct proving *before, size_t kind,
      struct rng *rng, struct count *count)
{
    struct plan plan = c->plan;
    const char *difference;
    struct proving p;
    int at;

    c->plan.flows.v = xmemdup(plan.flows.v,
                              plan.flows.n * sizeof *plan.flows.v);
    at = mutate(&c->plan, kind, rng);
    if (at >= 0) {
        line_vec lines = proving_lines(c);

        count->mutants++;
        proving_init(&p, c, &lines);
        if (!p.unreadable) {
            prove_again(&p, before, mutation_name(kind), count);
        }
        if (p.unreadable || p.result.unproved) {
            count->refused++;
            printf("# %s is unproved: %s\n", mutation_name(kind),
                   p.unreadable ? p.unreadable : p.result.unproved);
        } else if (!verify_is_proved(&p.result)) {
            count->found++;
        } else {
            difference = differ(c, rng);
            count->same += !difference;
            count->missed += difference != NULL;
            if (difference) {
                printf("not ok - %s is not found: %s\n# now: %s\n",
                       mutation_name(kind), difference, at < (int) lines.n
                       ? lines.v[at] : "nothing");
            }
        }
        proving_destroy(&p);
    }
    free(c->plan.flows.v);
    c->plan = plan;
}

/* Changes one tenant of the intent, and leaves the tables as they are. */
static void
change(const struct proved_world *old, struct rng *rng, struct count *count)
{
    enum edit edit = rng_below(rng, EDIT_TENANT);
    const struct compiled *c = &old->compiled;
    struct world w = old->world;
    const char *text = NULL;
    struct compiled changed;

    edit_tenant(&w, rng, edit, rng_below(rng, w.n_tenants), &text, c->arena);
    world_compile(&w, &changed);
    if (changed.policy) {
        struct compiled mixed = changed;
        struct proving p;

        mixed.plan = c->plan;
        proving_init(&p, &mixed, &old->lines);
        count->edits++;
        count->wrong += !verify_is_proved(&p.result);
        prove_again(&p, &old->proving, edit_name(edit), count);
        proving_destroy(&p);
    }
    compiled_destroy(&changed);
}

/* Returns false if the tables are not proved as they are. */
static bool
try_world(uint64_t seed, size_t n, struct count *count)
{
    struct rng rng = { ~seed };
    struct proved_world w;
    bool ok = proved_world_init(&w, seed), small = proved_world_is_small(&w);

    count->worlds++;
    for (size_t i = 0; i < MUTANTS_A_WORLD && ok && small
         && count->mutants < n; i++) {
        plant(&w.compiled, &w.proving, rng_below(&rng, n_mutations), &rng,
              count);
    }
    for (size_t i = 0; i < EDITS_A_WORLD && ok && small; i++) {
        change(&w, &rng, count);
    }
    proved_world_destroy(&w);
    return ok;
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    struct count count;
    bool ok = true;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    setvbuf(stdout, NULL, _IOLBF, 0);
    memset(&count, 0, sizeof count);
    printf("# seed %"PRIu64"\n", seed);
    while (ok && count.mutants < n) {
        ok = try_world(seed++, n, &count);
    }
    /* Much of what is planted must show, or nothing was tested. */
    ok = (ok && !count.missed && count.found >= n / 4
          && count.proved < count.tenants && count.wrong);
    printf("%sok - %"PRIuSIZE" intents proved; of %"PRIuSIZE" planted bugs "
           "%"PRIuSIZE" found, %"PRIuSIZE" unproved, %"PRIuSIZE" without "
           "effect, %"PRIuSIZE" missed; for them %"PRIuSIZE" of %"PRIuSIZE
           " tenants proved again; of %"PRIuSIZE" changes of intents "
           "%"PRIuSIZE" found\n", ok ? "" : "not ", count.worlds,
           count.mutants, count.found, count.refused, count.same,
           count.missed, count.proved, count.tenants, count.edits,
           count.wrong);
    return ok ? 0 : 1;
}
