/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Members of pools that several threads use at a time: the uplink never passes
 * more than its rate, its burst and what its members are owed at once, nothing
 * that is lent is lost, and shares remain by weight. */

#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "borrow.h"
#include "passed.h"
#include "proof.h"
#include "util.h"

enum {
    MAX_THREADS = 8,
    N_PACKETS = 40000,          /* Of a thread. */
    N_TENANTS = 4,
    N_LEAVES = 4 * N_TENANTS,
    KBPS = 100000000,
    OWED_KBPS = KBPS / 2 / N_LEAVES,
    LEAF_BURST = 3000,
    UPLINK_BURST = 600000,
    REACH = 24000,
    N_EXTRAS = 5000,
    N_TRIALS = 5,
};

#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

struct leaf {
    struct gcra owed;
    struct borrow_member member;
    atomic_uint64_t borrowed;   /* Bytes. */
};

struct trial {
    unsigned int n_threads;
    bool tree, changes;
    uint64_t seed;

    struct borrow_pool uplink, tenants[N_TENANTS];
    struct borrow_member members[N_TENANTS];    /* The same. */
    struct leaf leaves[N_LEAVES];
    struct borrow_member extras[N_EXTRAS];      /* Join and leave. */
    atomic_uint64_t clock;
    atomic_uint n_done;
    struct passed passed[MAX_THREADS * N_PACKETS];
};

struct hammer {
    struct trial *trial;
    unsigned int index;
    pthread_t thread;
};

static void
start(struct trial *t)
{
    struct gcra_conf uplink, tenant, owed;

    gcra_conf_init(&uplink, GCRA_KBPS, KBPS, UPLINK_BURST * 8);
    gcra_conf_init(&tenant, GCRA_KBPS, 1, 0);
    borrow_pool_init(&t->uplink, &uplink, NULL, START);
    for (unsigned int i = 0; t->tree && i < N_TENANTS; i++) {
        borrow_join(&t->members[i], &t->uplink, 1, 8 * REACH);
        borrow_pool_init(&t->tenants[i], &tenant, &t->members[i], START);
    }
    gcra_conf_init(&owed, GCRA_KBPS, OWED_KBPS, LEAF_BURST * 8);
    for (unsigned int i = 0; i < N_LEAVES; i++) {
        gcra_init(&t->leaves[i].owed, &owed, START);
        borrow_join(&t->leaves[i].member, t->tree ? &t->tenants[i % N_TENANTS]
                    : &t->uplink, 1 + i / N_TENANTS, REACH);
        atomic_init(&t->leaves[i].borrowed, 0);
    }
    atomic_init(&t->clock, START);
    atomic_init(&t->n_done, 0);
}

static bool
offer(struct leaf *leaf, uint64_t now, uint32_t bytes)
{
    uint64_t before;

    if (gcra_admit(&leaf->owed, now, 1, bytes)) {
        borrow_debit(leaf->member.pool, now, bytes);
        return true;
    } else if (borrow_admit(&leaf->member, now, bytes)) {
        atomic_add(&leaf->borrowed, bytes, &before);
        return true;
    }
    return false;
}

/* All leaves want more than they get: three times the uplink. */
static void *
hammer(void *hammer_)
{
    struct hammer *h = hammer_;
    struct trial *t = h->trial;
    struct proof_random r;
    unsigned int before;

    proof_random_init(&r, t->seed + h->index);
    for (unsigned int i = 0; i < N_PACKETS; i++) {
        struct passed *passed = &t->passed[h->index * N_PACKETS + i];
        uint32_t bytes = 64 + proof_below(&r, 1455);
        uint64_t now;

        atomic_add(&t->clock, bytes / 37, &now);
        passed->when = now;
        if (offer(&t->leaves[proof_below(&r, N_LEAVES)], now, bytes)) {
            passed->bytes = bytes;
        }
        if (!proof_below(&r, 1000)) {
            sched_yield();
        }
    }
    atomic_add(&t->n_done, 1u, &before);
    return NULL;
}

/* Members that join, borrow and leave, one after the other, from an uplink
 * whose rate goes down to a trickle and back, for less than a round.  A tenant
 * becomes such a member now and then, and goes back. */
static void
come_and_go(struct trial *t)
{
    struct gcra_conf fast, slow, tenant;
    unsigned int n_done = 0;

    gcra_conf_init(&fast, GCRA_KBPS, KBPS, UPLINK_BURST * 8);
    gcra_conf_init(&slow, GCRA_KBPS, 30, UPLINK_BURST * 8);
    gcra_conf_init(&tenant, GCRA_KBPS, 1, 0);

    for (unsigned int i = 0; i < N_EXTRAS && n_done < t->n_threads; i++) {
        uint64_t now;

        atomic_read(&t->clock, &now);
        if (!borrow_join(&t->extras[i], &t->uplink, 1, 8 * REACH)) {
            proof_fail("the pool is full");
        }
        borrow_admit(&t->extras[i], now, 64);
        borrow_pool_reconfigure(&t->uplink, &slow, NULL, now);
        borrow_pool_reconfigure(&t->uplink, &fast, NULL, now);
        if (t->tree && i % 16 == 15) {
            borrow_pool_reconfigure(&t->tenants[0], &tenant, &t->extras[i],
                                    now);
            sched_yield();
            borrow_pool_reconfigure(&t->tenants[0], &tenant, &t->members[0],
                                    now);
        }
        sched_yield();
        borrow_leave(&t->extras[i]);
        atomic_read(&t->n_done, &n_done);
    }
}

