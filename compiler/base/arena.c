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

/* The first block is small, since many arenas hold little; others are as large
 * as all before them, up to a limit. */
enum { ARENA_FIRST_SIZE = 1024, ARENA_BLOCK_SIZE = 64 * 1024 };

/* Header of a block; the bytes it hands out follow it. */
struct arena_block {
    struct arena_block *next;
    size_t used, size;          /* Of the bytes that follow. */
    max_align_t bytes[];
};

struct arena {
    struct arena_block *blocks; /* The newest, which has room, first. */
    size_t size;                /* Of all of them. */
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

size_t
arena_size(const struct arena *arena)
{
    return arena->size;
}

static struct arena_block *
arena_add_block(struct arena *arena, size_t size)
{
    struct arena_block *b = xzalloc(sizeof *b + size);

    b->size = size;
    arena->size += sizeof *b + size;
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

static size_t
arena_align(size_t size)
{
    return (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
}

void *
arena_zalloc(struct arena *arena, size_t size)
{
    struct arena_block *b = arena->blocks;

    ovs_assert(size <= SIZE_MAX / 2);
    size = arena_align(size);
    if (!b || size > b->size - b->used) {
        size_t usual = MIN(MAX(arena->size, ARENA_FIRST_SIZE),
                           ARENA_BLOCK_SIZE);

        b = arena_add_block(arena, MAX(size, usual));
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

/* Formats once, into what is left of the first block, if that is enough. */
char *
arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    struct arena_block *b = arena->blocks;
    size_t left = b ? b->size - b->used : 0;
    char *s = b ? (char *) b->bytes + b->used : NULL;
    va_list args2;
    int n;

    va_copy(args2, args);
    n = vsnprintf(s, left, format, args2);
    va_end(args2);
    ovs_assert(n >= 0);

    if (n < left) {
        b->used += MIN(arena_align(n + 1), left);
        return s;
    }
    if (left) {
        memset(s, 0, left);     /* As arena_zalloc() wants it. */
    }
    s = arena_zalloc(arena, n + 1);
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
