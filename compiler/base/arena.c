/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

enum { ARENA_BLOCK_SIZE = 64 * 1024 };

/* Header of a block; the bytes it hands out follow it. */
struct arena_block {
    struct arena_block *next;
    size_t used, size;          /* Of the bytes that follow. */
    max_align_t bytes[];
};

struct arena {
    struct arena_block *blocks; /* The newest, which has room, first. */
};

struct arena *
arena_create(void)
{
    return xzalloc(sizeof(struct arena));
}

void
arena_destroy(struct arena *arena)
{
    if (arena) {
        struct arena_block *next;

        for (struct arena_block *b = arena->blocks; b; b = next) {
            next = b->next;
            free(b);
        }
        free(arena);
    }
}

static struct arena_block *
arena_add_block(struct arena *arena, size_t size)
{
    struct arena_block *b = xzalloc(sizeof *b + size);

    b->size = size;
    if (arena->blocks && size > ARENA_BLOCK_SIZE) {
        /* A block of its own for a large object: keep filling the first. */
        b->next = arena->blocks->next;
        arena->blocks->next = b;
    } else {
        b->next = arena->blocks;
        arena->blocks = b;
    }
    return b;
}

void *
arena_zalloc(struct arena *arena, size_t size)
{
    struct arena_block *b = arena->blocks;

    ovs_assert(size <= SIZE_MAX / 2);
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!b || size > b->size - b->used) {
        b = arena_add_block(arena, MAX(size, ARENA_BLOCK_SIZE));
    }

    void *p = (char *) b->bytes + b->used;
    b->used += size;
    return p;
}

char *
arena_strndup(struct arena *arena, const char *s, size_t len)
{
    char *copy = arena_zalloc(arena, len + 1);

    memcpy(copy, s, len);
    return copy;
}

char *
arena_strdup(struct arena *arena, const char *s)
{
    return arena_strndup(arena, s, strlen(s));
}

char *
arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list args2;
    int n;

    va_copy(args2, args);
    n = vsnprintf(NULL, 0, format, args2);
    va_end(args2);
    ovs_assert(n >= 0);

    char *s = arena_zalloc(arena, n + 1);
    vsnprintf(s, n + 1, format, args);
    return s;
}

char *
arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *s = arena_vprintf(arena, format, args);
    va_end(args);
    return s;
}
