/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Threads whose packets meet a meter that changes all the time: how many bands
 * it has, which of them have a phantom queue, and their rates, bursts and
 * depths.
 *
 * Its first band keeps its contract, and all bands drop, so no more may pass
 * than this contract allows, and what the threads' batches in progress take
 * from the old bands when another meter takes the place of the old one, as it
 * does when the number of bands or of phantom queues changes.  The old one is
 * freed while the threads go on.  It is built a second time for
 * ThreadSanitizer. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dp-meter.h"
#include "dp-packet.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "proof.h"
#include "timeval.h"

#define METER 3
#define MAX_THREADS 4
#define MAX_SIZE 128u

/* The contract of the first band: 100 Mbps and 100 KB. */
#define KBPS 100000u
#define KBITS 800u

static struct dp_meters meters;
static atomic_bool stop;

struct runner {
    pthread_t thread;
    struct proof_random random;
    uint64_t offered, admitted; /* Packets. */
    uint64_t bytes;             /* Of those admitted. */
    uint64_t polled;            /* When, in ns; 0 before the first time. */
};

static void
run_batch(struct runner *r)
{
    struct dp_meter_clock clock = {
        .now_ns = time_nsec(), .fresh = true, .since_ns = r->polled,
    };
    unsigned int n = 1 + proof_below(&r->random, NETDEV_MAX_BURST);
    struct dp_packet_batch batch;
    struct dp_packet *packet;

    r->polled = clock.now_ns;
    dp_packet_batch_init(&batch);
    for (unsigned int i = 0; i < n; i++) {
        unsigned int size = 64 + proof_below(&r->random, MAX_SIZE - 64 + 1);

        packet = dp_packet_new(size);
        dp_packet_put_uninit(packet, size);
        dp_packet_batch_add(&batch, packet);
    }
    dp_meters_run(&meters, METER, &batch, &clock);
    r->offered += n;
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        r->admitted++;
        r->bytes += dp_packet_size(packet);
    }
    dp_packet_delete_batch(&batch, true);
}

static void *
runner_main(void *runner)
{
    bool stopped;

    do {
        run_batch(runner);
        ovsrcu_quiesce();
        atomic_read(&stop, &stopped);
    } while (!stopped);
    return NULL;
}

/* Gives the meter 'n_bands' bands, with phantom queues in those of the bitmap
 * 'phantoms'. */
static void
configure(uint16_t n_bands, uint32_t phantoms, struct proof_random *random)
{
    struct ofputil_meter_band bands[DP_METER_MAX_BANDS];
    const struct ofputil_meter_config config = {
        .meter_id = METER,
        .flags = OFPMF13_KBPS | OFPMF13_BURST,
        .n_bands = n_bands,
        .bands = bands,
    };

    memset(bands, 0, sizeof bands);
    for (uint16_t i = 0; i < n_bands; i++) {
        struct ofputil_microburst *mb = &bands[i].microburst;

        bands[i].type = OFPMBT13_DROP;
        bands[i].rate = KBPS * (i ? 1 + proof_below(random, 9) : 1);
        bands[i].burst_size = KBITS * (i ? 1 + proof_below(random, 9) : 1);
        if (phantoms >> i & 1) {
            bands[i].type = OFPMBT13_EXPERIMENTER;
            mb->peak_rate = bands[i].rate * 2;
            mb->mark = 1000 + proof_below(random, 10000);
            mb->depth = 1000 + proof_below(random, 10000);
            mb->limit = 20000 + proof_below(random, 80000);
        }
    }
    if (dp_meters_set(&meters, METER, &config)) {
        proof_fail("a meter was refused");
    }
}

/* Changes the meter 'n_changes' times.  Returns how often another one takes
 * its place. */
static unsigned int
change(unsigned int n_changes, struct proof_random *random)
{
    uint32_t phantoms = 0;
    uint16_t n_bands = 1;
    unsigned int n = 0;

    while (n_changes--) {
        uint32_t old_phantoms = phantoms;
        uint16_t old = n_bands;

        if (proof_below(random, 2)) {
            n_bands = (proof_below(random, 2)
                       ? 1 : 1 + proof_below(random, DP_METER_MAX_BANDS));
            phantoms = proof_below(random, 1u << n_bands);
        }
        configure(n_bands, phantoms, random);
        n += n_bands != old || phantoms != old_phantoms;
        usleep(proof_below(random, 2000));
        ovsrcu_quiesce();
    }
    return n;
}

/* Judges what 'n_threads' runners got in 'ns' nanoseconds, while another meter
 * took the place of the old one 'n' times. */
static void
judge(const struct runner *runners, unsigned int n_threads, uint64_t ns,
      unsigned int n)
{
    uint64_t in_progress = (uint64_t) n * n_threads * NETDEV_MAX_BURST;
    uint64_t contract = KBITS * 125 + ns * KBPS / 8000000;
    uint64_t offered = 0, admitted = 0, bytes = 0;
    struct ofputil_meter_stats stats = { .n_bands = 0 };

    for (unsigned int i = 0; i < n_threads; i++) {
        offered += runners[i].offered;
        admitted += runners[i].admitted;
        bytes += runners[i].bytes;
    }
    if (bytes > contract + in_progress * MAX_SIZE) {
        proof_fail("%"PRIu64" bytes passed, %"PRIu64" allowed, and %"PRIu64
                   " in progress", bytes, contract, in_progress * MAX_SIZE);
    }
    if (!admitted || admitted == offered || !n) {
        proof_fail("nothing happened");
    }
    dp_meters_get(&meters, METER, &stats, 0);
    if (stats.packet_in_count > offered
        || stats.packet_in_count + in_progress < offered) {
        proof_fail("%"PRIu64" of %"PRIu64" packets counted",
                   stats.packet_in_count, offered);
    }
    proof_ok("%u threads, %u changes of the number of bands or phantom "
             "queues: %"PRIu64" of %"PRIu64" packets admitted, %.3f of the "
             "contract", n_threads, n, admitted, offered,
             (double) bytes / contract);
}

static void
do_trial(unsigned int n_threads, unsigned int n_changes, uint64_t seed)
{
    struct runner runners[MAX_THREADS];
    struct proof_random random;
    uint64_t start;
    unsigned int n;

    memset(runners, 0, sizeof runners);
    proof_random_init(&random, seed);
    dp_meters_init(&meters, DP_METER_DROP | DP_METER_MICROBURST
                            | DP_METER_PHANTOM);
    start = time_nsec();
    configure(1, 0, &random);
    atomic_store(&stop, false);
    for (unsigned int i = 0; i < n_threads; i++) {
        proof_random_init(&runners[i].random, seed + 1 + i);
        runners[i].thread = ovs_thread_create("runner", runner_main,
                                              &runners[i]);
    }
    n = change(n_changes, &random);
    atomic_store(&stop, true);
    for (unsigned int i = 0; i < n_threads; i++) {
        xpthread_join(runners[i].thread, NULL);
    }
    judge(runners, n_threads, time_nsec() - start, n);
    dp_meters_destroy(&meters);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    unsigned int n_changes = options.longer ? 10000 : 700;

    for (unsigned int n_threads = 1; n_threads <= MAX_THREADS; n_threads++) {
        do_trial(n_threads, n_changes, options.seed + 100 * n_threads);
    }
    return 0;
}
