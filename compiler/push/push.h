/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_PUSH_H
#define PUSH_PUSH_H 1

/* The push engine: makes a bridge hold a plan, or tells how it differs.
 *
 * Order of push_apply(): new meters; one atomic OpenFlow bundle with every
 * change of a flow; then the meters that nothing uses any more.  (Meter
 * modifications cannot be part of a bundle, OpenFlow 1.4 section 7.3.9.)
 * When anything fails, the meters that were added are deleted again and the
 * switch holds what it held before.  Only flows whose cookie has Bulkhead's
 * mark, and meters in its range of ids, are ever changed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "push/guard.h"

struct push_target {
    const char *db;             /* OVSDB remote, "unix:...". */
    const char *bridge;         /* Its name. */
    int timeout_ms;             /* For everything together. */
    const char *state;          /* Folder for what is kept of applied plans
                                 * (push/state.h); NULL: nothing is. */
    int confirm_ms;             /* push_apply() goes back after this, unless
                                 * push_confirm() comes first; 0: never. */
};

/* A flow or meter that differs, as ovs-ofctl writes it.  What changes has two
 * lines. */
struct push_line {
    const char *what;           /* "flow", "meter", or "limit" of a zone's
                                 * connections. */
    bool held;                  /* By the bridge; else it lacks it. */
    const char *text;
    const char *name;           /* Of the rule, reason or tenant, or NULL. */
};
VEC_TYPEDEF(push_lines, struct push_line);
enum { PUSH_MAX_LINES = 100 };

/* A meter that is as the plan has it. */
struct push_meter {
    const char *name;           /* The tenant. */
    uint32_t id, plan_id;       /* On the bridge, in the plan. */
};

/* What changes, in the operator's words. */
struct push_change {
    const char *what;           /* "tenant", "network", "endpoint", "rule",
                                 * "bandwidth", "limits", or "shared" for
                                 * flows that are nobody's in particular. */
    const char *name;           /* The rule's, the tenant's, ... */
    const char *change;         /* "added", "removed" or "changed". */
    size_t flows_added, flows_changed, flows_deleted;
    const char *before, *after; /* Bandwidth and limits, or NULL. */
    const char *below;          /* Of bandwidth: the name of what it borrows
                                 * from, or NULL. */
    const char *path;           /* The names of what is above it, from the
                                 * top, and its own, each but the last
                                 * followed by '\n'; NULL: its own only. */
};
VEC_TYPEDEF(push_changes_vec, struct push_change);

/* What the bridge lacks, or has too much, against the plan. */
struct push_diff {
    /* What the node keeps: the last generation, after push_apply() the new
     * one (0: none), and its record; NULL if there is none to trust. */
    uint64_t generation;
    const struct plan_record *kept;
    generation_vec generations; /* All that it keeps, the last one first. */
    struct guard guard;         /* What waits for push_confirm(). */
    plan_names warnings;        /* Of what it keeps. */
    const struct plan_record *done;     /* What the bridge holds now, if it
                                         * was to be changed. */
    uint64_t back;              /* Of push_rollback(): the generation that it
                                 * went back to. */
    bool doubt;                 /* Not known whether the flows changed. */
    bool refused;               /* The switch refused it, and holds what it
                                 * held. */

    /* Why the plan cannot go onto the bridge as it is, each with the remedy.
     */
    plan_names unfit;

    /* Mirrors that copy packets of the bridge, "NAME to PORT, ...", or NULL.
     * They may be somebody's on purpose, so push_apply() leaves them. */
    const char *mirrors;

    bool uncounted;             /* Does the switch not count what tenants
                                 * send, though the plan lets it? */

    bool compared;              /* Else all that follows is 0. */
    size_t flows_added, flows_changed, flows_deleted, flows_same;
    size_t meters_added, meters_deleted, meters_same;
    size_t limits_set, limits_deleted;  /* Of connections or upcalls. */

    /* Of push_status(): the first of what differs, meters, then flows by
     * table. */
    push_lines lines;
    size_t lines_left_out;
    VEC(struct push_meter) meters;

    /* Of push_plan(). */
    push_changes_vec changes;
    const char *held;           /* SHA-1 of Bulkhead's flows and meters that
                                 * the bridge holds. */

    /* Others' flows in the plan's tables.  They are never touched, but they
     * may pass what the plan does not. */
    size_t foreign_flows;
    const char *foreign;        /* The first few, or NULL. */
};

