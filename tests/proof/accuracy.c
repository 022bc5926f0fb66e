/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Accuracy of the GCRA in virtual time.
 *
 * For each rate, burst, mix of frames and pattern of arrivals, each decision
 * about a packet is compared with that of the oracle: they must all be the
 * same.  Apart from that, what was admitted is held against the arrival curve
 * over all intervals, and that of a greedy source also against the fluid
 * contract, burst plus rate times time. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gcra.h"
#include "oracle.h"
#include "proof.h"
#include "traffic.h"

/* An hour after the clock began, so that nothing is 0 by chance. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)
#define SECOND UINT64_C(1000000000)

static uint64_t n_packets, n_runs;

/* Of greedy sources, how far they were below the fluid contract at most, as a
 * fraction of it: with bursts that hold a frame and what comes in 1 ns, and
 * with smaller ones. */
static double worst_error, worst_tight_error;

struct run {
    uint64_t kbps;
    uint64_t burst;             /* In bytes. */
    enum traffic_mix mix;
    enum traffic_pattern pattern;
    uint64_t max_packets;       /* Offered. */
    uint64_t max_ns;

    struct gcra g;
    struct oracle o;
    struct curve curve;
    struct traffic t;
    uint64_t last;              /* Time of the last arrival. */
};

static void __attribute__((noreturn))
run_fail(const struct run *run, const char *what, uint32_t size)
{
    proof_fail("%"PRIu64" kbps, burst %"PRIu64" B, %s, %s, at %"PRIu64" ns: "
               "a packet of %"PRIu32" B %s", run->kbps, run->burst,
               traffic_mix_names[run->mix],
               traffic_pattern_names[run->pattern], run->last - START, size,
               what);
}

/* Decides about an arrival, and compares. */
static void
offer(struct run *run, const struct arrival *a)
{
    uint32_t refused;

    run->last = a->when;
    if (a->n == 1 && (a->when & 1)) {
        refused = !gcra_admit(&run->g, a->when, 1, a->sizes[0]);
    } else {
        refused = gcra_admit_batch(&run->g, a->when, a->sizes, a->n);
    }
    for (uint32_t i = 0; i < a->n; i++) {
        bool admitted = !(refused & UINT32_C(1) << i);

        if (admitted) {
            curve_add(&run->curve, a->when,
                      oracle_cost(&run->o, 1, a->sizes[i]));
        }
        if (oracle_take(&run->o, a->when, 1, a->sizes[i]) != admitted) {
            run_fail(run, admitted ? "was admitted" : "was refused",
                     a->sizes[i]);
        }
    }
    n_packets += a->n;
}

/* What a greedy source got must be the contract, but for 0.01 % or a frame.
 *
 * A bucket that holds less than a frame and what comes in 1 ns loses tokens
 * whatever it does, since no packet comes between two ns: then that much is
 * granted for each packet. */
static void
check_fluid(const struct run *run)
{
    static const uint32_t largest[N_MIXES] = {
        64, 1518, 9018, 1518, 1518, 65549,
    };
    tokens_t frame = oracle_cost(&run->o, 1, largest[run->mix]);
    tokens_t due = run->o.size + run->o.rate * (run->last - START);
    tokens_t error = due - run->curve.passed;
    tokens_t allowed = frame > due / 10000 ? frame : due / 10000;
    bool tight = frame + run->o.rate > run->o.size;
    double *worst = tight ? &worst_tight_error : &worst_error;

    if (frame > run->o.size) {
        return;                 /* Some frames never conform. */
    }
    if (tight) {
        allowed += run->curve.passed / oracle_cost(&run->o, 1, 64)
                   * run->o.rate;
    }
    if (run->last >= START + SECOND && (double) error / due > *worst) {
        *worst = (double) error / due;
    }
    if (error < 0 || error > allowed) {
        run_fail(run, "was the last, and the sum is wrong", 0);
    }
}

static void
do_run(struct run *run)
{
    uint64_t until = n_packets + run->max_packets;
    struct proof_random random;
    struct gcra_conf conf;
    struct arrival a;

    proof_random_init(&random, run->kbps ^ run->burst << 32 ^ n_runs);
    if (gcra_conf_init(&conf, GCRA_KBPS, run->kbps, run->burst * 8)) {
        proof_fail("%"PRIu64" kbps and %"PRIu64" bytes were refused",
                   run->kbps, run->burst);
    }
    gcra_init(&run->g, &conf, START);
    oracle_init(&run->o, false, run->kbps, run->burst * 8, START);
    curve_init(&run->curve, run->o.rate);
    traffic_init(&run->t, run->pattern, run->mix, run->kbps, START, &random);
    do {
        traffic_next(&run->t, &run->o, &a);
        offer(run, &a);
    } while (run->t.pending
             || (n_packets < until && run->last < START + run->max_ns));

    if (run->curve.worst > run->o.size) {
        run_fail(run, "was the last, and the arrival curve was exceeded", 0);
    }
    /* Later than at the start only if the burst was used up. */
    if (run->pattern == GREEDY && run->last > START) {
        check_fluid(run);
    }
    n_runs++;
}

