/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What compilations cost: time, memory and flows, from 50 tenants to 2,000.
 *
 * usage: tests/bench/compile MAKE-INTENT [OPTION...]
 *
 * MAKE-INTENT is make-intent.py, which gets the options.  Each line is from a
 * process of its own; times are CPU time, for there is one thread.
 *
 * The first table is of the whole, from its text: the least of several runs.
 *
 * The second is of one tenant that changes in a resident compilation of all,
 * many times over: from the text of the tenant's file to the difference of the
 * node's flows and meters, which "parse" is a part of.  It fails if that
 * difference is not as large as the difference of two compilations of the
 * whole. */

#include <config.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "generate.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "resident/resident.h"
#include "sema/policy.h"
#include "util.h"

enum {
    N_RUNS = 3,
    N_CHANGED = 10,             /* Tenants, each there and back... */
    N_TIMES = 25,               /* ...so often, for each kind of change. */
};

static char **arguments;        /* MAKE-INTENT and its options. */

/* A compilation and how long its halves took. */
struct run {
    struct arena *arena;
    const struct intent *intent;
    struct plan plan;
    double check_ms, compile_ms;
};

static void
fail(const char *what)
{
    fprintf(stderr, "compile: %s\n", what);
    exit(EXIT_FAILURE);
}

static struct run
compile(const char *text)
{
    struct run run = { .arena = arena_create() };
    const struct policy *policy;
    struct diags diags;
    double start = now_ms();

    diags_init(&diags, run.arena);
    run.intent = intent_parse(source_create(run.arena, "intent", text,
                                            strlen(text)), run.arena, &diags);
    policy = run.intent ? policy_resolve(run.intent, run.arena, &diags)
             : NULL;
    run.check_ms = now_ms() - start;
    if (!policy) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        diags_format(&diags, &ds);
        fail(ds_cstr(&ds));
    }
    if (!backend_compile(&openflow_backend,
                         ir_build(policy, "node", run.arena), run.arena,
                         &diags, &run.plan)) {
        fail("the plan is too large for the target");
    }
    run.compile_ms = now_ms() - start - run.check_ms;
    if (run.plan.conflict) {
        fail(run.plan.conflict);
    }
    return run;
}

/* Prints a line about the whole. */
static void
print_whole(int n_tenants)
{
    char *text = generate(arguments, n_tenants, "");
    double check_ms = 1e9, compile_ms = 1e9;
    struct rusage usage;

    for (int i = 0; i < N_RUNS; i++) {
        struct run run = compile(text);

        check_ms = MIN(check_ms, run.check_ms);
        compile_ms = MIN(compile_ms, run.compile_ms);
        if (!i) {
            getrusage(RUSAGE_SELF, &usage);
        }
        if (i == N_RUNS - 1) {
            struct plan_counts c = plan_count(&run.plan);

            printf("%7d %8.1f %8zu %6zu %6zu %6zu %8.1f %8.1f %8.1f %8.1f\n",
                   n_tenants, strlen(text) / 1e6, c.flows, c.masks, c.meters,
                   c.conjunctions, check_ms, compile_ms,
                   check_ms + compile_ms, usage.ru_maxrss / 1e3);
        }
        arena_destroy(run.arena);
    }
    free(text);
}

static const char *const kinds[] = { "rule", "bandwidth", "endpoint" };

/* The file of a tenant, changed if 'kind' is not NULL. */
static char *
generate_part(int n_tenants, int tenant, const char *kind)
{
    char *more = (kind ? xasprintf("--part %d --change %d --edit %s", tenant,
                                   tenant, kind)
                  : xasprintf("--part %d", tenant));
    char *text = generate(arguments, n_tenants, more);

    free(more);
    return text;
}

/* What a change took, and what it changed. */
struct change {
    double parse_ms, all_ms;
    size_t n_changes;
};

static struct change
change(struct resident *r, const struct intent *rest, const char *text)
{
    struct arena *arena = arena_create();
    struct arena *scratch = arena_create();
    struct resident_diff diff;
    struct change cost;
    struct diags diags;

    double start = now_ms();
    struct intent_file file = {
        .source = source_create(arena, "tenant", text, strlen(text)),
    };
    diags_init(&diags, scratch);
    const struct intent *part = intent_parse_tenants(&file, rest, arena,
                                                     &diags);
    cost.parse_ms = now_ms() - start;
    if (!part || !resident_put(r, &part->tenants.v[0], arena, &diags,
                               &diff)) {
        fail("a change is refused");
    }
    cost.all_ms = now_ms() - start;
    cost.n_changes = (diff.added.n + diff.changed.n + diff.deleted.n
                      + diff.meters_added.n + diff.meters_deleted.n);
    arena_destroy(scratch);
    return cost;
}

