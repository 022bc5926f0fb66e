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

#endif /* mutate.h */
