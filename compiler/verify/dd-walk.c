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
    int digit = digit_of(dd, f);
    u128 first = 0;

    if (dd_is_leaf(f)) {
        if (f != DD_NONE && !see_leaf(walk, f)) {
            walk->ended = walk->visit(walk->aux, f, walk->digits);
        }
        return;
    } else if (node_of(dd, f)->stamp == walk->number) {
        return;
    }
    node_of(dd, f)->stamp = walk->number;
    for (size_t i = 0; i < node_of(dd, f)->n && !walk->ended; i++) {
        const struct edge *e = &node_of(dd, f)->edges[i];

        walk->digits[digit] = first;
        first = dd_value(dd, digit, e->last) + 1;
        walk_from(walk, e->to);         /* 'e' may move. */
    }
    walk->digits[digit] = 0;
}

void
dd_leaves(struct dd *dd, dd_t f,
          bool (*visit)(void *aux, dd_t leaf, const u128 digits[]), void *aux)
{
    struct walk walk = {
        .dd = dd, .visit = visit, .aux = aux, .number = ++dd->n_walks,
    };

    walk_from(&walk, f);
    free(walk.leaves);
}

void
dd_forget_lists(struct dd *dd)
{
    struct leaf_list *list;

    HMAP_FOR_EACH_POP (list, node, &dd->lists) {
        free(list->v);
        free(list);
    }
}

static bool
list_leaf(void *list_, dd_t leaf, const u128 digits[] OVS_UNUSED)
{
    struct leaf_list *list = list_;

    if (list->n >= list->allocated) {
        list->v = x2nrealloc(list->v, &list->allocated, sizeof *list->v);
    }
    list->v[list->n++] = leaf;
    return false;
}

/* The leaves of a diagram that is none. */
static const struct leaf_list *
find_list(struct dd *dd, dd_t f)
{
    uint32_t hash = mix_word(0, f);
    struct leaf_list *list;

    HMAP_FOR_EACH_WITH_HASH (list, node, hash, &dd->lists) {
        if (list->of == f) {
            return list;
        }
    }
    list = xzalloc(sizeof *list);
    list->of = f;
    hmap_insert(&dd->lists, &list->node, hash);
    dd_leaves(dd, f, list_leaf, list);
    return list;
}

void
dd_each_leaf(struct dd *dd, dd_t f, bool (*visit)(void *aux, dd_t leaf),
             void *aux)
{
    if (dd_is_leaf(f)) {
        if (f != DD_NONE) {
            visit(aux, f);
        }
    } else {
        const struct leaf_list *list = find_list(dd, f);

        for (size_t i = 0; i < list->n && !visit(aux, list->v[i]); i++) {
            continue;
        }
    }
}

static int
deepest_from(struct dd *dd, dd_t f)
{
    int deepest = -1;

    if (dd_is_leaf(f) || node_of(dd, f)->stamp == dd->n_walks) {
        return deepest;
    }
    node_of(dd, f)->stamp = dd->n_walks;
    for (size_t i = 0; i < node_of(dd, f)->n; i++) {
        int below = deepest_from(dd, node_of(dd, f)->edges[i].to);

        deepest = MAX(deepest, below);
    }
    return MAX(deepest, digit_of(dd, f));
}

int
dd_deepest(struct dd *dd, dd_t f)
{
    dd->n_walks++;
    return deepest_from(dd, f);
}

int
dd_first(const struct dd *dd, dd_t f)
{
    return digit_of(dd, f);
}

dd_t
dd_eval(const struct dd *dd, dd_t f, const u128 digits[])
{
    while (!dd_is_leaf(f)) {
        const struct node *node = node_of(dd, f);
        const struct edge *e = node->edges;

        while (node->digit != dd->bound
               && dd_value(dd, node->digit, e->last)
                  < digits[node->digit]) {
            e++;
        }
        f = e->to;
    }
    return f;
}