/* How far what the leaves from 'first' on, each 'step'-th, borrowed is from
 * what the weights say, at most, as a share of that. */
static double
worst_of(const struct trial *t, unsigned int first, unsigned int step)
{
    uint64_t borrowed[N_LEAVES], sum = 0;
    unsigned int weights = 0;
    double worst = 0;

    for (unsigned int i = first; i < N_LEAVES; i += step) {
        atomic_uint64_t *p = CONST_CAST(atomic_uint64_t *,
                                        &t->leaves[i].borrowed);

        atomic_read(p, &borrowed[i]);
        sum += borrowed[i];
        weights += 1 + i / N_TENANTS;
    }
    if (!sum) {
        return INFINITY;
    }
    for (unsigned int i = first; i < N_LEAVES; i += step) {
        double due = (double) sum * (1 + i / N_TENANTS) / weights;

        worst = MAX(worst, (borrowed[i] > due ? borrowed[i] - due
                            : due - borrowed[i]) / due);
    }
    return worst;
}

/* The same, of all.  A tenant that moves has no share of its own; its leaves
 * have. */
static double
worst_share(const struct trial *t)
{
    double worst = 0;

    if (!t->tree || !t->changes) {
        return worst_of(t, 0, 1);
    }
    for (unsigned int i = 0; i < N_TENANTS; i++) {
        worst = MAX(worst, worst_of(t, i, N_TENANTS));
    }
    return worst;
}

/* What passed, as a share of what the uplink drains meanwhile. */
static double
used(const struct trial *t)
{
    uint64_t bytes = 0, now;

    for (unsigned int i = 0; i < t->n_threads * N_PACKETS; i++) {
        bytes += t->passed[i].bytes;
    }
    atomic_read(CONST_CAST(atomic_uint64_t *, &t->clock), &now);
    return bytes / (KBPS / 8e6 * (now - START));
}

/* What trials are judged by. */
struct result {
    double used, share;
    uint64_t excess, bound;     /* In bytes. */
};

static struct result
run_trial(struct trial *t)
{
    const work_t bound = (UPLINK_BURST + N_LEAVES * (work_t) LEAF_BURST)
                         * WORK_PER_BYTE;
    struct hammer hammers[MAX_THREADS];
    work_t excess;

    start(t);
    for (unsigned int i = 0; i < t->n_threads; i++) {
        hammers[i] = (struct hammer) { .trial = t, .index = i };
        if (pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i])) {
            proof_fail("cannot create a thread");
        }
    }
    if (t->changes) {
        come_and_go(t);
    }
    for (unsigned int i = 0; i < t->n_threads; i++) {
        pthread_join(hammers[i].thread, NULL);
    }
    excess = passed_excess(t->passed, t->n_threads * N_PACKETS, KBPS);
    if (excess > bound) {
        proof_fail("%"PRIu64" bytes above what drains, bound %"PRIu64,
                   (uint64_t) (excess / WORK_PER_BYTE),
                   (uint64_t) (bound / WORK_PER_BYTE));
    }
    return (struct result) {
        used(t), worst_share(t), excess / WORK_PER_BYTE, bound / WORK_PER_BYTE,
    };
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* By how much a share may be off.  A tenant that has just moved shares as if
 * it had lent nothing yet; and ThreadSanitizer, which is here to find races,
 * makes threads wait for each other for long. */
static double
max_share(bool tree, bool changes)
{
#if defined(__SANITIZE_THREAD__)
    return tree && changes ? 0.4 : 0.2;
#else
    return tree && changes ? 0.3 : 0.1;
#endif
}

/* The system may stop the thread that closes a round for as long as a trial
 * takes; so shares, and what is used, are medians. */
static void
run_trials(struct trial *t, unsigned int n_threads, bool tree, bool changes,
           uint64_t seed)
{
    double useds[N_TRIALS], shares[N_TRIALS];
    uint64_t excess = 0, bound = 0;

    for (unsigned int i = 0; i < N_TRIALS; i++) {
        struct result r;

        memset(t, 0, sizeof *t);
        t->n_threads = n_threads;
        t->tree = tree;
        t->changes = changes;
        t->seed = seed + i * MAX_THREADS;
        r = run_trial(t);
        useds[i] = r.used;
        shares[i] = r.share;
        excess = MAX(excess, r.excess);
        bound = r.bound;
    }
    qsort(useds, N_TRIALS, sizeof useds[0], compare_doubles);
    qsort(shares, N_TRIALS, sizeof shares[0], compare_doubles);
    if (useds[N_TRIALS / 2] < 0.9
        || shares[N_TRIALS / 2] > max_share(tree, changes)) {
        proof_fail("%.3f of the uplink used; a share is off by %.1f %%",
                   useds[N_TRIALS / 2], 100 * shares[N_TRIALS / 2]);
    }
    proof_ok("%u threads, %s levels%s: %"PRIu64" of %"PRIu64" bytes above "
             "what drains; %.3f used, shares within %.1f %%", t->n_threads,
             t->tree ? "three" : "two",
             t->changes ? ", others come and go" : "", excess, bound,
             useds[N_TRIALS / 2], 100 * shares[N_TRIALS / 2]);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    static struct trial t;

    for (unsigned int i = 0; i < 12; i++) {
        run_trials(&t, 2 << i / 4, i % 2, i % 4 / 2,
                   options.seed + i * N_TRIALS * MAX_THREADS);
    }
    return 0;
}
