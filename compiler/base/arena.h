/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_ARENA_H
#define BASE_ARENA_H 1

/* Arena: memory that lives and dies with one unit of work.
 *
 * A compilation allocates from one arena and frees nothing by itself;
 * arena_destroy() frees all of it.  Out of memory aborts the process, as
 * everywhere in Open vSwitch (xmalloc()).  Not thread safe: one arena belongs
 * to one thread. */

#include <stdarg.h>
#include <stddef.h>
#include "openvswitch/compiler.h"

struct arena;

struct arena *arena_create(void);
void arena_destroy(struct arena *);     /* Accepts NULL. */

/* How many bytes it has taken of the heap. */
size_t arena_size(const struct arena *);

/* Returns 'size' zeroed bytes, aligned for any type. */
void *arena_zalloc(struct arena *, size_t size);

/* Copies of strings, terminated by a null byte. */
char *arena_strndup(struct arena *, const char *, size_t len);
char *arena_strdup(struct arena *, const char *);
char *arena_printf(struct arena *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);
char *arena_vprintf(struct arena *, const char *format, va_list)
    OVS_PRINTF_FORMAT(2, 0);

#endif /* base/arena.h */
