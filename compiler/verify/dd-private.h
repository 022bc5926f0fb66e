/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_DD_PRIVATE_H
#define VERIFY_DD_PRIVATE_H 1

/* The rooms behind dd.h: dd.c makes diagrams, dd-apply.c computes with them,
 * dd-walk.c asks them. */

#include "openvswitch/hmap.h"
#include "util.h"
#include "verify/dd.h"
#include "verify/mix.h"

struct edge {
    uint32_t last;              /* Of its range, which begins after that of
                                 * the edge before; of a digit of more than 32
                                 * bits its place in 'lasts'. */
    dd_t to;
};

/* A diagram's number is its place in 'room', in edges: so what it asks for and
 * its first edges are side by side. */
struct node {
    uint32_t n : 24;            /* Edges. */
    uint32_t digit : 8;
    uint32_t stamp;             /* The walk in which it was seen. */
    struct edge edges[];
};
BUILD_ASSERT_DECL(sizeof(struct node) == sizeof(struct edge));

/* What an operation gave; lossy.  In 'c' is the third operand, or which
 * operation it is of those that have two: then it is no diagram.  Nothing is
 * known of operands that are all 0. */
struct memory {
    dd_t a, b, c, result;
};

/* So many at first, and never fewer than half the diagrams: small, as all
 * that is looked up at random; but what is forgotten is computed again. */
enum { MIN_MEMORIES = 1 << 14, MAX_DIGITS = 160 };

struct dd {
    bool refused, mixed;
    int bound;                  /* Digit of dd_bind_at(). */
    dd_settle_cb *settle;       /* Or NULL. */
    void *settle_aux;

    struct edge *room;          /* Of nodes, one behind the other. */
    size_t n_room, allocated_room;
    size_t n_nodes;
    uint8_t *tags;              /* Where nodes are found by their hash, open
                                 * addressing: 7 bits of that; 0: nothing. */
    dd_t *unique;               /* What is there.  Most that is looked for is
                                 * not: so it is asked of 'tags', which fits
                                 * into caches. */
    size_t n_unique;            /* A power of 2. */

    u128 *lasts;                /* Each value once. */
    size_t n_lasts, allocated_lasts;
    uint32_t *places;           /* Of 'lasts', by hash; less 1, 0: none. */
    size_t n_places;            /* A power of 2. */
    uint32_t ones[MAX_DIGITS];  /* By digit: 'last' of its highest value. */
    size_t n_ones;              /* Places of these, which come first. */
    bool wide[MAX_DIGITS];      /* By digit: has it places? */

    struct edge *stack;         /* Edges of nodes that are being made. */
    size_t n_stack, allocated_stack;
    struct memory *memories;
    size_t n_memories;          /* A power of 2. */
    uint32_t n_walks, n_fills;
    struct hmap lists;          /* Contains "struct leaf_list"s, of
                                 * dd_each_leaf(). */
};

/* The leaves of a diagram. */
struct leaf_list {
    struct hmap_node node;
    dd_t of;
    dd_t *v;
    size_t n, allocated;
};

/* The node, which moves when one is made. */
static inline struct node *
node_of(const struct dd *dd, dd_t f)
{
    return (struct node *) &dd->room[f];
}

static inline int
digit_of(const struct dd *dd, dd_t f)
{
    return dd_is_leaf(f) ? MAX_DIGITS : node_of(dd, f)->digit;
}

/* Forgets what dd_each_leaf() remembers. */
void dd_forget_lists(struct dd *);

/* Makes room for more of what operations gave. */
void dd_grow_memories(struct dd *);

/* The place of a value in 'lasts'. */
uint32_t dd_place(struct dd *, u128 last);

/* A value of a digit as edges have it, and the other way round. */
static inline uint32_t
dd_last(struct dd *dd, int digit, u128 value)
{
    return dd->wide[digit] ? dd_place(dd, value) : (uint32_t) value;
}

static inline u128
dd_value(const struct dd *dd, int digit, uint32_t last)
{
    return dd->wide[digit] ? dd->lasts[last] : last;
}

void dd_grow_stack(struct dd *);

/* Puts an edge on the stack, of a node whose edges begin at 'base'. */
static inline void
dd_push_edge(struct dd *dd, size_t base, uint32_t last, dd_t to)
{
    if (dd->n_stack > base && dd->stack[dd->n_stack - 1].to == to) {
        dd->stack[dd->n_stack - 1].last = last;
        return;
    }
    if (dd->n_stack >= dd->allocated_stack) {
        dd_grow_stack(dd);
    }
    dd->stack[dd->n_stack++] = (struct edge) { .last = last, .to = to };
}

/* Takes the edges from 'base' on off the stack and makes the diagram that has
 * them. */
dd_t dd_make(struct dd *, int digit, size_t base);

/* The third operand of operations that have two. */
#define OF_TWO(OP) (~(uint32_t) (OP))
#define OF_DIGIT(OP, DIGIT) (~((uint32_t) (DIGIT) << 8 | (OP)))

/* Where the result for the operands is, or is to be, remembered. */
static inline struct memory *
dd_memory(struct dd *dd, dd_t a, dd_t b, dd_t c)
{
    uint64_t hash = mix_word(c, a | (uint64_t) b << 32);

    return &dd->memories[hash & (dd->n_memories - 1)];
}

static inline bool
dd_recall(struct dd *dd, dd_t a, dd_t b, dd_t c, dd_t *result)
{
    const struct memory *m = dd_memory(dd, a, b, c);

    *result = m->result;
    return m->a == a && m->b == b && m->c == c;
}

static inline dd_t
dd_remember(struct dd *dd, dd_t a, dd_t b, dd_t c, dd_t result)
{
    *dd_memory(dd, a, b, c) = (struct memory) { a, b, c, result };
    return result;
}

#endif /* verify/dd-private.h */
