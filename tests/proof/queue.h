/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef QUEUE_H
#define QUEUE_H 1

/* A queue to compare phantom queues with
 * ======================================
 *
 * It shares nothing with the code that it judges: a backlog and the time at
 * which it was that, which runs forward packet by packet.  One unit of work is
 * 1e-6 bit, so that a rate of 1 kbps drains one in a ns, and nothing is
 * rounded.  Every packet has a time of its own. */

#include <stdbool.h>
#include <stdint.h>

typedef __int128 work_t;

#define WORK_PER_BYTE ((work_t) 8000000)

struct queue_burst {
    uint64_t start, end;        /* In ns, the end rounded up. */
    work_t deepest;
    uint64_t when_deepest;      /* To the byte. */
    work_t bytes;               /* In work. */
};

struct queue {
    /* The contract: depths in bytes, 0 if there is none. */
    work_t rate;
    uint64_t mark, depth, limit;

    work_t backlog;             /* At 'last'. */
    uint64_t last;
    work_t watermark;
    bool open;
    struct queue_burst burst;   /* If 'open', or the last one. */
    uint64_t n_bursts;          /* That have ended. */
};

enum queue_verdict {
    QUEUE_PASS,
    QUEUE_MARK,
    QUEUE_DROP,
};

void queue_init(struct queue *, uint64_t kbps, uint64_t mark, uint64_t depth,
                uint64_t limit, uint64_t now);

/* Moves on to 'now'; returns true if a burst has ended meanwhile. */
bool queue_advance(struct queue *, uint64_t now);

/* A packet of 'size' bytes comes at 'last'. */
enum queue_verdict queue_put(struct queue *, uint32_t size);

#endif /* queue.h */
