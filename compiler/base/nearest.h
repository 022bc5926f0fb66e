/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H 1

/* "Did you mean ...?": the candidate nearest to a mistyped word. */

#include <stddef.h>

struct nearest {
    const char *word;
    const char *best;           /* NULL if no candidate is near. */
    size_t distance;            /* Of 'best'. */
};

struct nearest nearest_init(const char *word);
void nearest_try(struct nearest *, const char *candidate);

#endif /* base/nearest.h */
