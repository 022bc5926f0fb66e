/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>

#include "util.h"
#include "verify/exec-private.h"

/* A clause of a conjunction, and the packets that match one of its flows. */
struct clause {
    uint16_t priority;
    struct table_clause is;
    dd_t set;
};

struct clause_list {
    struct clause *v;
    size_t n, allocated;
};

static int
compare_clauses(const void *a_, const void *b_)
{
    const struct clause *a = a_, *b = b_;

    return (a->priority != b->priority ? (a->priority < b->priority ? 1 : -1)
            : a->is.id != b->is.id ? (a->is.id < b->is.id ? -1 : 1)
            : a->is.k < b->is.k ? -1 : a->is.k > b->is.k);
}

/* Counts which clauses of each conjunction have a flow. */
static void
count_clauses(struct exec *ex, const struct clause_flow flows[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct table_flow *flow = flows[i].flow;

        for (size_t j = 0; j < flow->n_clauses; j++) {
            const struct table_clause *c = &flow->clauses[j];
            struct tally *tally = &ex->tallies[c->conjunction];

            if (tally->lookup != ex->n_lookups) {
                *tally = (struct tally) { ex->n_lookups, c->n, 0 };
            }
            tally->n = MIN(tally->n, c->n);
            tally->clauses |= UINT64_C(1) << c->k;
        }
    }
}

/* Finds the clauses of those conjunctions of which each has a flow: most have
 * not, and need not be put together. */
static void
find_clauses(struct exec *ex, const struct clause_flow flows[], size_t n,
             struct clause_list *clauses)
{
    count_clauses(ex, flows, n);
    for (size_t i = 0; i < n; i++) {
        const struct table_flow *flow = flows[i].flow;

        for (size_t j = 0; j < flow->n_clauses; j++) {
            const struct table_clause *c = &flow->clauses[j];
            const struct tally *tally = &ex->tallies[c->conjunction];

            if (count_1bits(tally->clauses) >= tally->n) {
                *LIST_ADD(clauses) = (struct clause) {
                    flow->priority, *c, flows[i].set,
                };
            }
        }
    }
    if (clauses->n) {
        qsort(clauses->v, clauses->n, sizeof *clauses->v, compare_clauses);
    }
}

/* The OR of the clauses from '*i' on that are one, past which it goes. */
static dd_t
fold_clause(struct exec *ex, const struct clause_list *clauses, size_t *i,
            struct dd_list *sets)
{
    const struct clause *first = &clauses->v[*i];

    sets->n = 0;
    for (; *i < clauses->n
         && clauses->v[*i].is.conjunction == first->is.conjunction
         && clauses->v[*i].is.k == first->is.k; ++*i) {
        *LIST_ADD(sets) = clauses->v[*i].set;
    }
    return dd_over_all(ex->space->dd, sets->v, sets->n);
}

void
exec_find_conjunctions(struct exec *ex, const struct clause_flow flows[],
                       size_t n, exec_conjunction_cb *add, void *aux)
{
    struct clause_list clauses = { .v = NULL };
    struct dd_list sets = { .v = NULL };

    find_clauses(ex, flows, n, &clauses);
    for (size_t i = 0; i < clauses.n; ) {
        const struct clause *first = &clauses.v[i];
        size_t n_met = 0;
        dd_t set = DD_ALL;

        while (i < clauses.n
               && clauses.v[i].is.conjunction == first->is.conjunction) {
            set = dd_and(ex->space->dd, set,
                         fold_clause(ex, &clauses, &i, &sets));
            n_met++;
        }
        if (n_met == first->is.n && set != DD_NONE) {
            add(aux, first->is.id, first->priority, set);
        }
    }
    free(clauses.v);
    free(sets.v);
}
