/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_JOBS_H
#define VERIFY_JOBS_H 1

/* A proof in several processes, each of some tenants. */

#include <stdbool.h>

struct proof;

/* Proves all in up to task->n_jobs processes.  Returns true if all is as
 * expected.  Else nothing is known: also if a process failed, or if what it
 * found and others did is to be looked at in one. */
bool jobs_prove(struct proof *);

#endif /* verify/jobs.h */
