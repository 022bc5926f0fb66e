/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_PARTITION_H
#define BASE_PARTITION_H 1

/* Things that are told apart by the sets that hold only some of them:
 * partition refinement (Paige and Tarjan, "Three Partition Refinement
 * Algorithms", 1987).  The time is proportional to the sizes of the sets. */

#include <stddef.h>

#include "base/arena.h"

struct partition {
    size_t n;                   /* Parts so far, at most one a thing. */
    size_t *part;               /* Of each thing. */
    /* What follows is of each part, and only partition.c's. */
    size_t *size;
    size_t *here;               /* In the set at hand. */
    size_t *other;              /* The part that those go to, or 0. */
    size_t *touched, n_touched; /* Parts that have some in the set at hand. */
};

/* Of 'n' things, in the arena, which are in no part yet. */
void partition_init(struct partition *, size_t n, struct arena *);

/* Things that follow each other are a part; none is no part. */
void partition_add(struct partition *, size_t first, size_t n);

/* Divides each part of which only some are in the set. */
void partition_refine(struct partition *, const size_t set[], size_t n);

#endif /* base/partition.h */
