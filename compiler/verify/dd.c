/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/dd.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

struct edge {
    u128 last;                  /* Of its range, which begins after that of
                                 * the edge before. */
    dd_t to;
};

struct node {
    uint32_t first;             /* Edge. */
    uint32_t n;                 /* Edges. */
    uint8_t digit;
};

/* Where a node is found by its hash. */
struct slot {
    uint32_t hash;
    uint32_t node;              /* Its number + 1, or 0. */
};

/* What an operation gave; lossy. */
struct memory {
    dd_t a, b, result;
    uint32_t op;                /* 0: nothing. */
};

enum { N_MEMORIES = 1 << 16, MAX_DIGITS = 160 };
enum { OP_CUT = 1, OP_OVER, OP_NOT };

struct dd {
    uint8_t widths[MAX_DIGITS];
    size_t n_digits;
    bool refused;

    struct node *nodes;
    size_t n_nodes, allocated_nodes;
    struct edge *edges;
    size_t n_edges, allocated_edges;
    struct slot *unique;        /* Open addressing. */
    size_t n_unique;            /* A power of 2. */

    struct edge *stack;         /* Edges of nodes that are being made. */
    size_t n_stack, allocated_stack;
    struct memory *memories;
};

struct dd *
dd_create(const uint8_t widths[], size_t n_digits)
{
    struct dd *dd = xzalloc(sizeof *dd);

    ovs_assert(n_digits <= MAX_DIGITS);
    memcpy(dd->widths, widths, n_digits);
    dd->n_digits = n_digits;
    dd->n_unique = 1 << 12;
    dd->unique = xcalloc(dd->n_unique, sizeof *dd->unique);
    dd->memories = xcalloc(N_MEMORIES, sizeof *dd->memories);
    return dd;
}

void
dd_destroy(struct dd *dd)
{
    if (dd) {
        free(dd->nodes);
        free(dd->edges);
        free(dd->unique);
        free(dd->stack);
        free(dd->memories);
        free(dd);
    }
}

static u128
all_ones(const struct dd *dd, int digit)
{
    int width = dd->widths[digit];

    return width == 128 ? ~(u128) 0 : ((u128) 1 << width) - 1;
}

static void
push_edge(struct dd *dd, size_t base, u128 last, dd_t to)
{
    if (dd->n_stack > base && dd->stack[dd->n_stack - 1].to == to) {
        dd->stack[dd->n_stack - 1].last = last;
        return;
    }
    if (dd->n_stack >= dd->allocated_stack) {
        dd->stack = x2nrealloc(dd->stack, &dd->allocated_stack,
                               sizeof *dd->stack);
    }
    dd->stack[dd->n_stack++] = (struct edge) { .last = last, .to = to };
}

static uint32_t
hash_edges(int digit, const struct edge *edges, size_t n)
{
    uint32_t hash = hash_int(digit, n);

    for (size_t i = 0; i < n; i++) {
        hash = hash_add64(hash, edges[i].last);
        hash = hash_add64(hash, edges[i].last >> 64);
        hash = hash_add(hash, edges[i].to);
    }
    return hash_finish(hash, n);
}

static bool
same_edges(const struct dd *dd, const struct node *node,
           const struct edge *edges)
{
    for (size_t i = 0; i < node->n; i++) {
        const struct edge *e = &dd->edges[node->first + i];

        if (e->last != edges[i].last || e->to != edges[i].to) {
            return false;
        }
    }
    return true;
}

static void
grow_unique(struct dd *dd)
{
    size_t n = dd->n_unique * 2;
    struct slot *unique = xcalloc(n, sizeof *unique);

    for (size_t i = 0; i < dd->n_unique; i++) {
        size_t at = dd->unique[i].hash & (n - 1);

        while (dd->unique[i].node && unique[at].node) {
            at = (at + 1) & (n - 1);
        }
        if (dd->unique[i].node) {
            unique[at] = dd->unique[i];
        }
    }
    free(dd->unique);
    dd->unique = unique;
    dd->n_unique = n;
}

static void
add_node(struct dd *dd, int digit, const struct edge *edges, size_t n)
{
    if (dd->n_nodes >= dd->allocated_nodes) {
        dd->nodes = x2nrealloc(dd->nodes, &dd->allocated_nodes,
                               sizeof *dd->nodes);
    }
    while (dd->n_edges + n > dd->allocated_edges) {
        dd->edges = x2nrealloc(dd->edges, &dd->allocated_edges,
                               sizeof *dd->edges);
    }
    dd->nodes[dd->n_nodes++] = (struct node) {
        .first = dd->n_edges, .n = n, .digit = digit,
    };
    memcpy(&dd->edges[dd->n_edges], edges, n * sizeof *edges);
    dd->n_edges += n;
}

/* Takes the edges from 'base' on off the stack and makes the diagram that has
 * them. */
