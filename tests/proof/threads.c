/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Threads that hammer one GCRA, with virtual and real time.
 *
 * interleave.c goes through all that a few threads can do; this is about many
 * threads on a real machine, for long.  It is built a second time for
 * ThreadSanitizer. */

#include <config.h>

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "gcra.h"
#include "proof.h"
#include "witness.h"

#define MAX_THREADS 8
#define RENEW_TOKENS (UINT64_C(1) << 60)

#if defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif

enum mode {
    MODE_ADMIT,                 /* gcra_admit(). */
    MODE_BATCH,                 /* gcra_admit_batch(). */
    MODE_TWICE,                 /* The former, then the latter with the clock
                                 * read again, as a datapath does. */
};

/* What all threads of a trial share. */
struct trial {
    const char *name;
    unsigned int n_threads;
    enum mode mode;
    bool real_clock;
    uint64_t kbps, bits;
    uint64_t step;              /* Of the virtual clock, a packet. */
    uint64_t max_lag;           /* Threads' times are old by up to this. */
    size_t n_packets;           /* Of a thread. */
    size_t round;               /* If nonzero, the clock jumps after each so
                                 * many packets of each thread. */

    /* If nonzero, the contract changes all the time to these in turn. */
    uint64_t other_kbps, other_bits;

    struct gcra g;
    atomic_uint64_t clock;
    atomic_uint n_done, n_waiting, n_rounds;
    pthread_mutex_t jumps;      /* No clock jumps while it is held. */
    struct witness witnesses[MAX_THREADS];
    uint64_t seed;
};

struct hammer {
    struct trial *trial;
    unsigned int index;
    pthread_t thread;
};

/* Reads the clock, after moving it by 'step' if it is virtual. */
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

static unsigned int
read_counter(atomic_uint *counter)
{
    unsigned int value;

    atomic_read(counter, &value);
    return value;
}

/* Returns the counter's new value. */
static unsigned int
count(atomic_uint *counter)
{
    unsigned int before;

    atomic_add(counter, 1u, &before);
    return before + 1;
}

/* Ages of the stamp, and what wraps around, as in interleave.c. */
static uint64_t
make_jump(uint64_t kbps, uint64_t i)
{
    uint64_t renew = RENEW_TOKENS / kbps;
    const uint64_t jumps[] = {
        1, renew / 2, renew - 1, renew, renew + 1, 2 * renew, 3 * renew - 50,
        3 * renew, 3 * renew + 1, 3 * renew + 2, 4 * renew, 4 * renew + 1,
        8 * renew - 50, 8 * renew + 50, 16 * renew + 50, 1000 * renew,
    };

    return jumps[i % (sizeof jumps / sizeof jumps[0])];
}

/* Waits for all threads.  The last one moves the clock by 'jump' first. */
static void
meet(struct trial *t, uint64_t jump)
{
    unsigned int round = read_counter(&t->n_rounds);

    if (count(&t->n_waiting) == t->n_threads) {
        atomic_store(&t->n_waiting, 0);
        pthread_mutex_lock(&t->jumps);
        read_clock(t, jump);
        pthread_mutex_unlock(&t->jumps);
        count(&t->n_rounds);
    }
    while (read_counter(&t->n_rounds) == round) {
        sched_yield();
    }
}

/* If 'stall' then other threads may run after this one has read the clock. */
static bool
decide(struct trial *t, struct witness *w, uint64_t lag, uint32_t size,
       bool batch, bool stall)
{
    uint64_t when = read_clock(t, t->step);
    bool admitted;

    if (stall) {
        sched_yield();
    }
    when -= lag;
    admitted = (batch ? !gcra_admit_batch(&t->g, when, &size, 1)
                : gcra_admit(&t->g, when, 1, size));
    witness_add(w, when, read_clock(t, 0), size, admitted);
    return admitted;
}

static void *
hammer_main(void *hammer_)
{
    struct hammer *h = hammer_;
    struct trial *t = h->trial;
    struct witness *w = &t->witnesses[h->index];
    struct proof_random r;

    proof_random_init(&r, t->seed + h->index);
    meet(t, 0);
    for (size_t i = 0; i < t->n_packets; i++) {
        uint64_t lag = t->max_lag ? proof_below(&r, t->max_lag + 1) : 0;
        uint32_t size = 64 + proof_below(&r, 9018 - 64 + 1);

        if (t->round && i % t->round == 0) {
            meet(t, make_jump(t->kbps, proof_random(&r)));
        }
        if (!decide(t, w, lag, size, t->mode == MODE_BATCH, i % 61 == 0)
            && t->mode == MODE_TWICE) {
            decide(t, w, 0, size, true, false);
        }
    }
    count(&t->n_done);
    return NULL;
}

/* Changes the contract until all others are done; returns how often. */
static uint64_t
reconfigure(struct trial *t)
{
    struct gcra_conf confs[2];
    uint64_t n = 0;

    gcra_conf_init(&confs[0], GCRA_KBPS, t->other_kbps, t->other_bits);
    gcra_conf_init(&confs[1], GCRA_KBPS, t->kbps, t->bits);
    while (read_counter(&t->n_done) < t->n_threads) {
        pthread_mutex_lock(&t->jumps);
        gcra_reconfigure(&t->g, &confs[n++ % 2], read_clock(t, 0));
        pthread_mutex_unlock(&t->jumps);
        if (n % 16 == 0) {
            sched_yield();
        }
    }
    return n;
}

