/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_GUARD_H
#define PUSH_GUARD_H 1

/* The guard of "apply --confirm": unless somebody confirms in time that the
 * node can still be reached, what was there before comes back.
 *
 * A file "unconfirmed" beside the kept plans says what waits to be confirmed.
 * It is there before the bridge changes, and whoever removes it, under the
 * lock of the bridge, has decided.  A process of its own, the watchdog, which
 * outlives shell and session, does so when the time is over.  Its pidfile is
 * locked while it runs: so a file without a watchdog tells of one that was
 * killed. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "push/state.h"

struct push_target;

struct guard {
    uint64_t generation;        /* That waits; 0: none does. */
    uint64_t back;              /* That comes back; 0: an empty bridge. */
    const char *until;          /* ISO 8601; NULL if it cannot be read. */
    pid_t watchdog;             /* 0: it is gone. */
    bool hidden;                /* No right to know whether something waits. */
};

/* Reads what waits.  What cannot be read, or is damaged, waits as well, and
 * 'state->warnings' says so. */
void guard_read(struct state *, struct guard *);

/* Why nothing may be applied to the bridge as long as that waits, or may; NULL
 * if it may be.  And what is to be said if it is hidden. */
const char *guard_reason(const struct guard *, const char *bridge,
                         struct arena *);
const char *guard_hidden_reason(const char *bridge, struct arena *);

/* Does 'guard' wait still?  When in doubt, it does. */
bool guard_waits(struct state *, const struct guard *);

/* Decides: nothing waits any more. */
void guard_remove(struct state *);

/* Notes 'guard', which gets its time, and starts the watchdog.  That waits
 * until '*fdp' is closed, then for 'target->confirm_ms', and applies 'back' if
 * 'guard' waits still.  The process must have no other thread.  Returns NULL,
 * or why not; then nothing waits. */
const char *guard_arm(const struct push_target *, struct state *,
                      struct guard *, const struct plan_record *back,
                      int *fdp);

/* What the watchdog does in the end, under the lock: applies 'back', if
 * 'guard' waits still.  If there is no bridge for as long as the target's
 * timeout, it is only kept.  '*lacking', 0 at first, is since when there is
 * none.  Returns NULL when there is nothing left to do, or why it failed, in
 * 'arena', where all is that it takes. */
const char *guard_fire(const struct push_target *, const struct guard *,
                       const struct plan_record *back,
                       long long int *lacking, struct arena *arena);

#endif /* push/guard.h */
