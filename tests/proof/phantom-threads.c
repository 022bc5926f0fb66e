/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Threads that hammer one phantom queue, while others read it: what passes in
 * any interval stays below the limit and what drains, and below a share that
 * is asked with it, nothing is lost from the counters, and every burst that is
 * read is whole.  It is built a second time for ThreadSanitizer. */

#include <config.h>

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "phantom.h"
#include "passed.h"
#include "proof.h"
#include "queue.h"

enum {
    MAX_THREADS = 8,
    N_BATCHES = 20000,          /* Of a thread. */
    MAX_GAP = 2000,             /* In ns. */
    LONG_IDLE = 1000000000,     /* In ns, in which any queue drains. */
};

/* An hour after the clock began. */
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

struct trial {
    uint64_t kbps;
    uint32_t depth, limit;
    unsigned int n_threads;
    bool real_clock;
    uint64_t step;              /* Of the virtual clock, at most. */
    uint64_t seed;
    bool reconfigures;          /* All the time, between two depths? */

    struct phantom p;
    struct gcra share;          /* Asked with 'p', of half its rate. */
    atomic_uint64_t clock;
    atomic_uint n_done;
    struct passed passed[MAX_THREADS * N_BATCHES];
    struct passed shared[MAX_THREADS * N_BATCHES];
};

struct hammer {
    struct trial *trial;
    unsigned int index;
    pthread_t thread;
    uint64_t offered, capped;   /* Packets. */
};

static uint64_t
read_clock(struct trial *t, uint64_t step)
{
    uint64_t before;

    if (t->real_clock) {
        return proof_clock_ns();
    }
    atomic_add(&t->clock, step, &before);
    return before + step;
}

/* Offers packets to the phantom queue, and where it can decide about both, to
 * the share.  Returns the bytes that the share admitted. */
static uint32_t
offer(struct trial *t, struct phantom_batch *b, const uint32_t sizes[],
      uint32_t n, uint32_t bytes)
{
    uint64_t gap = b->now_ns - b->since_ns;
    struct gcra_both both = {
        .now_ns = b->now_ns, .second_ns = b->now_ns, .in_turn = n % 4,
        .sizes = sizes, .n = n, .bytes = bytes,
    };
    enum gcra_answer answer = phantom_admit_both(&t->p, &t->share,
                                                 b->since_ns, &both);

    if (answer < GCRA_FIRST
        && !phantom_admit(&t->p, b->since_ns, b->now_ns, n, bytes)) {
        b->now_ns = read_clock(t, 0);
        b->since_ns = b->now_ns - gap;
        phantom_offer(&t->p, b, sizes, n);
    }
    return answer == GCRA_BOTH ? both.admitted_bytes : 0;
}

static void *
hammer(void *hammer_)
{
    struct hammer *h = hammer_;
    struct trial *t = h->trial;
    struct proof_random r;
    unsigned int before;

    proof_random_init(&r, t->seed + h->index);
    for (unsigned int i = 0; i < N_BATCHES; i++) {
        struct passed *passed = &t->passed[h->index * N_BATCHES + i];
        struct passed *shared = &t->shared[h->index * N_BATCHES + i];
        struct phantom_batch b = { 0 };
        uint64_t gap = proof_below(&r, MAX_GAP);
        uint32_t n = 1 + proof_below(&r, 32);
        uint32_t sizes[32], bytes = 0;

        for (uint32_t j = 0; j < n; j++) {
            sizes[j] = 64 + proof_below(&r, 1455);
            bytes += sizes[j];
        }
        b.now_ns = read_clock(t, proof_below(&r, t->step));
        b.since_ns = b.now_ns - gap;
        shared->when = b.now_ns;
        shared->bytes = offer(t, &b, sizes, n, bytes);
        passed->when = b.now_ns;
        for (uint32_t j = 0; j < n; j++) {
            passed->bytes += b.capped >> j & 1 ? 0 : sizes[j];
            h->capped += b.capped >> j & 1;
        }
        h->offered += n;
        if (!proof_below(&r, 100)) {
            sched_yield();
        }
    }
    atomic_add(&t->n_done, 1u, &before);
    return NULL;
}

/* A burst was as long as its bytes take, and never deeper than the limit. */
static void
check_event(const struct trial *t, const struct phantom_event *e)
{
    work_t bytes = e->bytes * WORK_PER_BYTE;
    work_t length = (work_t) e->length_ns * t->kbps;

    if (bytes > length || bytes + WORK_PER_BYTE + t->kbps <= length
        || e->peak_depth > t->limit || e->tag != 7) {
        proof_fail("a burst of %"PRIu64" ns has %"PRIu64" bytes, depth "
                   "%"PRIu64", rise %"PRIu64, e->length_ns, e->bytes,
                   e->peak_depth, e->rise_ns);
    }
}

