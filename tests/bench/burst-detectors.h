/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BURST_DETECTORS_H
#define BURST_DETECTORS_H 1

/* Ways to find bursts, each with as much memory a tenant as a phantom queue
 * takes.  They are fed packets in order, and list what they find. */

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

/* Bytes of a tenant's state. */
extern const size_t detector_memory;

/* A phantom queue (phantom.h), given the time of each packet if 'gap_ns' is 0,
 * else polled so often. */
struct phantom_detector;
struct phantom_detector *phantom_detector_create(uint64_t gap_ns,
                                                 uint64_t start);
void phantom_detector_feed(struct phantom_detector *, const struct packet *);
void phantom_detector_finish(struct phantom_detector *, struct findings *);

/* Counts bytes in windows of 'window_ns', and calls it a burst when there are
 * more than a rate, which is chosen afterwards, would send. */
struct window_detector;
struct window_detector *window_detector_create(uint64_t window_ns,
                                               uint64_t start);
void window_detector_feed(struct window_detector *, const struct packet *);
void window_detector_at(const struct window_detector *, uint64_t kbps,
                        struct findings *);
void window_detector_destroy(struct window_detector *);

/* ConQuest (Chen et al., "Fine-grained queue measurement in the data plane",
 * CoNEXT 2019), from its description: snapshots in turn, each a count-min
 * sketch of the bytes that came during a window.  A packet sums those of its
 * tenant over the snapshots that its queueing delay spans, without the one
 * that is being written and the one that is being cleaned.  It is told the
 * true delay in a queue at the peak rate, and shares the memory of 64 tenants
 * with 63 others, who send 0.2 of the line. */
struct sketch_detector;
struct sketch_detector *sketch_detector_create(uint64_t window_ns,
                                               uint64_t start,
                                               struct proof_random *);
void sketch_detector_feed(struct sketch_detector *, const struct packet *);
void sketch_detector_finish(struct sketch_detector *, struct findings *);

#endif /* burst-detectors.h */
