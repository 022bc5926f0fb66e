/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_CLAIM_H
#define SEMA_CLAIM_H 1

/* What can be had once, and who has it: a VNI of the fabric, an interface of a
 * node, the number of a tenant.
 *
 * Whoever compiles a part of an intent by itself learns here what it takes
 * from all: what two parts claim they must be compiled together for, since
 * the one moves the other, or is refused. */

#include <stdint.h>

#include "base/vec.h"

struct claim {
    const char *what;           /* A literal: "VNI", "zone", ... */
    const char *key;            /* Of what has names, else "". */
    uint64_t number;            /* Of what has numbers, else 0. */
    const char *by;             /* The name that has it, ... */
    const void *at;             /* ... or its place; only compared. */
};

/* A part of what has room for 'room' in all. */
struct share {
    const char *what;           /* A literal, as above. */
    const char *key;
    uint64_t amount, room;
};

struct claims {
    struct arena *arena;        /* Not owned. */
    VEC(struct claim) list;     /* As they came; one may be there twice. */
    VEC(struct share) shares;   /* One may be there in parts. */
};

struct claims *claims_create(struct arena *);

/* Each accepts a NULL 'claims', and notes nothing.  'key' and 'by' must live
 * as long as 'claims'. */
void claim_number(struct claims *, const char *what, uint64_t number,
                  const char *by);
void claim_key(struct claims *, const char *what, const char *key,
               const void *at);


/* While the amounts together are within the room, what is summed up must be,
 * too; they may be larger than that. */
void claim_share(struct claims *, const char *what, const char *key,
                 uint64_t amount, uint64_t room);

#endif /* sema/claim.h */
