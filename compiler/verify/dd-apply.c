/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>

#include "util.h"
#include "verify/dd-private.h"

enum { OP_CUT = 1, OP_OVER, OP_NOT, OP_MARK, OP_WHERE };

void
dd_grow_memories(struct dd *dd)
{
    struct memory *old = dd->memories;
    size_t n = dd->n_memories;

    dd->n_memories = n * 2;
    dd->memories = xcalloc(dd->n_memories, sizeof *dd->memories);
    for (size_t i = 0; i < n; i++) {
        *dd_memory(dd, old[i].a, old[i].b, old[i].c) = old[i];
    }
    free(old);
}

static dd_t
leaf_cut(void *aux OVS_UNUSED, dd_t a OVS_UNUSED, dd_t b)
{
    return b;
}

static dd_t
leaf_over(void *aux OVS_UNUSED, dd_t a, dd_t b OVS_UNUSED)
{
    return a;
}

static const struct dd_op op_cut = {
    leaf_cut, NULL, NULL, true, false, OP_CUT,
};

static const struct dd_op op_over = {
    leaf_over, NULL, NULL, false, true, OP_OVER,
};

/* The result if it is known without looking further. */
static inline ALWAYS_INLINE bool
is_trivial(const struct dd_op *op, dd_t a, dd_t b, dd_t *result)
{
    if (op->keep_none && (a == DD_NONE || b == DD_NONE)) {
        *result = DD_NONE;
    } else if (op->skip_none && (a == DD_NONE || b == DD_NONE)) {
        *result = a == DD_NONE ? b : a;
    } else if (op->id == OP_CUT && (a == DD_ALL || a == b)) {
        *result = b;
    } else if (op->id == OP_OVER && (a == b || dd_is_leaf(a))) {
        *result = a;
    } else if (op->id < DD_OP_USER && dd_is_leaf(a) && dd_is_leaf(b)) {
        *result = op->leaf(op->aux, a, b);
    } else {
        return false;
    }
    return true;
}

void
dd_bind_at(struct dd *dd, int digit)
{
    dd->bound = digit;
}

void
dd_settle_by(struct dd *dd, dd_settle_cb *settle, void *aux)
{
    dd->settle = settle;
    dd->settle_aux = aux;
}

bool
dd_is_mixed(const struct dd *dd)
{
    return dd->mixed;
}

static dd_t
mark(struct dd *dd, dd_t f, uint32_t number)
{
    size_t base = dd->n_stack;

    if (f == DD_NONE) {
        return f;
    }
    dd_push_edge(dd, base, dd_last(dd, dd->bound, number), f);
    return dd_make(dd, dd->bound, base);
}

dd_t
dd_unbind(const struct dd *dd, dd_t f, uint32_t *number)
{
    const struct edge *e;

    if (digit_of(dd, f) != dd->bound) {
        *number = 0;
        return f;
    }
    e = node_of(dd, f)->edges;
    *number = dd_value(dd, dd->bound, e->last);
    return e->to;
}

/* Of diagrams that are bound to different numbers, without these. */
static dd_t
apply_settled(struct dd *dd, const struct dd_op *op, dd_t a, uint32_t x,
              dd_t b, uint32_t y)
{
    if (!dd->settle || !dd->settle(dd->settle_aux, x, &a)
        || !dd->settle(dd->settle_aux, y, &b)) {
        dd->mixed = true;
        return DD_NONE;
    }
    return dd_apply(dd, op, a, b);
}

/* Of diagrams of which at least one is bound. */
static dd_t
apply_bound(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b)
{
    uint32_t x, y;
    dd_t of_a = dd_unbind(dd, a, &x), of_b = dd_unbind(dd, b, &y);

    if (op->bound) {
        return op->bound(op->aux, a, b);
    } else if (x && y && x != y) {
        return apply_settled(dd, op, of_a, x, of_b, y);
    }
    return mark(dd, dd_apply(dd, op, of_a, of_b), MAX(x, y));
}

/* The edges of 'f' if it asks for 'digit', else one for all values; from that
 * on which is the next.  They move when a diagram is made. */
struct edges {
    uint32_t i, end;            /* In 'room'. */
    bool asks;
    struct edge whole;
};

static struct edges
edges_of(const struct dd *dd, dd_t f, int digit)
{
    bool asks = digit_of(dd, f) == digit;
    uint32_t first = asks ? f + 1 : 0;

    return (struct edges) {
        first, first + (asks ? node_of(dd, f)->n : 1), asks,
        { dd->ones[digit], f },
    };
}

static struct edge
edge_at(const struct dd *dd, const struct edges *e)
{
    return e->asks ? dd->room[e->i] : e->whole;
}

