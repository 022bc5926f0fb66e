/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dirs.h"
#include "lockfile.h"
#include "push/apply-private.h"
#include "push/journal.h"
#include "push/run.h"
#include "push/state.h"
#include "timeval.h"
#include "util.h"

/* One run under the lock: what the node keeps is read, the bridge changed, and
 * the new plan kept.
 *
 * Its record is written before the switch is changed, so that there is room
 * for it, and gets its name afterwards: what has the name was applied. */

/* Has the bridge, or what the node keeps of it, which is at generation 'last',
 * moved since the order was saved? */
static const char *
check_order(const struct plan_record *order, const char *bridge,
            uint64_t last)
{
    return (order->held && order->generation != last
            ? arena_printf(order->plan->arena, "bridge %s is at generation "
                           "%"PRIu64", and the plan was made at %"PRIu64"; "
                           "make it anew", bridge, last, order->generation)
            : NULL);
}

static void
warn(struct push_diff *diff, struct arena *arena, const char *reason)
{
    *vec_push(arena, &diff->warnings) = arena_printf(
        arena, "this generation is not kept, so there is no rollback to it: "
        "%s", reason);
}

void
push_note_kept(struct push_diff *diff, struct state *state)
{
    guard_read(state, &diff->guard);
    diff->generation = state_last(state);
    diff->kept = state->current;
    diff->generations = state->kept;
    diff->warnings = state->warnings;
}

const char *
push_run_and_keep(const struct push_target *target, struct state *state,
                  const struct plan_record *order, uint64_t replaces,
                  struct push_diff *diff)
{
    struct plan_record *record = state_record(state, order);
    const char *refused, *reason;

    refused = target->state ? state_prepare(state, record) : NULL;
    if (refused && target->confirm_ms) {
        return arena_printf(state->arena, "bridge %s: there would be no way "
                            "back: %s", target->bridge, refused);
    }
    reason = push_run(target, order, state,
                      order->plan->flows.n ? ACTION_APPLY : ACTION_CLEAR,
                      diff);
    if (reason && !diff->doubt) {
        state_restore(state);
    }
    if (reason || refused || !target->state) {
        state_abandon(state, record);
    } else {
        refused = state_commit(state, record, replaces);
    }
    state_sweep(state);
    push_note_kept(diff, state);
    if (!reason) {
        diff->done = record;
    }
    if (!reason && refused) {
        warn(diff, state->arena, refused);
    }
    return reason;
}

void
push_decide(struct state *state, struct push_diff *diff)
{
    guard_remove(state);
    diff->guard = (struct guard) { .generation = 0 };
}

void
push_supersede(struct state *state, struct push_diff *diff)
{
    state_forget(state, diff->guard.generation);
    diff->generations = state->kept;
    push_decide(state, diff);
}

/* May the order go ahead, though another waits to be confirmed?  Nobody goes
 * back to that, also if this one 'confirms' later. */
static const char *
check_guard(struct state *state, bool confirms)
{
    const char *reason;
    struct guard guard;

    guard_read(state, &guard);
    reason = guard_reason(&guard, state->bridge, state->arena);
    if (!reason && guard.generation && confirms) {
        return arena_printf(state->arena, "bridge %s: generation %"PRIu64" "
                            "was never confirmed, and nothing watches it any "
                            "more; 'bulkhead confirm' or 'bulkhead rollback' "
                            "first", state->bridge, guard.generation);
    } else if (!reason && guard.generation) {
        *vec_push(state->arena, &state->warnings) = arena_printf(
            state->arena, "generation %"PRIu64" was never confirmed, and "
            "nothing watched it any more", guard.generation);
    }
    return reason;
}

/* Chooses what to go back to from 'next': what the bridge holds, which must be
 * what is kept of it, or nothing. */
