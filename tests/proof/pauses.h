/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PAUSES_H
#define PAUSES_H 1

/* For files of the patches in a proof: included before all else, it calls
 * pause_at() after each look at a word of shared memory, and before each
 * change of one.  There a proof can let others run, as if this thread were
 * kept from running. */

#include <config.h>
#include "tenant-queue-shm.h"

typedef void pause_func(const uint64_t *word);
extern pause_func *pause_at;    /* NULL if there are no pauses. */

static inline uint64_t
pausing_get(const uint64_t *word)
{
    uint64_t value = tq_get(word);

    if (pause_at) {
        pause_at(word);
    }
    return value;
}

static inline void
pausing_set(uint64_t *word, uint64_t value)
{
    if (pause_at) {
        pause_at(word);
    }
    tq_set(word, value);
}

#define tq_get(WORD) pausing_get(WORD)
#define tq_set(WORD, VALUE) pausing_set(WORD, VALUE)

#endif /* pauses.h */
