/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "hash.h"
#include "util.h"
#include "verify/dd-private.h"

enum { OP_CUT = 1, OP_OVER, OP_NOT, OP_MARK };

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
    } else if (op->skip_none && (a == DD_NONE || b == DD_NONE)) {
        *result = a == DD_NONE ? b : a;
    } else if (op->id == OP_CUT && a == DD_ALL) {
        *result = b;
    } else if (op->id == OP_OVER && (a == b || dd_is_leaf(a))) {
        *result = a;
    } else if (dd_is_leaf(a) && dd_is_leaf(b)) {
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
    dd_push_edge(dd, base, number, f);
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
    e = &dd->edges[dd->nodes[f].first];
    *number = e->last;
    return e->to;
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
        dd->mixed = true;
        return DD_NONE;
    }
    return mark(dd, dd_apply(dd, op, of_a, of_b), MAX(x, y));
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
    digit_a = digit_of(dd, a);
    digit_b = digit_of(dd, b);
    digit = MIN(digit_a, digit_b);
    if (digit == dd->bound) {
        result = apply_bound(dd, op, a, b);
        *recall(dd, op->id, a, b) = (struct memory) { a, b, result, op->id };
        return result;
    }
    n_a = digit_a == digit ? dd->nodes[a].n : 1;
    n_b = digit_b == digit ? dd->nodes[b].n : 1;
    while (i < n_a && j < n_b) {
        /* The arrays move when they grow. */
        struct edge whole_a = { dd_ones(dd, digit), a };
        struct edge whole_b = { dd_ones(dd, digit), b };
        struct edge x = digit_a == digit ? dd->edges[dd->nodes[a].first + i]
                        : whole_a;
        struct edge y = digit_b == digit ? dd->edges[dd->nodes[b].first + j]
                        : whole_b;
        u128 last = MIN(x.last, y.last);

        result = dd_apply(dd, op, x.to, y.to);
        dd_push_edge(dd, base, last, result);
        i += x.last == last;
        j += y.last == last;
    }
    result = dd_make(dd, digit, base);
    m = recall(dd, op->id, a, b);
    *m = (struct memory) { a, b, result, op->id };
    return result;
}

/* Marks what follows where the digits of 'f' before that of marks end. */
static dd_t
mark_from(struct dd *dd, dd_t f, dd_t number)
{
    size_t base = dd->n_stack;
    struct memory *m;
    struct node node;
    dd_t result;

    if (digit_of(dd, f) == dd->bound) {
        dd->mixed = true;
        return DD_NONE;
    } else if (digit_of(dd, f) > dd->bound) {
        return mark(dd, f, number);
    }
    m = recall(dd, OP_MARK, f, number);
    if (is_remembered(m, OP_MARK, f, number)) {
        return m->result;
    }
    node = dd->nodes[f];
    for (size_t i = 0; i < node.n; i++) {
        struct edge e = dd->edges[node.first + i];

        result = mark_from(dd, e.to, number);
        dd_push_edge(dd, base, e.last, result);
    }
    result = dd_make(dd, node.digit, base);
    *recall(dd, OP_MARK, f, number) = (struct memory) {
        f, number, result, OP_MARK,
    };
    return result;
}

dd_t
dd_bind(struct dd *dd, dd_t f, uint32_t number)
{
    return mark_from(dd, f, number);
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

static dd_t
leaf_not(void *aux OVS_UNUSED, dd_t a, dd_t b OVS_UNUSED)
{
    return a == DD_NONE ? DD_ALL : DD_NONE;
}

dd_t
dd_cut(struct dd *dd, dd_t set, dd_t f)
{
    static const struct dd_op op = {
        leaf_cut, NULL, NULL, true, false, OP_CUT,
    };

    return dd_apply(dd, &op, set, f);
}

static const struct dd_op op_over = {
    leaf_over, NULL, NULL, false, true, OP_OVER,
};

dd_t
dd_over(struct dd *dd, dd_t high, dd_t low)
{
    return dd_apply(dd, &op_over, high, low);
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

dd_t
dd_choose(struct dd *dd, dd_t set, dd_t yes, dd_t no)
{
    return dd_over(dd, dd_cut(dd, set, yes),
                   dd_cut(dd, dd_not(dd, set), no));
}
