/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The GCRA beside other schemes of policing: how exact they are, in virtual
 * time, and what they cost, in real time.  It judges nothing. */

#include <config.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter-models.h"
#include "proof/oracle.h"
#include "proof/proof.h"
#include "timing.h"

#define FRAME 1518u

/* What a meter made of frames that come evenly spaced. */
struct result {
    double achieved;            /* Of the burst plus rate times time. */
    double excess;              /* Bytes above the arrival curve. */
};

/* A second, but no more than some millions of frames: at least 0.1 s, so that
 * there are 100 ticks of a ms. */
static uint64_t
duration_ns(uint64_t kbps)
{
    uint64_t ns = UINT64_C(1000000) * 3000000 * FRAME * 8 / 2 / kbps;

    return ns > 1000000000 ? 1000000000 : ns < 100000000 ? 100000000 : ns;
}

/* Offers 'factor' times the rate for 'ns'. */
static struct result
offer(const struct meter_model *model, uint64_t kbps, uint64_t burst,
      unsigned int factor, uint64_t ns)
{
    /* Within a ms, as anything starts. */
    const uint64_t start = 7000300000;
    const uint64_t end = start + ns;
    struct oracle o;
    struct curve c;
    union meter m;
    uint64_t now;

    burst = model->init(&m, kbps, burst, start);
    oracle_init(&o, false, kbps, burst * 8, start);
    curve_init(&c, o.rate);
    for (uint64_t bits = 0;
         (now = start + bits * 1000000 / (factor * kbps)) < end;
         bits += FRAME * 8) {
        if (model->admit(&m, now, 1, FRAME)) {
            curve_add(&c, now, oracle_cost(&o, 1, FRAME));
        }
    }
    return (struct result) {
        .achieved = (double) c.passed / (o.size + o.rate * (end - start)),
        .excess = c.worst > o.size ? (c.worst - o.size) / 8e9 : 0,
    };
}

/* How much, of twice the rate; and how much too much, of that or of many times
 * the rate. */
static struct result
measure_accuracy(const struct meter_model *model, uint64_t kbps,
                 uint64_t burst)
{
    struct result twice = offer(model, kbps, burst, 2, duration_ns(kbps));
    struct result line = offer(model, kbps, burst, 20, 3000000);

    if (line.excess > twice.excess) {
        twice.excess = line.excess;
    }
    return twice;
}

static void
print_names(const char *first)
{
    printf("%-20s", first);
    for (unsigned int i = 0; i < n_meter_models; i++) {
        printf(" %11s", meter_models[i].name);
    }
    putchar('\n');
}

static void
print_accuracy(void)
{
    static const uint64_t rates[] = {
        100000, 1000000, 10000000, 100000000, 400000000,
    };
    struct result results[8];

    printf("Admitted of %u-byte frames at twice the rate, as a part of the "
           "contract (burst\nplus rate times time); below it, the most bytes "
           "above the arrival curve, if they\ncome at twice or 20 times the "
           "rate.  Virtual time.  A bucket of one frame is full\nbefore the "
           "next one comes, so it loses tokens under any scheme.\n\n", FRAME);
    print_names("Gbps  burst");
    for (unsigned int i = 0; i < 5 * 4; i++) {
        uint64_t kbps = rates[i / 4];
        const uint64_t bursts[] = { FRAME, 12000, 65536, kbps / 8 };

        printf("%-5g %-14"PRIu64, kbps / 1e6, bursts[i % 4]);
        for (unsigned int j = 0; j < n_meter_models; j++) {
            results[j] = measure_accuracy(&meter_models[j], kbps,
                                          bursts[i % 4]);
            printf(" %11.6f", results[j].achieved);
        }
        printf("\n%-20s", "");
        for (unsigned int j = 0; j < n_meter_models; j++) {
            printf(" %11.0f", results[j].excess);
        }
        putchar('\n');
        fflush(stdout);
    }
    putchar('\n');
}

/* Cost: a table of meters, touched in an order of chance. */
#define MAX_METERS 100000
#define N_ORDER 65536
#define N_OPERATIONS 400000     /* Batches. */

struct locked_meter {
    union meter meter;          /* A cache line, or less. */
    pthread_mutex_t mutex;
} __attribute__((aligned(64)));

