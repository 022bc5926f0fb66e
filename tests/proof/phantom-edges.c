/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Phantom queues at the edges: configurations, changes of them, and a queue
 * that is full. */

#include <config.h>

#include "phantom-edges.h"

#include <errno.h>
#include <inttypes.h>

#include "phantom.h"
#include "proof.h"

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

static void
test_conf(void)
{
    static const struct {
        uint64_t rate, peak;
        uint32_t mark, depth, limit;
        int error;
    } confs[] = {
        { 10, 9, 0, 0, 0, EDOM }, { 1, 0, 1, 0, 0, EDOM },
        { 1, UINT64_C(1) << 32, 0, 0, 0, EDOM }, { 1, 1, 6, 5, 5, ERANGE },
        { 1, 1, 5, 6, 5, ERANGE }, { 1, 1, 5, 5, 5, 0 },
        { 1, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0 },
        { 0, 0, 0, 0, 0, EDOM }, { 1, 1, 0, 0, 0, 0 },
    };

    for (unsigned int i = 0; i < sizeof confs / sizeof confs[0]; i++) {
        struct phantom_conf conf;
        int error = phantom_conf_init(&conf, confs[i].rate, confs[i].peak,
                                      confs[i].mark, confs[i].depth,
                                      confs[i].limit, 0);

        if (error != confs[i].error) {
            proof_fail("configuration %u: %d instead of %d", i, error,
                       confs[i].error);
        }
    }
    proof_ok("configurations that make no sense are refused");
}

/* What the queue holds, its counters and its bursts survive other thresholds,
 * and years without a packet. */
static void
test_reconfigure(void)
{
    const uint64_t year = UINT64_C(365) * 86400 * 1000000000;
    struct phantom_batch b = { START, START, 0, 0 };
    const uint32_t sizes[] = { 1000, 1000, 1000 };
    struct phantom_stats stats;
    struct phantom_conf conf;
    struct phantom p;

    phantom_conf_init(&conf, 1, 8000, 0, 1500, 2500, 1);
    phantom_init(&p, &conf, START);
    phantom_offer(&p, &b, sizes, 3);
    phantom_conf_init(&conf, 1, 4000, 500, 1500, 0, 2);
    phantom_reconfigure(&p, &conf, START + 500000);     /* 500 bytes later. */
    b.now_ns = START + 500000;
    b.since_ns = b.now_ns - 40;
    phantom_offer(&p, &b, sizes, 1);
    phantom_read(&p, b.now_ns, &stats);
    if (stats.n_bursts != 1 || stats.events[0].length_ns != 500000
        || stats.events[0].bytes != 500 || stats.events[0].tag != 1
        || stats.depth != 2500 || stats.watermark != 2500 || b.marked != 1
        || stats.gap_ns != 40) {
        proof_fail("a new configuration: depth %"PRIu64, stats.depth);
    }
    phantom_observe(&p, START + 50 * year);
    phantom_read(&p, START + 50 * year, &stats);
    if (stats.n_bursts != 2 || stats.events[1].length_ns != 5000000
        || stats.events[1].start_ns != START + 500000 || stats.depth
        || stats.events[1].bytes != 2500 || stats.events[1].gap_ns != 40) {
        proof_fail("after years: length %"PRIu64, stats.events[1].length_ns);
    }

    b.since_ns = b.now_ns = START + 50 * year;
    phantom_offer(&p, &b, sizes, 2);
    phantom_observe(&p, START + 51 * year);
    phantom_read(&p, START + 51 * year, &stats);
    if (stats.n_bursts != 3 || stats.events[2].gap_ns || stats.gap_ns != 40) {
        proof_fail("another burst: gap %"PRIu64, stats.events[2].gap_ns);
    }
    proof_ok("a burst ends with its configuration, and is found after years");
}

/* A queue without a limit does not grow for ever, and drops nothing. */
static void
test_full(void)
{
    struct phantom_batch b = { START, START, 0, 0 };
    const uint32_t sizes[] = { UINT32_MAX - 5000, 3000, 3000, 2000 };
    struct phantom_stats stats;
    struct phantom_conf conf;
    struct phantom p;

    phantom_conf_init(&conf, 1, 1, UINT32_MAX - 4000, 0, 0, 0);
    phantom_init(&p, &conf, START);
    phantom_offer(&p, &b, sizes, 4);
    phantom_read(&p, START, &stats);
    if (b.capped || b.marked != 0xe || stats.depth != UINT32_MAX
        || stats.n_bursts) {
        proof_fail("a full queue: depth %"PRIu64, stats.depth);
    }
    phantom_offer(&p, &b, sizes, 1);
    if (b.capped || b.marked != 1) {
        proof_fail("a packet was not marked because the queue is full");
    }
    proof_ok("a queue without limit drops nothing when it is full");
}

void
phantom_edges(void)
{
    test_conf();
    test_reconfigure();
    test_full();
}
