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
    "Poisson", "on-off", "all-reduce", "dense", "near misses",
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
    t->train_next = start;
    queue_init(&t->queue, BURST_PEAK_KBPS, 0, BURST_DEPTH, 0, start);
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

/* Room in the queue, in bytes. */
static uint64_t
room(const struct burst_traffic *t)
{
    work_t depth = BURST_DEPTH * WORK_PER_BYTE;

    return t->queue.backlog < depth
           ? (depth - t->queue.backlog) / WORK_PER_BYTE : 0;
}

/* A frame of what fills the queue, to the last byte.  Returns its size, 0 if
 * there is no room. */
static uint32_t
next_in_train(struct burst_traffic *t)
{
    uint64_t left = room(t);
    uint32_t size = left < BURST_FRAME ? left : BURST_FRAME;

    if (size < BURST_FRAME) {
        t->train_step = 0;
        t->train_next = t->background_now + exponential(t, 60000);
    }
    t->background_now += t->train_step
                         ? t->train_step : exponential(t, NS_PER_FRAME / 0.15);
    return size < 64 ? 0 : size;
}

/* Moves the background on to its next packet.  Returns the size of this one,
 * 0 if there is none. */
static uint32_t
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
        next_in_period(t, 0.35, 12000, 68000);
        break;
    case BG_DENSE:
        t->background_now += exponential(t, NS_PER_FRAME / 0.36);
        break;
    case BG_NEAR_MISSES:
    case N_BACKGROUNDS:
    default:
        if (!t->train_step && t->background_now >= t->train_next) {
            t->train_step = NS_PER_FRAME / uniform(t, 0.6, 1);
        }
        if (t->train_step) {
            return next_in_train(t);
        }
        t->background_now += exponential(t, NS_PER_FRAME / 0.15);
        break;
    }
    return BURST_FRAME;
}

/* Makes a packet of the background.  Returns false if it comes later than it
 * would, or not at all: it would look like a burst. */
static bool
make_background(struct burst_traffic *t, struct packet *packet)
{
    packet->when = t->background_now;
    queue_advance(&t->queue, packet->when);
    if (!t->queue.open && !t->train_step && room(t) < BURST_FRAME) {
        t->background_now = packet->when + 1
                            + ((BURST_FRAME - room(t)) * WORK_PER_BYTE
                               / t->queue.rate);
        return false;
    }
    packet->size = next_background(t);
    if (packet->size) {
        queue_put(&t->queue, packet->size);
        t->n_near += !t->queue.open && room(t) < 64;
    }
    return packet->size;
}

/* Until the queue of the burst before is empty, the next one waits. */
static bool
postpone_burst(struct burst_traffic *t)
{
    uint64_t now = t->burst_now, wait = 10000;

    queue_advance(&t->queue, now);
    if (!t->queue.open || now > t->burst.start) {
        return false;
    }
    t->burst_now += wait;
    t->burst.start += wait;
    t->burst.end += wait;
    return true;
}

static bool
make_burst(struct burst_traffic *t, struct packet *packet,
           struct true_burst *burst)
{
    packet->when = t->burst_now;
    packet->size = BURST_FRAME;
    t->n_begun += packet->when <= t->burst.start;
    queue_advance(&t->queue, packet->when);
    queue_put(&t->queue, packet->size);
    if (t->burst_now + t->burst_step / 2 < t->burst.end) {
        t->burst_now += t->burst_step;
        return false;
    }
    *burst = t->burst;
    draw_burst(t);
    return true;
}

bool
burst_traffic_next(struct burst_traffic *t, struct packet *packet,
                   struct true_burst *burst)
{
    for (;;) {
        if (t->background_now < t->burst_now) {
            if (make_background(t, packet)) {
                return false;
            }
        } else if (!postpone_burst(t)) {
            return make_burst(t, packet, burst);
        }
    }
}
