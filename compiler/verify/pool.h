/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_POOL_H
#define VERIFY_POOL_H 1

/* Things that stand once and have a number: the same bytes are the same. */

#include <stddef.h>
#include <stdint.h>

struct pool {
    struct pool_item {
        const void *data;
        uint32_t size, hash;
    } *v;                       /* By number. */
    size_t n, allocated;
    uint32_t *slots;            /* By hash, open addressing: less 1, a number;
                                 * 0: none. */
    size_t n_slots;             /* A power of 2. */
    struct pool_chunk *chunks;  /* That hold the bytes. */
};

void pool_init(struct pool *);
void pool_destroy(struct pool *);

/* The number of these bytes. */
uint32_t pool_add(struct pool *, const void *data, size_t size);

/* The bytes, which stay where they are, aligned for any type. */
static inline const void *
pool_get(const struct pool *pool, uint32_t id, size_t *size)
{
    *size = pool->v[id].size;
    return pool->v[id].data;
}

#endif /* verify/pool.h */
