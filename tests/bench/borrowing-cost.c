/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What borrowing costs, in real time: meters of dp-meter.c with a parent
 * beside ones without, and what closes a round.  It judges nothing. */

#include <config.h>

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "borrow-private.h"
#include "dp-meter.h"
#include "dp-packet.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-thread.h"
#include "proof/proof.h"
#include "timeval.h"
#include "util.h"

enum {
    MAX_CHILDREN = 1000,
    PARENT = MAX_CHILDREN,      /* Its id. */
    SIZE = 64,
    N_ORDER = 1 << 14,
    N_WARM = 1 << 11,           /* Batches that are not timed, */
    N_BATCHES = 1 << 13,        /* and that are. */
};

/* What a child is, and what becomes of its packets. */
static const struct kind {
    const char *name;
    bool has_parent;
    uint32_t rate, burst;       /* Of the child: kbps, bytes. */
    uint32_t parent_rate, parent_burst;
} kinds[] = {
    { "flat", false, UINT32_MAX, UINT32_MAX, 1, 1 },
    { "owed", true, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
    { "borrowed", true, 1, 1, UINT32_MAX, UINT32_MAX },
    { "flat", false, 1, 1, 1, 1 },
    { "refused", true, 1, 1, 1000000, 65536 },
};

enum { N_KINDS = ARRAY_SIZE(kinds) };

struct runner {
    struct dp_meters *meters;
    const uint32_t *order;
    uint32_t first;             /* In 'order'. */
    uint32_t batch;
    pthread_barrier_t *barrier;
    double ns;                  /* A packet. */
};

static void
set_meter(struct dp_meters *meters, uint32_t id, uint32_t rate,
          uint32_t burst, bool has_parent)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER, .rate = rate,
        .microburst = {
            .burst_bytes = burst, .exceed = OFPUTIL_MICROBURST_PASS,
            .parent = has_parent, .provider_parent = PARENT,
        },
    };
    const struct ofputil_meter_config config = {
        .meter_id = id, .flags = OFPMF13_KBPS | OFPMF13_BURST,
        .n_bands = 1, .bands = &band,
    };

    if (dp_meters_set(meters, id, &config)) {
        proof_fail("a meter was refused");
    }
}

static void *
runner_main(void *r_)
{
    struct runner *r = r_;
    struct dp_packet_batch batch;
    uint64_t start = 0;

    dp_packet_batch_init(&batch);
    for (uint32_t i = 0; i < r->batch; i++) {
        struct dp_packet *packet = dp_packet_new(SIZE);

        dp_packet_put_zeros(packet, SIZE);
        dp_packet_batch_add(&batch, packet);
    }
    if (r->barrier) {
        pthread_barrier_wait(r->barrier);
    }
    for (uint32_t i = 0; i < N_WARM + N_BATCHES; i++) {
        struct dp_meter_clock clock = { .now_ns = time_nsec() };

        if (i == N_WARM) {
            start = clock.now_ns;
        }
        dp_meters_run(r->meters, r->order[(r->first + i) % N_ORDER], &batch,
                      &clock);
    }
    r->ns = (double) (time_nsec() - start) / N_BATCHES / r->batch;
    dp_packet_delete_batch(&batch, true);
    return NULL;
}

/* ns a packet, with 'n' children; '*borrowed' becomes the part of the packets
 * that did. */
