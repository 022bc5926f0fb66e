/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/vec.h"

#include <stdint.h>
#include <string.h>

#include "util.h"

void *
vec_grow__(struct arena *arena, void *v, size_t n, size_t *allocated,
           size_t size)
{
    size_t n_new = n ? 2 * n : 4;

    ovs_assert(n_new <= SIZE_MAX / 2 / size);

    void *new = arena_zalloc(arena, n_new * size);
    if (n) {
        memcpy(new, v, n * size);
    }
    *allocated = n_new;
    return new;
}
