/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Borrowing beside other schemes of sharing an uplink, at the same senders, in
 * virtual time.  It judges nothing. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcra.h"
#include "proof/cluster.h"
#include "proof/proof.h"
#include "proof/reacting.h"
#include "shares.h"
#include "shares-known.h"
#include "util.h"

#define START (UINT64_C(3600) * 1000 * 1000 * 1000)
#define KBPS 100000000

enum { SETTLING = 3, N_WINDOWS = 5 };

static const struct shares *const schemes[] = {
    &shares_borrowing, &shares_bc_pqp, &shares_pqp, &shares_hcsfq,
    &shares_trtcm,
};

/* A cluster, and a scheme in front of it. */
struct trial {
    struct cluster cluster;
    const struct shares *shares;
    void *scheme;
    struct gcra owed[CLUSTER_MAX_LEAVES];
    struct fluid queue;         /* Of the uplink: all that was admitted. */
    double deepest, bound;
    uint64_t n_owed, n_owed_refused;
};

static void
trial_start(struct trial *t, const struct shares *shares,
            const struct cluster_conf *conf)
{
    memset(t, 0, sizeof *t);
    cluster_init(&t->cluster, conf);
    t->shares = shares;
    t->scheme = shares->create(&t->cluster);
    t->bound = shares->own_queues ? 0 : conf->burst;
    for (unsigned int i = 0; i < t->cluster.n; i++) {
        const struct cluster_share *share = &t->cluster.leaves[i];
        struct gcra_conf gc;

        gcra_conf_init(&gc, GCRA_KBPS, share->kbps, share->burst * 8);
        gcra_init(&t->owed[i], &gc, START);
        t->bound += share->burst;
        if (shares->own_queues) {
            t->bound += share->burst + share->reach;
        }
    }
    for (unsigned int i = 0; conf->tree && i < conf->n_tenants; i++) {
        t->bound += (shares == &shares_borrowing
                     ? t->cluster.tenants[i].burst : 0);
    }
}

/* Is a frame of leaf 'i' admitted? */
static bool
trial_offer(struct trial *t, unsigned int i, double now, uint32_t bytes)
{
    bool is_owed = gcra_admit(&t->owed[i], START + (uint64_t) now, 1, bytes);
    bool admitted = t->shares->admit(t->scheme, now, i, bytes, is_owed);

    t->n_owed += is_owed;
    t->n_owed_refused += is_owed && !admitted;
    if (admitted) {
        fluid_drain(&t->queue, t->cluster.conf.kbps / 8e6, now);
        t->queue.bytes += bytes;
        t->deepest = fmax(t->deepest, t->queue.bytes);
    }
    return admitted;
}

/* Utilisation, shares and depth. */

static void
measure_shares(const struct shares *shares, const struct cluster_conf *conf)
{
    static struct trial t;
    struct cluster_result worst = { 2, 0, 0 };

    trial_start(&t, shares, conf);
    for (unsigned int w = 0; w < SETTLING + N_WINDOWS; w++) {
        double end = (w + 1) * conf->window_ns;
        struct cluster_result result;
        unsigned int leaf;
        uint32_t bytes;

        while (cluster_next(&t.cluster, end, &leaf, &bytes)) {
            if (trial_offer(&t, leaf, t.cluster.now, bytes)) {
                cluster_admit(&t.cluster, leaf, bytes);
            }
        }
        result = cluster_judge(&t.cluster);
        if (w >= SETTLING) {
            worst.used = fmin(worst.used, result.used);
            worst.l1 = fmax(worst.l1, result.l1);
            worst.l1_allowed = fmax(worst.l1_allowed, result.l1_allowed);
        }
    }
    printf("  %-12s %8.2f %8.2f %8.2f %9.3f %9.0f %9.0f\n", shares->name,
           100 * worst.used, 100 * worst.l1, 100 * worst.l1_allowed,
           100.0 * t.n_owed_refused / MAX(t.n_owed, 1), t.deepest / 1000,
           t.bound / 1000);
    fflush(stdout);
    free(t.scheme);
}

