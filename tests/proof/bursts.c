/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "bursts.h"

#include <math.h>
#include <string.h>

const char *background_names[N_BACKGROUNDS] = {
    "Poisson", "on-off", "all-reduce",
};

#define NS_PER_FRAME (BURST_FRAME * 8e6 / LINE_KBPS)

static double
uniform(struct burst_traffic *t, double low, double high)
{
    return low + proof_unit(t->random) * (high - low);
}

static double
exponential(struct burst_traffic *t, double mean)
{
    return -log(proof_unit(t->random)) * mean;
}

/* Draws the next burst: as many in 2 to 4 us as in 50 to 100.  At 0.4 of the
 * line, the queue of the one before it is empty by then: else they would be
 * one. */
static void
draw_burst(struct burst_traffic *t)
{
    double length = 2000 * pow(50, proof_unit(t->random));
    double after = (t->burst.end
                    + 10.0 * (t->burst.end - t->burst.start));

    t->burst_now = after + 50000 + exponential(t, 100000);
    t->burst_step = NS_PER_FRAME / uniform(t, 0.6, 1);
    t->burst.start = t->burst_now;
    t->burst.end = t->burst_now
                   + floor(length / t->burst_step) * t->burst_step;
}

void
burst_traffic_init(struct burst_traffic *t, enum background background,
                   uint64_t start, struct proof_random *random)
{
    memset(t, 0, sizeof *t);
    t->background = background;
    t->random = random;
    t->background_now = start;
    t->on_end = start;
    t->burst.start = t->burst.end = start;
    draw_burst(t);
}

/* Moves the background on to its next packet, in periods of 'on' ns that begin
 * 'off' ns after each other, at 'share' of the line. */
static void
next_in_period(struct burst_traffic *t, double share, double on, double off)
{
    t->background_now += NS_PER_FRAME / share;
    if (t->background_now > t->on_end) {
        t->background_now += off;
        t->on_end = t->background_now + on;
    }
}

static void
next_background(struct burst_traffic *t)
{
    switch (t->background) {
    case BG_POISSON:
        t->background_now += exponential(t, NS_PER_FRAME / 0.15);
        break;
    case BG_ON_OFF:
        next_in_period(t, 0.3, exponential(t, 50000), exponential(t, 50000));
        break;
    case BG_ALL_REDUCE:
    case N_BACKGROUNDS:
    default:
        next_in_period(t, 0.35, 12000, 68000);
        break;
    }
}

bool
burst_traffic_next(struct burst_traffic *t, struct packet *packet,
                   struct true_burst *burst)
{
    packet->size = BURST_FRAME;
    if (t->background_now < t->burst_now) {
        packet->when = t->background_now;
        next_background(t);
        return false;
    }
    packet->when = t->burst_now;
    if (t->burst_now + t->burst_step / 2 < t->burst.end) {
        t->burst_now += t->burst_step;
        return false;
    }
    *burst = t->burst;
    draw_burst(t);
    return true;
}
