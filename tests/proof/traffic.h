/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TRAFFIC_H
#define TRAFFIC_H 1

/* Arrivals of packets in virtual time. */

#include <stdint.h>

#include "oracle.h"
#include "proof.h"

/* Sizes of frames, in bytes. */
enum traffic_mix {
    MIX_MIN,                    /* 64 */
    MIX_MTU,                    /* 1518 */
    MIX_JUMBO,                  /* 9018 */
    MIX_IMIX,                   /* 64, 594 and 1518 as 7 : 4 : 1 */
    MIX_RANDOM,                 /* 64 to 1518 */
    MIX_TSO,                    /* 64 to 65549 */
    N_MIXES
};

enum traffic_pattern {
    CBR_HALF,                   /* Evenly spaced, at half the rate. */
    CBR_RATE,                   /* At the rate, to the ns. */
    CBR_TWICE,                  /* At twice the rate. */
    POISSON,                    /* At 1.2 times the rate. */
    ON_OFF,                     /* Four times the rate, a third of the time. */
    ALL_REDUCE,                 /* 10 to 20 us at a line's rate, in step. */
    IDLE_BURSTS,                /* Many at once after up to ten seconds. */
    BATCHES,                    /* Up to 32 at once, at twice the rate. */
    GREEDY,                     /* At the first ns that conforms, and at the
                                 * last that does not. */
    N_PATTERNS
};

extern const char *traffic_mix_names[N_MIXES];
extern const char *traffic_pattern_names[N_PATTERNS];

struct traffic {
    enum traffic_mix mix;
    enum traffic_pattern pattern;
    uint64_t kbps;              /* The contract's rate. */
    struct proof_random *random;

    uint64_t start;
    uint64_t now;
    uint64_t bits;              /* Offered since 'start'. */
    uint64_t period_end;        /* Of an on period, or of a burst. */
    uint32_t pending;           /* GREEDY: offered 1 ns early, due now. */
};

#define TRAFFIC_MAX_BATCH 32

struct arrival {
    uint64_t when;
    uint32_t n;
    uint32_t sizes[TRAFFIC_MAX_BATCH];
};

void traffic_init(struct traffic *, enum traffic_pattern, enum traffic_mix,
                  uint64_t kbps, uint64_t start, struct proof_random *);

/* Next arrival.  GREEDY looks up in the oracle when that is. */
void traffic_next(struct traffic *, const struct oracle *, struct arrival *);

#endif /* traffic.h */
