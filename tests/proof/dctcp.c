/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "dctcp.h"

#include "util.h"

#define MAX_WINDOW (1024.0 * 1024)

void
dctcp_init(struct dctcp *d, uint32_t frame)
{
    *d = (struct dctcp) {
        .window = 10.0 * frame, .alpha = 1, .slow_start = true,
    };
}

void
dctcp_acknowledge(struct dctcp *d, uint64_t now_ns, uint64_t rtt_ns,
                  uint32_t frame, bool marked, bool lost)
{
    d->acked++;
    d->acked_marked += marked;
    if (lost && !d->cut) {
        d->window /= 2;
        d->cut = true;
        d->slow_start = false;
    } else if (marked && !d->cut) {
        d->window *= 1 - d->alpha / 2;
        d->cut = true;
        d->slow_start = false;
    } else if (!marked && !lost) {
        d->window += d->slow_start ? frame : frame * frame / d->window;
    }
    d->window = MAX(d->window, 2.0 * frame);
    d->window = MIN(d->window, MAX_WINDOW);
    if (now_ns >= d->round_end) {
        d->alpha += ((double) d->acked_marked / d->acked - d->alpha) / 16;
        d->acked = d->acked_marked = 0;
        d->cut = false;
        d->round_end = now_ns + rtt_ns;
    }
}
