/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What the proof of a change of one tenant costs, beside what is proved.
 *
 * usage: tests/bench/changes MAKE-INTENT [TENANTS[xENDPOINTSxRULES]...]
 *
 * MAKE-INTENT is make-intent.py.  A tenant's last rule, its bandwidth or its
 * last endpoint goes and comes back, many times over.  "take" is CPU time for
 * reading the flows that come and go, and for finding whom they touch; "proof"
 * that of the proof, the policy of those among it, unless they are one tenant
 * alone, of which compiling has made it.  "prepare" is what is then
 * made ready for the next, while nothing changes.  "packets" counts changes of
 * which only packets that can meet them were proved, "whole" those that are
 * left to a proof of all, which is not made here.
 *
 * Of tenants larger than N_ENDPOINTS only rules go: after other changes all is
 * prepared anew, which takes seconds of each of them. */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "generate.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "resident/prove.h"
#include "resident/resident.h"
#include "sema/policy.h"
#include "util.h"

enum { N_CHANGED = 10, N_TIMES = 15, N = 2 * N_CHANGED * N_TIMES };

static char **arguments;        /* MAKE-INTENT. */

/* The sizes that are asked for. */
static struct size {
    int n_tenants;
    struct tenant_size of_each;
} sizes[8] = {
    { 20, { N_ENDPOINTS, N_RULES } }, { 50, { N_ENDPOINTS, N_RULES } },
    { 200, { N_ENDPOINTS, N_RULES } }, { 1, { 200, 400 } },
};

struct bench {
    int n_tenants;
    bool large;                 /* Are these larger than what bulkheadd
                                 * prepares in its main loop? */
    struct arena *arena;
    const struct intent *intent;
    struct resident *resident;
    struct proved *proved;
};

struct cost {
    double take_ms[N], proof_ms[N], prepare_ms[N];
    size_t n, n_proved, n_packets, n_whole;
};

static void
fail(const char *what)
{
    fprintf(stderr, "changes: %s\n", what);
    exit(EXIT_FAILURE);
}

/* Keeps what is there as if it were proved. */
static void
begin_anew(struct bench *b)
{
    struct arena *arena = arena_create();
    const struct policy *policy;
    struct diags diags;
    struct plan plan;

    diags_init(&diags, arena);
    resident_plan(b->resident, &plan, arena);
    policy = policy_resolve(resident_intent(b->resident, arena), arena,
                            &diags);
    proved_destroy(b->proved);
    b->proved = policy ? proved_create(policy, &plan) : NULL;
    if (!b->proved) {
        fail("nothing is kept of what is proved");
    }
    arena_destroy(arena);
}

/* What bulkheadd does while nothing changes.  Returns how long it takes. */
static double
prepare(struct bench *b)
{
    struct arena *arena = arena_create();
    const struct intent *intent = resident_intent(b->resident, arena);
    double start = now_ms();

    while (proved_prepare(b->proved, intent,
                          b->large ? 0 : PROVED_PREPARE_MS)) {
        continue;
    }
    start = now_ms() - start;
    arena_destroy(arena);
    return start;
}

/* A source with a text of its own: values refer to it. */
static const struct source *
make_source(struct arena *arena, const char *text)
{
    return source_create(arena, "intent", arena_strdup(arena, text),
                         strlen(text));
}

static void
bench_init(struct bench *b, const struct size *size)
{
    char *text = generate(arguments, size->n_tenants, "");
    struct diags diags;

    *b = (struct bench) {
        .n_tenants = size->n_tenants, .arena = arena_create(),
        .large = size->of_each.endpoints > N_ENDPOINTS,
    };
    diags_init(&diags, b->arena);
    b->intent = intent_parse(make_source(b->arena, text), b->arena, &diags);
    b->resident = (b->intent ? resident_create(b->intent, "node",
                                               &openflow_backend, &diags)
                   : NULL);
    if (!b->resident) {
        fail("the intent is refused");
    }
    free(text);
    begin_anew(b);
}

static void
bench_destroy(struct bench *b)
{
    proved_destroy(b->proved);
    resident_destroy(b->resident);
    arena_destroy(b->arena);
}

/* Puts the tenant of that text. */
static void
put(struct bench *b, const char *text, struct resident_diff *diff)
{
    struct arena *arena = arena_create();
    struct intent_file file = { .source = make_source(arena, text) };
    const struct intent *part;
    struct diags diags;

    diags_init(&diags, b->arena);
    part = intent_parse_tenants(&file, b->intent, arena, &diags);
    if (!part || !resident_put(b->resident, &part->tenants.v[0], arena,
                               &diags, diff)) {
        fail("a change is refused");
    }
}