static double
measure(const struct kind *kind, uint32_t n, unsigned int n_threads,
        uint32_t batch, const uint32_t *order, double *borrowed)
{
    struct runner runners[2];
    struct dp_meters meters;
    pthread_barrier_t barrier;
    uint64_t in = 0, taken = 0;
    pthread_t thread;

    dp_meters_init(&meters, DP_METER_MICROBURST | DP_METER_PARENT);
    set_meter(&meters, PARENT, kind->parent_rate, kind->parent_burst, false);
    for (uint32_t i = 0; i < n; i++) {
        set_meter(&meters, i, kind->rate, kind->burst, kind->has_parent);
    }
    pthread_barrier_init(&barrier, NULL, 2);
    for (unsigned int i = 0; i < n_threads; i++) {
        runners[i] = (struct runner) {
            .meters = &meters, .order = order, .first = i * N_ORDER / 2,
            .batch = batch, .barrier = n_threads > 1 ? &barrier : NULL,
        };
    }
    if (n_threads > 1) {
        thread = ovs_thread_create("runner", runner_main, &runners[1]);
    }
    runner_main(&runners[0]);
    if (n_threads > 1) {
        xpthread_join(thread, NULL);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct ofputil_meter_band_stats band;
        struct ofputil_meter_stats stats = { .bands = &band };

        dp_meters_get(&meters, i, &stats, 1);
        in += stats.packet_in_count;
        taken += band.microburst.borrowed.packets;
    }
    *borrowed = (double) taken / in;
    pthread_barrier_destroy(&barrier);
    dp_meters_destroy(&meters);
    return (n_threads > 1 ? (runners[0].ns + runners[1].ns) / 2
            : runners[0].ns);
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static double
median(double *values, unsigned int n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

static void
print_packets_line(uint32_t n, unsigned int n_threads, uint32_t batch,
                   unsigned int n_rounds)
{
    static uint32_t order[N_ORDER];
    double *ns = xcalloc(N_KINDS * n_rounds, sizeof *ns);
    double borrowed[N_KINDS], medians[N_KINDS];
    struct proof_random random;

    proof_random_init(&random, n);
    for (uint32_t i = 0; i < N_ORDER; i++) {
        order[i] = proof_below(&random, n);
    }
    for (unsigned int i = 0; i < n_rounds * N_KINDS; i++) {
        unsigned int kind = i % N_KINDS;

        ns[kind * n_rounds + i / N_KINDS] = measure(
            &kinds[kind], n, n_threads, batch, order, &borrowed[kind]);
    }
    for (unsigned int i = 0; i < N_KINDS; i++) {
        medians[i] = median(&ns[i * n_rounds], n_rounds);
    }
    printf("%8u %8"PRIu32" %6"PRIu32" %7.2f %7.2f %9.2f %5.0f %% | %7.2f "
           "%8.2f %5.0f %%\n", n_threads, n, batch, medians[0], medians[1],
           medians[2], 100 * borrowed[2], medians[3], medians[4],
           100 * borrowed[4]);
    fflush(stdout);
    free(ns);
}

static void
print_packets(unsigned int n_rounds)
{
    printf("ns a packet of %d bytes, one reading of the clock a batch "
           "included; medians of %u rounds,\nin which the columns take turns."
           "  All conform: to a meter without a parent, to what a\nchild is "
           "owed, or by borrowing; or hardly any does, and all pass "
           "('exceed=pass').  Behind\neach column of borrowing, how many "
           "borrowed.\n\n%8s %8s %6s %7s %7s %9s %7s | %7s %8s\n", SIZE,
           n_rounds, "threads", "children", "batch", "flat", "owed",
           "borrowed", "", "flat", "refused");
    for (unsigned int n_threads = 1; n_threads <= 2; n_threads++) {
        for (uint32_t n = 1; n <= MAX_CHILDREN; n *= 10) {
            print_packets_line(n, n_threads, 32, n_rounds);
        }
        print_packets_line(MAX_CHILDREN, n_threads, 1, n_rounds);
    }
}

/* Rounds. */

enum { N_TENANTS = 10, N_ROUNDS = 2000 };

static struct cluster {
    struct borrow_pool uplink, tenants[N_TENANTS];
    struct borrow_member selves[N_TENANTS], children[MAX_CHILDREN];
} cluster;

/* Makes 'n' members of the uplink, or of its tenants, that have all borrowed
 * more than they will be served. */
static void
start_cluster(uint32_t n, bool tree)
{
    struct gcra_conf conf;

    memset(&cluster, 0, sizeof cluster);
    gcra_conf_init(&conf, GCRA_KBPS, 100000000, 625000 * 8);
    borrow_pool_init(&cluster.uplink, &conf, NULL, 0);
    for (uint32_t i = 0; tree && i < N_TENANTS; i++) {
        borrow_join(&cluster.selves[i], &cluster.uplink, 1, UINT32_MAX);
        borrow_pool_init(&cluster.tenants[i], &conf, &cluster.selves[i], 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct borrow_member *m = &cluster.children[i];
        struct borrow_pool *pool = (tree ? &cluster.tenants[i % N_TENANTS]
                                    : &cluster.uplink);

        borrow_join(m, pool, 1 + i % 4, UINT32_MAX);
        atomic_store(&m->tag, BORROW_MAX_AHEAD / 2 + i);
        borrow_set(pool, m->index);
        if (tree) {
            atomic_store(&cluster.selves[i % N_TENANTS].tag,
                         BORROW_MAX_AHEAD / 2);
            borrow_set(&cluster.uplink, cluster.selves[i % N_TENANTS].index);
        }
    }
}

/* ns a round, in each of which the uplink is used. */
static double
measure_rounds(uint32_t n, bool tree)
{
    uint64_t round_ns, start, before;

    start_cluster(n, tree);
    round_ns = borrow_get(&cluster.uplink.round_ns);
    start = proof_clock_ns();
    for (uint64_t i = 1; i <= N_ROUNDS; i++) {
        atomic_add(&cluster.uplink.other, round_ns * 25 / 2, &before);
        borrow_close_round(&cluster.uplink, i * round_ns);
    }
    return (double) (proof_clock_ns() - start) / N_ROUNDS;
}

/* Rounds that are closed while members send only what they are owed, for a
 * second. */
static uint32_t
count_idle_rounds(void)
{
    start_cluster(0, false);
    for (uint64_t now = 0; now < UINT64_C(1000000000); now += 200) {
        borrow_debit(&cluster.uplink, now, 1500);
    }
    return borrow_get32(&cluster.uplink.version);
}

static void
print_rounds(unsigned int n_rounds)
{
    printf("\nWhat it takes to close a round, every 10 us on an uplink of "
           "100 Gbps, in ns, and as a\npart of a core: two levels, and three "
           "with %d tenants\n\n%8s %9s %7s %9s %7s\n", N_TENANTS,
           "borrow", "two", "", "three", "");
    for (uint32_t n = 1; n <= MAX_CHILDREN; n *= 10) {
        double ns[2][101], medians[2];

        for (unsigned int i = 0; i < n_rounds; i++) {
            ns[0][i] = measure_rounds(n, false);
            ns[1][i] = measure_rounds(n, true);
        }
        for (unsigned int i = 0; i < 2; i++) {
            medians[i] = median(ns[i], n_rounds);
        }
        printf("%8"PRIu32" %9.0f %5.2f %% %9.0f %5.2f %%\n", n, medians[0],
               medians[0] / 100, medians[1], medians[1] / 100);
    }
    printf("\nWhile nobody borrows, %"PRIu32" rounds are closed in a second."
           "\n", count_idle_rounds());
}

int
main(int argc, char *argv[])
{
    static const struct option options[] = {
        { "rounds", required_argument, NULL, 'r' },
        { NULL, 0, NULL, 0 },
    };
    unsigned int n_rounds = 11;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c != 'r' || !(n_rounds = strtoul(optarg, NULL, 10))
            || n_rounds > 101) {
            fprintf(stderr, "usage: %s [--rounds N]\n", argv[0]);
            return 2;
        }
    }
    print_packets(n_rounds);
    print_rounds(n_rounds);
    return 0;
}
