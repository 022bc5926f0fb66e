/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BURST_DETECTORS_H
#define BURST_DETECTORS_H 1

/* Ways to find bursts, which are fed packets in order, and list what they
 * find.  Those with a threshold do so for many thresholds, from the lowest one
 * on: which one is best turns out afterwards. */

#include <stddef.h>
#include <stdint.h>

#include "proof/bursts.h"

/* What was found, in order. */
struct findings {
    struct true_burst *list;
    size_t n, allocated;
};

/* Adds what was found from 'start' to 'end', to the last one if they touch. */
void findings_add(struct findings *, uint64_t start, uint64_t end);

/* Bytes of the state that a phantom queue has of a tenant, with its histograms
 * and last bursts. */
extern const size_t detector_memory;

/* A phantom queue (phantom.h), given the time of each packet if 'gap_ns' is 0,
 * else polled so often. */
struct phantom_detector;
struct phantom_detector *phantom_detector_create(uint64_t gap_ns,
                                                 uint64_t start);
void phantom_detector_feed(struct phantom_detector *, const struct packet *);
void phantom_detector_finish(struct phantom_detector *, struct findings *);

/* Counts bytes in the last 'window_ns', and calls it a burst when there are
 * more than a share of the line would send.  Windows begin one after the
 * other if 'n_pieces' is 1; with more, as often as one has pieces.  A piece
 * takes 4 bytes, all of them 'detector_memory' at most.  Threshold 'i' is the
 * share window_share(i). */
enum { WINDOW_SHARES = 17 };
struct window_detector;
struct window_detector *window_detector_create(uint64_t window_ns,
                                               unsigned int n_pieces,
                                               uint64_t start);
double window_share(unsigned int i);
void window_detector_feed(struct window_detector *, const struct packet *);
void window_detector_finish(struct window_detector *,
                            struct findings f[WINDOW_SHARES]);

/* ConQuest (Chen et al., "Fine-grained queue measurement in the data plane",
 * CoNEXT 2019), from its description: snapshots in turn, each a count-min
 * sketch of the bytes that came during a window.  A packet sums those of its
 * tenant over the snapshots that its queueing delay spans, without the one
 * that is being written and the one that is being cleaned, and compares the
 * sum with a depth.  It is told the true delay in a queue at the peak rate,
 * and shares the memory of 64 phantom queues with 63 other tenants, who send
 * 0.2 of the line.  Threshold 'i' is sketch_depth(i) bytes. */
enum { SKETCH_DEPTHS = 28 };
struct sketch_detector;
struct sketch_detector *sketch_detector_create(uint64_t window_ns,
                                               uint64_t start,
                                               struct proof_random *);
uint64_t sketch_depth(unsigned int i);
void sketch_detector_feed(struct sketch_detector *, const struct packet *);
void sketch_detector_finish(struct sketch_detector *,
                            struct findings f[SKETCH_DEPTHS]);

#endif /* burst-detectors.h */