static const char *
find_way_back(const struct push_target *target, struct state *state,
              const struct plan *next, struct plan_record *back)
{
    struct plan *nothing = arena_zalloc(state->arena, sizeof *nothing);
    struct push_diff diff;
    const char *reason;

    if (!target->state) {
        return arena_printf(state->arena, "bridge %s: there would be no way "
                            "back, since nothing is kept; set "
                            "BULKHEAD_STATEDIR to a folder, or leave out "
                            "--confirm",
                            target->bridge);
    }
    plan_init(nothing, state->arena, "", "");
    nothing->kernel = next->kernel;
    *back = state->current ? *state->current
            : (struct plan_record) { .plan = nothing };
    reason = push_run(target, back, state, ACTION_STATUS, &diff);
    if (!reason && (!diff.compared || push_diff_is_of_flows(&diff))) {
        reason = arena_printf(state->arena, "bridge %s: there would be no way "
                              "back, since %s", target->bridge, state->current
                              ? "it does not hold what was applied last; "
                              "apply without --confirm first"
                              : "nothing is kept of what it holds; apply "
                              "without --confirm first, and see that it is "
                              "kept");
    }
    return reason;
}

/* As push_run_and_keep(), under a guard. */
static const char *
run_guarded(const struct push_target *target, struct state *state,
            const struct plan_record *order, struct push_diff *diff)
{
    struct plan_record *back = arena_zalloc(state->arena, sizeof *back);
    struct guard guard = {
        .generation = state_record(state, order)->generation,
        .back = state->current ? state->current->generation : 0,
    };
    const char *reason = target->state ? state_make(state) : NULL;
    int fd;

    reason = (reason ? arena_printf(state->arena, "bridge %s: there would be "
                                    "no way back: %s", target->bridge, reason)
              : find_way_back(target, state, order->plan, back));

    if (reason || plan_same(back->plan, order->plan)) {
        return (reason ? reason
                : push_run_and_keep(target, state, order, 0, diff));
    }
    reason = guard_arm(target, state, &guard, back, &fd);
    if (reason) {
        return arena_printf(state->arena, "bridge %s: there would be no way "
                            "back: %s", target->bridge, reason);
    }
    reason = push_run_and_keep(target, state, order, 0, diff);
    if (reason && !diff->doubt) {
        guard_remove(state);
    }
    close(fd);                  /* Its time begins. */
    return reason;
}

const char *
push_apply(const struct push_target *target, const struct plan_record *order,
           struct push_diff *diff)
{
    struct arena *arena = order->plan->arena;
    struct lockfile *lock = NULL;
    struct state state;
    const char *reason = push_lock_bridge(target, arena, &lock);

    memset(diff, 0, sizeof *diff);
    if (reason) {
        return reason;
    }
    state_read(&state, target->state, target->bridge, arena);
    reason = check_order(order, target->bridge, state_last(&state));
    reason = reason ? reason : check_guard(&state, target->confirm_ms);
    if (!reason && target->confirm_ms) {
        reason = run_guarded(target, &state, order, diff);
    } else if (!reason) {
        reason = push_run_and_keep(target, &state, order, 0, diff);
        if (!reason) {
            push_supersede(&state, diff);
        }
    }
    lockfile_unlock(lock);
    return reason;
}

const char *
push_hold(const struct push_target *target, const char *node,
          struct arena *arena, struct lockfile **lock)
{
    const char *reason = push_lock(target, arena, lock);
    struct state state;

    if (!reason && !*lock) {
        return arena_printf(arena, "there is no folder %s; is Open vSwitch "
                            "running? see OVS_RUNDIR", ovs_rundir());
    } else if (!reason) {
        state_read(&state, target->state, target->bridge, arena);
        reason = check_guard(&state, false);
        if (!reason && state_is_of_other(&state, node)) {
            reason = state_other_reason(&state, node);
        }
        if (reason) {
            lockfile_unlock(*lock);
        } else {
            struct push_diff diff = { .done = NULL };

            guard_read(&state, &diff.guard);
            push_supersede(&state, &diff);      /* Nobody watched it. */
            state_sweep(&state);
            state_write_current(&state);    /* Else the journal stays. */
        }
    }
    return reason;
}

