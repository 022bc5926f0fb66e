/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TIMING_H
#define TIMING_H 1

/* What programs share that measure what something costs: rounds in which what
 * is compared takes turns, medians of them, and threads that start
 * together. */

#include <pthread.h>
#include <stdint.h>

enum { TIMING_MAX_ROUNDS = 101 };

/* Returns what '--rounds N' says, or 11, and exits if the options are
 * wrong. */
unsigned int timing_rounds(int argc, char *argv[]);

/* What this thread has had of a CPU, in ns.  What others do meanwhile is no
 * part of it, but for what they did to the caches; nor is what it waits. */
uint64_t timing_cpu_ns(void);

/* Measures each of 'n' kinds 'n_rounds' times, by turns, with
 * measure(aux, kind); 'medians[]' are of that. */
void timing_take_turns(unsigned int n, unsigned int n_rounds,
                       double (*measure)(void *aux, unsigned int kind),
                       void *aux, double medians[]);

/* Calls run(aux, i, barrier) in one thread each for i below 'n_threads', which
 * is 1 or 2.  Each waits at the barrier when it is ready.  Returns the mean of
 * what they return. */
double timing_threads(unsigned int n_threads,
                      double (*run)(void *aux, unsigned int i,
                                    pthread_barrier_t *barrier), void *aux);

#endif /* timing.h */
