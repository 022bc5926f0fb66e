/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What borrowing costs, in real time: meters of dp-meter.c with a parent
 * beside ones without, and what closes a round.  It judges nothing. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "borrow-private.h"
#include "dp-meter.h"
#include "dp-packet.h"
#include "openvswitch/ofp-meter.h"
#include "proof/proof.h"
#include "timeval.h"
#include "timing.h"
#include "util.h"

enum {
    MAX_CHILDREN = 1000,
    PARENT = MAX_CHILDREN,      /* Its id. */
    SIZE = 64,
    N_ORDER = 1 << 14,
    N_WARM = 1 << 11,           /* Batches that are not timed, */
    N_BATCHES = 1 << 13,        /* and that are. */
    PLOT_COLUMNS = 50,
};

/* What a child is, and what becomes of its packets.  Each is compared with the
 * last one before it that has no parent. */
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

enum { FLAT, OWED, BORROWED, FLAT_REFUSED, REFUSED, N_KINDS };

BUILD_ASSERT_DECL(N_KINDS == ARRAY_SIZE(kinds));

/* A line of the table. */
struct line {
    unsigned int n_threads;
    uint32_t n, batch;          /* Children, packets. */
    uint32_t order[N_ORDER];    /* Of the children. */
    struct dp_meters meters;
    double borrowed[N_KINDS];   /* What part of the packets did. */
    double medians[N_KINDS];    /* ns a packet. */
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

/* Returns ns a packet. */
static double
run_packets(void *line_, unsigned int thread, pthread_barrier_t *barrier)
{
    struct line *line = line_;
    uint32_t first = thread * N_ORDER / 2;
    struct dp_packet_batch batch;
    uint64_t start = 0;
    double ns;

    dp_packet_batch_init(&batch);
    for (uint32_t i = 0; i < line->batch; i++) {
        struct dp_packet *packet = dp_packet_new(SIZE);

        dp_packet_put_zeros(packet, SIZE);
        dp_packet_batch_add(&batch, packet);
    }
    pthread_barrier_wait(barrier);
    for (uint32_t i = 0; i < N_WARM + N_BATCHES; i++) {
        struct dp_meter_clock clock = { .now_ns = time_nsec() };

        if (i == N_WARM) {
            start = timing_cpu_ns();
        }
        dp_meters_run(&line->meters, line->order[(first + i) % N_ORDER],
                      &batch, &clock);
    }
    ns = (double) (timing_cpu_ns() - start) / N_BATCHES / line->batch;
    dp_packet_delete_batch(&batch, true);
    return ns;
}

static double
measure(void *line_, unsigned int k)
{
    const struct kind *kind = &kinds[k];
    struct line *line = line_;
    uint64_t in = 0, taken = 0;
    double ns;

    dp_meters_init(&line->meters, DP_METER_MICROBURST | DP_METER_PARENT);
    set_meter(&line->meters, PARENT, kind->parent_rate, kind->parent_burst,
              false);
    for (uint32_t i = 0; i < line->n; i++) {
        set_meter(&line->meters, i, kind->rate, kind->burst,
                  kind->has_parent);
    }
    ns = timing_threads(line->n_threads, run_packets, line);
    for (uint32_t i = 0; i < line->n; i++) {
        struct ofputil_meter_band_stats band;
        struct ofputil_meter_stats stats = { .bands = &band };

        dp_meters_get(&line->meters, i, &stats, 1);
        in += stats.packet_in_count;
        taken += band.microburst.borrowed.packets;
    }
    line->borrowed[k] = (double) taken / in;
    dp_meters_destroy(&line->meters);
    return ns;
}

static void
measure_line(struct line *line, unsigned int n_threads, uint32_t n,
             uint32_t batch, unsigned int n_rounds)
{
    const double *ns = line->medians;
    struct proof_random random;

    line->n_threads = n_threads;
    line->n = n;
    line->batch = batch;
    proof_random_init(&random, n);
    for (uint32_t i = 0; i < N_ORDER; i++) {
        line->order[i] = proof_below(&random, n);
    }
    timing_take_turns(N_KINDS, n_rounds, measure, line, line->medians);
    printf("%8u %8"PRIu32" %6"PRIu32" %7.2f %+7.2f %+9.2f %5.0f %% | %7.2f "
           "%+8.2f %5.0f %%\n", n_threads, n, batch, ns[FLAT],
           ns[OWED] - ns[FLAT], ns[BORROWED] - ns[FLAT],
           100 * line->borrowed[BORROWED], ns[FLAT_REFUSED],
           ns[REFUSED] - ns[FLAT_REFUSED], 100 * line->borrowed[REFUSED]);
    fflush(stdout);
}

static void
plot_bar(const char *what, double ns, double most)
{
    int n = ns > 0 ? ns / most * PLOT_COLUMNS + 0.5 : 0;

    printf("  %-9s|", what);
    for (int i = 0; i < n; i++) {
        putchar('#');
    }
    printf(" %+.2f\n", ns);
}

/* What borrowing costs over the flat meter, of the lines of full batches. */
static void
plot_lines(const struct line lines[], unsigned int n)
{
    double most = 0;

    for (unsigned int i = 0; i < n; i++) {
        const double *ns = lines[i].medians;

        if (lines[i].batch > 1) {
            most = MAX(most, MAX(ns[OWED], ns[BORROWED]) - ns[FLAT]);
        }
    }
    printf("\nns over the flat meter, in batches of 32\n");
    for (unsigned int i = 0; most && i < n; i++) {
        const double *ns = lines[i].medians;

        if (lines[i].batch > 1) {
            printf("%u thread%s, %"PRIu32" children\n", lines[i].n_threads,
                   lines[i].n_threads > 1 ? "s" : "", lines[i].n);
            plot_bar("owed", ns[OWED] - ns[FLAT], most);
            plot_bar("borrowed", ns[BORROWED] - ns[FLAT], most);
        }
    }
}

static void
print_packets(unsigned int n_rounds)
{
    static struct line lines[10];
    unsigned int i = 0;

    printf("ns of CPU a packet of %d bytes, one reading of the clock a batch "
           "included; medians of\n%u rounds, in which the columns take "
           "turns.  'flat' is a meter without a parent, and\nwhat follows is "
           "what others cost over it.  All conform: to that meter, to what a\n"
           "child is owed, or by borrowing; or hardly any does, and all pass "
           "('exceed=pass').\nBehind each column of borrowing, how many "
           "borrowed.\n\n"
           "%8s %8s %6s %7s %7s %9s %7s | %7s %8s\n", SIZE, n_rounds,
           "threads", "children", "batch", "flat", "owed", "borrowed", "",
           "flat", "refused");
    for (unsigned int n_threads = 1; n_threads <= 2; n_threads++) {
        for (uint32_t n = 1; n <= MAX_CHILDREN; n *= 10) {
            measure_line(&lines[i++], n_threads, n, 32, n_rounds);
        }
        measure_line(&lines[i++], n_threads, MAX_CHILDREN, 1, n_rounds);
    }
    plot_lines(lines, i);
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

/* ns a round, of two levels or three.  All of the uplink is used, 12.5 bytes a
 * ns: if it were idle, all that is claimed would be served at once. */
static double
measure_rounds(void *n_, unsigned int tree)
{
    const uint32_t *n = n_;
    uint64_t round_ns, start;

    start_cluster(*n, tree);
    round_ns = borrow_get(&cluster.uplink.round_ns);
    start = timing_cpu_ns();
    for (uint64_t i = 1; i <= N_ROUNDS; i++) {
        atomic_store(&cluster.uplink.other, i * round_ns * 25 / 2);
        borrow_close_round(&cluster.uplink, i * round_ns);
    }
    return (double) (timing_cpu_ns() - start) / N_ROUNDS;
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
        double medians[2];

        timing_take_turns(2, n_rounds, measure_rounds, &n, medians);
        printf("%8"PRIu32" %9.0f %5.2f %% %9.0f %5.2f %%\n", n, medians[0],
               medians[0] / 100, medians[1], medians[1] / 100);
    }
    printf("\nWhile nobody borrows, %"PRIu32" rounds are closed in a second."
           "\n", count_idle_rounds());
}

int
main(int argc, char *argv[])
{
    unsigned int n_rounds = timing_rounds(argc, argv);

    print_packets(n_rounds);
    print_rounds(n_rounds);
    return 0;
}
