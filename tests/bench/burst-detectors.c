/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "burst-detectors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "phantom.h"
#include "proof/queue.h"
#include "util.h"

const size_t detector_memory = sizeof(struct phantom);

void
findings_add(struct findings *f, uint64_t start, uint64_t end)
{
    if (f->n && f->list[f->n - 1].end >= start) {
        f->list[f->n - 1].end = end;
        return;
    }
    if (f->n >= f->allocated) {
        f->list = x2nrealloc(f->list, &f->allocated, sizeof *f->list);
    }
    f->list[f->n++] = (struct true_burst) { start, end };
}

/* Phantom queue. */

struct phantom_detector {
    struct phantom phantom;
    struct findings findings;
    uint64_t n_seen;

    uint64_t gap_ns, since, poll;
    uint32_t sizes[32];
    uint32_t n;
};

struct phantom_detector *
phantom_detector_create(uint64_t gap_ns, uint64_t start)
{
    struct phantom_detector *d = xzalloc(sizeof *d);
    struct phantom_conf conf;

    phantom_conf_init(&conf, 1, BURST_PEAK_KBPS, 0, BURST_DEPTH, 0, 0);
    phantom_init(&d->phantom, &conf, start);
    d->gap_ns = gap_ns;
    d->since = start;
    d->poll = start + gap_ns;
    return d;
}

static void
collect(struct phantom_detector *d)
{
    struct phantom_stats stats;

    phantom_read(&d->phantom, d->since, &stats);
    for (uint32_t i = 0; i < stats.n_events; i++) {
        const struct phantom_event *e = &stats.events[i];

        if (stats.n_bursts - stats.n_events + i >= d->n_seen) {
            findings_add(&d->findings, e->start_ns,
                         e->start_ns + e->length_ns - 1);
        }
    }
    d->n_seen = stats.n_bursts;
}

/* Polls at 'now'. */
static void
poll_phantom(struct phantom_detector *d, uint64_t now)
{
    struct phantom_batch b = {
        .since_ns = d->since, .now_ns = now,
    };
    uint64_t n_bursts, bytes;

    if (d->n) {
        phantom_offer(&d->phantom, &b, d->sizes, d->n);
        d->n = 0;
        read_counter(&d->phantom.bursts, &n_bursts, &bytes);
        if (n_bursts > d->n_seen) {
            collect(d);
        }
    }
    d->since = now;
}

void
phantom_detector_feed(struct phantom_detector *d, const struct packet *packet)
{
    while (d->gap_ns && d->poll < packet->when) {
        poll_phantom(d, d->poll);
        d->poll += d->gap_ns;
    }
    d->sizes[d->n++] = packet->size;
    if (!d->gap_ns) {
        d->since = packet->when;
        poll_phantom(d, packet->when);
    } else if (d->n == 32) {
        poll_phantom(d, packet->when);
    }
}

void
phantom_detector_finish(struct phantom_detector *d, struct findings *f)
{
    phantom_observe(&d->phantom, UINT64_MAX / 4);
    collect(d);
    *f = d->findings;
    free(d);
}

/* Windows. */

struct window_detector {
    uint64_t window_ns, start, n_passed; /* Pieces that are over. */
    double piece_ns;
    unsigned int n_pieces;
    uint64_t sum;
    double line;                /* Bytes that the line sends in a window. */
    struct findings findings[WINDOW_SHARES];
    uint32_t bytes[];           /* Of each piece of the window. */
};

struct window_detector *
window_detector_create(uint64_t window_ns, unsigned int n_pieces,
                       uint64_t start)
{
    struct window_detector *d = xzalloc(sizeof *d
                                        + n_pieces * sizeof d->bytes[0]);

    ovs_assert(n_pieces * sizeof d->bytes[0] <= detector_memory);
    d->window_ns = window_ns;
    d->start = start;
    d->piece_ns = (double) window_ns / n_pieces;
    d->n_pieces = n_pieces;
    d->line = LINE_KBPS * window_ns / 8e6;
    return d;
}

double
window_share(unsigned int i)
{
    return 0.1 + 0.05 * i;
}

/* Judges the window that ends with the present piece, and goes on to the next
 * one. */
static void
end_piece(struct window_detector *d)
{
    uint64_t end = d->start + ++d->n_passed * d->piece_ns;
    uint32_t *oldest = &d->bytes[d->n_passed % d->n_pieces];

    for (unsigned int i = 0; i < WINDOW_SHARES; i++) {
        if (d->sum <= window_share(i) * d->line) {
            break;
        }
        findings_add(&d->findings[i], end - d->window_ns, end);
    }
    d->sum -= *oldest;
    *oldest = 0;
}