/* The lower of two values of a digit, which is 'wide' or not. */
static inline uint32_t
lower(const struct dd *dd, bool wide, uint32_t a, uint32_t b)
{
    return (!wide ? MIN(a, b)
            : a == b || dd->lasts[a] < dd->lasts[b] ? a : b);
}

static dd_t apply_deep(struct dd *, const struct dd_op *, dd_t a, dd_t b);
static dd_t cut_deep(struct dd *, dd_t a, dd_t b);
static dd_t over_deep(struct dd *, dd_t a, dd_t b);

/* dd_apply(), of which most calls end here.  What most operations are has
 * code of its own, in which 'op' is known. */
static inline ALWAYS_INLINE dd_t
apply(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b)
{
    dd_t result;

    return (is_trivial(op, a, b, &result) ? result
            : op == &op_cut ? cut_deep(dd, a, b)
            : op == &op_over ? over_deep(dd, a, b)
            : apply_deep(dd, op, a, b));
}

/* Where both ask for the same digit. */
static inline ALWAYS_INLINE void
apply_both(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b, size_t base)
{
    uint32_t x = a + 1, y = b + 1, end = x + node_of(dd, a)->n;
    bool wide = dd->wide[node_of(dd, a)->digit];

    /* Both end with the highest value. */
    while (x < end) {
        struct edge of_a = dd->room[x], of_b = dd->room[y];
        uint32_t last = lower(dd, wide, of_a.last, of_b.last);

        dd_push_edge(dd, base, last, apply(dd, op, of_a.to, of_b.to));
        x += of_a.last == last;
        y += of_b.last == last;
    }
}

/* Where 'asking' asks for a digit that 'other' does not ask for; 'first': it
 * is the first operand. */
static inline ALWAYS_INLINE void
apply_one(struct dd *dd, const struct dd_op *op, dd_t asking, dd_t other,
          bool first, size_t base)
{
    uint32_t end = asking + 1 + node_of(dd, asking)->n;

    for (uint32_t x = asking + 1; x < end; x++) {
        struct edge e = dd->room[x];

        dd_push_edge(dd, base, e.last, first ? apply(dd, op, e.to, other)
                     : apply(dd, op, other, e.to));
    }
}

static inline ALWAYS_INLINE dd_t
deep(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b)
{
    size_t base = dd->n_stack;
    int of_a, of_b;
    dd_t result;

    if (dd_recall(dd, a, b, OF_TWO(op->id), &result)) {
        return result;
    } else if (dd_is_leaf(a) && dd_is_leaf(b)) {
        /* Those of users take longer than to remember it. */
        return dd_remember(dd, a, b, OF_TWO(op->id),
                           op->leaf(op->aux, a, b));
    }
    of_a = digit_of(dd, a);
    of_b = digit_of(dd, b);
    if (MIN(of_a, of_b) == dd->bound) {
        return dd_remember(dd, a, b, OF_TWO(op->id),
                        apply_bound(dd, op, a, b));
    } else if (of_a == of_b) {
        apply_both(dd, op, a, b, base);
    } else {
        apply_one(dd, op, of_a < of_b ? a : b, of_a < of_b ? b : a,
                  of_a < of_b, base);
    }
    return dd_remember(dd, a, b, OF_TWO(op->id),
                    dd_make(dd, MIN(of_a, of_b), base));
}

static dd_t
apply_deep(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b)
{
    return deep(dd, op, a, b);
}

static dd_t
cut_deep(struct dd *dd, dd_t a, dd_t b)
{
    return deep(dd, &op_cut, a, b);
}

static dd_t
over_deep(struct dd *dd, dd_t a, dd_t b)
{
    return deep(dd, &op_over, a, b);
}

dd_t
dd_apply(struct dd *dd, const struct dd_op *op, dd_t a, dd_t b)
{
    return apply(dd, op, a, b);
}

/* Marks what follows where the digits of 'f' before that of marks end. */
static dd_t
mark_from(struct dd *dd, dd_t f, dd_t number)
{
    size_t base = dd->n_stack, n;
    dd_t result;

    if (digit_of(dd, f) == dd->bound) {
        dd->mixed = true;
        return DD_NONE;
    } else if (digit_of(dd, f) > dd->bound) {
        return mark(dd, f, number);
    }
    if (dd_recall(dd, f, number, OF_TWO(OP_MARK), &result)) {
        return result;
    }
    n = node_of(dd, f)->n;
    for (size_t i = 0; i < n; i++) {
        struct edge e = node_of(dd, f)->edges[i];

        result = mark_from(dd, e.to, number);
        dd_push_edge(dd, base, e.last, result);
    }
    return dd_remember(dd, f, number, OF_TWO(OP_MARK),
                    dd_make(dd, digit_of(dd, f), base));
}

dd_t
dd_bind(struct dd *dd, dd_t f, uint32_t number)
{
    return mark_from(dd, f, number);
}

