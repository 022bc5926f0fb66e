/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "queue.h"

#include <string.h>

void
queue_init(struct queue *q, uint64_t kbps, uint64_t mark, uint64_t depth,
           uint64_t limit, uint64_t now)
{
    memset(q, 0, sizeof *q);
    q->rate = kbps;
    q->mark = mark;
    q->depth = depth;
    q->limit = limit;
    q->last = now;
}

bool
queue_advance(struct queue *q, uint64_t now)
{
    work_t drained = q->rate * (now - q->last);
    bool ended = false;

    if (drained < q->backlog) {
        q->backlog -= drained;
    } else {
        ended = q->open;
        if (ended) {
            q->burst.end = q->last + (q->backlog + q->rate - 1) / q->rate;
            q->open = false;
            q->n_bursts++;
        }
        q->backlog = 0;
    }
    q->last = now;
    return ended;
}

enum queue_verdict
queue_put(struct queue *q, uint32_t size)
{
    work_t work = size * WORK_PER_BYTE;

    if (q->limit && q->backlog + work > q->limit * WORK_PER_BYTE) {
        return QUEUE_DROP;
    }
    q->backlog += work;
    if (q->backlog > q->watermark) {
        q->watermark = q->backlog;
    }
    if (q->open) {
        q->burst.bytes += work;
    } else if (q->depth && q->backlog > q->depth * WORK_PER_BYTE) {
        q->open = true;
        q->burst = (struct queue_burst) {
            .start = q->last,
            .bytes = q->backlog,
        };
    }
    if (q->open && q->backlog / WORK_PER_BYTE
                   > q->burst.deepest / WORK_PER_BYTE) {
        q->burst.deepest = q->backlog;
        q->burst.when_deepest = q->last;
    }
    return q->mark && q->backlog > q->mark * WORK_PER_BYTE ? QUEUE_MARK
                                                           : QUEUE_PASS;
}
