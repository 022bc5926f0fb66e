/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Members of pools in virtual time: what they are owed is never refused, the
 * queue of the uplink stays below its bound, and what is spare is shared as
 * weighted max-min has it, to within what is said here. */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "borrow.h"
#include "cluster.h"
#include "oracle.h"
#include "proof.h"
#include "reacting.h"
#include "util.h"

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

enum { SETTLING = 3 };          /* Windows that are not judged. */

struct leaf {
    struct gcra owed;
    struct oracle oracle;
    struct borrow_member member;
};

/* A cluster, and the pools that police it. */
struct trial {
    struct cluster cluster;
    struct borrow_pool uplink;
    struct borrow_pool tenants[CLUSTER_MAX_TENANTS];
    struct borrow_member members[CLUSTER_MAX_TENANTS];  /* The same. */
    struct leaf leaves[CLUSTER_MAX_LEAVES];
    uint64_t bound;             /* Of the uplink's queue, in tokens. */
    uint64_t deepest;
};

static void
join(struct borrow_member *m, struct borrow_pool *pool,
     const struct cluster_share *share)
{
    if (!borrow_join(m, pool, share->weight, share->reach)) {
        proof_fail("a pool is full");
    }
}

static struct gcra_conf
pool_conf(uint32_t kbps, uint64_t burst)
{
    struct gcra_conf conf;

    if (gcra_conf_init(&conf, GCRA_KBPS, kbps, burst * 8)) {
        proof_fail("a configuration was refused");
    }
    return conf;
}

static void
start_leaf(struct trial *t, unsigned int i)
{
    const struct cluster_conf *conf = &t->cluster.conf;
    const struct cluster_share *share = &t->cluster.leaves[i];
    struct leaf *leaf = &t->leaves[i];
    struct gcra_conf gc = pool_conf(share->kbps, share->burst);

    gcra_init(&leaf->owed, &gc, START);
    oracle_init(&leaf->oracle, false, share->kbps, share->burst * 8, START);
    join(&leaf->member,
         conf->tree ? &t->tenants[i / conf->n_classes] : &t->uplink, share);
    t->bound += share->burst * GCRA_BYTE;
}

static void
start(struct trial *t, const struct cluster_conf *conf)
{
    struct gcra_conf uplink;

    memset(t, 0, sizeof *t);
    cluster_init(&t->cluster, conf);
    uplink = pool_conf(conf->kbps, conf->burst);
    borrow_pool_init(&t->uplink, &uplink, NULL, START);
    t->bound = conf->burst * GCRA_BYTE;
    for (unsigned int i = 0; conf->tree && i < conf->n_tenants; i++) {
        const struct cluster_share *share = &t->cluster.tenants[i];
        struct gcra_conf tenant;

        join(&t->members[i], &t->uplink, share);
        tenant = pool_conf(share->kbps, share->burst);
        borrow_pool_init(&t->tenants[i], &tenant, &t->members[i], START);
        t->bound += share->burst * GCRA_BYTE;
    }
    for (unsigned int i = 0; i < t->cluster.n; i++) {
        start_leaf(t, i);
    }
}

/* Is a frame of leaf 'i' admitted? */
static bool
offer(struct trial *t, unsigned int i, uint64_t now, uint32_t bytes)
{
    struct leaf *leaf = &t->leaves[i];
    bool is_owed = oracle_take(&leaf->oracle, now, 1, bytes);
    bool admitted = true;
    uint64_t depth;

    if (gcra_admit(&leaf->owed, now, 1, bytes)) {
        borrow_debit(leaf->member.pool, now, bytes);
    } else {
        admitted = borrow_admit(&leaf->member, now, bytes);
    }
    if (is_owed && !admitted) {
        proof_fail("leaf %u was refused what it is owed", i);
    }
    depth = gcra_depth(&t->uplink.queue, now);
    t->deepest = MAX(t->deepest, depth);
    if (depth > t->bound) {
        proof_fail("the uplink's queue is %"PRIu64" bytes deep, bound %"PRIu64,
                   depth / GCRA_BYTE, t->bound / GCRA_BYTE);
    }
    return admitted;
}

