/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_SAMPLE_H
#define TELEMETRY_SAMPLE_H 1

/* Tenants' queues at one moment, as a switch or a recording has them: what
 * each tenant has sent to each port, the ports' phantom queues, and the bursts
 * that are new since the sample before.  docs/telemetry.md says what is
 * counted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "tenant-queue-shm.h"

/* A port. */
struct queue_port {
    uint64_t generation;        /* Of one that is deleted and added again,
                                 * another. */
    const char *name;           /* Only printable ASCII. */
    uint64_t rate;              /* In kbps; 0: no phantom queue. */
    uint64_t threshold;         /* Bytes that begin a burst. */
    uint64_t depth;             /* Bytes in the phantom queue. */
    uint64_t recent_depth;      /* Greatest of the last SAMPLE_RECENT_NS... */
    uint64_t max_depth;         /* ...and since the port is there. */
    uint64_t gap_ns;            /* Longest time between polls. */
    uint64_t n_bursts, burst_bytes;
    uint64_t lengths[TQ_BUCKETS], depths[TQ_BUCKETS];   /* Of bursts: ns,
                                                         * bytes. */
};
VEC_TYPEDEF(queue_port_vec, struct queue_port);
#define SAMPLE_RECENT_NS (60 * TQ_PERIOD_NS)

/* What a tenant has sent to a queue of a port, or would have. */
struct queue_total {
    uint64_t generation;        /* Of the port, which is among the ports, or
                                 * TQ_NO_PORT. */
    uint64_t tag, queue;
    struct tq_counts counts;
};
VEC_TYPEDEF(queue_total_vec, struct queue_total);

/* A burst. */
struct burst {
    uint64_t generation;        /* Of the port... */
    const char *port;           /* ...and its name. */
    uint64_t start_ns;          /* Since 1970. */
    struct tq_event event;      /* Its 'start_ns' is the switch's clock. */
    unsigned int n_shares;      /* Of 'event', that are used. */
};
VEC_TYPEDEF(burst_vec, struct burst);

/* Bursts that nobody has seen: later ones took their place. */
struct missed {
    const char *port;
    uint64_t n;
};
VEC_TYPEDEF(missed_vec, struct missed);

struct sample {
    uint64_t time_ns;           /* Since 1970. */
    uint64_t clock_ns;          /* CLOCK_MONOTONIC; for rates. */
    uint64_t pid;               /* Of ovs-vswitchd. */
    uint64_t file;              /* Its number among those that the reader has
                                 * opened; generations are of one file. */
    bool closed;                /* Nobody writes there any more... */
    bool orphaned;              /* ...or ever will: ovs-vswitchd died. */
    uint64_t n_left_out;        /* Ports and counters without room. */
    uint64_t n_unread;          /* Records that were being written, each time
                                 * that they were looked at... */
    uint64_t n_unknown;         /* ...of which none had been read before. */
    queue_port_vec ports;       /* By name. */
    queue_total_vec totals;     /* By generation, tag and queue. */
    burst_vec bursts;           /* By their start. */
    missed_vec missed;
};

/* Puts everything in the order that is said above, and makes one of totals of
 * the same key. */
void sample_sort(struct sample *);

/* The port of that generation, or NULL. */
const struct queue_port *sample_port(const struct sample *,
                                     uint64_t generation);

/* The name of the port of that generation, "(none)" of TQ_NO_PORT, or NULL. */
const char *sample_port_name(const struct sample *, uint64_t generation);

/* The total of that key, or NULL. */
const struct queue_total *sample_total(const struct sample *,
                                       uint64_t generation, uint64_t tag,
                                       uint64_t queue);

#endif /* telemetry/sample.h */
