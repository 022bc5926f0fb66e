/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "witness.h"

#include <stdlib.h>
#include <string.h>

#include "proof.h"

void
witness_init(struct witness *w, size_t allocated)
{
    w->records = calloc(allocated, sizeof *w->records);
    w->n = 0;
    w->allocated = allocated;
}

void
witness_add(struct witness *w, uint64_t when, uint64_t after, uint32_t bytes,
            bool admitted)
{
    if (w->n == w->allocated) {
        proof_fail("a thread saw more than it can keep");
    }
    w->records[w->n++] = (struct record) {
        .when = when,
        .after = after,
        .bytes = bytes,
        .admitted = admitted,
    };
}

void
witness_destroy(struct witness *w)
{
    free(w->records);
}

/* A change of what is late: what has an earlier time, but may not have been
 * admitted yet.  A packet is late after its 'when', up to its 'after'. */
struct change {
    uint64_t after;             /* The change is one ns later. */
    tokens_t cost;              /* Negative when no longer late. */
};

/* All admissions in the order of their times, and sums over them. */
struct admissions {
    struct record *sorted;
    size_t n;
    tokens_t *before;           /* [i]: cost of those before i. */

    struct change *changes;     /* In order; 'n_changes' of them. */
    size_t n_changes;
    tokens_t *late;             /* [i]: cost of what is late before i. */
    tokens_t *tat;              /* [i]: most of tat_from(), up to i. */
};

static int
compare_records(const void *a_, const void *b_)
{
    const struct record *a = a_, *b = b_;

    return a->when < b->when ? -1 : a->when > b->when;
}

static int
compare_changes(const void *a_, const void *b_)
{
    const struct change *a = a_, *b = b_;

    return a->after < b->after ? -1 : a->after > b->after;
}

/* The number of admissions with times up to 'when'. */
static size_t
count_until(const struct admissions *a, uint64_t when)
{
    size_t low = 0, high = a->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (a->sorted[middle].when <= when) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The number of changes until 'when'. */
static size_t
count_changes(const struct admissions *a, uint64_t when)
{
    size_t low = 0, high = a->n_changes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (a->changes[middle].after < when) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* If the queue was empty at 's', then the latest that it is so again after an
 * admission, less what all up to that cost. */
static tokens_t
tat_from(const struct admissions *a, const struct oracle *o, uint64_t s)
{
    return (o->rate * s - a->before[count_until(a, s - 1)]
            + a->late[count_changes(a, s)]);
}

static void
copy_sorted(struct admissions *a, const struct witness ws[], unsigned int n)
{
    size_t max = 0;

    for (unsigned int i = 0; i < n; i++) {
        max += ws[i].n;
    }
    a->sorted = calloc(max + 1, sizeof *a->sorted);
    a->n = 0;
    for (unsigned int i = 0; i < n; i++) {
        for (size_t j = 0; j < ws[i].n; j++) {
            if (ws[i].records[j].admitted) {
                a->sorted[a->n++] = ws[i].records[j];
            }
        }
    }
    qsort(a->sorted, a->n, sizeof *a->sorted, compare_records);
}

static void
admissions_init(struct admissions *a, const struct witness ws[],
                unsigned int n, const struct oracle *o)
{
    copy_sorted(a, ws, n);
    a->n_changes = 2 * a->n;
    a->before = calloc(a->n + 1, sizeof *a->before);
    a->changes = calloc(a->n_changes + 1, sizeof *a->changes);
    a->late = calloc(a->n_changes + 1, sizeof *a->late);
    a->tat = calloc(a->n_changes + 1, sizeof *a->tat);
    for (size_t i = 0; i < a->n; i++) {
        const struct record *r = &a->sorted[i];
        tokens_t cost = oracle_cost(o, 1, r->bytes);

        a->before[i + 1] = a->before[i] + cost;
        a->changes[2 * i] = (struct change) { r->when, cost };
        a->changes[2 * i + 1] = (struct change) { r->after, -cost };
    }
    qsort(a->changes, a->n_changes, sizeof *a->changes, compare_changes);
    for (size_t i = 0; i < a->n_changes; i++) {
        a->late[i + 1] = a->late[i] + a->changes[i].cost;
    }

    /* Between changes, later is more. */
    for (size_t i = 0; i < a->n_changes; i++) {
        tokens_t tat = tat_from(a, o, a->changes[i].after);

        a->tat[i] = i && a->tat[i - 1] > tat ? a->tat[i - 1] : tat;
    }
}

static void
admissions_destroy(struct admissions *a)
{
    free(a->sorted);
    free(a->before);
    free(a->changes);
    free(a->late);
    free(a->tat);
}

static bool
rightly_refused(const struct admissions *a, const struct oracle *o,
                const struct record *r)
{
    /* Any thread may have found the queue empty at any time up to then. */
    size_t n = count_changes(a, r->after);
    tokens_t tat = tat_from(a, o, r->after);

    if (n && a->tat[n - 1] > tat) {
        tat = a->tat[n - 1];
    }
    tat += a->before[count_until(a, r->after)];
    return (tat - o->rate * r->when + oracle_cost(o, 1, r->bytes)
            > o->size);
}

static void
judge_refusals(struct judgement *j, const struct admissions *a,
               const struct witness *w, const struct oracle *o)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct record *r = &w->records[i];

        if (!r->admitted) {
            j->n_refused++;
            j->n_wrongly_refused += !rightly_refused(a, o, r);
        }
    }
}

struct judgement
witness_judge(const struct witness ws[], unsigned int n, uint64_t kbps,
              uint64_t bits, uint64_t start)
{
    struct judgement j = { .n_admitted = 0 };
    struct admissions a;
    struct curve curve;
    struct oracle o;

    oracle_init(&o, false, kbps, bits, start);
    admissions_init(&a, ws, n, &o);
    curve_init(&curve, o.rate);
    for (size_t i = 0; i < a.n; i++) {
        const struct record *r = &a.sorted[i];

        curve_add(&curve, r->when, oracle_cost(&o, 1, r->bytes));
        if (r->after - r->when > j.skew) {
            j.skew = r->after - r->when;
        }
    }
    for (unsigned int i = 0; i < n; i++) {
        judge_refusals(&j, &a, &ws[i], &o);
    }
    j.n_admitted = a.n;
    j.excess = curve.worst - o.size;
    if (a.n) {
        j.share = ((double) curve.passed
                   / (o.size + o.rate * (a.sorted[a.n - 1].when - start)));
    }
    admissions_destroy(&a);
    return j;
}