/* As many as plan_compare() of the whole says? */
static void
check_changes(int n_tenants, int tenant, const char *kind,
              const struct plan *whole, size_t n_changes)
{
    char *more = xasprintf("--change %d --edit %s", tenant, kind);
    char *text = generate(arguments, n_tenants, more);
    struct run changed = compile(text);
    struct plan_diff diff = plan_compare(whole, &changed.plan);

    if (n_changes != (diff.added.n + diff.changed.n + diff.deleted.n
                      + diff.meters_added + diff.meters_deleted)) {
        fail("a change is another than that of the whole");
    }
    arena_destroy(changed.arena);
    free(text);
    free(more);
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static double
allocated_mb(void)
{
    struct mallinfo2 info = mallinfo2();

    return (info.uordblks + info.hblkhd) / 1e6;
}

/* Makes changes of one kind, and prints a line about them. */
static void
print_changes(int n_tenants, struct resident *r, const struct run *whole,
              const char *kind, double held_mb)
{
    enum { N = N_CHANGED * N_TIMES * 2 };
    double parse_ms[N], all_ms[N], mb = allocated_mb();
    size_t n = 0, n_changes = 0;
    struct resident_stats before, after;

    resident_stats(r, &before);
    for (int i = 0; i < N_CHANGED; i++) {
        int tenant = n_tenants * (2 * i + 1) / (2 * N_CHANGED);
        char *texts[] = { generate_part(n_tenants, tenant, kind),
                          generate_part(n_tenants, tenant, NULL) };

        for (int j = 0; j < 2 * N_TIMES; j++) {
            struct change cost = change(r, whole->intent, texts[j % 2]);

            if (!i && !j) {
                check_changes(n_tenants, tenant, kind, &whole->plan,
                              cost.n_changes);
            }
            n_changes += cost.n_changes;
            parse_ms[n] = cost.parse_ms;
            all_ms[n++] = cost.all_ms;
        }
        free(texts[0]);
        free(texts[1]);
    }
    resident_stats(r, &after);
    if (after.wholes != before.wholes) {
        fail("a change compiled the whole");
    }
    qsort(parse_ms, n, sizeof *parse_ms, compare_doubles);
    qsort(all_ms, n, sizeof *all_ms, compare_doubles);
    printf("%7d %10s %8.1f %8.3f %8.3f %8.3f %8.2f %8.1f %+8.1f\n", n_tenants,
           kind, (double) n_changes / n, parse_ms[n / 2], all_ms[n / 2],
           all_ms[n * 99 / 100],
           (double) (after.tenants - before.tenants) / n, held_mb,
           allocated_mb() - mb);
}

static void
print_resident(int n_tenants)
{
    char *text = generate(arguments, n_tenants, "");
    struct run run = compile(text);
    struct diags diags;

    double mb = allocated_mb();
    diags_init(&diags, run.arena);

    struct resident *r = resident_create(run.intent, "node",
                                         &openflow_backend, &diags);
    double held_mb = allocated_mb() - mb;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        print_changes(n_tenants, r, &run, kinds[i], held_mb);
    }
    resident_destroy(r);
    arena_destroy(run.arena);
    free(text);
}

int
main(int argc, char *argv[])
{
    static const int sizes[] = { 50, 200, 500, 1000, 2000 };
    int status;

    if (argc < 2) {
        fail("usage: compile MAKE-INTENT [OPTION...]");
    }
    arguments = argv + 1;
    printf("%d endpoints and %d rules a tenant, one node\n\nThe whole:\n",
           N_ENDPOINTS, N_RULES);
    printf("%7s %8s %8s %6s %6s %6s %8s %8s %8s %8s\n", "tenants", "json MB",
           "flows", "masks", "meters", "conj", "check ms", "emit ms",
           "both ms", "peak MB");
    status = each_in_a_process(sizes, ARRAY_SIZE(sizes), print_whole);
    printf("\nOne tenant changes, from its text to the difference:\n");
    printf("%7s %10s %8s %8s %8s %8s %8s %8s %8s\n", "tenants", "change",
           "changes", "parse", "p50 ms", "p99 ms", "compiled", "held MB",
           "more MB");
    return (each_in_a_process(sizes, ARRAY_SIZE(sizes), print_resident)
            == EXIT_SUCCESS ? status : EXIT_FAILURE);
}
