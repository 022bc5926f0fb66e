/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_APPLY_PRIVATE_H
#define PUSH_APPLY_PRIVATE_H 1

/* Between apply.c and rollback.c, under the lock of the bridge. */

#include <stdint.h>

struct plan_record;
struct push_diff;
struct push_target;
struct state;

/* Runs the order and keeps it.  It takes the place of 'replaces', which may be
 * 0. */
const char *push_run_and_keep(const struct push_target *, struct state *,
                              const struct plan_record *order,
                              uint64_t replaces, struct push_diff *);

/* What waited to be confirmed is decided. */
void push_decide(struct state *, struct push_diff *);

/* The same, and nobody goes back to what waited, unless it is there now. */
void push_supersede(struct state *, struct push_diff *);

/* Stores in the diff what the node keeps. */
void push_note_kept(struct push_diff *, struct state *);

#endif /* push/apply-private.h */