static void
run_window(struct trial *t, double end)
{
    unsigned int leaf;
    uint32_t bytes;

    while (cluster_next(&t->cluster, end, &leaf, &bytes)) {
        if (offer(t, leaf, START + (uint64_t) t->cluster.now, bytes)) {
            cluster_admit(&t->cluster, leaf, bytes);
        }
    }
}

/* What is required of each window. */
struct bounds {
    double used;                /* At least. */
    double l1, l1_allowed;      /* At most. */
};

static void
run(struct trial *t, const char *what, const struct cluster_conf *conf,
    unsigned int n_windows, const struct bounds *bounds)
{
    struct cluster_result worst = { 2, 0, 0 };

    start(t, conf);
    for (unsigned int w = 0; w < SETTLING + n_windows; w++) {
        struct cluster_result result;

        run_window(t, (w + 1) * conf->window_ns);
        result = cluster_judge(&t->cluster);
        if (w >= SETTLING) {
            worst.used = fmin(worst.used, result.used);
            worst.l1 = fmax(worst.l1, result.l1);
            worst.l1_allowed = fmax(worst.l1_allowed, result.l1_allowed);
        }
    }
    if (worst.used < bounds->used || worst.l1 > bounds->l1
        || worst.l1_allowed > bounds->l1_allowed) {
        proof_fail("%s: %.4f used, L1 %.2f %%, %.2f %% beyond what is allowed",
                   what, worst.used, 100 * worst.l1, 100 * worst.l1_allowed);
    }
    proof_ok("%s, %s levels: %.4f used, L1 %.2f %%, %.2f %% beyond what is "
             "allowed; queue %"PRIu64" of %"PRIu64" bytes", what,
             conf->tree ? "three" : "two", worst.used, 100 * worst.l1,
             100 * worst.l1_allowed, t->deepest / GCRA_BYTE,
             t->bound / GCRA_BYTE);
}

/* How soon bandwidth that is idle is used, and handed back.  Leaf 0 sends as
 * fast as the uplink is, alone; later, others do too. */

#define LONE_NS UINT64_C(1000000)
#define LONE_STEP_NS UINT64_C(5000)

/* All of the first 'n' leaves send at the uplink's rate from 'from' to 'to'.
 * Adds to 'admitted[]' the bytes of each that are admitted. */
static void
send_all(struct trial *t, unsigned int n, uint64_t from, uint64_t to,
         double admitted[])
{
    const uint32_t bytes = 1500;
    const double gap = bytes * 8e6 / t->cluster.conf.kbps / n;
    unsigned int i = 0;

    for (double when = from; when < to; when += gap) {
        admitted[i] += offer(t, i, when, bytes) ? bytes : 0;
        i = (i + 1) % n;
    }
}

/* What the leaves from 'first' to 'n' should get, in bytes a ns. */
static double
share_of(const struct trial *t, unsigned int first, unsigned int n)
{
    double left = t->cluster.conf.kbps / 8e6, weight = 0, rate = 0;

    for (unsigned int i = 0; i < n; i++) {
        left -= t->cluster.leaves[i].kbps / 8e6;
        weight += t->cluster.leaves[i].weight;
    }
    for (unsigned int i = first; i < n; i++) {
        rate += (t->cluster.leaves[i].kbps / 8e6
                 + left * t->cluster.leaves[i].weight / weight);
    }
    return rate;
}

/* 'n' leaves send from 'from' on for LONE_NS.  Returns how far those from
 * 'first' on fall behind their share in it, at most, as a time.  Sets
 * '*surplus' to how far leaf 0 gets ahead of its own, as a time of the
 * uplink. */
static double
worst_lag_ns(struct trial *t, unsigned int first, unsigned int n,
             uint64_t from, double *surplus)
{
    double admitted[CLUSTER_MAX_LEAVES] = { 0 };
    double rate = share_of(t, first, n), worst = 0;
    double own = share_of(t, 0, n) - share_of(t, 1, n);
    double all = t->cluster.conf.kbps / 8e6;

    for (uint64_t ns = 0; ns < LONE_NS; ns += LONE_STEP_NS) {
        double got = 0;

        send_all(t, n, from + ns, from + ns + LONE_STEP_NS, admitted);
        for (unsigned int i = first; i < n; i++) {
            got += admitted[i];
        }
        worst = fmax(worst, ns + LONE_STEP_NS - got / rate);
        *surplus = fmax(*surplus, (admitted[0]
                                   - own * (ns + LONE_STEP_NS)) / all);
    }
    return worst;
}

