/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef MODEL_H
#define MODEL_H 1

/* Every execution of a few threads
 * ================================
 *
 * Runs a small program of threads again and again, until it has gone through
 * every order of their atomic operations and every value that each load may
 * return.  It is deterministic and does not depend on the machine.
 *
 * The memory is that of C11, in the operational form of views (Kang et al., "A
 * Promising Semantics for Relaxed-Memory Concurrency", POPL 2017, without
 * promises).  A location keeps all that was ever stored in it, in order.  A
 * thread's view says, for each location, the oldest store that it may still
 * read; its own accesses, and what it acquires from other threads' releases,
 * move the view forward.  So a relaxed load may return an old value wherever
 * some processor's might.  Not covered: a load that takes its value from a
 * store that depends on it (load buffering), and the order of two threads'
 * plain stores to one location, which is that of their execution.
 *
 * Since a load may return any value that it might have returned earlier, it
 * loses nothing to put loads off until their thread's next successful
 * compare-and-swap, and plain stores until just before it.  So threads take
 * turns only after it, and between plain stores and it. */

#include <stdbool.h>
#include <stdint.h>

#define MODEL_MAX_THREADS 4

enum model_order {
    MODEL_RELAXED,
    MODEL_ACQUIRE,
    MODEL_RELEASE,
    MODEL_ACQ_REL,
};

/* All zeros is a location that holds 0. */
struct model_atomic {
    unsigned int location;
};

void model_store(struct model_atomic *, uint64_t value, enum model_order);
uint64_t model_load(struct model_atomic *, enum model_order);
bool model_cas(struct model_atomic *, uint64_t *expected, uint64_t value,
               enum model_order success, enum model_order failure);
void model_fence(enum model_order);

struct model_program {
    unsigned int n_threads;
    unsigned int max_old;       /* Loads of old values, in one execution. */
    void (*setup)(void *aux);   /* Alone, before the threads. */
    void (*thread)(void *aux, unsigned int i);
    void (*check)(void *aux);   /* Alone, when all threads are done. */
};

/* Runs 'program' in all ways, and returns their number.  Most loads return the
 * latest value; 'max_old' bounds how many do not, as the number of executions
 * grows fast with it. */
uint64_t model_run(const struct model_program *program, void *aux);

#endif /* model.h */
