/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/push.h"

#include <inttypes.h>
#include <string.h>

#include "lockfile.h"
#include "openvswitch/vlog.h"
#include "push/apply-private.h"
#include "push/attached.h"
#include "push/run.h"
#include "push/state.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(rollback);

/* What undoes an apply, or says that it stays. */

static void
warn_left_out(struct state *state, const plan_names *left_out)
{
    for (size_t i = 0; i < left_out->n; i++) {
        *vec_push(state->arena, &state->warnings) = arena_printf(
            state->arena, "left out: %s", left_out->v[i]);
    }
}

/* Goes back to 'record' but for what its interfaces do not say any more, which
 * is not asked of those that the bridge has as the same now.  From what was
 * not confirmed, if 'unconfirmed' is not 0, it does so but for those that the
 * bridge lacks or that cannot be an endpoint's, too: an interface may be
 * another tenant's by now.  Where any is left out, the whole can still be gone
 * back to, and was not proved as it is then. */
static const char *
go_back(const struct push_target *target, struct state *state,
        const struct plan_record *record, uint64_t unconfirmed,
        struct push_diff *diff)
{
    struct plan_record order = *record;
    plan_names left_out = VEC_INIT;
    uint64_t replaces = record->generation;
    const char *reason = attached_leave_out(
        target, &order.plan, state->current ? state->current->plan : NULL,
        unconfirmed != 0, state->arena, &left_out);

    warn_left_out(state, &left_out);
    if (left_out.n) {
        order.partial = true;
        order.verified = false;
        state->wanted = record->generation;
        replaces = unconfirmed;
    }
    return (reason ? reason
            : push_run_and_keep(target, state, &order, replaces, diff));
}

/* Chooses what to go back to, which cannot be what waits to be confirmed. */
static const char *
choose(struct state *state, uint64_t to, const char *node,
       struct plan_record *record)
{
    struct guard guard;

    guard_read(state, &guard);
    return (to && guard.generation == to
            ? arena_printf(state->arena, "bridge %s: generation %"PRIu64" "
                           "waits to be confirmed: 'bulkhead confirm' keeps "
                           "it, 'bulkhead rollback' without --to goes back "
                           "from it", state->bridge, to)
            : state_choose(state, to, node, record));
}

const char *
push_rollback(const struct push_target *target, uint64_t to, const char *node,
              struct arena *arena, struct push_diff *diff)
{
    struct lockfile *lock = NULL;
    struct plan_record record;
    struct state state;
    const char *reason = push_lock_bridge(target, arena, &lock);

    memset(diff, 0, sizeof *diff);
    if (!reason) {
        state_read(&state, target->state, target->bridge, arena);
        reason = choose(&state, to, node, &record);
        if (!reason) {
            reason = go_back(target, &state, &record, 0, diff);
            diff->back = record.generation;
        }
        if (!reason) {          /* Nobody confirms what he goes back from. */
            push_supersede(&state, diff);
        }
        lockfile_unlock(lock);
    }
    return reason;
}

const char *
push_clear(const struct push_target *target, struct arena *arena,
           struct push_diff *diff)
{
    struct push_target stateless = *target;
    struct lockfile *lock = NULL;
    struct plan nothing;
    struct plan_record order = { .plan = &nothing };
    struct state state;
    const char *reason = push_lock_bridge(target, arena, &lock);

    memset(diff, 0, sizeof *diff);
    if (!reason) {
        state_read(&state, target->state, target->bridge, arena);
        plan_init(&nothing, arena,
                  state.current ? state.current->plan->node : "", "");
        /* A bridge that was never applied to gets no history. */
        stateless.state = state_last(&state) ? target->state : NULL;
        reason = push_run_and_keep(&stateless, &state, &order, 0, diff);
        if (!reason) {
            push_supersede(&state, diff);
        }
        lockfile_unlock(lock);
    }
    return reason;
}

