/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_KEEP_H
#define PUSH_KEEP_H 1

/* A bridge that is kept equal to a plan, in one session that stays.
 *
 * What the switch holds is read once, when the session begins, and followed
 * from then on: a flow monitor tells of every change of a flow by others, and
 * the meters, of which no switch tells, are asked for every half second.  So a
 * change of the plan costs what it changes, and what somebody else has done to
 * Bulkhead's flows or meters is undone at once.  Each push is as push_apply()
 * says: new meters, one atomic bundle, then the old meters.
 *
 * When the switch or the database goes away, the bridge is left as it is, and
 * the session begins anew once they are back.  The caller holds the lock of
 * the bridge (push_hold()). */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "push/ovsdb.h"
#include "push/push.h"

struct keeper;
struct resident_diff;

struct keeper_counts {
    uint64_t connections;       /* To the switch. */
    uint64_t pushes;            /* Of changes of the plan... */
    uint64_t repairs;           /* ...and of changes by others. */
    uint64_t flows, meters;     /* That were repaired. */
    time_t last_repair;         /* 0: never. */
    uint64_t last_push_ns;      /* When the switch acknowledged the last push,
                                 * since 1970; 0: never. */
};

/* The target's strings must outlive it. */
struct keeper *keeper_create(const struct push_target *);
void keeper_destroy(struct keeper *);   /* Accepts NULL. */

/* Follows switch and database, and repairs. */
void keeper_run(struct keeper *);
void keeper_wait(struct keeper *);

/* Asks the switch for what it does not tell of itself, if that is due.  The
 * answer is not waited for, but changes that come meanwhile get theirs later:
 * to be called when all that has come has been done. */
void keeper_ask(struct keeper *);

/* What the database says of the bridge; NULL as long as it has not said
 * anything.  The number grows when that changes. */
const struct bridge_info *keeper_bridge(const struct keeper *);
unsigned int keeper_bridge_seqno(const struct keeper *);

/* Does the database say what is new?  If not, why, in the arena; else NULL. */
bool keeper_has_database(const struct keeper *);
const char *keeper_database_trouble(const struct keeper *, struct arena *);

/* Is the interface there, and one of those that may be an endpoint's? */
bool push_interface_is_fit(const struct bridge_info *, const char *bridge,
                           const char *name);

/* Must keeper_put() come, since the session is new, or the last push failed
 * and it is time to try again? */
bool keeper_wants_plan(const struct keeper *);

/* Makes the bridge hold the plan, which need not stay; or, while there is no
 * session, once there is one. */
void keeper_put(struct keeper *, const struct plan *);

/* The same of a plan that the bridge was given before: if it holds all of that
 * still, it is kept even where nothing can be put, as on a bridge that is
 * unfit. */
void keeper_put_kept(struct keeper *, const struct plan *);

/* Makes it hold what was put last, in a new session or with ports under other
 * numbers, where a newer plan is not to be put yet.  Before anything was put,
 * nothing is done until the bridge changes. */
void keeper_again(struct keeper *);

/* Takes the flows out of a plan that name one of these interfaces. */
struct sset;
void push_leave_out(struct plan *, const struct sset *interfaces);

/* The same of a copy, whose strings are the plan's. */
struct plan push_without(const struct plan *, const struct sset *interfaces,
                         struct arena *);

/* As whom a flow of ADMIT, of that text, lets in whom; to be freed.  Its
 * meter, note and group, which others change, too, are no part of that. */
char *push_admission(const char *text);

/* Does the flow let in by an interface?  Stores which, and that; both are to
 * be freed. */
bool push_admits(const struct plan_flow *, char **interface,
                 char **admission);

/* Takes the flows away that name one of these interfaces, of which the plan
 * that was put last is not true any more: nothing comes from or to them.  They
 * stay away until keeper_put() or keeper_change(). */
void keeper_withdraw(struct keeper *, const struct sset *interfaces);

/* Makes it hold what a change has made of the plan that was put last, with
 * what was withdrawn of it, but without the flows that name one of these
 * interfaces, which are withdrawn then.  Returns false if the change is not
 * enough, as there is no session, the bridge holds an older plan, or an
 * interface is not known any more: all must be put now. */
bool keeper_change(struct keeper *, const struct resident_diff *,
                   const struct sset *without);

/* Does the bridge hold the plan, as far as is known?  If not, why: good until
 * the next call of another function. */
bool keeper_is_equal(const struct keeper *);

/* Or does it hold what is kept of that, where it does not take the plan? */
bool keeper_is_settled(const struct keeper *);
const char *keeper_trouble(const struct keeper *);
bool keeper_is_connected(const struct keeper *);
const struct keeper_counts *keeper_counts(const struct keeper *);

/* Flows of others in the tables of the plan, which stay: they may pass what
 * the intent does not allow. */
size_t keeper_foreign_flows(const struct keeper *);

/* Does the switch not count what tenants send, though the plan lets it? */
bool keeper_is_uncounted(const struct keeper *);

#endif /* push/keep.h */
