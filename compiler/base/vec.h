/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_VEC_H
#define BASE_VEC_H 1

/* Growable arrays in an arena.
 *
 *     VEC(int) numbers = VEC_INIT;
 *     *vec_push(arena, &numbers) = 7;
 *     for (size_t i = 0; i < numbers.n; i++) { use(numbers.v[i]); }
 *
 * Growing leaves the old copy behind in the arena (at most as much again as
 * the array holds), so pointers to elements are good only until the next
 * push.  libopenvswitch's x2nrealloc() idiom needs a free() at every exit;
 * this needs none. */

#include <stddef.h>

#include "base/arena.h"

#define VEC(TYPE) struct { TYPE *v; size_t n, allocated; }
#define VEC_INIT { NULL, 0, 0 }

/* Names the type, for arrays that are passed around. */
#define VEC_TYPEDEF(NAME, TYPE) typedef VEC(TYPE) NAME

/* Appends a zeroed element to '*VEC' and returns a pointer to it. */
#define vec_push(ARENA, VEC)                                            \
    ((VEC)->n < (VEC)->allocated ? &(VEC)->v[(VEC)->n++]                \
     : ((VEC)->v = vec_grow__(ARENA, (VEC)->v, (VEC)->n,                \
                              &(VEC)->allocated, sizeof *(VEC)->v),     \
        &(VEC)->v[(VEC)->n++]))

void *vec_grow__(struct arena *, void *v, size_t n, size_t *allocated,
                 size_t size);

#endif /* base/vec.h */