static void
print_shares(uint64_t seed)
{
    static const struct {
        const char *what;
        enum cluster_pattern pattern;
        uint32_t frame;
        unsigned int burst;
        uint64_t uplink;
    } rows[] = {
        { "CBR", CLUSTER_CBR, 1500, 2, 600000 },
        { "CBR of mixed frames", CLUSTER_CBR, 0, 2, 6000000 },
        { "Poisson", CLUSTER_POISSON, 1500, 16, 600000 },
        { "phase-locked bursts", CLUSTER_LOCKED, 1500, 8, 600000 },
        { "on and off", CLUSTER_ON_OFF, 1500, 2, 600000 },
    };

    printf("\nThe worst of %d windows of 10 ms: 64 tenants of 8 classes on "
           "100 Gbps, a third of\nit owed; in %%: what was used of what could "
           "be, the distance (L1) from weighted\nmax-min and what is left of "
           "it after a frame a class (and, for each time that it\nwent on or "
           "off, its burst and reach), packets refused of those that were "
           "owed;\nin KB: the deepest queue of the uplink, and its bound\n\n"
           "  %-12s %8s %8s %8s %9s %9s %9s\n", N_WINDOWS, "", "used", "L1",
           "beyond", "refused", "deepest", "bound");
    for (unsigned int i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
        const struct cluster_conf conf = {
            .pattern = rows[i / 2].pattern, .kbps = KBPS,
            .burst = rows[i / 2].uplink, .n_tenants = 64, .n_classes = 8,
            .tree = i % 2, .frame = rows[i / 2].frame,
            .burst_frames = rows[i / 2].burst,
            .owed = 0.4, .window_ns = 1e7, .seed = seed + i,
        };

        printf("%s, %s levels\n", rows[i / 2].what, i % 2 ? "three" : "two");
        for (unsigned int j = 0; j < ARRAY_SIZE(schemes); j++) {
            measure_shares(schemes[j], &conf);
        }
    }
}

/* How soon idle bandwidth is taken, and handed back.  Leaf 0 is alone, sends
 * as fast as the uplink is; after ALONE_NS the others do, too. */

#define STEP_NS 5e3
#define ALONE_NS 5e6
#define ALL_NS 1e6

enum { PLOT_STEPS = 64, PLOT_ROWS = 8 };

struct change {
    double taken_ns;            /* Of the idle uplink, what was not. */
    double behind_ns;           /* Of the others' share, what is missing. */
    double ahead_ns;            /* Of the uplink, what leaf 0 has too much. */
    double plot[PLOT_STEPS];    /* What part of the uplink leaf 0 has in the
                                 * steps around the change. */
};

/* What leaves from 'first' to 'n' should get, if these 'n' send. */
static double
share_of(const struct cluster *c, unsigned int first, unsigned int n)
{
    double left = c->conf.kbps / 8e6, weight = 0, rate = 0;

    for (unsigned int i = 0; i < n; i++) {
        left -= c->leaves[i].kbps / 8e6;
        weight += c->leaves[i].weight;
    }
    for (unsigned int i = first; i < n; i++) {
        rate += (c->leaves[i].kbps / 8e6 + left * c->leaves[i].weight
                 / weight);
    }
    return rate;
}

/* The first 'n' send for a step; adds what they get to 'got[2]': leaf 0, and
 * the others. */
static void
step(struct trial *t, unsigned int n, double from, double got[2])
{
    const uint32_t bytes = 1500;
    const double gap = bytes * 8e6 / KBPS / n;
    unsigned int i = 0;

    for (double when = from; when < from + STEP_NS; when += gap) {
        got[i != 0] += trial_offer(t, i, when, bytes) ? bytes : 0;
        i = (i + 1) % n;
    }
}

static struct change
measure_change(const struct shares *shares, unsigned int n, uint64_t seed)
{
    const struct cluster_conf conf = {
        .pattern = CLUSTER_CBR, .kbps = KBPS, .burst = 600000,
        .n_tenants = 64, .n_classes = 8, .frame = 1500, .burst_frames = 1,
        .owed = 0.4, .window_ns = 1e7, .seed = seed,
    };
    const double rate = KBPS / 8e6;
    struct change c = { 0 };
    static struct trial t;
    double got[2] = { 0, 0 }, own, others;

    trial_start(&t, shares, &conf);
    own = share_of(&t.cluster, 0, n) - share_of(&t.cluster, 1, n);
    others = share_of(&t.cluster, 1, n);
    for (double ns = 0; ns < ALONE_NS + ALL_NS; ns += STEP_NS) {
        bool all = ns >= ALONE_NS;
        double before = ns == ALONE_NS ? 0 : got[0], past;
        int column = (ns - ALONE_NS) / STEP_NS + PLOT_STEPS / 4;

        if (ns == ALONE_NS) {
            got[0] = got[1] = 0;
        }
        step(&t, all ? n : 1, ns, got);
        past = ns + STEP_NS - (all ? ALONE_NS : 0);
        if (past <= ALL_NS && !all) {
            c.taken_ns = fmax(c.taken_ns, past - got[0] / rate);
        } else if (all) {
            c.behind_ns = fmax(c.behind_ns, past - got[1] / others);
            c.ahead_ns = fmax(c.ahead_ns, (got[0] - own * past) / rate);
        }
        if (column >= 0 && column < PLOT_STEPS) {
            c.plot[column] = (got[0] - before) / (rate * STEP_NS);
        }
    }
    free(t.scheme);
    return c;
}

