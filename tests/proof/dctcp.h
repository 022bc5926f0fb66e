/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef DCTCP_H
#define DCTCP_H 1

/* The window of a sender of DCTCP (RFC 8257), which has always more to
 * send. */

#include <stdbool.h>
#include <stdint.h>

struct dctcp {
    double window, alpha;       /* In bytes; RFC 8257, section 3.3. */
    bool slow_start;
    uint64_t acked, acked_marked, round_end;
    bool cut;                   /* In this round? */
};

void dctcp_init(struct dctcp *, uint32_t frame);

/* A frame has come through, or is known to be lost, at 'now_ns'.  The window
 * goes down by half of the share that was marked, once a round of 'rtt_ns'. */
void dctcp_acknowledge(struct dctcp *, uint64_t now_ns, uint64_t rtt_ns,
                       uint32_t frame, bool marked, bool lost);

#endif /* dctcp.h */
