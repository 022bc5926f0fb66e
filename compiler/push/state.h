/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_STATE_H
#define PUSH_STATE_H 1

/* What the node keeps of the plans that were applied to a bridge: the last
 * three, each a file GENERATION.plan (plan/record.h), readable by their owner
 * only.
 *
 * What changed since the last one was written is in its journal
 * (push/journal.h), if bulkheadd keeps the bridge; that makes it the next
 * generation, which has no file yet.
 *
 * It is there for rollback and to tell what was applied; whether a bridge is
 * as intended never depends on it.  A file that is damaged, or that another
 * user could have written, is not trusted; its number counts still, so that
 * generations never go back.
 *
 * What writes must hold the lock of the bridge. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "plan/record.h"

enum { STATE_MAX_KEPT = 3 };

struct state {
    struct arena *arena;        /* Not owned. */
    const char *bridge;
    const char *what;           /* "bridge br0", for messages. */
    const char *root, *dir;     /* ROOT/BRIDGE; NULL: nothing is kept. */
    generation_vec kept;        /* Those that have a file, the last one
                                 * first. */
    const struct plan_record *current;  /* The last one; NULL if there is
                                         * none, or it is not trusted. */
    bool unwritten;             /* Has that no file yet? */
    uint64_t wanted;            /* Does not make room for another; 0: any
                                 * may. */
    const struct plan_record *distrusted;   /* If it is not trusted for want of
                                             * its journal, that without what
                                             * changed since. */
    plan_names warnings;        /* Why something is not trusted or kept. */
};

/* Looks where the plans are kept, in 'root', which may be NULL, but reads
 * none. */
void state_open(struct state *, const char *root, const char *bridge,
                struct arena *);

/* Reads what is kept, too. */
void state_read(struct state *, const char *root, const char *bridge,
                struct arena *);

/* The last generation; 0 if there is none. */
uint64_t state_last(const struct state *);

/* The record of 'order' under the next generation, or if its plan is the last
 * one's, under that. */
struct plan_record *state_record(const struct state *,
                                 const struct plan_record *order);

/* Is what was applied last the plan of another node?  And what is to be said
 * then, in the state's arena. */
bool state_is_of_other(const struct state *, const char *node);
const char *state_other_reason(const struct state *, const char *node);

/* Reads the generation to go back to, the one before the last if 'to' is 0,
 * which must be of 'node' if that is not NULL.  Returns NULL, or why there is
 * none. */
const char *state_choose(struct state *, uint64_t to, const char *node,
                         struct plan_record *);

/* Removes what was half written when a process that wrote ended at once, as
 * state_prepare() does, too. */
void state_sweep(const struct state *);

/* Makes the folder.  Returns NULL, or why it cannot. */
const char *state_make(struct state *);

/* Writes the record of a generation, so that there is room for it, and makes
 * it one that is kept, in place of the generation 'replaces', if that is not
 * 0, and of the oldest that is not wanted.  Between the two nothing of it is
 * seen.  A record that names no journal gets one.  Each returns NULL, or why
 * it cannot. */
const char *state_prepare(struct state *, struct plan_record *);
const char *state_commit(struct state *, const struct plan_record *,
                         uint64_t replaces);

/* Nobody goes back to that generation any more. */
void state_forget(struct state *, uint64_t generation);

/* Before the bridge changes: what is kept is not trusted any more, until
 * another generation is.  And if it did not change after all. */
void state_withdraw(const struct state *);
void state_restore(const struct state *);

/* Gives the last generation its file, if all that there is of it is a journal.
 */
const char *state_write_current(struct state *);

/* After state_open(): the same of the first 'size' bytes of the journal
 * 'from', which must be the last generation's.  What that becomes has the
 * journal 'journal', which is there and may have more. */
const char *state_fold(struct state *, const char *from, size_t size,
                       const char *journal);

/* Takes back state_prepare(). */
void state_abandon(struct state *, const struct plan_record *);

#endif /* push/state.h */
