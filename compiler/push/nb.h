/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_NB_H
#define PUSH_NB_H 1

/* The push engine for OVN: makes its northbound database hold the rows of a
 * plan (plan/row.h), or tells how it differs.
 *
 * Only rows that are marked as Bulkhead's (sema/northbound.h) are ever
 * changed, in one transaction, by what differs.  All columns of theirs count,
 * but for those that northd writes, and keys of external_ids that are not
 * Bulkhead's.  What others have put into rows of ours, such as an ACL in a
 * Port_Group, stays, and is told. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "plan/plan.h"
#include "plan/record.h"

struct nb_target {
    const char *db;             /* OVSDB remotes, "unix:...,ssl:...". */
    int timeout_ms;             /* For everything together. */
    const char *state;          /* As that of a "struct push_target". */
};

/* What differs, in the operator's words. */
struct nb_change {
    const char *what;           /* "network", "endpoint", "gateway", "router",
                                 * "link", "route", "group", "rule",
                                 * "bandwidth", "control plane", or "shared"
                                 * for what is nobody's in particular. */
    const char *name;           /* The rule's, the tenant's, ... */
    size_t added, changed, deleted, same;       /* Rows. */
    const char *columns;        /* Those that change, "COLUMN, ...". */
};

/* A column that differs, as ovn-nbctl writes it. */
struct nb_line {
    const char *table, *id;
    const char *column;         /* NULL: all of the row. */
    const char *held, *wanted;  /* NULL: it has no such row. */
};
enum { NB_MAX_LINES = 100 };

struct nb_diff {
    const char *place;          /* "OVN_Northbound at unix:..." */
    size_t added, changed, deleted, same;       /* Rows. */
    VEC(struct nb_change) changes;
    VEC(struct nb_line) lines;
    size_t lines_left_out;

    /* Others' rows that keep the plan from going there, each with the remedy;
     * and those that are in rows of ours, or take hold of them: they stay, but
     * may pass what the plan does not. */
    plan_names unfit, foreign;

    /* Of the database: what says which it is, wherever it is reached; the
     * generation that was last applied to it; and the SHA-1 of our rows. */
    const char *name;
    uint64_t generation;
    const char *held;

    /* What the node keeps, as in a "struct push_diff". */
    const struct plan_record *kept, *done;
    generation_vec generations;
    uint64_t back;              /* nb_rollback() has gone back to this one. */
    plan_names warnings;
};

/* Is there something that nb_apply() mends?  And is there nothing else, too?
 */
bool nb_diff_is_of_rows(const struct nb_diff *);
bool nb_diff_is_empty(const struct nb_diff *);

/* Each fills '*diff' and returns NULL, or a reason why the database could not
 * be reached or refused.  Then nothing has changed, or the reason names the
 * doubt.  Texts are in the arena, of the order's plan if there is one.
 *
 * nb_apply() keeps the order's plan on the node, too.  If the order has 'held'
 * then it refuses when the database is another, or has moved since.
 * nb_status() compares with 'plan'; if that is NULL, with what the node keeps
 * of the last apply.  nb_rollback() goes back to the generation 'to', or if
 * that is 0, to the last one that is kept of those before the database's;
 * nb_clear() takes all rows of ours away, which is a generation, too. */
const char *nb_apply(const struct nb_target *, const struct plan_record *,
                     struct nb_diff *);
const char *nb_plan(const struct nb_target *, const struct plan_record *,
                    struct nb_diff *);
const char *nb_status(const struct nb_target *, const struct plan *,
                      struct arena *, struct nb_diff *);
const char *nb_clear(const struct nb_target *, struct arena *,
                     struct nb_diff *);
const char *nb_rollback(const struct nb_target *, uint64_t to,
                        struct arena *, struct nb_diff *);

#endif /* push/nb.h */
