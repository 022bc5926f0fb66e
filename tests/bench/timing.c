/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "timing.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

unsigned int
timing_rounds(int argc, char *argv[])
{
    static const struct option options[] = {
        { "rounds", required_argument, NULL, 'r' },
        { NULL, 0, NULL, 0 },
    };
    unsigned long int n_rounds = 11;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c != 'r' || !(n_rounds = strtoul(optarg, NULL, 10))
            || n_rounds > TIMING_MAX_ROUNDS) {
            fprintf(stderr, "usage: %s [--rounds N]\n", argv[0]);
            exit(2);
        }
    }
    return n_rounds;
}

uint64_t
timing_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

void
timing_take_turns(unsigned int n, unsigned int n_rounds,
                  double (*measure)(void *aux, unsigned int kind), void *aux,
                  double medians[])
{
    double (*values)[TIMING_MAX_ROUNDS] = calloc(n, sizeof *values);

    for (unsigned int i = 0; i < n_rounds * n; i++) {
        values[i % n][i / n] = measure(aux, i % n);
    }
    for (unsigned int i = 0; i < n; i++) {
        qsort(values[i], n_rounds, sizeof values[i][0], compare_doubles);
        medians[i] = values[i][n_rounds / 2];
    }
    free(values);
}

struct runner {
    double (*run)(void *aux, unsigned int i, pthread_barrier_t *barrier);
    void *aux;
    pthread_barrier_t barrier;
    double result;              /* Of the second one. */
};

static void *
runner_main(void *r_)
{
    struct runner *r = r_;

    r->result = r->run(r->aux, 1, &r->barrier);
    return NULL;
}

double
timing_threads(unsigned int n_threads,
               double (*run)(void *aux, unsigned int i,
                             pthread_barrier_t *barrier), void *aux)
{
    struct runner r = { .run = run, .aux = aux };
    pthread_t thread;
    double result;

    pthread_barrier_init(&r.barrier, NULL, n_threads);
    if (n_threads > 1) {
        pthread_create(&thread, NULL, runner_main, &r);
    }
    result = run(aux, 0, &r.barrier);
    if (n_threads > 1) {
        pthread_join(thread, NULL);
    }
    pthread_barrier_destroy(&r.barrier);
    return (result + r.result) / n_threads;
}