static uint64_t
run(struct trial *t)
{
    struct hammer hammers[MAX_THREADS];
    uint64_t n_changes = 0;
    struct gcra_conf conf;
    uint64_t start;

    pthread_mutex_init(&t->jumps, NULL);
    atomic_store(&t->clock, UINT64_C(1) << 40);
    start = read_clock(t, 0) - t->max_lag;
    gcra_conf_init(&conf, GCRA_KBPS, t->kbps, t->bits);
    gcra_init(&t->g, &conf, start);
    for (unsigned int i = 0; i < t->n_threads; i++) {
        hammers[i].trial = t;
        hammers[i].index = i;
        witness_init(&t->witnesses[i], 2 * t->n_packets);
    }
    for (unsigned int i = 0; i < t->n_threads; i++) {
        if (pthread_create(&hammers[i].thread, NULL, hammer_main,
                           &hammers[i])) {
            proof_fail("a thread could not be created");
        }
    }
    if (t->other_kbps) {
        n_changes = reconfigure(t);
    }
    for (unsigned int i = 0; i < t->n_threads; i++) {
        pthread_join(hammers[i].thread, NULL);
    }
    pthread_mutex_destroy(&t->jumps);
    if (t->other_kbps) {
        printf("# the contract changed %"PRIu64" times\n", n_changes);
    }
    return start;
}

/* Runs 't', and judges it by the greater contract if there are two. */
static void
do_trial(struct trial *t)
{
    bool changes = t->other_kbps && t->other_kbps != t->kbps;
    uint64_t start = run(t);
    struct judgement j = witness_judge(t->witnesses, t->n_threads, t->kbps,
                                       t->bits, start);
    /* A thread whose time is older than a change of the rate finds the depth
     * computed with the other rate. */
    tokens_t allowed = changes ? (tokens_t) t->kbps * 1000 * j.skew : 0;

    for (unsigned int i = 0; i < t->n_threads; i++) {
        witness_destroy(&t->witnesses[i]);
    }
    if (j.excess > allowed) {
        proof_fail("%s: %g bits above the arrival curve", t->name,
                   j.excess / 1e9);
    }
    if (j.n_wrongly_refused && !changes) {
        proof_fail("%s: %"PRIu64" packets were refused without need", t->name,
                   j.n_wrongly_refused);
    }
    if (!j.n_admitted || !j.n_refused) {
        proof_fail("%s: nothing happened", t->name);
    }
    proof_ok("%s: %u threads, %"PRIu64" packets admitted, %"PRIu64" refused; "
             "skew up to %"PRIu64" ns", t->name, t->n_threads, j.n_admitted,
             j.n_refused, j.skew);
    if (t->step && !t->round) {
        printf("# %.6f of the contract\n", j.share);
    }
}

/* Packets that are offered at about twice 100 Gbps, one a step. */
#define VIRTUAL_100G .kbps = 100000000, .bits = 1048576 * 8, .step = 180

static const struct trial trials[] = {
    { .name = "virtual clock", VIRTUAL_100G },
    { .name = "virtual clock, batches", VIRTUAL_100G, .mode = MODE_BATCH },
    { .name = "virtual clock, times up to 20 us old", VIRTUAL_100G,
      .max_lag = 20000 },
    { .name = "virtual clock, old times, read again before a refusal",
      VIRTUAL_100G, .max_lag = 20000, .mode = MODE_TWICE },
    { .name = "real clock", .real_clock = true,
      .kbps = 10000000, .bits = 262144 * 8 },
    { .name = "real clock, read again before a refusal", .real_clock = true,
      .kbps = 10000000, .bits = 262144 * 8, .mode = MODE_TWICE },
    { .name = "renewals", .kbps = UINT32_MAX, .bits = 65536 * 8, .step = 5,
      .round = 16 },
    { .name = "renewals, batches", .kbps = UINT32_MAX, .bits = 65536 * 8,
      .step = 5, .round = 16, .mode = MODE_BATCH },
    { .name = "renewals, while the contract changes to the same",
      .kbps = UINT32_MAX, .bits = 65536 * 8, .step = 5, .round = 16,
      .other_kbps = UINT32_MAX, .other_bits = 65536 * 8 },
    { .name = "the contract changes to the same", VIRTUAL_100G,
      .other_kbps = 100000000, .other_bits = 1048576 * 8 },
    { .name = "the contract changes to the same, old times", VIRTUAL_100G,
      .max_lag = 20000, .other_kbps = 100000000, .other_bits = 1048576 * 8 },
    { .name = "the rate changes", VIRTUAL_100G,
      .other_kbps = 1234567, .other_bits = 1048576 * 8 },
};
#define N_TRIALS (sizeof trials / sizeof trials[0])

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    static const unsigned int n_threads[] = { 2, 3, 4, 8 };
    size_t n_packets = options.longer ? 2000000 : 1000000;

#ifdef SLOW
    n_packets /= 10;
#endif
    for (unsigned int i = 0; i < N_TRIALS * (options.longer ? 20 : 1); i++) {
        struct trial t = trials[i % N_TRIALS];

        t.n_threads = n_threads[(i + i / N_TRIALS + options.seed) % 4];
        t.n_packets = n_packets / t.n_threads / (t.round ? 8 : 1);
        t.seed = options.seed + i * MAX_THREADS;
        do_trial(&t);
    }
    return 0;
}