/* All but the first leaf stop at 'from'.  Returns for how long the uplink,
 * whose queue drains first, is idle until that one uses it. */
static double
idle_ns(struct trial *t, uint64_t from)
{
    double depth = gcra_depth(&t->uplink.queue, from) / GCRA_BYTE;
    double ignored = 0;

    return fmax(worst_lag_ns(t, 0, 1, from, &ignored)
                - depth * 8e6 / t->cluster.conf.kbps, 0);
}

/* On 'kbps': 50 us, or five rounds if these are longer. */
static void
run_lone(struct trial *t, uint32_t kbps, bool tree, unsigned int n,
         uint64_t seed)
{
    const struct cluster_conf conf = {
        .pattern = CLUSTER_CBR, .kbps = kbps, .burst = 600000,
        .n_tenants = 64, .n_classes = 8, .tree = tree, .frame = 1500,
        .burst_frames = 1, .owed = 0.4, .window_ns = 1e7, .seed = seed,
    };
    double ignored[CLUSTER_MAX_LEAVES] = { 0 };
    double unused, lag, idle, bound, surplus = 0;

    start(t, &conf);
    bound = fmax(50000, 5 * t->uplink.round_ns);
    unused = worst_lag_ns(t, 0, 1, START, &surplus);
    surplus = 0;
    send_all(t, 1, START + LONE_NS, START + 5 * LONE_NS, ignored);
    lag = worst_lag_ns(t, 1, n, START + 5 * LONE_NS, &surplus);
    idle = idle_ns(t, START + 6 * LONE_NS);
    if (unused > bound || lag > bound || surplus > bound || idle > bound) {
        proof_fail("%u Mbps: %.1f us until it is used, %.1f us until %u have "
                   "it back, %.1f us of it too much, idle for %.1f us once "
                   "they stop", kbps / 1000, unused / 1000, lag / 1000, n - 1,
                   surplus / 1000, idle / 1000);
    }
    proof_ok("%u Mbps, %s levels: one sender takes all but %.1f us of an idle "
             "uplink; when %u more come, they fall %.1f us behind, and it is "
             "%.1f us ahead; when they stop, it takes all but %.1f us",
             kbps / 1000, tree ? "three" : "two", unused / 1000, n - 1,
             lag / 1000, surplus / 1000, idle / 1000);
}

/* Senders that react to ECN, and ones that do not: the queue stays below its
 * bound, and who reacts gets no less for it.  What is marked passes beside the
 * pool, so shares are then what the senders make of them. */
static void
run_reacting(unsigned int n_deaf, bool marks, bool longer, uint64_t seed)
{
    const struct reacting_conf conf = {
        .n_deaf = n_deaf, .marks = marks, .seed = seed,
        .ns = longer ? 400000000 : 20000000,
    };
    struct reacting_result r = reacting_run(&conf);

    if (r.n_owed_refused || r.pool_bytes > r.bound_bytes) {
        proof_fail("%"PRIu64" frames were refused that were owed; the queue "
                   "is %"PRIu64" bytes deep, bound %"PRIu64,
                   r.n_owed_refused, r.pool_bytes, r.bound_bytes);
    }
    if (r.used < 0.99 || (!marks && r.l1 > 0.01)) {
        proof_fail("%u react and %u do not, %s: %.4f used, L1 %.2f %%",
                   REACTING_SENDERS - n_deaf, n_deaf,
                   marks ? "marked" : "dropped", r.used, 100 * r.l1);
    }
    proof_ok("%u senders react to what is %s, %u do not: %.4f used, L1 %.2f "
             "%%; queue %"PRIu64" of %"PRIu64" bytes",
             REACTING_SENDERS - n_deaf, marks ? "marked" : "dropped", n_deaf,
             r.used, 100 * r.l1, r.pool_bytes, r.bound_bytes);
}

