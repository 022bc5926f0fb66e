/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "verify/mix.h"

/* Each is twice as large as the one before, up to MAX_CHUNK bytes. */
struct pool_chunk {
    struct pool_chunk *next;
    size_t used, size;
    max_align_t data[];
};

enum { MIN_SLOTS = 64, MIN_CHUNK = 1 << 10, MAX_CHUNK = 1 << 16 };

void
pool_init(struct pool *pool)
{
    memset(pool, 0, sizeof *pool);
}

void
pool_destroy(struct pool *pool)
{
    struct pool_chunk *next;

    for (struct pool_chunk *c = pool->chunks; c; c = next) {
        next = c->next;
        free(c);
    }
    free(pool->v);
    free(pool->slots);
}

static size_t
aligned(size_t size)
{
    return ROUND_UP(size, alignof(max_align_t));
}

static const void *
copy(struct pool *pool, const void *data, size_t size)
{
    struct pool_chunk *c = pool->chunks;
    void *copied;

    if (!c || c->size - c->used < size) {
        size_t room = c ? MIN(c->size * 2, MAX_CHUNK) : MIN_CHUNK;

        room = MAX(room, aligned(size));
        c = xmalloc(sizeof *c + room);
        c->next = pool->chunks;
        c->used = 0;
        c->size = room;
        pool->chunks = c;
    }
    copied = (char *) c->data + c->used;
    memcpy(copied, data, size);
    c->used += aligned(size);
    return copied;
}

static void
grow_slots(struct pool *pool)
{
    pool->n_slots = MAX(pool->n_slots * 2, MIN_SLOTS);
    free(pool->slots);
    pool->slots = xcalloc(pool->n_slots, sizeof *pool->slots);
    for (size_t i = 0; i < pool->n; i++) {
        size_t at = pool->v[i].hash & (pool->n_slots - 1);

        while (pool->slots[at]) {
            at = (at + 1) & (pool->n_slots - 1);
        }
        pool->slots[at] = i + 1;
    }
}

uint32_t
pool_add(struct pool *pool, const void *data, size_t size)
{
    uint32_t hash = mix_bytes(data, size);
    size_t at;

    if (pool->n * 2 >= pool->n_slots) {
        grow_slots(pool);
    }
    for (at = hash & (pool->n_slots - 1); pool->slots[at];
         at = (at + 1) & (pool->n_slots - 1)) {
        const struct pool_item *item = &pool->v[pool->slots[at] - 1];

        if (item->hash == hash && item->size == size
            && !memcmp(item->data, data, size)) {
            return pool->slots[at] - 1;
        }
    }
    if (pool->n >= pool->allocated) {
        pool->v = x2nrealloc(pool->v, &pool->allocated, sizeof *pool->v);
    }
    pool->v[pool->n] = (struct pool_item) {
        copy(pool, data, size), size, hash,
    };
    pool->slots[at] = ++pool->n;
    return pool->n - 1;
}