static dd_t
make(struct dd *dd, int digit, size_t base)
{
    const struct edge *edges = &dd->stack[base];
    size_t n = dd->n_stack - base;
    uint32_t hash;
    size_t at;

    dd->n_stack = base;
    if (n == 1) {
        return edges[0].to;
    }
    hash = hash_edges(digit, edges, n);
    for (at = hash & (dd->n_unique - 1); dd->unique[at].node;
         at = (at + 1) & (dd->n_unique - 1)) {
        const struct node *node;

        if (dd->unique[at].hash != hash) {
            continue;
        }
        node = &dd->nodes[dd->unique[at].node - 1];
        if (node->digit == digit && node->n == n
            && same_edges(dd, node, edges)) {
            return dd->unique[at].node - 1;
        }
    }
    add_node(dd, digit, edges, n);
    dd->unique[at] = (struct slot) { hash, dd->n_nodes };
    if (dd->n_nodes * 2 > dd->n_unique) {
        grow_unique(dd);
    }
    return dd->n_nodes - 1;
}

dd_t
dd_range(struct dd *dd, int digit, u128 first, u128 last)
{
    size_t base = dd->n_stack;

    if (first > 0) {
        push_edge(dd, base, first - 1, DD_NONE);
    }
    push_edge(dd, base, last, DD_ALL);
    if (last < all_ones(dd, digit)) {
        push_edge(dd, base, all_ones(dd, digit), DD_NONE);
    }
    return make(dd, digit, base);
}

dd_t
dd_bits(struct dd *dd, int digit, u128 value, u128 mask)
{
    u128 ones = all_ones(dd, digit), low, wild, run = 0;
    size_t base = dd->n_stack, n = 0;

    mask &= ones;
    value &= mask;
    if (!mask) {
        return DD_ALL;
    }
    low = (mask & -mask) - 1;           /* The wild bits below all others. */
    wild = ones & ~mask & ~low;         /* Those above. */
    do {
        u128 first = value | run;

        if (n++ >= DD_MAX_RUNS) {
            dd->refused = true;
            dd->n_stack = base;
            return DD_NONE;
        }
        if (first > 0) {
            push_edge(dd, base, first - 1, DD_NONE);
        }
        push_edge(dd, base, first | low, DD_ALL);
        run = (run - wild) & wild;      /* The next subset of 'wild'. */
    } while (run);
    if (dd->stack[dd->n_stack - 1].last < ones) {
        push_edge(dd, base, ones, DD_NONE);
    }
    return make(dd, digit, base);
}

bool
dd_is_refused(const struct dd *dd)
{
    return dd->refused;
}

static struct memory *
recall(struct dd *dd, uint32_t op, dd_t a, dd_t b)
{
    return &dd->memories[hash_3words(op, a, b) & (N_MEMORIES - 1)];
}

static bool
is_remembered(const struct memory *m, uint32_t op, dd_t a, dd_t b)
{
    return m->op == op && m->a == a && m->b == b;
}

/* The result if it is known without looking further. */
static bool
is_trivial(const struct dd_op *op, dd_t a, dd_t b, dd_t *result)
{
    if (op->keep_none && (a == DD_NONE || b == DD_NONE)) {
        *result = DD_NONE;
    } else if (op->id == OP_CUT && a == DD_ALL) {
        *result = b;
    } else if (op->id == OP_OVER && (a == DD_NONE || a == b)) {
        *result = b;
    } else if (op->id == OP_OVER && (b == DD_NONE || dd_is_leaf(a))) {
        *result = a;
    } else if (dd_is_leaf(a) && dd_is_leaf(b)) {
        *result = op->leaf(op->aux, a, b);
    } else {
        return false;
    }
    return true;
}

dd_t
dd_apply(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b)
{
    struct memory *m = recall(dd, op->id, a, b);
    size_t base = dd->n_stack;
    size_t i = 0, j = 0, n_a = 1, n_b = 1;
    int digit_a, digit_b, digit;
    dd_t result;

    if (is_trivial(op, a, b, &result)) {
        return result;
    } else if (is_remembered(m, op->id, a, b)) {
        return m->result;
    }
    digit_a = dd_is_leaf(a) ? MAX_DIGITS : dd->nodes[a].digit;
    digit_b = dd_is_leaf(b) ? MAX_DIGITS : dd->nodes[b].digit;
    digit = MIN(digit_a, digit_b);
    n_a = digit_a == digit ? dd->nodes[a].n : 1;
    n_b = digit_b == digit ? dd->nodes[b].n : 1;
    while (i < n_a && j < n_b) {
        /* The arrays move when they grow. */
        struct edge whole_a = { all_ones(dd, digit), a };
        struct edge whole_b = { all_ones(dd, digit), b };
        struct edge x = digit_a == digit ? dd->edges[dd->nodes[a].first + i]
                        : whole_a;
        struct edge y = digit_b == digit ? dd->edges[dd->nodes[b].first + j]
                        : whole_b;
        u128 last = MIN(x.last, y.last);

        result = dd_apply(dd, op, x.to, y.to);
        push_edge(dd, base, last, result);
        i += x.last == last;
        j += y.last == last;
    }
    result = make(dd, digit, base);
    m = recall(dd, op->id, a, b);
    *m = (struct memory) { a, b, result, op->id };
    return result;
}