/* Everybody sends what he is owed at once, when others have filled the uplink:
 * the queue is nearly as deep as its bound.  With three levels, tenants use
 * what they are owed before they borrow, so not all comes together. */
static void
run_at_once(struct trial *t, bool tree, uint64_t seed)
{
    const struct cluster_conf conf = {
        .pattern = CLUSTER_CBR, .kbps = 100000000, .burst = 600000,
        .n_tenants = 64, .n_classes = 8, .tree = tree, .frame = 1500,
        .burst_frames = 4, .owed = 0.4, .window_ns = 1e7, .seed = seed,
    };

    start(t, &conf);
    for (unsigned int round = 0; round < 10; round++) {
        for (unsigned int i = 0; i < t->cluster.n; i++) {
            for (unsigned int frame = 0; frame < 100; frame++) {
                offer(t, i, START, conf.frame);
            }
        }
    }
    if (t->deepest < t->bound * 8 / 10) {
        proof_fail("all at once, %s levels: the queue is %"PRIu64" bytes "
                   "deep, bound %"PRIu64, tree ? "three" : "two",
                   t->deepest / GCRA_BYTE, t->bound / GCRA_BYTE);
    }
    proof_ok("all at once, %s levels: queue %"PRIu64" of %"PRIu64" bytes",
             tree ? "three" : "two", t->deepest / GCRA_BYTE,
             t->bound / GCRA_BYTE);
}

/* Bursts of 24 KB of each of 512 classes are a tenth of what a window of 10 ms
 * holds: where all of the uplink is owed, or frames are jumbo, windows are
 * 0.1 s. */
static const struct {
    const char *what;
    enum cluster_pattern pattern;
    uint32_t frame;
    unsigned int burst;
    uint64_t uplink;
    double window_ns;
    double owed, asking;
    bool only_tenants;
} rows[] = {
    { "CBR", CLUSTER_CBR, 1500, 2, 600000, 1e7, 0.4, 0, false },
    { "CBR of jumbo frames", CLUSTER_CBR, 9000, 2, 6000000, 1e7, 0.4, 0,
      false },
    { "CBR of mixed frames", CLUSTER_CBR, 0, 2, 6000000, 1e7, 0.4, 0, false },
    { "Poisson", CLUSTER_POISSON, 1500, 16, 600000, 1e7, 0.4, 0, false },
    { "Poisson of jumbo frames", CLUSTER_POISSON, 9000, 16, 6000000, 1e8, 0.4,
      0, false },
    { "phase-locked bursts", CLUSTER_LOCKED, 1500, 8, 600000, 1e7, 0.4, 0,
      false },
    { "on and off", CLUSTER_ON_OFF, 1500, 2, 600000, 1e7, 0.4, 0, false },
    { "CBR, all is owed", CLUSTER_CBR, 1500, 2, 600000, 1e7, 0.995, 0, false },
    { "CBR, all is owed and asked for", CLUSTER_CBR, 1500, 2, 600000, 1e7,
      0.995, 1.2, false },
    { "CBR, all is owed to tenants", CLUSTER_CBR, 1500, 2, 600000, 1e7, 0.995,
      1.2, true },
    { "CBR, all is owed to tenants, 256 KiB", CLUSTER_CBR, 1500, 2, 262144,
      1e7, 0.995, 1.2, true },
    { "CBR, nothing is owed", CLUSTER_CBR, 1500, 2, 600000, 1e7, 0, 1.2,
      false },
    { "Poisson, all is owed", CLUSTER_POISSON, 1500, 16, 600000, 1e8, 0.995,
      0, false },
    { "Poisson, all is owed and asked for", CLUSTER_POISSON, 1500, 16, 600000,
      1e8, 0.995, 1.2, false },
    { "Poisson, all is owed to tenants", CLUSTER_POISSON, 1500, 16, 600000,
      1e8, 0.995, 1.2, true },
    { "CBR, 64 KiB", CLUSTER_CBR, 1500, 2, 65536, 1e7, 0.4, 0, false },
    { "by turns", CLUSTER_TURNS, 1500, 2, 600000, 1e7, 0.4, 0, false },
    { "by turns, 256 KiB", CLUSTER_TURNS, 1500, 2, 262144, 1e7, 0.4, 0,
      false },
};