/* 1 Mbps to 400 Gbps, and rates that divide nothing. */
static const uint64_t rates[] = {
    1000, 2000, 5000, 10000, 25000, 50000, 100000, 123457, 250000, 500000,
    1000000, 1544003, 2500000, 5000000, 9999991, 10000000, 25000000, 40000000,
    50000000, 99999999, 100000000, 200000000, 268435456, 399999989, 400000000,
};
static const uint64_t bursts[] = {
    1514, 1518, 9018, 12000, 16384, 65536, 262144, 1048576,
};
#define N_RATES (sizeof rates / sizeof rates[0])
#define N_BURSTS (sizeof bursts / sizeof bursts[0])

static void
test_grid(uint64_t max_packets)
{
    for (unsigned int i = 0; i < N_RATES * N_BURSTS; i++) {
        for (unsigned int j = 0; j < N_MIXES * N_PATTERNS; j++) {
            struct run run = {
                .kbps = rates[i / N_BURSTS],
                .burst = bursts[i % N_BURSTS],
                .mix = j % N_MIXES,
                .pattern = j / N_MIXES,
                .max_packets = max_packets,
                .max_ns = UINT64_MAX - START,
            };

            do_run(&run);
        }
    }
    proof_ok("%zu rates, %zu bursts, %d mixes, %d patterns: each of %"PRIu64" "
             "decisions is the oracle's", N_RATES, N_BURSTS, N_MIXES,
             N_PATTERNS, n_packets);
}

/* A second of virtual time each, however many packets that is. */
static void
test_seconds(uint64_t min_rate, uint64_t max_rate, enum traffic_mix mix,
             enum traffic_pattern pattern, uint64_t burst)
{
    uint64_t before = n_packets;

    for (unsigned int i = 0; i < N_RATES; i++) {
        struct run run = {
            .kbps = rates[i],
            .burst = burst,
            .mix = mix,
            .pattern = pattern,
            .max_packets = UINT64_MAX / 2,
            .max_ns = SECOND,
        };

        if (rates[i] >= min_rate && rates[i] <= max_rate) {
            do_run(&run);
        }
    }
    proof_ok("%s frames, burst %"PRIu64" B, %s, 1 s of %g to %g Gbps: "
             "%"PRIu64" decisions", traffic_mix_names[mix], burst,
             traffic_pattern_names[pattern], min_rate / 1e6, max_rate / 1e6,
             n_packets - before);
}

/* A bucket that counts packets, whatever their sizes. */
static void
test_packets(uint64_t n, struct proof_random *r)
{
    static const uint64_t pps[] = {
        1, 999, 1000, 14880952, 148809523, 297619047, UINT32_MAX,
    };

    for (unsigned int i = 0; i < n; i++) {
        uint64_t rate = pps[i % 7];
        uint64_t burst = 1 + proof_below(r, 64);
        uint64_t now = START;
        struct gcra_conf conf;
        struct oracle o;
        struct gcra g;

        gcra_conf_init(&conf, GCRA_PKTPS, rate, burst);
        gcra_init(&g, &conf, now);
        oracle_init(&o, true, rate, burst, now);
        for (unsigned int j = 0; j < 1000; j++) {
            uint32_t packets = 1 + proof_below(r, 40);

            if (j & 1) {
                now = oracle_when(&o, 1, 0) - (j & 2) / 2;
            } else {
                now += proof_below(r, 40 * UINT64_C(1000000000) / rate + 2);
            }
            if (gcra_admit(&g, now, packets, 9000)
                != oracle_take(&o, now, packets, 9000)) {
                proof_fail("%"PRIu64" packets/s, burst %"PRIu64", at %"PRIu64
                           " ns: %"PRIu32" packets", rate, burst, now - START,
                           packets);
            }
        }
    }
    proof_ok("packets/s: each of %"PRIu64" decisions is the oracle's",
             n * 1000);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    struct proof_random r;

    proof_random_init(&r, options.seed);
    n_runs = proof_below(&r, UINT32_MAX);
    test_grid(options.longer ? 100000 : 6000);
    test_packets(options.longer ? 100000 : 1000, &r);
    test_seconds(1000, 200000000, MIX_MTU, GREEDY, 12000);
    test_seconds(400000000, 400000000, MIX_MTU, GREEDY, 12000);
    test_seconds(400000000, 400000000, MIX_JUMBO, CBR_TWICE, 65536);
    test_seconds(400000000, 400000000, MIX_MTU, GREEDY, 1518);
    if (options.longer) {
        for (unsigned int i = 0; i < N_BURSTS; i++) {
            /* Else a greedy source waits for ever. */
            if (bursts[i] >= 1518) {
                test_seconds(1000, 400000000, MIX_MTU, GREEDY, bursts[i]);
            }
            test_seconds(1000, 400000000, MIX_RANDOM, CBR_TWICE, bursts[i]);
        }
    }
    proof_ok("over 1 s, greedy sources got the contract but for %.2g %%; "
             "%.2g %% if the burst is one frame and frames come at whole ns",
             worst_error * 100, worst_tight_error * 100);
    return 0;
}
