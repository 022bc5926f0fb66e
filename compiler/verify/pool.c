/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/pool.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

struct pool_item {
    struct hmap_node node;
    size_t size;
    uint32_t id;
    uint64_t data[];
};

void
pool_init(struct pool *pool)
{
    memset(pool, 0, sizeof *pool);
    hmap_init(&pool->map);
}

void
pool_destroy(struct pool *pool)
{
    for (size_t i = 0; i < pool->n; i++) {
        free(pool->v[i]);
    }
    free(pool->v);
    hmap_destroy(&pool->map);
}

uint32_t
pool_add(struct pool *pool, const void *data, size_t size)
{
    uint32_t hash = hash_bytes(data, size, size);
    struct pool_item *item;

    HMAP_FOR_EACH_WITH_HASH (item, node, hash, &pool->map) {
        if (item->size == size && !memcmp(item->data, data, size)) {
            return item->id;
        }
    }
    if (pool->n >= pool->allocated) {
        pool->v = x2nrealloc(pool->v, &pool->allocated, sizeof *pool->v);
    }
    item = xmalloc(sizeof *item + size);
    item->size = size;
    item->id = pool->n;
    memcpy(item->data, data, size);
    hmap_insert(&pool->map, &item->node, hash);
    pool->v[pool->n++] = item;
    return item->id;
}

const void *
pool_get(const struct pool *pool, uint32_t id, size_t *size)
{
    *size = pool->v[id]->size;
    return pool->v[id]->data;
}
