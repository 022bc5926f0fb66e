/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_DD_H
#define VERIFY_DD_H 1

/* Decision diagrams: functions from packets to small numbers.
 *
 * A packet is a row of digits, each a number of up to 128 bits.  A diagram is
 * a number, which all packets have ("leaf"), or asks for one digit: each of
 * its edges has a range of values and leads to a diagram that asks for later
 * digits only.  Diagrams are hash-consed and edges of one diagram never lead
 * to the same one side by side, so two diagrams are the same function if and
 * only if they are the same 'dd_t' (Bryant 1986; edges with intervals as in
 * Gouda and Liu's firewall decision diagrams, 2007).
 *
 * The leaf DD_NONE means "not said".  A set is a diagram of DD_NONE and DD_ALL
 * only.  All diagrams of one "struct dd" live and die with it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 u128;
typedef uint32_t dd_t;

struct dd;

#define DD_LEAF_BIT UINT32_C(0x80000000)
#define DD_LEAF(N) ((dd_t) (N) | DD_LEAF_BIT)
#define DD_NONE DD_LEAF(0)
#define DD_ALL DD_LEAF(1)

static inline bool
dd_is_leaf(dd_t f)
{
    return f & DD_LEAF_BIT;
}

/* The number of a leaf. */
static inline uint32_t
dd_leaf(dd_t f)
{
    return f & ~DD_LEAF_BIT;
}

/* Digit i has 'widths[i]' bits, and is asked for before digit i + 1. */
struct dd *dd_create(const uint8_t widths[], size_t n_digits);
void dd_destroy(struct dd *);           /* Accepts NULL. */

/* Forgets all diagrams, and keeps the room for others. */
void dd_clear(struct dd *);

/* The packets whose 'digit' is from 'first' to 'last'. */
dd_t dd_range(struct dd *, int digit, u128 first, u128 last);

/* The packets whose 'digit' has the bits of 'value' where 'mask' is 1.  Where
 * that is more than DD_MAX_RUNS ranges, it is DD_NONE, and dd_is_refused()
 * from then on: what was computed is not to be used. */
enum { DD_MAX_RUNS = 1 << 12 };
dd_t dd_bits(struct dd *, int digit, u128 value, u128 mask);
bool dd_is_refused(const struct dd *);

/* Of sets. */
dd_t dd_and(struct dd *, dd_t, dd_t);
dd_t dd_or(struct dd *, dd_t, dd_t);
dd_t dd_not(struct dd *, dd_t);

/* 'f' for the packets of 'set', nothing for others. */
dd_t dd_cut(struct dd *, dd_t set, dd_t f);

/* 'high' where that says something, else 'low'. */
dd_t dd_over(struct dd *, dd_t high, dd_t low);

/* 'yes' for the packets of 'set', 'no' for others. */
dd_t dd_choose(struct dd *, dd_t set, dd_t yes, dd_t no);

/* For each packet op->leaf(op->aux, a's leaf, b's leaf), which must depend on
 * nothing else.  'keep_none': if either is DD_NONE, so is the result;
 * 'skip_none': then the result is the other.  leaf() is not asked of them. */
struct dd_op {
    dd_t (*leaf)(void *aux, dd_t a, dd_t b);
    dd_t (*bound)(void *aux, dd_t a, dd_t b);   /* If not NULL, for diagrams of
                                                 * which one is bound. */
    void *aux;
    bool keep_none, skip_none;
    uint8_t id;                 /* From DD_OP_USER; one for each op. */
};
enum { DD_OP_USER = 8 };
dd_t dd_apply(struct dd *, const struct dd_op *, dd_t, dd_t);

/* A shape says of packets which of the sets 'v' they are in; DD_NONE if some
 * are in two.  Overwrites 'v'. */
dd_t dd_shape(struct dd *, dd_t v[], size_t n);

/* 'v[i]' for the packets of the set i of 'shape'.  The first digit that 'v[i]'
 * asks for must be behind the deepest that the set does. */
dd_t dd_fill(struct dd *, dd_t shape, const dd_t v[]);

/* Where all of 'v' that are bound are so to one number, and can be so after
 * they are filled in: takes that off, and returns it; else 0. */
uint32_t dd_unbind_all(const struct dd *, dd_t shape, dd_t v[], size_t n);

/* The last digit that 'f' asks for, -1 if it is a leaf; the first, which is
 * then behind all. */
int dd_deepest(struct dd *, dd_t f);
int dd_first(const struct dd *, dd_t f);

/* What 'f' says of packets whose 'digit' is 'value', whatever theirs is. */
dd_t dd_where(struct dd *, dd_t f, int digit, u128 value);

/* A diagram may be bound: marked with a number, from 1, that says something
 * about all its leaves, so that diagrams that differ in that only are shared
 * but for the mark.  dd_bind() so marks what 'f' says from the digit of
 * dd_bind_at() on; operations keep the mark.  Of two diagrams with different
 * marks for the same packets there is one only if the number can be put into
 * their leaves: 'settle' of dd_settle_by() does that, and returns true if each
 * leaf then says something; a leaf that it has made, or that has never been
 * bound, must mean the same under any mark.  Else dd_is_mixed() from then on.
 * dd_unbind() returns what is marked, and stores by what, or 0. */
typedef bool dd_settle_cb(void *aux, uint32_t number, dd_t *);
void dd_bind_at(struct dd *, int digit);
void dd_settle_by(struct dd *, dd_settle_cb *settle, void *aux);
dd_t dd_bind(struct dd *, dd_t f, uint32_t number);
dd_t dd_unbind(const struct dd *, dd_t f, uint32_t *number);
bool dd_is_mixed(const struct dd *);

/* dd_apply() of all of 'v', in order, two by two, so that what is made of many
 * is not made anew with each of them; DD_NONE if there are none.  Overwrites
 * 'v'.  dd_over_all() is so dd_over(), which of sets is dd_or(). */
dd_t dd_fold(struct dd *, const struct dd_op *, dd_t v[], size_t n);
dd_t dd_over_all(struct dd *, dd_t v[], size_t n);

/* Calls 'visit' for each leaf of 'f' but DD_NONE, once, with a packet that has
 * it: 'digits[i]' is a value of digit i, the lowest that there is; 0 where it
 * is of no importance. */
void dd_leaves(struct dd *, dd_t f,
               bool (*visit)(void *aux, dd_t leaf, const u128 digits[]),
               void *aux);

/* The same of the leaves alone.  They are remembered. */
void dd_each_leaf(struct dd *, dd_t f, bool (*visit)(void *aux, dd_t leaf),
                  void *aux);

/* The leaf for one packet. */
dd_t dd_eval(const struct dd *, dd_t f, const u128 digits[]);

/* How many diagrams there are, and the bytes that they take. */
size_t dd_n_nodes(const struct dd *);
size_t dd_bytes(const struct dd *);

#endif /* verify/dd.h */
