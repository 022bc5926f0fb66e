/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef LINE_H
#define LINE_H 1

/* A line of packets to compare the queue of a port with
 * =====================================================
 *
 * It shares nothing with the code that it judges: packets wait one behind the
 * other, and leave bit by bit.  One unit of work is 1e-6 bit, so that a rate
 * of 1 kbps drains one in a ns, and nothing is rounded. */

#include <stdint.h>

enum {
    LINE_TAGS = 12,             /* Tags are 0 to 11. */
    LINE_PACKETS = 1 << 20,     /* Last packets that are kept. */
    LINE_BURSTS = 4096,         /* Last bursts. */
};

struct line_burst {
    uint64_t start, length, rise;       /* In ns. */
    uint64_t peak, bytes;               /* In bytes. */
    uint64_t bytes_of[LINE_TAGS];       /* In the line at the peak. */
    uint64_t n_after;                   /* Packets after the peak. */
    uint64_t gap;                       /* Longest of line_settle(), in ns. */
};

struct line {
    uint64_t rate, threshold;
    __int128 backlog;           /* At 'last', in work. */
    uint64_t last;
    uint64_t watermark;         /* In bytes. */
    uint64_t gap;               /* Longest of line_settle(), in ns. */
    uint64_t empty;             /* When it is, if any waited at 'last'. */

    uint8_t tags[LINE_PACKETS];
    uint16_t sizes[LINE_PACKETS];
    uint64_t n_packets, bytes;

    int is_open;
    __int128 work;              /* Of the open burst. */
    struct line_burst open;
    uint64_t n_bursts;
    struct line_burst bursts[LINE_BURSTS];
};

void line_init(struct line *, uint64_t kbps, uint64_t threshold,
               uint64_t now);
void line_advance(struct line *, uint64_t now);

/* Bytes that wait. */
uint64_t line_depth(const struct line *);

/* Adds a packet.  All that a poll finds are added when the poll before was,
 * but at most LINE_SPREAD_NS ago, and then line_settle() is told the time, and
 * the gap between both. */
#define LINE_SPREAD_NS UINT64_C(100000000)
void line_put(struct line *, uint32_t tag, uint32_t size);
void line_settle(struct line *, uint64_t now, uint64_t gap);

#endif /* line.h */
