/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What the front end costs, stage by stage, from 50 tenants to 2,000.
 *
 * usage: tests/bench/frontend MAKE-INTENT [OPTION...]
 *
 * MAKE-INTENT is make-intent.py, which gets the options.  Each line is a
 * process of its own, whose times are CPU time (there is one thread), the
 * least of several runs; the memory is what the first run adds to the peak of
 * the process, which has the text already.  "lines" is the table of lines,
 * "json" the tree of values and their places, "decode" the intent, "resolve"
 * names and selectors, and "check" conflicts and warnings.  "1 tenant" is one
 * tenant by itself, from text to intent, and "checked" until it is resolved
 * and checked, with the fabric, classes and services: what a resident process
 * does with one without peers.  Of those that have them it says nothing. */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/diag.h"
#include "generate.h"
#include "intent/intent.h"
#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "sema/check.h"
#include "sema/policy.h"
#include "util.h"

enum { N_RUNS = 7, N_TENANT_RUNS = 50 };

static char **command;          /* MAKE-INTENT and its options. */

/* More intents than those of 'sizes' tenants on one node. */
enum { N_MORE_TENANTS = 200 };
static const struct variant {
    const char *title, *options;
    bool peers;
} variants[] = {
    { "on 200 nodes", "--nodes 200", false },
    { "and each with 4 peers", "--nodes 200 --peers", true },
};
static const struct variant *variant;   /* At hand; or NULL. */

enum stage { LINES, JSON, DECODE, RESOLVE, CHECK, N_STAGES };

struct cost {
    double ms[N_STAGES];        /* CPU time. */
};

static void
fail(struct diags *diags)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    diags_format(diags, &ds);
    fputs(ds_cstr(&ds), stderr);
    exit(EXIT_FAILURE);
}

/* Runs the stages up to 'last'.  Returns the CPU time; stores that of "check",
 * done once more by itself, in '*check_ms'. */
static double
run(const char *text, enum stage last, double *check_ms)
{
    struct arena *arena = arena_create();
    const struct policy *policy = NULL;
    const struct intent *intent = NULL;
    const struct source *source;
    struct diags diags;
    double start = now_ms(), ms;

    diags_init(&diags, arena);
    source = source_create(arena, "intent", text, strlen(text));
    if (last == JSON) {
        value_parse(source, arena, &diags);
    } else if (last > JSON) {
        intent = intent_parse(source, arena, &diags);
    }
    if (intent && last == CHECK) {
        policy = policy_resolve(intent, arena, &diags);
    }
    ms = now_ms() - start;
    if (diags.n_errors) {
        fail(&diags);
    }
    if (policy) {
        start = now_ms();
        policy_check(policy, arena, &diags);
        *check_ms = now_ms() - start;
    }
    arena_destroy(arena);
    return ms;
}

/* The least of 'n_runs' runs up to each stage; RESOLVE is what CHECK and those
 * before leave. */
static struct cost
least(const char *text, enum stage last, int n_runs)
{
    struct cost cost;

    for (size_t i = 0; i < N_STAGES; i++) {
        cost.ms[i] = 1e9;
    }
    for (int i = 0; i < n_runs; i++) {
        for (enum stage s = LINES; s <= last; s++) {
            double check_ms = 1e9;

            if (s == RESOLVE) {
                continue;
            } else if (s == CHECK) {
                cost.ms[RESOLVE] = MIN(cost.ms[RESOLVE],
                                       run(text, s, &check_ms));
                cost.ms[CHECK] = MIN(cost.ms[CHECK], check_ms);
            } else {
                cost.ms[s] = MIN(cost.ms[s], run(text, s, &check_ms));
            }
        }
    }
    if (last == CHECK) {
        cost.ms[RESOLVE] -= cost.ms[CHECK] + cost.ms[DECODE];
    }
    cost.ms[DECODE] -= cost.ms[JSON];
    cost.ms[JSON] -= cost.ms[LINES];
    return cost;
}

/* Peak memory of the first run, in MB; 'text' is there already. */
static double
run_for_memory(const char *text)
{
    struct rusage before, after;
    struct arena *arena = arena_create();
    const struct intent *intent;
    struct diags diags;

    getrusage(RUSAGE_SELF, &before);
    diags_init(&diags, arena);
    intent = intent_parse(source_create(arena, "intent", text, strlen(text)),
                          arena, &diags);
    if (!intent || !policy_resolve(intent, arena, &diags)) {
        fail(&diags);
    }
    getrusage(RUSAGE_SELF, &after);
    arena_destroy(arena);
    return (after.ru_maxrss - before.ru_maxrss) / 1e3;
}

/* Prints what the first stages up to 'last' cost together. */
static void
print_sum(const struct cost *cost, enum stage last)
{
    double sum = 0;

    for (size_t i = 0; i <= last; i++) {
        sum += cost->ms[i];
    }
    printf(" %9.3f", sum);
}

static void
print_tenant(int n_tenants, const char *options)
{
    char *only = xasprintf("%s --only %d", options, n_tenants / 2);
    char *text = generate(command, n_tenants, only);
    struct cost cost = least(text, CHECK, N_TENANT_RUNS);

    print_sum(&cost, DECODE);
    print_sum(&cost, CHECK);
    free(only);
    free(text);
}

static void
print_line(int n_tenants)
{
    const char *options = variant ? variant->options : "";
    char *text = generate(command, n_tenants, options);
    double mb = run_for_memory(text);
    struct cost cost = least(text, CHECK, N_RUNS);
    double sum = 0;

    if (variant) {
        printf("%s:\n", variant->title);
    }
    printf("%7d %8.1f", n_tenants, strlen(text) / 1e6);
    for (size_t i = 0; i < N_STAGES; i++) {
        printf(" %8.1f", cost.ms[i]);
        sum += cost.ms[i];
    }
    printf(" %8.1f %8.1f", sum, mb);
    if (!variant || !variant->peers) {
        print_tenant(n_tenants, options);
    }
    putchar('\n');
    free(text);
}

int
main(int argc, char *argv[])
{
    static const int sizes[] = { 50, 200, 500, 1000, 2000 };
    static const int more = N_MORE_TENANTS;
    int status;

    if (argc < 2) {
        fputs("usage: frontend MAKE-INTENT [OPTION...]\n", stderr);
        return EXIT_FAILURE;
    }
    command = argv + 1;
    printf("%d endpoints and %d rules a tenant; ms of CPU time, MB\n",
           N_ENDPOINTS, N_RULES);
    printf("%7s %8s %8s %8s %8s %8s %8s %8s %8s %9s %9s\n", "tenants",
           "json MB", "lines", "json", "decode", "resolve", "check", "all",
           "memory", "1 tenant", "checked");
    status = each_in_a_process(sizes, ARRAY_SIZE(sizes), print_line);
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
        variant = &variants[i];
        status |= each_in_a_process(&more, 1, print_line);
    }
    return status;
}