/* The same of 'value', which is 'at' as edges have it. */
static dd_t
where(struct dd *dd, dd_t f, int digit, u128 value, uint32_t at)
{
    size_t base = dd->n_stack, n;
    dd_t result;

    if (digit_of(dd, f) > digit) {
        return f;
    } else if (digit_of(dd, f) == digit) {
        const struct edge *e = node_of(dd, f)->edges;

        while (dd_value(dd, digit, e->last) < value) {
            e++;
        }
        return e->to;
    } else if (dd_recall(dd, f, at, OF_DIGIT(OP_WHERE, digit), &result)) {
        return result;
    }
    n = node_of(dd, f)->n;
    for (size_t i = 0; i < n; i++) {
        struct edge e = node_of(dd, f)->edges[i];

        result = where(dd, e.to, digit, value, at);
        dd_push_edge(dd, base, e.last, result);
    }
    return dd_remember(dd, f, at, OF_DIGIT(OP_WHERE, digit),
                    dd_make(dd, digit_of(dd, f), base));
}

dd_t
dd_where(struct dd *dd, dd_t f, int digit, u128 value)
{
    return where(dd, f, digit, value, dd_last(dd, digit, value));
}

static dd_t
leaf_not(void *aux OVS_UNUSED, dd_t a, dd_t b OVS_UNUSED)
{
    return a == DD_NONE ? DD_ALL : DD_NONE;
}

dd_t
dd_cut(struct dd *dd, dd_t set, dd_t f)
{
    return apply(dd, &op_cut, set, f);
}

dd_t
dd_over(struct dd *dd, dd_t high, dd_t low)
{
    return apply(dd, &op_over, high, low);
}

dd_t
dd_fold(struct dd *dd, const struct dd_op *op, dd_t v[], size_t n)
{
    for (; n > 1; n = (n + 1) / 2) {
        for (size_t i = 0; i < n / 2; i++) {
            v[i] = dd_apply(dd, op, v[2 * i], v[2 * i + 1]);
        }
        if (n % 2) {
            v[n / 2] = v[n - 1];
        }
    }
    return n ? v[0] : DD_NONE;
}

dd_t
dd_over_all(struct dd *dd, dd_t v[], size_t n)
{
    return dd_fold(dd, &op_over, v, n);
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
    static const struct dd_op op = {
        leaf_not, NULL, NULL, false, false, OP_NOT,
    };

    return dd_apply(dd, &op, set, DD_ALL);
}

/* Of diagrams of which at least one is bound.  Bound to different numbers,
 * they can do if nothing is left of one. */
static dd_t
choose_bound(struct dd *dd, dd_t set, dd_t yes, dd_t no)
{
    uint32_t x, y;
    dd_t of_yes = dd_unbind(dd, yes, &x), of_no = dd_unbind(dd, no, &y);

    if (!x || !y || x == y) {
        return mark(dd, dd_choose(dd, set, of_yes, of_no), MAX(x, y));
    }
    return dd_over(dd, dd_cut(dd, set, yes),
                   dd_cut(dd, dd_not(dd, set), no));
}

dd_t
dd_choose(struct dd *dd, dd_t set, dd_t yes, dd_t no)
{
    size_t base = dd->n_stack;
    struct edges x, y, z;
    dd_t result;
    int digit;
    bool wide;

    if (set == DD_ALL || yes == no) {
        return yes;
    } else if (set == DD_NONE) {
        return no;
    } else if (no == DD_NONE) {
        return dd_cut(dd, set, yes);
    } else if (dd_recall(dd, set, yes, no, &result)) {
        return result;
    }
    digit = MIN(digit_of(dd, yes), digit_of(dd, no));
    digit = MIN(digit, digit_of(dd, set));
    if (digit == dd->bound) {
        return dd_remember(dd, set, yes, no,
                        choose_bound(dd, set, yes, no));
    }
    wide = dd->wide[digit];
    x = edges_of(dd, set, digit);
    y = edges_of(dd, yes, digit);
    z = edges_of(dd, no, digit);
    while (x.i < x.end && y.i < y.end && z.i < z.end) {
        struct edge of_set = edge_at(dd, &x);
        struct edge of_yes = edge_at(dd, &y), of_no = edge_at(dd, &z);
        uint32_t last = lower(dd, wide, lower(dd, wide, of_set.last,
                                              of_yes.last), of_no.last);

        result = dd_choose(dd, of_set.to, of_yes.to, of_no.to);
        dd_push_edge(dd, base, last, result);
        x.i += of_set.last == last;
        y.i += of_yes.last == last;
        z.i += of_no.last == last;
    }
    return dd_remember(dd, set, yes, no, dd_make(dd, digit, base));
}
