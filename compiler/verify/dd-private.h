/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_DD_PRIVATE_H
#define VERIFY_DD_PRIVATE_H 1

/* The rooms behind dd.h: dd.c makes diagrams, dd-apply.c computes with them,
 * dd-walk.c asks them. */

#include "verify/dd.h"

struct edge {
    uint32_t last;              /* Of its range, which begins after that of
                                 * the edge before: its place in 'lasts'. */
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
    dd_t a, b, c, result;       /* 'c' is 0 for those of two. */
    uint32_t op;                /* 0: nothing. */
};

/* So many at first, and never fewer than diagrams: small while it may, as all
 * that is looked up at random; but what is forgotten is computed again. */
enum { MIN_MEMORIES = 1 << 14, MAX_DIGITS = 160 };

struct dd {
    bool refused, mixed;
    int bound;                  /* Digit of dd_bind_at(). */

    struct node *nodes;
    size_t n_nodes, allocated_nodes;
    struct edge *edges;
    size_t n_edges, allocated_edges;
    struct slot *unique;        /* Open addressing. */
    size_t n_unique;            /* A power of 2. */

    u128 *lasts;                /* Each value once. */
    size_t n_lasts, allocated_lasts;
    uint32_t *places;           /* Of 'lasts', by hash; less 1, 0: none. */
    size_t n_places;            /* A power of 2. */
    uint32_t ones[MAX_DIGITS];  /* By digit: its highest value's place. */

    struct edge *stack;         /* Edges of nodes that are being made. */
    size_t n_stack, allocated_stack;
    struct memory *memories;
    size_t n_memories;          /* A power of 2. */
    uint32_t *stamps;           /* Of nodes: in which walk they were seen. */
    size_t allocated_stamps;
    uint32_t n_walks;
    struct leaf_list *lists;    /* Of dd_each_leaf(). */
    size_t n_lists, allocated_lists;
    uint32_t *list_of;          /* Of nodes: less 1, its list; 0: none. */
    size_t allocated_list_of;
};

/* The leaves of a diagram. */
struct leaf_list {
    dd_t *v;
    size_t n, allocated;
};

static inline int
digit_of(const struct dd *dd, dd_t f)
{
    return dd_is_leaf(f) ? MAX_DIGITS : dd->nodes[f].digit;
}

/* Forgets what dd_each_leaf() remembers. */
void dd_forget_lists(struct dd *);

/* Makes room for more of what operations gave. */
void dd_grow_memories(struct dd *);

/* The place of a value in 'lasts'. */
uint32_t dd_place(struct dd *, u128 last);

/* Puts an edge on the stack, of a node whose edges begin at 'base'. */
void dd_push_edge(struct dd *, size_t base, uint32_t last, dd_t to);

/* Takes the edges from 'base' on off the stack and makes the diagram that has
 * them. */
dd_t dd_make(struct dd *, int digit, size_t base);

#endif /* verify/dd-private.h */