static const struct bounds *
bounds_of(const struct cluster_conf *conf)
{
    static const struct bounds steady = { 0.99, 1, 0.01 };
    static const struct bounds shallow = { 0.98, 1, 0.02 };
    static const struct bounds on_off = { 0.97, 0.08, 0.03 };
    static const struct bounds turns = { 0.96, 1, 0.01 };

    return (conf->pattern == CLUSTER_ON_OFF ? &on_off
            : conf->pattern == CLUSTER_TURNS ? &turns
            : conf->burst < 262144 ? &shallow : &steady);
}

static void
run_rows(struct trial *t, const struct proof_options *options)
{
    for (unsigned int i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
        unsigned int n_windows = (rows[i / 2].window_ns > 1e7 ? 1
                                  : options->longer ? 100 : 5);
        struct cluster_conf conf = {
            .pattern = rows[i / 2].pattern,
            .kbps = 100000000,
            .burst = rows[i / 2].uplink,
            .n_tenants = 64, .n_classes = 8,
            .tree = i % 2,
            .frame = rows[i / 2].frame,
            .burst_frames = rows[i / 2].burst,
            .owed = rows[i / 2].owed,
            .only_tenants = rows[i / 2].only_tenants,
            .asking = rows[i / 2].asking,
            .window_ns = rows[i / 2].window_ns,
            .seed = options->seed + i,
        };

        if (conf.tree || !conf.only_tenants) {
            run(t, rows[i / 2].what, &conf, n_windows, bounds_of(&conf));
        }
    }
}

/* Few senders, who bring much in a round: so it counts what each of them asks
 * for. */
static void
run_few(struct trial *t, uint64_t seed)
{
    static const unsigned int sizes[][2] = {
        { 1, 1 }, { 1, 4 }, { 2, 1 }, { 8, 4 },
    };
    const struct bounds bounds = { 0.99, 1, 0.01 };

    for (unsigned int i = 0; i < ARRAY_SIZE(sizes) * 4; i++) {
        unsigned int gbps = i % 2 ? 400 : 100;
        const struct cluster_conf conf = {
            .pattern = CLUSTER_CBR, .kbps = gbps * 1000000,
            .burst = gbps * UINT64_C(6000),
            .n_tenants = sizes[i / 4][0], .n_classes = sizes[i / 4][1],
            .tree = true, .frame = 1500, .burst_frames = 2,
            .owed = i % 4 / 2 ? 0.4 : 0, .asking = 1.2, .window_ns = 1e7,
            .seed = seed + i,
        };
        char *what = xasprintf("%u of %u on %u Gbps, %s is owed",
                               conf.n_tenants, conf.n_classes, gbps,
                               conf.owed > 0 ? "a part" : "nothing");

        run(t, what, &conf, 2, &bounds);
        free(what);
    }
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    static struct trial t;

    run_rows(&t, &options);
    for (unsigned int i = 0; i < (options.longer ? 40 : 10); i++) {
        run_few(&t, options.seed + 100 * i);
    }
    run_at_once(&t, false, options.seed);
    run_at_once(&t, true, options.seed);
    for (unsigned int n = 2; n <= CLUSTER_MAX_LEAVES; n *= 4) {
        run_lone(&t, 100000000, false, n, options.seed);
    }
    for (unsigned int n = 2; n <= 8; n *= 4) {
        run_lone(&t, 100000000, true, n, options.seed);
    }
    for (uint32_t kbps = 1000000; kbps < 100000000; kbps *= 5) {
        run_lone(&t, kbps, false, 8, options.seed);
    }
    for (unsigned int n_deaf = 0; n_deaf <= REACTING_SENDERS; n_deaf += 4) {
        run_reacting(n_deaf, false, options.longer, options.seed);
        if (n_deaf < REACTING_SENDERS) {
            run_reacting(n_deaf, true, options.longer, options.seed);
        }
    }
    return 0;
}
