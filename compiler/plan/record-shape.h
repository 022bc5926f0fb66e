/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_RECORD_SHAPE_H
#define PLAN_RECORD_SHAPE_H 1

/* Structures as JSON, for the record of a plan: each an array of its
 * members. */

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct arena;
struct ds;
struct json;

/* How a member of a structure is written. */
enum kind {
    TEXT,                       /* A string... */
    TEXT_OR_NULL,               /* ...or null. */
    FLAG,
    NUMBER_8, NUMBER_16, NUMBER_32, NUMBER_64,
    COOKIE,                     /* In hexadecimal: JSON has no 64 bits. */
};

struct member {
    size_t offset;
    enum kind kind;
};

/* A structure is an array of its members; what is listed here is what is
 * written and read. */
enum { MAX_MEMBERS = 25 };
struct shape {
    size_t size, n;
    struct member members[MAX_MEMBERS];
    size_t n_first;             /* So many are in all records, the others 0 in
                                 * those of before; 0: all are. */
};

#define MEMBER(TYPE, NAME, KIND) { offsetof(struct TYPE, NAME), KIND }

/* Any VEC(). */
typedef VEC(char) any_vec;

/* Would both be written alike? */
bool shape_same(const void *, const void *, const struct shape *);

/* Appends a structure, or a member of an object, behind a comma, that is a
 * list of them. */
void shape_put(const void *, const struct shape *, struct ds *);
void shape_put_list(const char *name, const any_vec *, const struct shape *,
                    struct ds *);

/* Each reads such, copied to the arena, and returns false if it is none; NULL
 * is none. */
bool shape_read(const struct json *, const struct shape *, struct arena *,
                void *);
bool shape_read_list(const struct json *, const struct shape *,
                     struct arena *, any_vec *);

#endif /* plan/record-shape.h */
