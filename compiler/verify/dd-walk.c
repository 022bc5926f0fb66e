/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "verify/dd-private.h"

/* A walk over all diagrams below one. */
struct walk {
    struct dd *dd;
    bool (*visit)(void *aux, dd_t leaf, const u128 digits[]);
    void *aux;
    bool ended;
    uint32_t number;
    unsigned long *leaves;      /* Of leaves. */
    size_t n_leaves;            /* That 'leaves' has room for. */
    u128 digits[MAX_DIGITS];
};

static bool
see_leaf(struct walk *walk, dd_t leaf)
{
    uint32_t number = dd_leaf(leaf);
    bool seen;

    if (number >= walk->n_leaves) {
        size_t n = ROUND_UP(number * 2 + 1, 64);

        walk->leaves = xrealloc(walk->leaves, n / 8);
        memset(walk->leaves + walk->n_leaves / 64, 0,
               (n - walk->n_leaves) / 8);
        walk->n_leaves = n;
    }
    seen = walk->leaves[number / 64] >> number % 64 & 1;
    walk->leaves[number / 64] |= 1UL << number % 64;
    return seen;
}

static void
walk_from(struct walk *walk, dd_t f)
{
    struct dd *dd = walk->dd;
    u128 first = 0;

    if (dd_is_leaf(f)) {
        if (f != DD_NONE && !see_leaf(walk, f)) {
            walk->ended = walk->visit(walk->aux, f, walk->digits);
        }
        return;
    } else if (dd->stamps[f] == walk->number) {
        return;
    }
    dd->stamps[f] = walk->number;
    for (size_t i = 0; i < dd->nodes[f].n && !walk->ended; i++) {
        const struct edge *e = &dd->edges[dd->nodes[f].first + i];

        walk->digits[dd->nodes[f].digit] = first;
        first = dd->lasts[e->last] + 1;
        walk_from(walk, e->to);         /* 'e' may move. */
    }
    walk->digits[dd->nodes[f].digit] = 0;
}

void
dd_leaves(struct dd *dd, dd_t f,
          bool (*visit)(void *aux, dd_t leaf, const u128 digits[]), void *aux)
{
    struct walk walk = {
        .dd = dd, .visit = visit, .aux = aux, .number = ++dd->n_walks,
    };

    if (dd->allocated_stamps < dd->allocated_nodes) {
        dd->stamps = xrealloc(dd->stamps,
                              dd->allocated_nodes * sizeof *dd->stamps);
        memset(dd->stamps + dd->allocated_stamps, 0,
               (dd->allocated_nodes - dd->allocated_stamps)
               * sizeof *dd->stamps);
        dd->allocated_stamps = dd->allocated_nodes;
    }
    walk_from(&walk, f);
    free(walk.leaves);
}

dd_t
dd_eval(const struct dd *dd, dd_t f, const u128 digits[])
{
    while (!dd_is_leaf(f)) {
        const struct node *node = &dd->nodes[f];
        const struct edge *e = &dd->edges[node->first];

        while (node->digit != dd->bound
               && dd->lasts[e->last] < digits[node->digit]) {
            e++;
        }
        f = e->to;
    }
    return f;
}
