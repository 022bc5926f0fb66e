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
#include "push/limits.h"
#include "push/ovsdb.h"
#include "push/push.h"

enum push_action {
    ACTION_STATUS,
    ACTION_PLAN,
    ACTION_APPLY,
    ACTION_CLEAR,               /* Of a plan of nothing, on any bridge. */
};

struct lockfile;
struct state;

/* One run against one bridge. */
struct push {
    enum push_action action;
    const struct push_target *target;
    struct arena *arena;        /* The plan's, if there is one. */
    const struct plan *plan;
    struct push_diff *diff;
    const struct state *state;  /* To be withdrawn; or NULL. */
    long long int deadline;
    struct bridge_info info;
    struct session *session;
    struct switch_state wanted, live;
    struct limits limits;
    bool comparable;            /* Has the bridge what flows refer to? */
    bool resident;              /* It stays.  So it waits for nothing that it
                                 * will see, and nobody is there to be asked:
                                 * others' flows in the place of wanted ones
                                 * go, and others' that call a meter keep it.
                                 * Else both make the bridge unfit. */

    /* For each meter of the plan: the id on the switch, and whether it is
     * there already. */
    uint32_t *ids;
    bool *present;

    /* Flows that differ: wanted ones to be added, and live ones, which have no
     * text, to be deleted. */
    const struct flow_entry **about;
    size_t n_about, allocated_about;
};

/* Meter 'i' of the plan as it is, or will be, on the switch. */
struct plan_meter push_placed_meter(const struct push *, size_t i);

/* The life of a "struct push": push_init() and push_destroy(); push_begin()
 * before each step, which needs an arena and a place for what it finds. */
void push_init(struct push *, const struct push_target *, enum push_action);
void push_begin(struct push *, struct arena *, struct push_diff *);
void push_set_plan(struct push *, const struct plan *);
void push_destroy(struct push *);

/* Compares the wanted with the live, into 'changes' and 'diff'. */
void push_compare(struct push *);

/* Parts of that: the meters that are not present get places, and the wanted
 * flows whose meter has moved go to 'changed', unless it is NULL; then flows
 * and meters are compared. */
void push_place_meters(struct push *, struct ovs_list *changed);
void push_compare_wanted(struct push *, const struct flow_entry *wanted);
void push_compare_live(struct push *, const struct flow_entry *live);
void push_compare_meters(struct push *);

/* Makes the switch hold what was compared, unless it is unfit.  Returns NULL,
 * or why not. */
const char *push_carry_out(struct push *);

/* Takes the lock of the bridge: two runs at once would undo each other's
 * meters.  Returns NULL, or why it cannot be had; '*lock' stays as it is where
 * there is no run directory. */
const char *push_lock(const struct push_target *, struct arena *,
                      struct lockfile **lock);

/* The same, for a bridge that is there: of others no lock is left. */
const char *push_lock_bridge(const struct push_target *, struct arena *,
                             struct lockfile **lock);

/* Opens 'session'.  Returns NULL, or why not. */
const char *push_connect(struct push *);

/* The remote that it opens, and why not after that error, in the arena. */
const char *push_remote(const struct push *);
const char *push_not_connected(const struct push *, int error);

/* Notes the formatted text in 'diff->unfit'; and all that is noted there,
 * which is something, a line each. */
void push_unfit(struct push *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);
const char *push_unfit_reason(const struct push *);

/* Notes what of the database makes the bridge unfit, and sets 'comparable';
 * push_read_bridge() reads it before that, and returns NULL, or why it
 * cannot. */
void push_check_bridge(struct push *);
void push_check_settings(struct push *);        /* Its settings alone. */
const char *push_read_bridge(struct push *);

/* Returns why the plan cannot go onto the bridge, as far as the database says
 * so, or that is why it is not known; or NULL.  In the plan's arena. */
const char *push_check_database(const struct push_target *,
                                const struct plan *);

/* Notes what of the switch, which is connected, makes it unfit.  Returns why
 * that is not known, or NULL. */
const char *push_check_switch(struct push *);

/* Is the plan for telemetry that the switch does not have? */
bool push_is_uncounted(const struct push *);

/* Returns why the bridge's tunnel port is not the plan's, or NULL. */
const char *push_check_tunnel(const struct push *);

/* "WHAT: error", about the bridge. */
const char *push_errno(struct push *, const char *what, int error);

/* Sends 'changes', and what changes of the meters.  Returns NULL, or why it
 * could not; then the switch holds what it held, unless the reason says
 * otherwise.  The meters that are live follow, the flows do not. */
const char *push_changes(struct push *);

/* After push_changes() was refused: sends what of it deletes flows, and keeps
 * that in 'about'; nothing, if it fails again. */
void push_deletes(struct push *);

/* Does 'action' against the bridge; the arguments are those of push_apply(),
 * and what the node keeps. */
const char *push_run(const struct push_target *, const struct plan_record *,
                     const struct state *, enum push_action,
                     struct push_diff *);

/* Fills 'diff->changes'.  'old' is what was applied last, or NULL. */
void push_words(struct push *, const struct plan *old);

/* "20Gbps, burst 65625B", in the arena.  (words-meter.c) */
const char *meter_words(struct arena *, const struct plan_meter *);

/* The SHA-1 of Bulkhead's flows and meters that the switch holds. */
const char *push_held(const struct push *);

/* Fills 'diff->lines' and 'diff->meters'. */
void push_list(struct push *);

/* Makes the switch forget what connection tracking knows in the zones that
 * another tenant gets, or that nobody has any longer. */
void push_flush_zones(struct push *);

#endif /* push/run.h */
