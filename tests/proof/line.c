/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "line.h"

#include <string.h>

#define BYTE 8000000

void
line_init(struct line *l, uint64_t kbps, uint64_t threshold, uint64_t now)
{
    memset(l, 0, sizeof *l);
    l->rate = kbps;
    l->threshold = threshold;
    l->last = now;
}

/* Ends the open burst, 'after_ns' after 'last'. */
static void
close_burst(struct line *l, uint64_t after_ns)
{
    l->open.length = l->last + after_ns - l->open.start;
    l->open.bytes = l->work / BYTE;
    l->bursts[l->n_bursts++ % LINE_BURSTS] = l->open;
    l->is_open = 0;
}

void
line_advance(struct line *l, uint64_t now)
{
    __int128 drained = (__int128) l->rate * (now - l->last);

    if (drained >= l->backlog) {
        if (l->is_open) {
            close_burst(l, (l->backlog + l->rate - 1) / l->rate);
        }
        l->backlog = 0;
    } else {
        l->backlog -= drained;
    }
    l->last = now;
}

uint64_t
line_depth(const struct line *l)
{
    return l->backlog / BYTE;
}

void
line_put(struct line *l, uint32_t tag, uint32_t size)
{
    l->tags[l->n_packets % LINE_PACKETS] = tag;
    l->sizes[l->n_packets % LINE_PACKETS] = size;
    l->n_packets++;
    l->bytes += size;
    l->backlog += (__int128) size * BYTE;
    l->work += (__int128) size * BYTE;
    l->open.n_after++;
}

/* Whose bytes are waiting: those of the last packets, as many as there are,
 * and of the oldest one what has not left. */
static void
look_whose(struct line *l)
{
    uint64_t left = l->backlog / BYTE;

    memset(l->open.bytes_of, 0, sizeof l->open.bytes_of);
    for (uint64_t i = l->n_packets; i && left; i--) {
        uint64_t size = l->sizes[(i - 1) % LINE_PACKETS];

        if (size > left) {
            size = left;
        }
        l->open.bytes_of[l->tags[(i - 1) % LINE_PACKETS]] += size;
        left -= size;
    }
}

void
line_settle(struct line *l, uint64_t now, uint64_t gap)
{
    if (gap > l->gap) {
        l->gap = gap;
    }
    if (l->is_open && gap > l->open.gap) {
        l->open.gap = gap;
    }
    line_advance(l, now);
    if (l->backlog) {
        l->empty = now + (l->backlog + l->rate - 1) / l->rate;
    }
    if (line_depth(l) > l->watermark) {
        l->watermark = line_depth(l);
    }
    if (!l->is_open && l->backlog > (__int128) l->threshold * BYTE) {
        l->is_open = 1;
        l->open.start = l->last;
        l->work = l->backlog;
        l->open.peak = 0;
        l->open.gap = gap;
    }
    if (l->is_open && line_depth(l) > l->open.peak) {
        l->open.peak = line_depth(l);
        l->open.rise = l->last - l->open.start;
        l->open.n_after = 0;
        look_whose(l);
    }
}
