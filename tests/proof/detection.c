/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Bursts of 10 us and more are found, and nothing else is taken for one, given
 * the time of each packet: at least 99.9 % of both.  So it is where the
 * background fills the queue to its depth again and again. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>

#include "bursts.h"
#include "phantom.h"
#include "proof.h"

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

/* When what a burst leaves in the queue is gone, if that was too little to be
 * noticed. */
#define DRAIN_NS (BURST_DEPTH * UINT64_C(8000000) / BURST_PEAK_KBPS)

/* Judges the events since the last burst began.  One is right, if it is the
 * first that started in the burst, or on top of what was left of it. */
static void
judge(struct phantom *p, uint64_t now, uint64_t *n_seen,
      const struct true_burst *burst, struct detection *d)
{
    bool is_long = burst->end - burst->start >= 10000;
    struct phantom_stats stats;
    bool found = false;

    phantom_observe(p, now);
    phantom_read(p, now, &stats);
    for (uint32_t i = 0; i < stats.n_events; i++) {
        const struct phantom_event *e = &stats.events[i];

        if (stats.n_bursts - stats.n_events + i >= *n_seen) {
            bool right = (e->start_ns >= burst->start
                          && e->start_ns <= burst->end + DRAIN_NS);

            d->n_events++;
            d->n_right += right && !found;
            found |= right;
        }
    }
    *n_seen = stats.n_bursts;
    d->n_true += is_long;
    d->n_found += is_long && found;
}

static struct detection
measure(enum background background, uint64_t n_bursts, struct proof_random *r)
{
    struct detection d = { .n_true = 0 };
    struct true_burst burst, last = { 0, 0 };
    struct burst_traffic t;
    struct phantom_conf conf;
    struct packet packet;
    struct phantom p;
    uint64_t n_seen = 0, n_begun = 0;

    phantom_conf_init(&conf, 1, BURST_PEAK_KBPS, 0, BURST_DEPTH, 0, 0);
    phantom_init(&p, &conf, START);
    burst_traffic_init(&t, background, START, r);
    for (uint64_t n = 0; n < n_bursts; ) {
        bool ended = burst_traffic_next(&t, &packet, &burst);
        struct phantom_batch b = {
            .since_ns = packet.when, .now_ns = packet.when,
        };

        /* By the time that the next one starts, the last one is over. */
        if (last.end && t.n_begun > n_begun) {
            judge(&p, packet.when, &n_seen, &last, &d);
            last.end = 0;
            n++;
        }
        phantom_offer(&p, &b, &packet.size, 1);
        if (ended) {
            last = burst;
            n_begun = t.n_begun;
        }
    }
    d.n_near = t.n_near;
    return d;
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    struct proof_random r;

    proof_random_init(&r, options.seed);
    for (int i = 0; i < N_BACKGROUNDS; i++) {
        struct detection d = measure(i, options.longer ? 200000 : 20000, &r);
        double recall = 100.0 * d.n_found / d.n_true;
        double precision = 100.0 * d.n_right / d.n_events;

        if (!d.n_true || !d.n_events || recall < 99.9 || precision < 99.9) {
            proof_fail("%s: recall %.3f %%, precision %.3f %%",
                       background_names[i], recall, precision);
        }
        proof_ok("%s: of %"PRIu64" bursts of 10 to 100 us, %.3f %% were "
                 "found; of %"PRIu64" events, beside %"PRIu64" that hardly "
                 "were none, %.3f %% were bursts", background_names[i],
                 d.n_true, recall, d.n_events, d.n_near, precision);
    }
    return 0;
}