static void
print_plot(const struct shares *shares, const struct change *c)
{
    printf("\n%s\n", shares->name);
    for (int row = PLOT_ROWS; row > 0; row--) {
        printf("%4d %% |", 100 * row / PLOT_ROWS);
        for (int i = 0; i < PLOT_STEPS; i++) {
            putchar(c->plot[i] * PLOT_ROWS > row - 0.5 ? '#' : ' ');
        }
        putchar('\n');
    }
    printf("       +");
    for (int i = 0; i < PLOT_STEPS; i++) {
        putchar(i == PLOT_STEPS / 4 ? '^' : '-');
    }
    putchar('\n');
}

static void
print_changes(uint64_t seed)
{
    static const unsigned int ns[] = { 2, 8, 128 };
    struct change changes[ARRAY_SIZE(schemes)];

    printf("\nA sender alone on an idle link of 100 Gbps, for 5 ms, and then "
           "others who want as\nmuch, for 1 ms; in us: what it leaves unused "
           "until it has the link, how far the\nothers fall behind their "
           "share, and how much of the link it has too much\n\n"
           "  %-12s", "");
    for (unsigned int i = 0; i < ARRAY_SIZE(ns); i++) {
        printf("  %3u: %6s %7s %7s", ns[i], "unused", "behind", "ahead");
    }
    putchar('\n');
    for (unsigned int j = 0; j < ARRAY_SIZE(schemes); j++) {
        printf("  %-12s", schemes[j]->name);
        for (unsigned int i = 0; i < ARRAY_SIZE(ns); i++) {
            struct change c = measure_change(schemes[j], ns[i], seed);

            printf("       %6.1f %7.1f %7.1f", c.taken_ns / 1000,
                   c.behind_ns / 1000, c.ahead_ns / 1000);
            if (ns[i] == 8) {
                changes[j] = c;
            }
        }
        putchar('\n');
        fflush(stdout);
    }
    printf("\nIts part of the link, 5 us a column; at ^ seven others come\n");
    for (unsigned int j = 0; j < ARRAY_SIZE(schemes); j++) {
        print_plot(schemes[j], &changes[j]);
    }
}

/* Senders that react, through borrowing. */

static void
print_reacting(uint64_t seed)
{
    printf("\n16 senders who all want more than their share of 100 Gbps, "
           "those that react to ECN by\nDCTCP; what these may not borrow is "
           "dropped or marked; in %%: of the line used, of\nthe shares that "
           "those that react and the others got, L1 from max-min, dropped "
           "and\nmarked of what the former sent; in KB: the deepest queue of "
           "the pool, its bound, and\nthe deepest FIFO\n\n"
           "  %5s %4s %-7s %6s %6s %6s %5s %7s %6s %5s %5s %5s\n",
           "react", "not", "else", "used", "react", "not", "L1", "dropped",
           "marked", "pool", "bound", "FIFO");
    for (unsigned int i = 0; i < 6; i++) {
        const struct reacting_conf conf = {
            .n_deaf = i / 2 * 8, .marks = i % 2, .ns = 20000000,
            .seed = seed,
        };
        struct reacting_result r;

        if (conf.n_deaf == REACTING_SENDERS && conf.marks) {
            continue;           /* Nobody to mark for. */
        }
        r = reacting_run(&conf);
        printf("  %5u %4u %-7s %6.2f %6.2f %6.2f %5.2f %7.2f %6.2f %5.0f "
               "%5.0f %5.0f\n", REACTING_SENDERS - conf.n_deaf, conf.n_deaf,
               conf.marks ? "marked" : "dropped", 100 * r.used,
               100 * r.heard, 100 * r.deaf, 100 * r.l1, 100 * r.dropped,
               100 * r.marked, r.pool_bytes / 1e3, r.bound_bytes / 1e3,
               r.fifo_bytes / 1e3);
    }
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);

    shares_print_known();
    print_shares(options.seed);
    print_changes(options.seed);
    print_reacting(options.seed);
    return 0;
}
