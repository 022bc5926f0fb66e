/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What a compilation costs: time, memory and flows, from 50 tenants to 2,000.
 *
 * usage: tests/bench/compile MAKE-INTENT [OPTION...]
 *
 * MAKE-INTENT is make-intent.py, which gets the options.  Each line is a
 * process of its own, whose times are CPU time (there is one thread), the
 * least of several runs.  "1 ten" is what it takes to compile one changed
 * tenant by itself, from its text, and to find out what changes on the
 * switch; the line fails if that is not what changes in the whole.  "diff" is
 * what it takes to find that out from the two plans of the whole. */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "generate.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "sema/policy.h"
#include "util.h"

enum { N_RUNS = 5, N_TENANT_RUNS = 50 };

static char **arguments;        /* MAKE-INTENT and its options. */

/* A compilation and how long its halves took. */
struct run {
    struct arena *arena;
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
    const struct intent *intent;
    const struct policy *policy;
    struct diags diags;
    double start = now_ms();

    diags_init(&diags, run.arena);
    intent = intent_parse(source_create(run.arena, "intent", text,
                                        strlen(text)), run.arena, &diags);
    policy = intent ? policy_resolve(intent, run.arena, &diags) : NULL;
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

static size_t
n_changes(const struct plan *old, const struct plan *new)
{
    struct plan_diff diff = plan_compare(old, new);

    return (diff.added.n + diff.changed.n + diff.deleted.n
            + diff.meters_added + diff.meters_deleted);
}

/* What one tenant's change takes. */
struct change {
    double tenant_ms;           /* By itself: the median. */
    double diff_ms;             /* Of the plans of the whole: the least. */
};

static struct change
one_tenant(int n_tenants, const struct plan *whole)
{
    struct change cost = { .diff_ms = 1e9 };
    char *options = xasprintf("--only %d", n_tenants / 2);
    char *change = xasprintf("--change %d", n_tenants / 2);
    char *both = xasprintf("%s %s", options, change);
    char *old_text = generate(arguments, n_tenants, options);
    char *new_text = generate(arguments, n_tenants, both);
    char *whole_text = generate(arguments, n_tenants, change);
    struct run changed = compile(whole_text);
    size_t n_whole = 0;

    for (int i = 0; i < N_RUNS; i++) {
        double start = now_ms();

        n_whole = n_changes(whole, &changed.plan);
        cost.diff_ms = MIN(cost.diff_ms, now_ms() - start);
    }

    struct run old = compile(old_text);
    double ms[N_TENANT_RUNS];

    for (int i = 0; i < N_TENANT_RUNS; i++) {
        double start = now_ms();
        struct run new = compile(new_text);

        if (n_changes(&old.plan, &new.plan) != n_whole || !n_whole) {
            fail("a tenant by itself changes other flows than in the whole");
        }
        ms[i] = now_ms() - start;
        arena_destroy(new.arena);
        for (int j = i; j > 0 && ms[j] < ms[j - 1]; j--) {
            double swap = ms[j];

            ms[j] = ms[j - 1];
            ms[j - 1] = swap;
        }
    }
    arena_destroy(old.arena);
    arena_destroy(changed.arena);
    free(options);
    free(change);
    free(both);
    free(old_text);
    free(new_text);
    free(whole_text);
    cost.tenant_ms = ms[N_TENANT_RUNS / 2];
    return cost;
}

static void
print_line(int n_tenants)
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
            struct change cost = one_tenant(n_tenants, &run.plan);

            printf("%7d %8.1f %8zu %6zu %6zu %6zu %8.1f %8.1f %8.1f %8.1f "
                   "%8.2f %8.2f\n", n_tenants, strlen(text) / 1e6, c.flows,
                   c.masks, c.meters, c.conjunctions, check_ms, compile_ms,
                   check_ms + compile_ms, usage.ru_maxrss / 1e3,
                   cost.tenant_ms, cost.diff_ms);
        }
        arena_destroy(run.arena);
    }
    free(text);
}

int
main(int argc, char *argv[])
{
    static const int sizes[] = { 50, 200, 500, 1000, 2000 };

    if (argc < 2) {
        fail("usage: compile MAKE-INTENT [OPTION...]");
    }
    arguments = argv + 1;
    printf("%d endpoints and %d rules a tenant, one node\n", N_ENDPOINTS,
           N_RULES);
    printf("%7s %8s %8s %6s %6s %6s %8s %8s %8s %8s %8s %8s\n", "tenants",
           "json MB", "flows", "masks", "meters", "conj", "check ms",
           "emit ms", "both ms", "peak MB", "1 ten ms", "diff ms");
    return each_in_a_process(sizes, ARRAY_SIZE(sizes), print_line);
}
