/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_IDENT_H
#define SEMA_IDENT_H 1

/* Stable numbers for named things.
 *
 * A number depends on the name alone, never on the position in the intent or
 * on its neighbours, so one tenant's change leaves every other number, and so
 * every other flow, as it was.  The number is the start of the SHA-1 (FIPS
 * 180-4) of the kind and the name. */

#include <stdint.h>

#include "openvswitch/hmap.h"

struct arena;
struct claims;

/* OpenFlow cookies: Bulkhead's mark above, a 48-bit id below. */
#define COOKIE_MARK UINT64_C(0xb17d000000000000)
#define COOKIE_MARK_MASK UINT64_C(0xffff000000000000)

/* Ids below this are implicit reasons, never rules. */
#define IDENT_RESERVED 256

/* A number of 'n_bits' (up to 64) for 'name', at least IDENT_RESERVED.  Two
 * names may have the same one: the caller must look. */
uint64_t ident(const char *kind, const char *name, int n_bits);

/* Numbers that are taken, each by one name. */
struct ident_set {
    struct arena *arena;        /* Not owned. */
    struct claims *claims;      /* Not owned; notes what is taken. */
    struct hmap numbers;
};

/* 'claims' may be NULL. */
void ident_set_init(struct ident_set *, struct arena *, struct claims *);
void ident_set_destroy(struct ident_set *);

/* Takes a number of 'n_bits' (up to 32) for 'name': ident()'s, or if another
 * name has that, the next free one; 0 if all are taken.
 * So the order of calls must be one that repeats, as that of the names. */
uint32_t ident_take(struct ident_set *, const char *kind, const char *name,
                    int n_bits);

#endif /* sema/ident.h */