struct bench {
    const char *name;
    const struct meter_model *model;
    bool locked;
    struct locked_meter *meters;
    const uint32_t *order;
    uint32_t batch;
};

/* Returns ns a packet.  The clock of the meters moves by what makes all
 * conform, and by 1 ns at least. */
static double
run_bench(void *bench_, unsigned int thread, pthread_barrier_t *barrier)
{
    const struct bench *b = bench_;
    uint64_t now = 8000000000, start;

    (void) thread;
    pthread_barrier_wait(barrier);
    start = proof_clock_ns();
    for (uint64_t i = 0; i < N_OPERATIONS; i++) {
        struct locked_meter *l = &b->meters[b->order[i % N_ORDER]];

        now += 2 * b->batch;
        if (b->locked) {
            pthread_mutex_lock(&l->mutex);
        }
        b->model->admit(&l->meter, now, b->batch, b->batch * 64);
        if (b->locked) {
            pthread_mutex_unlock(&l->mutex);
        }
    }
    return (double) (proof_clock_ns() - start) / N_OPERATIONS / b->batch;
}

static void
init_meters(struct bench *b, uint32_t n_meters)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    for (uint32_t i = 0; i < n_meters; i++) {
        pthread_mutex_init(&b->meters[i].mutex, &attr);
        b->model->init(&b->meters[i].meter, 1000000000, 125000000,
                       8000000000);
    }
    pthread_mutexattr_destroy(&attr);
}

struct place {
    const char *name;
    uint32_t n_meters;
    unsigned int n_threads;
};

enum { N_BENCHES = 3 };

/* A line of the table. */
struct line {
    struct bench *benches;
    const struct place *place;
};

static double
measure_cost(void *line_, unsigned int i)
{
    const struct line *line = line_;

    init_meters(&line->benches[i], line->place->n_meters);
    return timing_threads(line->place->n_threads, run_bench,
                          &line->benches[i]);
}

static void
print_cost_line(struct bench benches[], const struct place *p, uint32_t batch,
                unsigned int n_rounds, uint32_t *order)
{
    struct line line = { benches, p };
    double medians[N_BENCHES];
    struct proof_random r;

    proof_random_init(&r, p->n_meters);
    for (unsigned int i = 0; i < N_ORDER; i++) {
        order[i] = proof_below(&r, p->n_meters);
    }
    for (unsigned int i = 0; i < N_BENCHES; i++) {
        benches[i].batch = batch;
    }
    timing_take_turns(N_BENCHES, n_rounds, measure_cost, &line, medians);
    printf("%-24s %5"PRIu32, p->name, batch);
    for (unsigned int i = 0; i < N_BENCHES; i++) {
        printf(" %18.2f", medians[i]);
    }
    putchar('\n');
    fflush(stdout);
}

static void
print_cost(unsigned int n_rounds)
{
    static const struct place places[] = {
        { "1 meter", 1, 1 }, { "100 meters", 100, 1 },
        { "10,000 meters", 10000, 1 }, { "100,000 meters", 100000, 1 },
        { "1 meter, 2 threads", 1, 2 },
    };
    struct bench benches[N_BENCHES] = {
        { .name = "GCRA", .model = &meter_gcra },
        { .name = "OVS 3.1, mutex", .model = &meter_ovs31, .locked = true },
        { .name = "OVS 3.2, lock-free", .model = &meter_ovs32 },
    };
    struct locked_meter *meters = aligned_alloc(64, MAX_METERS
                                                    * sizeof *meters);
    uint32_t *order = calloc(N_ORDER, sizeof *order);

    printf("ns a packet, all of which conform, without reading the clock; "
           "medians of %u rounds.\n\n%-24s %5s", n_rounds, "", "batch");
    for (unsigned int i = 0; i < N_BENCHES; i++) {
        benches[i].meters = meters;
        benches[i].order = order;
        printf(" %18s", benches[i].name);
    }
    putchar('\n');
    for (unsigned int i = 0; i < 5; i++) {
        for (uint32_t batch = 1; batch <= 32; batch += batch == 1 ? 7 : 24) {
            print_cost_line(benches, &places[i], batch, n_rounds, order);
        }
    }
    free(order);
    free(meters);
}

int
main(int argc, char *argv[])
{
    unsigned int n_rounds = timing_rounds(argc, argv);

    print_accuracy();
    print_cost(n_rounds);
    return 0;
}