static void
make_conf(const struct trial *t, uint32_t depth, struct phantom_conf *conf)
{
    if (phantom_conf_init(conf, 1, t->kbps, depth, depth, t->limit, 7)) {
        proof_fail("a configuration was refused");
    }
}

/* Reads all the time until 'n' threads are done. */
static uint64_t
read_until_done(struct trial *t)
{
    uint64_t n_events = 0;
    unsigned int n_done;

    do {
        static struct phantom_stats stats;
        uint64_t now = read_clock(t, 0);

        phantom_observe(&t->p, now);
        if (t->reconfigures) {
            struct phantom_conf conf;

            make_conf(t, t->depth / (1 + n_events % 2), &conf);
            phantom_reconfigure(&t->p, &conf, now);
        }
        phantom_read(&t->p, now, &stats);
        for (uint32_t i = 0; i < stats.n_events; i++) {
            check_event(t, &stats.events[i]);
        }
        n_events += stats.n_events;
        atomic_read(&t->n_done, &n_done);
    } while (n_done < t->n_threads);
    return n_events;
}

static void
check_counts(struct trial *t, const struct hammer hammers[])
{
    uint64_t capped = 0, sum = 0, packets, bytes, idle;
    struct phantom_stats stats;

    for (unsigned int i = 0; i < t->n_threads; i++) {
        capped += hammers[i].capped;
    }
    read_counter(&t->p.capped, &packets, &bytes);

    /* On the machine's own clock, the queue may never have been empty. */
    idle = read_clock(t, 0) + LONG_IDLE;
    phantom_observe(&t->p, idle);
    phantom_read(&t->p, idle, &stats);
    if (stats.depth || !stats.n_events) {
        proof_fail("the last burst did not end");
    }
    for (uint32_t i = 0; i < stats.n_events; i++) {
        check_event(t, &stats.events[i]);
    }
    for (unsigned int i = 0; i < PHANTOM_BUCKETS; i++) {
        sum += stats.lengths[i];
    }
    if (packets != capped || !packets || sum != stats.n_bursts || !sum) {
        proof_fail("%"PRIu64" drops were counted as %"PRIu64", %"PRIu64
                   " bursts as %"PRIu64, capped, packets, stats.n_bursts, sum);
    }
}

static void
check_passed(struct trial *t)
{
    size_t n = t->n_threads * N_BATCHES, n_shared = 0;

    if (passed_excess(t->passed, n, t->kbps)
        > t->limit * WORK_PER_BYTE + (work_t) MAX_GAP * t->kbps) {
        proof_fail("%u threads: more than the limit and what drains",
                   t->n_threads);
    }
    for (size_t i = 0; i < n; i++) {
        n_shared += t->shared[i].bytes != 0;
    }
    if (!n_shared || n_shared == n
        || passed_excess(t->shared, n, t->kbps / 2)
           > t->limit * WORK_PER_BYTE) {
        proof_fail("%u threads: %zu batches of %zu shared, or too much",
                   t->n_threads, n_shared, n);
    }
}

static void
run_trial(struct trial *t)
{
    struct hammer hammers[MAX_THREADS] = { { .trial = NULL } };
    uint64_t start = t->real_clock ? proof_clock_ns() : START;
    struct phantom_conf conf;
    struct gcra_conf share;
    uint64_t n_events;

    gcra_conf_init(&share, GCRA_KBPS, t->kbps / 2, t->limit * UINT64_C(8));
    gcra_init(&t->share, &share, start);
    make_conf(t, t->depth, &conf);
    phantom_init(&t->p, &conf, start);
    atomic_init(&t->clock, start);
    atomic_init(&t->n_done, 0);
    for (unsigned int i = 0; i < t->n_threads; i++) {
        hammers[i].trial = t;
        hammers[i].index = i;
        if (pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i])) {
            proof_fail("cannot create a thread");
        }
    }
    n_events = read_until_done(t);
    for (unsigned int i = 0; i < t->n_threads; i++) {
        pthread_join(hammers[i].thread, NULL);
    }

    check_counts(t, hammers);
    if (!t->real_clock) {
        check_passed(t);
    }
    proof_ok("%u threads, %s clock%s: never above the limit, or the share; "
             "%"PRIu64" bursts read, all whole", t->n_threads,
             t->real_clock ? "real" : "virtual",
             t->reconfigures ? ", reconfigured" : "", n_events);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    static struct trial t;

    for (unsigned int i = 0; i < 12; i++) {
        t = (struct trial) {
            .kbps = i % 2 ? 100000000 : 9999991,
            .depth = 20000,
            .limit = 60000,
            .n_threads = i < 6 ? 2 : MAX_THREADS,
            .real_clock = i % 6 == 4,
            .step = i % 2 ? 4000 : 40000,
            .reconfigures = i % 6 == 5,
            .seed = options.seed + i * MAX_THREADS,
        };
        run_trial(&t);
    }
    return 0;
}