static void
change(struct bench *b, const char *text, struct cost *cost)
{
    struct arena *arena = arena_create();
    struct resident_diff diff;
    const struct intent *intent;
    struct proved_count count;
    bool packets, proved;

    put(b, text, &diff);
    intent = resident_intent(b->resident, arena);

    double start = now_ms();
    proved_change(b->proved, intent, &diff);
    cost->take_ms[cost->n] = now_ms() - start;
    start = now_ms();
    proved_begin(b->proved, b->resident);
    packets = proved_prove_packets(b->proved, 0, &count);
    proved = packets || proved_prove(b->proved, 0, &count);
    cost->proof_ms[cost->n] = now_ms() - start;
    proved_end(b->proved, proved);
    cost->n_proved += proved ? count.n_proved : 0;
    cost->n_packets += packets;
    cost->n_whole += !proved;
    if (!proved) {
        begin_anew(b);
    }
    cost->prepare_ms[cost->n++] = prepare(b);
    arena_destroy(arena);
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void
print_changes(struct bench *b, const char *kind)
{
    struct cost cost = { .n = 0 };

    for (int i = 0; i < N_CHANGED; i++) {
        int tenant = b->n_tenants * (2 * i + 1) / (2 * N_CHANGED);
        char *more = xasprintf("--part %d --change %d --edit %s", tenant,
                               tenant, kind);
        char *back = xasprintf("--part %d", tenant);
        char *texts[] = { generate(arguments, b->n_tenants, more),
                          generate(arguments, b->n_tenants, back) };

        for (int k = 0; k < 2 * N_TIMES; k++) {
            change(b, texts[k % 2], &cost);
        }
        free(texts[0]);
        free(texts[1]);
        free(more);
        free(back);
    }
    qsort(cost.take_ms, cost.n, sizeof *cost.take_ms, compare_doubles);
    qsort(cost.prepare_ms, cost.n, sizeof *cost.prepare_ms, compare_doubles);
    qsort(cost.proof_ms, cost.n, sizeof *cost.proof_ms, compare_doubles);
    printf("%7d %10s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %7zu %6zu\n",
           b->n_tenants,
           kind, cost.take_ms[cost.n / 2], cost.take_ms[cost.n * 99 / 100],
           cost.proof_ms[cost.n / 2], cost.proof_ms[cost.n * 99 / 100],
           cost.prepare_ms[cost.n / 2], (double) cost.n_proved / cost.n,
           cost.n_packets, cost.n_whole);
    fflush(stdout);
}

static void
print_all(int number)
{
    static const char *const kinds[] = { "rule", "bandwidth", "endpoint" };
    const struct size *size = &sizes[number];
    struct bench b;

    tenant_size = size->of_each;
    bench_init(&b, size);
    printf("%7d x %d x %d: prepared in %.0f ms\n", size->n_tenants,
           size->of_each.endpoints, size->of_each.rules, prepare(&b));
    for (size_t i = 0; i < (b.large ? 1 : ARRAY_SIZE(kinds)); i++) {
        print_changes(&b, kinds[i]);
    }
    bench_destroy(&b);
}

int
main(int argc, char *argv[])
{
    static char *make_intent[2];
    int n = 0, numbers[ARRAY_SIZE(sizes)];

    if (argc < 2) {
        fail("usage: changes MAKE-INTENT [TENANTS[xENDPOINTSxRULES]...]");
    }
    make_intent[0] = argv[1];
    arguments = make_intent;
    for (; n < MIN(argc - 2, ARRAY_SIZE(sizes)); n++) {
        struct size *size = &sizes[n];

        size->of_each = (struct tenant_size) { N_ENDPOINTS, N_RULES };
        ovs_scan(argv[n + 2], "%dx%dx%d", &size->n_tenants,
                 &size->of_each.endpoints, &size->of_each.rules);
    }
    for (; argc == 2 && sizes[n].n_tenants; n++) {
        continue;
    }
    for (int i = 0; i < n; i++) {
        numbers[i] = i;
    }
    printf("%7s %10s %8s %8s %8s %8s %8s %8s %7s %6s\n", "TENANTS", "CHANGE",
           "TAKE p50", "p99 ms", "PROOF50", "p99 ms", "PREPARE", "PROVED",
           "PACKETS", "WHOLE");
    return each_in_a_process(numbers, n, print_all);
}