/* Is there something that push_apply() mends? */
bool push_diff_is_of_flows(const struct push_diff *);

/* Is the bridge fit, does it hold the plan, and nothing of anybody else's that
 * goes past it? */
bool push_diff_is_empty(const struct push_diff *);

/* Each fills '*diff' and returns NULL, or returns the reason why the switch
 * or database could not be reached or refused; then nothing has changed.  An
 * unfit bridge is a difference to push_status(); to the others it is a
 * refusal, with a line for each cause.  Texts are in the arena, of the order's
 * plan if there is one.
 *
 * push_apply() makes the bridge hold the order's plan and keeps it on the
 * node; 'time' and 'generation' of the order are its own to give.  If the
 * order has 'held' then it refuses when the bridge holds something else, or is
 * at another generation.  Where nothing can be kept, it says so in
 * 'diff->warnings' and goes on.  With 'confirm_ms' it refuses where it could
 * not go back; and while an order waits to be confirmed, any other.
 *
 * push_plan() says what push_apply() would do. */
const char *push_apply(const struct push_target *, const struct plan_record *,
                       struct push_diff *);
const char *push_plan(const struct push_target *, const struct plan_record *,
                      struct push_diff *);

/* For who keeps the bridge of 'node' (push/keep.h): takes its lock, as
 * push_apply() does for its time, unless something waits to be confirmed, or
 * another node's plan was applied; and keeps the order's
 * plan on the node, with this journal, as one that the bridge holds; 'skip' a
 * generation that nothing is kept of. */
struct lockfile;
const char *push_hold(const struct push_target *, const char *node,
                      struct arena *, struct lockfile **);
const char *push_note(const struct push_target *, const struct plan_record *,
                      const char *journal, bool skip);

/* The same by what is kept alone: of the last generation, if it has the
 * journal 'from', and of that the first 'size' bytes.  The files and digests
 * are that generation's, and the record is of no intent's hash. */
const char *push_fold(const struct push_target *, const char *from,
                      size_t size, const char *journal, struct arena *);

/* Begins the journal (push/journal.h) that a later push_note() or push_fold()
 * names, where plans are kept; or has that of 'push_diff.kept', to remove it.
 */
struct journal;
const char *push_begin_journal(const struct push_target *, struct arena *,
                               struct journal **);
struct journal *push_kept_journal(const struct push_target *,
                                  const char *name);

/* Why the database, if it answers, has no such bridge; or NULL. */
const char *push_lacks_bridge(const struct push_target *, struct arena *);

/* The control socket of the bulkheadd that has the lock, or NULL.  Stores who
 * has the lock, or 0. */
const char *push_agent(const char *bridge, struct arena *, pid_t *);

/* Compares with 'plan'; if that is NULL, with what the node keeps of the last
 * apply. */
const char *push_status(const struct push_target *, const struct plan *,
                        struct arena *, struct push_diff *);

/* Goes back to a generation that the node keeps, or if 'to' is 0, to the one
 * before the last.  It becomes a new one.  If 'node' is not NULL then the
 * generation must be of that. */
const char *push_rollback(const struct push_target *, uint64_t to,
                          const char *node, struct arena *,
                          struct push_diff *);

/* Takes all of Bulkhead's flows, in one bundle, and then its meters off the
 * bridge, whether that is fit or not.  If the node keeps plans, that becomes a
 * generation too. */
const char *push_clear(const struct push_target *, struct arena *,
                       struct push_diff *);

/* Keeps what waits to be confirmed, if anything does: else that is a
 * refusal. */
const char *push_confirm(const struct push_target *, struct arena *,
                         struct push_diff *);

/* Reads what the node keeps, and asks no switch. */
void push_look(const struct push_target *, struct arena *,
               struct push_diff *);

/* Returns why push_apply() would refuse the order, as far as that is known
 * without the switch: of what the node keeps, as push_look() has found it, and
 * of the database.  If 'dry', why push_plan() would, which tells of the bridge
 * by itself. */
const char *push_foresee(const struct push_target *,
                         const struct plan_record *,
                         const struct push_diff *looked, bool dry);

/* Stores in '*missing' those of the interfaces 'wanted' that the bridge does
 * not have. */
const char *push_missing(const struct push_target *,
                         const plan_names *wanted, struct arena *,
                         plan_names *missing);

#endif /* push/push.h */
