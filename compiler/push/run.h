/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_RUN_H
#define PUSH_RUN_H 1

/* Between apply.c, which runs and keeps, push.c, which compares, fit.c, which
 * looks whether the bridge is one for a plan, list.c, words.c and held.c,
 * which tell the differences, changes.c and zones.c, which change, and
 * drops.c, which counts. */

#include "push/flows.h"
#include "push/ovsdb.h"
#include "push/push.h"

enum push_action {
    ACTION_STATUS,
    ACTION_PLAN,
    ACTION_APPLY,
    ACTION_CLEAR,               /* Of a plan of nothing, on any bridge. */
};

struct state;

/* One run against one bridge. */
struct push {
    enum push_action action;
    const struct push_target *target;
    struct arena *arena;        /* The plan's, if there is one. */
    const struct plan *plan;
    struct push_diff *diff;
    long long int deadline;
    struct bridge_info info;
    struct vconn *vconn;
    struct switch_state wanted, live;
    bool comparable;            /* Has the bridge what flows refer to? */

    /* For each meter of the plan: the id in the plan, the id on the switch,
     * and whether it is there already. */
    uint32_t *plan_ids, *ids;
    bool *present;
};

/* Is a meter of the switch one that the plan goes on using? */
bool push_keeps_meter(const struct push *, const struct meter_entry *);

/* Opens 'vconn'.  Returns NULL, or why not. */
const char *push_connect(struct push *);

/* Notes the formatted text in 'diff->unfit'. */
void push_unfit(struct push *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

/* Notes what of the database makes the bridge unfit, and sets 'comparable'.
 */
void push_check_bridge(struct push *);

/* Notes what of the switch, which is connected, makes it unfit.  Returns why
 * that is not known, or NULL. */
const char *push_check_switch(struct push *);

/* Returns why the bridge's tunnel port is not the plan's, or NULL. */
const char *push_check_tunnel(const struct push *);

/* "WHAT: error", about the bridge. */
const char *push_errno(struct push *, const char *what, int error);

/* Makes the switch hold the plan.  'changes' are the messages about flows,
 * 'about' the flows that they are about.  Returns NULL, or why not; then the
 * switch holds what it held, unless the reason says otherwise. */
const char *push_changes(struct push *, struct ovs_list *changes,
                         const struct flow_entry **about);

/* Does 'action' against the bridge; the arguments are those of push_apply(),
 * and what the node keeps. */
const char *push_run(const struct push_target *, const struct plan_record *,
                     const struct state *, enum push_action,
                     struct push_diff *);

/* Fills 'diff->changes'.  'old' is what was applied last, or NULL; the 'n'
 * flows of 'about' are those that differ. */
void push_words(struct push *, const struct plan *old,
                const struct flow_entry **about, size_t n);

/* The SHA-1 of Bulkhead's flows and meters that the switch holds. */
const char *push_held(const struct push *);

/* Fills 'diff->lines' and 'diff->meters'; the 'n' flows of 'about' are those
 * that differ. */
void push_list(struct push *, const struct flow_entry **about, size_t n);

/* Makes the switch forget what connection tracking knows in the zones that
 * another tenant gets, or that nobody has any longer.  'about' are the 'n'
 * flows that have been changed. */
void push_flush_zones(struct push *, const struct flow_entry **about,
                      size_t n);

#endif /* push/run.h */
