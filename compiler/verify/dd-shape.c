/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Many diagrams put together at once, each for a set of packets. */

#include "util.h"
#include "verify/dd-private.h"

enum { OP_SHAPE = 6, OP_FILL };

/* Leaves of shapes: a packet of two sets; one of the first. */
#define OF_MANY DD_LEAF(1)
#define OF_FIRST DD_LEAF(2)

static dd_t
leaf_shape(void *aux OVS_UNUSED, dd_t a OVS_UNUSED, dd_t b OVS_UNUSED)
{
    return OF_MANY;
}

static bool
look_for_many(void *found, dd_t leaf, const u128 digits[] OVS_UNUSED)
{
    *(bool *) found |= leaf == OF_MANY;
    return leaf == OF_MANY;
}

dd_t
dd_shape(struct dd *dd, dd_t v[], size_t n)
{
    static const struct dd_op op = {
        leaf_shape, NULL, NULL, false, true, OP_SHAPE,
    };
    bool many = false;
    dd_t shape;

    for (size_t i = 0; i < n; i++) {
        v[i] = dd_cut(dd, v[i], OF_FIRST + i);
    }
    shape = dd_fold(dd, &op, v, n);
    dd_leaves(dd, shape, look_for_many, &many);
    return many ? DD_NONE : shape;
}

static dd_t
fill(struct dd *dd, dd_t shape, const dd_t v[], uint32_t number)
{
    size_t base = dd->n_stack, n;
    dd_t result;

    if (dd_is_leaf(shape)) {
        return shape == DD_NONE ? DD_NONE : v[shape - OF_FIRST];
    } else if (dd_recall(dd, shape, number, OF_TWO(OP_FILL), &result)) {
        return result;
    }
    n = node_of(dd, shape)->n;
    for (size_t i = 0; i < n; i++) {
        struct edge e = node_of(dd, shape)->edges[i];

        result = fill(dd, e.to, v, number);
        dd_push_edge(dd, base, e.last, result);
    }
    return dd_remember(dd, shape, number, OF_TWO(OP_FILL),
                       dd_make(dd, digit_of(dd, shape), base));
}

dd_t
dd_fill(struct dd *dd, dd_t shape, const dd_t v[])
{
    return fill(dd, shape, v, ++dd->n_fills);
}

uint32_t
dd_unbind_all(const struct dd *dd, dd_t shape, dd_t v[], size_t n)
{
    uint32_t number = 0, of_one;

    if (dd_is_leaf(shape) || digit_of(dd, shape) <= dd->bound) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        dd_unbind(dd, v[i], &of_one);
        if (of_one && number && of_one != number) {
            return 0;
        }
        number = number ? number : of_one;
    }
    for (size_t i = 0; i < n && number; i++) {
        v[i] = dd_unbind(dd, v[i], &of_one);
    }
    return number;
}
