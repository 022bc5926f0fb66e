/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_WALK_H
#define INTENT_WALK_H 1

/* A walk over strings, numbers and literals of a text, to say what is wrong
 * with it. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/source.h"
#include "base/vec.h"

/* An object or list that the walk is in. */
struct frame {
    size_t start;               /* Of its brace or bracket. */
    size_t indented;            /* The line of that, in bytes. */
    bool object, key_comes;
    struct span key;            /* The last one, of an object. */
    size_t index;               /* Of the element, of a list. */
};

/* A walk over strings, numbers and literals, of a text that jansson has
 * accepted as far as the walk goes. */
struct walk {
    const struct source *source;
    struct arena *arena;
    size_t at, end;
    size_t line, indented;      /* Where the line begins, and its blanks. */
    VEC(struct frame) frames;
    struct span unclosed;       /* What indentation says is not closed. */
    struct span token;
    bool is_key;
};

/* Goes to the next token.  Returns false at the end. */
bool walk_next(struct walk *);

/* The walk to the token that holds 'at', of a text that begins at 'start'. */
struct walk walk_to(const struct source *, size_t start, size_t at,
                    struct arena *);

/* The JSON pointer of the token that the walk is at. */
const char *walk_pointer(const struct walk *);

/* What the string of a key says. */
const char *walk_string(const struct span *key, struct arena *);

#endif /* intent/walk.h */
