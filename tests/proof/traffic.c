/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "traffic.h"

#include <math.h>
#include <string.h>

#define LINE_KBPS UINT64_C(400000000)

const char *traffic_mix_names[N_MIXES] = {
    "64 B", "1518 B", "9018 B", "IMIX", "64-1518 B", "64-65549 B",
};

const char *traffic_pattern_names[N_PATTERNS] = {
    "CBR at half the rate", "CBR at the rate", "CBR at twice the rate",
    "Poisson", "on-off", "all-reduce", "bursts after idle times", "batches",
    "greedy",
};

void
traffic_init(struct traffic *t, enum traffic_pattern pattern,
             enum traffic_mix mix, uint64_t kbps, uint64_t start,
             struct proof_random *random)
{
    memset(t, 0, sizeof *t);
    t->mix = mix;
    t->pattern = pattern;
    t->kbps = kbps;
    t->random = random;
    t->start = start;
    t->now = start;
}

static uint32_t
next_size(struct traffic *t)
{
    static const uint32_t imix[12] = {
        64, 64, 64, 64, 64, 64, 64, 594, 594, 594, 594, 1518,
    };

    switch (t->mix) {
    case MIX_MIN:
        return 64;
    case MIX_MTU:
        return 1518;
    case MIX_JUMBO:
        return 9018;
    case MIX_IMIX:
        return imix[proof_below(t->random, 12)];
    case MIX_RANDOM:
        return 64 + proof_below(t->random, 1518 - 64 + 1);
    case MIX_TSO:
    case N_MIXES:
    default:
        return 64 + proof_below(t->random, 65549 - 64 + 1);
    }
}

/* How long 'bits' take at 'kbps', rounded up. */
static uint64_t
transmission_ns(uint64_t bits, uint64_t kbps)
{
    return ((unsigned __int128) bits * 1000000 + kbps - 1) / kbps;
}

/* Exponentially distributed, of mean 'ns'. */
static uint64_t
exponential(struct traffic *t, double ns)
{
    return (uint64_t) (-log(proof_unit(t->random)) * ns);
}

static void
one(struct traffic *t, struct arrival *a)
{
    a->n = 1;
    a->sizes[0] = next_size(t);
    t->bits += a->sizes[0] * 8;
}

/* Evenly spaced: no error adds up. */
static void
cbr_next(struct traffic *t, struct arrival *a, uint64_t kbps)
{
    one(t, a);
    t->now = t->start + transmission_ns(t->bits, kbps);
}

/* Bursts at 'kbps', which last 'on' ns and begin 'off' ns after each other's
 * end. */
static void
bursts_next(struct traffic *t, struct arrival *a, uint64_t kbps, uint64_t on,
            uint64_t off)
{
    one(t, a);
    t->now += transmission_ns(a->sizes[0] * 8, kbps);
    if (t->now > t->period_end) {
        t->now += off;
        t->period_end = t->now + on;
    }
}

static void
idle_bursts_next(struct traffic *t, struct arrival *a)
{
    one(t, a);
    if (!proof_below(t->random, 20)) {
        t->now += proof_random(t->random) % (UINT64_C(1)
                                             << proof_below(t->random, 34));
    }
}

static void
batches_next(struct traffic *t, struct arrival *a)
{
    a->n = 1 + proof_below(t->random, TRAFFIC_MAX_BATCH);
    for (uint32_t i = 0; i < a->n; i++) {
        a->sizes[i] = next_size(t);
        t->bits += a->sizes[i] * 8;
    }
    t->now = t->start + transmission_ns(t->bits, 2 * t->kbps);
}

/* Each packet is offered twice: 1 ns before it conforms, and when it does.
 * One that cannot conform is offered once. */
static void
greedy_next(struct traffic *t, const struct oracle *o, struct arrival *a)
{
    uint64_t when;

    a->n = 1;
    if (t->pending) {
        a->sizes[0] = t->pending;
        t->pending = 0;
        return;
    }
    a->sizes[0] = next_size(t);
    when = oracle_when(o, 1, a->sizes[0]);
    if (when == UINT64_MAX) {
        return;
    }
    if (when > t->now) {
        a->when = when - 1;
        t->now = when;
        t->pending = a->sizes[0];
    }
}

void
traffic_next(struct traffic *t, const struct oracle *o, struct arrival *a)
{
    double frame_ns = 700 * 8e6 / t->kbps;

    a->when = t->now;
    switch (t->pattern) {
    case CBR_HALF:
        cbr_next(t, a, (t->kbps + 1) / 2);
        break;
    case CBR_RATE:
        cbr_next(t, a, t->kbps);
        break;
    case CBR_TWICE:
        cbr_next(t, a, 2 * t->kbps);
        break;
    case POISSON:
        one(t, a);
        t->now += exponential(t, a->sizes[0] * 8e6 / t->kbps / 1.2);
        break;
    case ON_OFF:
        bursts_next(t, a, 4 * t->kbps, exponential(t, 100 * frame_ns),
                    exponential(t, 200 * frame_ns));
        break;
    case ALL_REDUCE:
        bursts_next(t, a, LINE_KBPS, 10000 + proof_below(t->random, 10000),
                    transmission_ns(15000 * LINE_KBPS / 1000000, t->kbps));
        break;
    case IDLE_BURSTS:
        idle_bursts_next(t, a);
        break;
    case BATCHES:
        batches_next(t, a);
        break;
    case GREEDY:
    case N_PATTERNS:
    default:
        greedy_next(t, o, a);
        break;
    }
}
