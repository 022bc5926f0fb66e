/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_SLICE_PRIVATE_H
#define VERIFY_SLICE_PRIVATE_H 1

/* Between slice.c, which finds out who can come where, and slice-flow.c, which
 * knows what a flow adds to that. */

#include "openvswitch/hmap.h"
#include "verify/slice.h"

/* The slices whose packets can have 'value' in 'field'. */
struct holding {
    struct hmap_node node;      /* In 'by_value'. */
    struct holding *next;       /* Of the same field. */
    enum field field;
    uint64_t value;
    unsigned long who[];
};

/* The slices whose packets can have one of the values that a flow asks for by
 * some bits of 'field'. */
struct masked {
    struct masked *next;        /* Of the same field. */
    uint64_t value, mask;
    unsigned long who[];
};

/* In the place of a field that is held: the meters that are called. */
#define CALLED ((enum field) F_FIRST_OF_PACKET)
enum { N_HELD = F_FIRST_OF_PACKET + 1 };

struct slices {
    const struct table_set *tables;
    size_t n, n_longs;          /* Slices; longs of a set of them. */
    struct hmap by_value;       /* Contains "struct holding"s. */
    struct holding *of_field[N_HELD];
    struct masked *masked[N_HELD];
    unsigned long *any;         /* By field: can have any value. */
    unsigned long *at;          /* By table: can come there. */
    unsigned long *in;          /* By order of flow: the result. */
    size_t n_in;                /* Flows that it has room for. */
    struct slice_flows {
        struct table_flow **v;
        size_t n, allocated;
    } *flows;                   /* By slice: those in it. */
    unsigned long *some;        /* Scratch: two sets. */
    bool changed;               /* Does what is known say more than the flows
                                 * know, ... */
    struct grown {
        enum field field;
        uint64_t value;
    } *grown;                   /* ...or this of it? */
    size_t n_grown, allocated_grown;
    uint64_t *asks;             /* By order of flow: bits of what it asks for,
                                 * see slice_asks(). */
    bool broken;
};

/* Fields of which it is known who can have which value: none is wider than 64
 * bits.  Of others it is taken that all can have any. */
static inline bool
is_followed(enum field f)
{
    return (f == F_IN_PORT || f == F_METADATA || f == F_CT_ZONE
            || (f >= F_REG0 && f <= F_REG15));
}

/* Marks are set inside ct() only, and what a connection has may be older. */
static inline bool
is_noted(enum field f)
{
    return is_followed(f) || f == F_CT_MARK;
}

static inline unsigned long *
any_of(const struct slices *s, enum field f)
{
    return s->any + f * s->n_longs;
}

static inline unsigned long *
at_table(const struct slices *s, uint8_t table)
{
    return s->at + table * s->n_longs;
}

static inline unsigned long *
in_flow(const struct slices *s, const struct table_flow *flow)
{
    return s->in + flow->order * s->n_longs;
}

/* Adds the flow to those of 'who'. */
void slice_add_flow(struct slices *, struct table_flow *,
                    const unsigned long who[]);

/* Adds to what is known of all values of a field, or of a table. */
void slice_add_to(struct slices *, unsigned long set[],
                  const unsigned long more[]);

/* Those of 'who' can have 'value' in 'f'. */
void slice_hold(struct slices *, enum field f, uint64_t value,
                const unsigned long who[]);
struct holding *slice_find(const struct slices *, enum field f,
                           uint64_t value);

/* Of those bits of 'f' that are 1 in 'mask'. */
const struct masked *slice_masked(struct slices *, enum field f,
                                  uint64_t value, uint64_t mask);

/* Adds whose packets can meet the flow, and what they can have then. */
void slice_visit_flow(struct slices *, struct table_flow *);

/* Bits that stand for a value of a field, and for all; a flow has, in what
 * slice_asks() says, those of each that it matches, or copies.  Others may
 * have them too. */
uint64_t slice_ask_bits(enum field, uint64_t value);
uint64_t slice_ask_all_bits(enum field);
uint64_t slice_asks(const struct table_flow *);

#endif /* verify/slice-private.h */
