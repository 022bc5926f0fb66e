/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/memo.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

void
memo_init(struct memo *memo)
{
    memset(memo, 0, sizeof *memo);
    pool_init(&memo->keys);
}

void
memo_destroy(struct memo *memo)
{
    pool_destroy(&memo->keys);
    free(memo->v);
}

dd_t *
memo_find(struct memo *memo, const void *key, size_t size)
{
    size_t n = memo->keys.n;
    uint32_t id = pool_add(&memo->keys, key, size);

    if (id >= memo->allocated) {
        memo->v = x2nrealloc(memo->v, &memo->allocated, sizeof *memo->v);
    }
    if (id == n) {
        memo->v[id] = DD_NONE;
    }
    return &memo->v[id];
}