/* What is confirmed may not be there any more.  Warns of that. */
static void
check_confirmed(const struct push_target *target, struct state *state,
                struct push_diff *diff)
{
    struct push_diff now;
    const char *reason;

    if (!state->current) {
        return;
    }
    reason = push_run(target, state->current, state, ACTION_STATUS, &now);
    if (reason || !now.compared || push_diff_is_of_flows(&now)) {
        *vec_push(state->arena, &diff->warnings) = arena_printf(
            state->arena, "generation %"PRIu64" %s; 'bulkhead status' says "
            "more", diff->generation, reason || !now.compared
            ? "cannot be compared with what it holds"
            : "is not what it holds now");
    }
}

const char *
push_confirm(const struct push_target *target, struct arena *arena,
             struct push_diff *diff)
{
    struct lockfile *lock = NULL;
    struct state state;
    const char *reason = push_lock(target, arena, &lock);

    memset(diff, 0, sizeof *diff);
    if (!reason) {
        state_read(&state, target->state, target->bridge, arena);
        push_note_kept(diff, &state);
        if (diff->guard.hidden) {
            reason = guard_hidden_reason(target->bridge, arena);
        } else if (diff->guard.generation) {
            push_decide(&state, diff);
            check_confirmed(target, &state, diff);
        } else {
            reason = arena_printf(arena, "bridge %s: nothing waits to be "
                                  "confirmed", target->bridge);
        }
        lockfile_unlock(lock);
    }
    return reason;
}

/* The bridge has gone, with all that it held: makes 'back' the last one again
 * of what is kept. */
static const char *
keep_alone(struct state *state, const struct guard *guard,
           const struct plan_record *back)
{
    struct plan_record *record;
    const char *reason;

    if (!state->dir) {
        return NULL;            /* Nothing can be kept any more. */
    }
    record = state_record(state, back);
    reason = state_prepare(state, record);
    reason = reason ? reason : state_commit(state, record, guard->back);
    if (reason) {
        state_abandon(state, record);
    }
    return reason;
}

/* Does what is to be done for 'guard', which waits. */
static const char *
end_waiting(const struct push_target *target, struct state *state,
            const struct guard *guard, const struct plan_record *back,
            long long int *lacking)
{
    struct push_diff diff = { .back = 0 };
    const char *lacks = push_lacks_bridge(target, state->arena), *reason;

    *lacking = !lacks ? 0 : *lacking ? *lacking : time_msec();
    if (!lacks) {
        reason = go_back(target, state, back, guard->generation, &diff);
    } else if (time_msec() - *lacking < target->timeout_ms) {
        return lacks;
    } else {
        reason = keep_alone(state, guard, back);
    }
    if (!reason) {              /* Nobody is to go back to it. */
        for (size_t i = 0; i < state->warnings.n; i++) {
            VLOG_WARN("bridge %s: %s", target->bridge, state->warnings.v[i]);
        }
        if (lacks) {
            VLOG_WARN("%s; generation %"PRIu64", which was not confirmed, is "
                      "kept no more", lacks, guard->generation);
        }
        state_forget(state, guard->generation);
        push_decide(state, &diff);
    }
    return reason;
}

const char *
guard_fire(const struct push_target *target, const struct guard *guard,
           const struct plan_record *back, long long int *lacking,
           struct arena *arena)
{
    struct push_target again = *target;
    struct plan plan = *back->plan;
    struct plan_record order = *back;
    struct lockfile *lock = NULL;
    struct state state;
    const char *reason = push_lock(target, arena, &lock);

    plan.arena = arena;
    order.plan = &plan;
    again.confirm_ms = 0;
    if (!reason) {
        state_read(&state, target->state, target->bridge, arena);
        if (guard_waits(&state, guard)) {
            reason = end_waiting(&again, &state, guard, &order, lacking);
        }
        lockfile_unlock(lock);
    }
    return reason;
}
