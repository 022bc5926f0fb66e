/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_PLACE_H
#define IR_PLACE_H 1

/* Where things of a program stand in the intent. */

#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"

struct arena;
struct ir_prog;
struct value;

/* Where in the intent something stands that a backend may refuse, or that an
 * operator reads about.  All zeros for what is built in. */
struct ir_place {
    struct span span;           /* Of a parsed program: in its own text. */
    uint32_t line;              /* From 1. */
    const char *pointer;        /* JSON pointer (RFC 6901). */
    const struct value *at;     /* NULL in a parsed program. */
};

/* "line 1, /tenants/...", behind "FILE, " if the program's places are in
 * several files, in the arena. */
const char *ir_place_text(const struct ir_prog *, const struct ir_place *,
                          struct arena *);

/* The same of two places, or of one, if they are the same. */
const char *ir_places_text(const struct ir_prog *, const struct ir_place *,
                           const struct ir_place *, struct arena *);

/* The place of 'at', or of its key; none if it is NULL. */
struct ir_place ir_place_of(struct arena *, const struct value *at, bool key);

/* The place of what the path leads to from what stands at the place, keys
 * joined by '/', ".." for what it is in; the place itself if there is none,
 * as in a program that was parsed. */
struct ir_place ir_place_member(struct arena *, const struct ir_place *,
                                const char *path);

#endif /* ir/place.h */