void
window_detector_feed(struct window_detector *d, const struct packet *packet)
{
    while (packet->when - d->start >= (d->n_passed + 1) * d->piece_ns) {
        end_piece(d);
    }
    d->bytes[d->n_passed % d->n_pieces] += packet->size;
    d->sum += packet->size;
}

void
window_detector_finish(struct window_detector *d,
                       struct findings f[WINDOW_SHARES])
{
    end_piece(d);
    memcpy(f, d->findings, sizeof d->findings);
    free(d);
}

/* ConQuest. */

enum {
    TENANTS = 64,
    SNAPSHOTS = 8,
    ROWS = 2,
    COLUMNS = sizeof(struct phantom) * TENANTS / SNAPSHOTS / ROWS / 4,
};

struct sketch_detector {
    uint64_t window_ns, start, current;
    struct proof_random *random;
    struct queue queue;
    double others_now;
    struct findings findings[SKETCH_DEPTHS];
    uint32_t sketch[SNAPSHOTS][ROWS][COLUMNS];
};

struct sketch_detector *
sketch_detector_create(uint64_t window_ns, uint64_t start,
                       struct proof_random *random)
{
    struct sketch_detector *d = xzalloc(sizeof *d);

    d->window_ns = window_ns;
    d->start = start;
    d->random = random;
    d->others_now = start;
    queue_init(&d->queue, BURST_PEAK_KBPS, 0, 0, 0, start);
    return d;
}

static uint32_t *
cell(struct sketch_detector *d, uint64_t snapshot, unsigned int row,
     uint64_t tenant)
{
    static const uint64_t factors[ROWS] = {
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f),
    };

    return &d->sketch[snapshot % SNAPSHOTS][row]
                     [((tenant + 1) * factors[row] >> 32) % COLUMNS];
}

/* Counts a packet at 'when', in the snapshot of that time. */
static void
count_packet(struct sketch_detector *d, uint64_t when, uint64_t tenant,
             uint32_t size)
{
    uint64_t snapshot = (when - d->start) / d->window_ns;

    for (; d->current < snapshot; d->current++) {
        memset(d->sketch[(d->current + 1) % SNAPSHOTS], 0,
               sizeof d->sketch[0]);
    }
    for (unsigned int row = 0; row < ROWS; row++) {
        *cell(d, snapshot, row, tenant) += size;
    }
}

/* The tenant's bytes of the last 'delay' ns, as far as snapshots are there. */
static uint64_t
estimate(struct sketch_detector *d, uint64_t delay, uint64_t tenant)
{
    uint64_t n = MIN((delay + d->window_ns - 1) / d->window_ns,
                     (uint64_t) SNAPSHOTS - 2);
    uint64_t sum = 0;

    for (uint64_t i = 1; i <= n && i <= d->current; i++) {
        uint32_t least = UINT32_MAX;

        for (unsigned int row = 0; row < ROWS; row++) {
            least = MIN(least, *cell(d, d->current - i, row, tenant));
        }
        sum += least;
    }
    return sum;
}

uint64_t
sketch_depth(unsigned int i)
{
    return 4000 * (i + 1);
}

void
sketch_detector_feed(struct sketch_detector *d, const struct packet *packet)
{
    const double others_step = BURST_FRAME * 8e6 / LINE_KBPS / 0.2;
    uint64_t delay, bytes;

    while (d->others_now < packet->when) {
        count_packet(d, d->others_now, 1 + proof_below(d->random, TENANTS - 1),
                     BURST_FRAME);
        d->others_now -= log(proof_unit(d->random)) * others_step;
    }
    count_packet(d, packet->when, 0, packet->size);
    queue_advance(&d->queue, packet->when);
    queue_put(&d->queue, packet->size);
    delay = d->queue.backlog / d->queue.rate;
    bytes = estimate(d, delay, 0);
    for (unsigned int i = 0; i < SKETCH_DEPTHS && bytes > sketch_depth(i);
         i++) {
        findings_add(&d->findings[i], packet->when - delay, packet->when);
    }
}

void
sketch_detector_finish(struct sketch_detector *d,
                       struct findings f[SKETCH_DEPTHS])
{
    memcpy(f, d->findings, sizeof d->findings);
    free(d);
}
