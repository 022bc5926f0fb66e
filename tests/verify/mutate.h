/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef MUTATE_H
#define MUTATE_H 1

/* Leaks and black holes of many kinds, planted in compiled tables. */

#include "differential/random.h"
#include "plan/plan.h"

extern const size_t n_mutations;
const char *mutation_name(size_t kind);

/* Changes one flow of 'plan', whose texts are in its arena, or leaves one out.
 * Returns its place among the flows, or -1 if there is none to change so. */
int mutate(struct plan *, size_t kind, struct rng *);

/* Of lists as flows have them: the item that 'text' means, which is what it
 * begins with, or after a '*' ends with, and its length; NULL if there is
 * none.  And the list with 'new' for the item 'old' of 'n' characters; "" for
 * none. */
const char *mutation_find(const char *list, const char *text, size_t *n);
const char *mutation_replace(struct arena *, const char *list,
                             const char *old, size_t n, const char *new,
                             size_t n_new);

#endif /* mutate.h */
