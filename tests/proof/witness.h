/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef WITNESS_H
#define WITNESS_H 1

/* What threads saw, and the judgement about all of it.
 *
 * No thread knows in which order the others' packets were decided.  But the
 * two bounds that gcra.h gives are about the times alone:
 *
 * - What was admitted in any interval of the times passed in is at most the
 *   burst plus the rate times the interval.
 *
 * - A packet that was refused, with time t, would have made the queue too deep
 *   at t.  The queue holds at most what was admitted since some time s at
 *   which it was empty, and drains at the rate since s.  Admitted since s are
 *   at most all with times from s to when the packet was refused, and those
 *   with times before s that were not yet admitted at s.  If for no s this is
 *   deep enough then the refusal was wrong. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle.h"

struct record {
    uint64_t when;              /* Time passed in. */
    uint64_t after;             /* Time when the decision was known. */
    uint32_t bytes;
    bool admitted;
};

/* Written by one thread. */
struct witness {
    struct record *records;
    size_t n, allocated;
};

void witness_init(struct witness *, size_t allocated);
void witness_add(struct witness *, uint64_t when, uint64_t after,
                 uint32_t bytes, bool admitted);
void witness_destroy(struct witness *);

struct judgement {
    uint64_t n_admitted, n_refused, n_wrongly_refused;
    tokens_t excess;            /* Above the arrival curve, if positive. */
    double share;               /* Of what the contract grants. */
    uint64_t skew;              /* Largest 'after' - 'when' of an admission. */
};

/* Judges what the 'n' threads saw of a bucket of 'kbps' and 'bits' that was
 * full at 'start'. */
struct judgement witness_judge(const struct witness[], unsigned int n,
                               uint64_t kbps, uint64_t bits, uint64_t start);

#endif /* witness.h */