static dd_t
leaf_cut(void *aux OVS_UNUSED, dd_t a OVS_UNUSED, dd_t b)
{
    return b;
}

static dd_t
leaf_over(void *aux OVS_UNUSED, dd_t a, dd_t b)
{
    return a == DD_NONE ? b : a;
}

static dd_t
leaf_not(void *aux OVS_UNUSED, dd_t a, dd_t b OVS_UNUSED)
{
    return a == DD_NONE ? DD_ALL : DD_NONE;
}

dd_t
dd_cut(struct dd *dd, dd_t set, dd_t f)
{
    static const struct dd_op op = { leaf_cut, NULL, true, OP_CUT };

    return dd_apply(dd, &op, set, f);
}

dd_t
dd_over(struct dd *dd, dd_t high, dd_t low)
{
    static const struct dd_op op = { leaf_over, NULL, false, OP_OVER };

    return dd_apply(dd, &op, high, low);
}

dd_t
dd_and(struct dd *dd, dd_t a, dd_t b)
{
    return a < b ? dd_cut(dd, a, b) : dd_cut(dd, b, a);
}

dd_t
dd_or(struct dd *dd, dd_t a, dd_t b)
{
    return a < b ? dd_over(dd, a, b) : dd_over(dd, b, a);
}

dd_t
dd_not(struct dd *dd, dd_t set)
{
    static const struct dd_op op = { leaf_not, NULL, false, OP_NOT };

    return dd_apply(dd, &op, set, DD_ALL);
}

dd_t
dd_choose(struct dd *dd, dd_t set, dd_t yes, dd_t no)
{
    return dd_over(dd, dd_cut(dd, set, yes),
                   dd_cut(dd, dd_not(dd, set), no));
}

/* A walk over all diagrams below one. */
struct walk {
    const struct dd *dd;
    void (*visit)(void *aux, dd_t leaf, const u128 digits[]);
    void *aux;
    unsigned long *seen;        /* Of nodes. */
    uint32_t *leaves;           /* Already visited; sorted by nothing. */
    size_t n_leaves, allocated_leaves;
    u128 digits[MAX_DIGITS];
};

static bool
see_leaf(struct walk *walk, dd_t leaf)
{
    for (size_t i = 0; i < walk->n_leaves; i++) {
        if (walk->leaves[i] == leaf) {
            return true;
        }
    }
    if (walk->n_leaves >= walk->allocated_leaves) {
        walk->leaves = x2nrealloc(walk->leaves, &walk->allocated_leaves,
                                  sizeof *walk->leaves);
    }
    walk->leaves[walk->n_leaves++] = leaf;
    return false;
}

static void
walk_from(struct walk *walk, dd_t f)
{
    const struct dd *dd = walk->dd;
    u128 first = 0;

    if (dd_is_leaf(f)) {
        if (f != DD_NONE && !see_leaf(walk, f)) {
            walk->visit(walk->aux, f, walk->digits);
        }
        return;
    } else if (walk->seen[f / 64] >> f % 64 & 1) {
        return;
    }
    walk->seen[f / 64] |= 1UL << f % 64;
    for (size_t i = 0; i < dd->nodes[f].n; i++) {
        const struct edge *e = &dd->edges[dd->nodes[f].first + i];

        walk->digits[dd->nodes[f].digit] = first;
        walk_from(walk, e->to);
        first = e->last + 1;
    }
    walk->digits[dd->nodes[f].digit] = 0;
}

void
dd_leaves(struct dd *dd, dd_t f,
          void (*visit)(void *aux, dd_t leaf, const u128 digits[]), void *aux)
{
    struct walk walk = { .dd = dd, .visit = visit, .aux = aux };

    walk.seen = xcalloc(dd->n_nodes / 64 + 1, sizeof *walk.seen);
    walk_from(&walk, f);
    free(walk.seen);
    free(walk.leaves);
}

dd_t
dd_eval(const struct dd *dd, dd_t f, const u128 digits[])
{
    while (!dd_is_leaf(f)) {
        const struct node *node = &dd->nodes[f];
        const struct edge *e = &dd->edges[node->first];

        while (e->last < digits[node->digit]) {
            e++;
        }
        f = e->to;
    }
    return f;
}

size_t
dd_n_nodes(const struct dd *dd)
{
    return dd->n_nodes;
}

size_t
dd_bytes(const struct dd *dd)
{
    return (dd->allocated_nodes * sizeof *dd->nodes
            + dd->allocated_edges * sizeof *dd->edges
            + dd->n_unique * sizeof *dd->unique
            + dd->allocated_stack * sizeof *dd->stack
            + N_MEMORIES * sizeof *dd->memories);
}
