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
#include "util.h"

VLOG_DEFINE_THIS_MODULE(rollback);

/* What undoes an apply, or says that it stays. */

/* Which generation makes room for that of 'order', if it is a new one, so that
 * 'but' stays; 0: none need. */
static uint64_t
find_room(const struct state *state, const struct plan_record *order,
          uint64_t but)
{
    size_t last = state->kept.n - 1;

    return (state->kept.n < STATE_MAX_KEPT
            || state_record(state, order)->generation == state_last(state) ? 0
            : state->kept.v[last] == but ? state->kept.v[last - 1]
            : state->kept.v[last]);
}

/* Goes back to 'record' but for what its interfaces do not say any more, and,
 * if 'unfit', for those that the bridge lacks or that cannot be an endpoint's:
 * an interface may be another tenant's by now.  Where any is left out, the
 * whole can still be gone back to, and was not proved as it is then. */
static const char *
go_back(const struct push_target *target, struct state *state,
        const struct plan_record *record, bool unfit, struct push_diff *diff)
{
    struct plan_record order = *record;
    plan_names left_out = VEC_INIT;
    uint64_t replaces = record->generation;
    const char *reason = attached_leave_out(target, &order.plan, unfit,
                                            state->arena, &left_out);

    for (size_t i = 0; i < left_out.n; i++) {
        *vec_push(state->arena, &state->warnings) = arena_printf(
            state->arena, "left out: %s", left_out.v[i]);
    }
    if (left_out.n) {
        order.partial = true;
        order.verified = false;
        replaces = find_room(state, &order, record->generation);
    }
    return (reason ? reason
            : push_run_and_keep(target, state, &order, replaces, diff));
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
        reason = state_choose(&state, to, node, &record);
        if (!reason) {
            reason = go_back(target, &state, &record, false, diff);
            diff->back = record.generation;
        }
        if (!reason) {
            push_decide(&state, diff);
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
            push_decide(&state, diff);
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

const char *
guard_fire(const struct push_target *target, const struct guard *guard,
           const struct plan_record *back, struct arena *arena)
{
    struct push_target again = *target;
    struct plan plan = *back->plan;
    struct plan_record order = *back;
    struct lockfile *lock = NULL;
    struct push_diff diff;
    struct state state;
    const char *reason = push_lock(target, arena, &lock);

    plan.arena = arena;
    order.plan = &plan;
    again.confirm_ms = 0;
    if (!reason) {
        state_read(&state, target->state, target->bridge, arena);
        if (guard_waits(&state, guard)
            && push_lacks_bridge(target, arena)) {
            push_decide(&state, &diff);         /* With all that it held. */
        } else if (guard_waits(&state, guard)) {
            reason = go_back(&again, &state, &order, true, &diff);
            for (size_t i = 0; i < state.warnings.n; i++) {
                VLOG_WARN("bridge %s: %s", target->bridge,
                          state.warnings.v[i]);
            }
            if (!reason) {      /* Nobody is to go back to it. */
                state_forget(&state, guard->generation);
                push_decide(&state, &diff);
            }
        }
        lockfile_unlock(lock);
    }
    return reason;
}
