/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BURSTS_H
#define BURSTS_H 1

/* Traffic of a tenant in which bursts hide, and where they are.
 *
 * Bursts of 2 to 100 us, each at 0.6 to 1.0 of a line of 100 Gbps, in a
 * background that stays below 0.4 of it, the peak rate of the meter that is to
 * find them.  What happened is known because it was made, not because it was
 * measured: outside of bursts, packets that would fill the queue of such a
 * meter above its depth come later, by queue.h.  So there is nothing to find
 * but bursts, and much that is hardly none. */

#include <stdbool.h>
#include <stdint.h>

#include "proof.h"
#include "queue.h"

#define LINE_KBPS UINT64_C(100000000)

/* The meter that is to find these bursts. */
#define BURST_PEAK_KBPS (LINE_KBPS * 4 / 10)
#define BURST_DEPTH 16000u

enum background {
    BG_POISSON,                 /* At 0.15 of the line. */
    BG_ON_OFF,                  /* At 0.3, half the time. */
    BG_ALL_REDUCE,              /* At 0.35, 12 of every 80 us. */
    BG_DENSE,                   /* Poisson at 0.36: nine tenths of the peak
                                 * rate. */
    BG_NEAR_MISSES,             /* Poisson at 0.15, and every 60 us what fills
                                 * the queue to its depth, at 0.6 to 1.0. */
    N_BACKGROUNDS
};

extern const char *background_names[N_BACKGROUNDS];

/* A burst, from its first packet to its last. */
struct true_burst {
    uint64_t start, end;
};

struct packet {
    uint64_t when;              /* In ns. */
    uint32_t size;
};

struct burst_traffic {
    enum background background;
    struct proof_random *random;

    struct true_burst burst;    /* The present or next one. */
    uint64_t n_begun;           /* Bursts, with the present one. */
    double burst_now, burst_step;
    double background_now, on_end;

    struct queue queue;         /* Of a meter that is to find bursts. */
    uint64_t n_near;            /* Times that it was full, but for less than
                                 * 64 bytes, outside of bursts. */
    double train_step;          /* BG_NEAR_MISSES: 0 while there is none. */
    double train_next;          /* When one begins. */
};

#define BURST_FRAME 1518u

void burst_traffic_init(struct burst_traffic *, enum background,
                        uint64_t start, struct proof_random *);

/* Makes the next packet.  If it is the last one of a burst, returns true, and
 * sets '*burst' to that. */
bool burst_traffic_next(struct burst_traffic *, struct packet *,
                        struct true_burst *burst);

/* Counts of a detector. */
struct detection {
    uint64_t n_true, n_found;   /* Bursts of at least 10 us. */
    uint64_t n_events, n_right; /* Detections, of bursts of any length. */
    uint64_t n_near;            /* Times that there hardly was none. */
};

#endif /* bursts.h */
