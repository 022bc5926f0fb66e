/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_FOLD_H
#define AGENT_FOLD_H 1

/* Keeps what changes as a generation of its own, by what the node keeps
 * already: the last generation, and its journal.  This is done by the daemon's
 * program, run anew: it has no copy of the daemon's memory, so the daemon does
 * not slow down when it writes there meanwhile. */

#include <stdbool.h>

#include "agent/worker.h"

struct journal;
struct push_target;

/* Starts it, of what is in the last generation's journal now; what comes after
 * that is in the journal 'next', too.  It says why it fails, or nothing.
 * Returns 0 or a positive errno. */
int fold_start(struct worker *, const struct push_target *,
               const struct journal *, const struct journal *next,
               long long int time_ms);

/* In the program: is it that what it has been run for?  Then, does it, and
 * returns the exit status. */
bool fold_is_asked(int argc, char *argv[]);
int fold_run(char *argv[]);

#endif /* agent/fold.h */
