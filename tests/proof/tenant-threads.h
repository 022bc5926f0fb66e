/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TENANT_THREADS_H
#define TENANT_THREADS_H 1

/* Threads that send to one port, come and go, and pause where it hurts, while
 * another reads, until that has seen 'n_changes' changes. */

#include <stdint.h>

struct proof_random;

void tenant_threads(uint64_t n_changes, struct proof_random *);

#endif /* tenant-threads.h */