const char *
push_begin_journal(const struct push_target *target, struct arena *arena,
                   struct journal **journal)
{
    const char *reason;
    struct state state;

    state_open(&state, target->state, target->bridge, arena);
    reason = state_make(&state);
    return reason ? reason : journal_create(state.dir, arena, journal);
}

struct journal *
push_kept_journal(const struct push_target *target, const char *name)
{
    struct arena *arena = arena_create();
    struct journal *journal;
    struct state state;

    state_open(&state, target->state, target->bridge, arena);
    journal = state.dir ? journal_open(state.dir, name) : NULL;
    arena_destroy(arena);
    return journal;
}

const char *
push_note(const struct push_target *target, const struct plan_record *order,
          const char *journal, bool skip)
{
    struct plan_record *record;
    struct state state;
    const char *reason;

    if (!target->state) {
        return NULL;
    }
    state_read(&state, target->state, target->bridge, order->plan->arena);
    record = state_record(&state, order);
    record->journal = journal;
    if (state.unwritten || skip) {
        record->generation = state_last(&state) + (state.unwritten ? 0 : 2);
    }
    reason = state_prepare(&state, record);
    return reason ? reason : state_commit(&state, record, 0);
}

const char *
push_fold(const struct push_target *target, const char *from, size_t size,
          const char *journal, struct arena *arena)
{
    struct state state;

    state_open(&state, target->state, target->bridge, arena);
    return state_fold(&state, from, size, journal);
}

const char *
push_plan(const struct push_target *target, const struct plan_record *order,
          struct push_diff *diff)
{
    struct state state;
    const char *reason;

    state_read(&state, target->state, target->bridge, order->plan->arena);
    memset(diff, 0, sizeof *diff);
    reason = check_order(order, target->bridge, state_last(&state));
    reason = reason ? reason : push_run(target, order, &state, ACTION_PLAN,
                                        diff);
    push_note_kept(diff, &state);
    return reason;
}

const char *
push_status(const struct push_target *target, const struct plan *plan,
            struct arena *arena, struct push_diff *diff)
{
    struct plan_record order = { .plan = plan };
    struct state state;
    const char *reason;

    state_read(&state, target->state, target->bridge, arena);
    if (!plan && !state.current) {
        const char *lacks = push_lacks_bridge(target, arena);

        memset(diff, 0, sizeof *diff);
        push_note_kept(diff, &state);
        return lacks ? lacks
               : arena_printf(arena, "bridge %s: %s, or name the intent",
                            target->bridge, diff->guard.hidden
                            ? "what is kept of it cannot be read (Permission "
                            "denied); be the user who applied it"
                            : "nothing that can be trusted is kept of what "
                            "was applied; apply it");
    }
    order.plan = plan ? plan : state.current->plan;
    reason = push_run(target, &order, &state, ACTION_STATUS, diff);
    push_note_kept(diff, &state);
    return reason;
}

void
push_look(const struct push_target *target, struct arena *arena,
          struct push_diff *diff)
{
    struct state state;

    memset(diff, 0, sizeof *diff);
    state_read(&state, target->state, target->bridge, arena);
    push_note_kept(diff, &state);
}

const char *
push_foresee(const struct push_target *target,
             const struct plan_record *order, const struct push_diff *looked,
             bool dry)
{
    struct arena *arena = order->plan->arena;
    struct lockfile *lock = NULL;
    const char *reason = dry ? NULL : push_lock_bridge(target, arena, &lock);

    if (lock) {
        lockfile_unlock(lock);
    }
    if (!reason) {
        reason = check_order(order, target->bridge, looked->generation);
    }
    if (!reason && !dry) {
        reason = guard_reason(&looked->guard, target->bridge, arena);
    }
    return (reason || dry ? reason
            : push_check_database(target, order->plan));
}
