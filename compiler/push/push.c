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

#include "dirs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "push/run.h"
#include "push/session.h"
#include "push/state.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(compare);

enum { MAX_FOREIGN_SHOWN = 3 };

bool
push_diff_is_of_flows(const struct push_diff *diff)
{
    return (diff->flows_added || diff->flows_changed || diff->flows_deleted
            || diff->meters_added || diff->meters_deleted
            || diff->limits_set || diff->limits_deleted);
}

bool
push_diff_is_empty(const struct push_diff *diff)
{
    return !(push_diff_is_of_flows(diff) || diff->unfit.n
             || diff->foreign_flows || diff->mirrors);
}

const char *
push_errno(struct push *push, const char *what, int error)
{
    return arena_printf(push->arena, "bridge %s: %s: %s",
                        push->target->bridge, what,
                        ofperr_is_valid(error) ? ofperr_to_string(error)
                        : ovs_retval_to_string(error));
}

/* The index of the plan's meter that meter 'i' borrows from; SIZE_MAX if there
 * is none.  Parents stand first. */
static size_t
find_parent(const struct push *push, size_t i)
{
    const struct plan_meter *meters = push->plan->meters.v;

    for (size_t j = 0; meters[i].parent && j < i; j++) {
        if (meters[j].id == meters[i].parent) {
            return j;
        }
    }
    return SIZE_MAX;
}

struct plan_meter
push_placed_meter(const struct push *push, size_t i)
{
    struct plan_meter meter = push->plan->meters.v[i];
    size_t parent = find_parent(push, i);

    meter.id = push->ids[i];
    meter.parent = parent != SIZE_MAX ? push->ids[parent] : 0;
    return meter;
}

/* Is the parent of meter 'i' there already, if it has one? */
static bool
has_parent(const struct push *push, size_t i)
{
    size_t parent = find_parent(push, i);

    return parent == SIZE_MAX || push->present[parent];
}

/* May it not be deleted before all else? */
static bool
is_called(const struct meter_entry *meter)
{
    return meter && (meter->used || meter->used_by_others);
}

/* Decides under which id the meter 'i' of the plan is, or will be, on the
 * switch: where it is already, else in the half of the range that is free.  If
 * its parent gets another id, so does it. */
static void
place_meter(struct push *push, size_t i)
{
    const struct plan_meter *m = &push->plan->meters.v[i];
    struct plan_meter placed = push_placed_meter(push, i);
    uint32_t candidates[2] = { m->id, plan_meter_other(m->id) };
    struct meter_entry *held[2];
    int chosen = -1;

    push->present[i] = false;
    for (int j = 0; j < 2; j++) {
        held[j] = meter_find(&push->live, candidates[j]);
        if (held[j]) {
            meter_mark(&push->live, held[j]);
            held[j]->kept = false;
        }
        if (chosen < 0 && held[j] && held[j]->simple && has_parent(push, i)
            && plan_meter_same(&held[j]->limit, &placed)) {
            chosen = j;
            held[j]->kept = push->present[i] = true;
        }
    }
    if (chosen < 0) {
        /* An unused one there is a leftover that goes first. */
        chosen = is_called(held[0]) ? 1 : 0;
        if (is_called(held[chosen])) {
            push_unfit(push, "bridge %s has flows that call both meters of "
                       "tenant %s, %"PRIu32" and %"PRIu32"; ovs-ofctl "
                       "del-meter one of them",
                       push->target->bridge, plan_meter_title(push->plan, m),
                       candidates[0], candidates[1]);
        }
    }
    push->ids[i] = candidates[chosen];
}

void
push_place_meters(struct push *push, struct ovs_list *changed)
{
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        if (!push->present[i] || !has_parent(push, i)) {
            place_meter(push, i);
            flows_set_meter(&push->wanted, push->plan->meters.v[i].id,
                            push->ids[i], changed);
        }
    }
}

const char *
push_remote(const struct push *push)
{
    return arena_printf(push->arena, "unix:%s/%s.mgmt", ovs_rundir(),
                        push->target->bridge);
}

const char *
push_not_connected(const struct push *push, int error)
{
    return arena_printf(push->arena, "bridge %s: %s: %s; is ovs-vswitchd "
                        "running there? see OVS_RUNDIR",
                        push->target->bridge, push_remote(push),
                        ovs_retval_to_string(error));
}

const char *
push_connect(struct push *push)
{
    int error = session_open(push_remote(push), push->deadline,
                             &push->session);

    return error ? push_not_connected(push, error) : NULL;
}

/* Reads both sides and connects them.  Changes nothing. */
static const char *
push_prepare(struct push *push)
{
    const char *reason = push_read_bridge(push);
    int error;

    if (reason || !push->info.has_openflow14) {
        return reason;
    }
    reason = push_connect(push);
    if (!reason && push->action != ACTION_CLEAR) {
        reason = push_check_switch(push);
    }
    if (reason || !push->comparable) {
        return reason;
    }
    reason = plan_to_flows(push->plan, &push->info.ports, &push->wanted);
    if (reason) {
        return reason;
    }
    error = switch_to_flows(push->session, push->deadline, &push->live);
    return (error ? push_errno(push, "reading flows and meters", error)
            : limits_read(push));
}

/* Counts somebody else's flow, if it is in one of the plan's tables. */
static void
count_foreign(struct push *push, const struct flow_entry *flow)
{
    const struct plan *plan = push->plan;
    struct push_diff *diff = push->diff;

    /* The plan's flows are sorted by table. */
    if (plan->flows.n && flow->table <= plan->flows.v[plan->flows.n - 1].table
        && diff->foreign_flows++ < MAX_FOREIGN_SHOWN) {
        diff->foreign = arena_printf(
            plan->arena, "%s%stable=%"PRIu8",priority=%"PRIu16
            ",cookie=%#"PRIx64, diff->foreign ? diff->foreign : "",
            diff->foreign ? "; " : "", flow->table, flow->priority,
            flow->cookie);
    }
}

static void
add_change(struct push *push, const struct flow_entry *flow)
{
    if (push->n_about == push->allocated_about) {
        push->about = x2nrealloc(push->about, &push->allocated_about,
                                 sizeof *push->about);
    }
    push->about[push->n_about++] = flow;
}

void
push_compare_wanted(struct push *push, const struct flow_entry *flow)
{
    struct push_diff *diff = push->diff;
    struct flow_entry *live = flow_find(&push->live, flow);

    if (live && !flow_is_ours(live) && push->resident) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 20);

        VLOG_WARN_RL(&rl, "bridge %s: a flow of somebody else (cookie "
                     "%#"PRIx64") is replaced, in whose place this goes: %s",
                     push->target->bridge, live->cookie, flow->text);
        diff->flows_changed++;
        add_change(push, flow);
    } else if (live && !flow_is_ours(live)) {
        push_unfit(push, "bridge %s has a flow of somebody else "
                   "(cookie %#"PRIx64") where this must go: %s; "
                   "ovs-ofctl del-flows it, or change its match",
                   push->target->bridge, live->cookie, flow->text);
    } else if (live && flow_same(live, flow)) {
        diff->flows_same++;
    } else {
        diff->flows_changed += live != NULL;
        diff->flows_added += !live;
        add_change(push, flow);
    }
}

void
push_compare_live(struct push *push, const struct flow_entry *flow)
{
    if (!flow_is_ours(flow)) {
        count_foreign(push, flow);
    } else if (!flow_find(&push->wanted, flow)) {
        push->diff->flows_deleted++;
        add_change(push, flow);
    }
}

void
push_compare_meters(struct push *push)
{
    struct meter_entry *meter;

    for (size_t i = 0; i < push->plan->meters.n; i++) {
        push->diff->meters_added += !push->present[i];
        push->diff->meters_same += push->present[i];
    }
    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        if (meter->kept) {
            continue;
        }
        meter_mark(&push->live, meter);
        /* Deleting a meter deletes the flows that call it. */
        if (meter->used_by_others && push->resident) {
            continue;
        }
        push->diff->meters_deleted++;
        if (meter->used_by_others) {
            push_unfit(push, "bridge %s has a flow of somebody else "
                       "that calls meter %"PRIu32", which is Bulkhead's and "
                       "must go; ovs-ofctl del-flows it, or let it call "
                       "another meter", push->target->bridge, meter->id);
        }
    }
}

void
push_compare(struct push *push)
{
    const struct flow_entry *flow;
    struct meter_entry *meter;

    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        meter->kept = false;    /* It may be of an earlier plan. */
    }
    push_place_meters(push, NULL);
    HMAP_FOR_EACH (flow, node, &push->wanted.flows) {
        push_compare_wanted(push, flow);
    }
    HMAP_FOR_EACH (flow, node, &push->live.flows) {
        push_compare_live(push, flow);
    }
    push_compare_meters(push);
    limits_compare(push);
    push->diff->compared = true;
}

/* Tells the differences. */
static void
tell(struct push *push, const struct state *state)
{
    if (push->action == ACTION_STATUS) {
        push_list(push);
    } else if (push->action == ACTION_PLAN) {
        push->diff->held = push_held(push);
        push_words(push, state->current ? state->current->plan : NULL);
    }
}

static bool
holds_flows(const struct switch_state *live)
{
    for (size_t i = 0; i < ARRAY_SIZE(live->n_flows); i++) {
        if (live->n_flows[i].ours) {
            return true;
        }
    }
    return false;
}

/* Is it something that is to be applied, or would be? */
static bool
is_order(enum push_action action)
{
    return action == ACTION_APPLY || action == ACTION_PLAN;
}

/* The bridge may hold the plan of another node than the order's: that makes it
 * unfit for this one, but for who goes back. */
static void
note_other(struct push *push, const struct plan_record *order,
           const struct state *state)
{
    if ((is_order(push->action) || push->action == ACTION_STATUS)
        && state_is_of_other(state, order->plan->node)
        && holds_flows(&push->live)) {
        push_unfit(push, "%s", state_other_reason(state, order->plan->node));
    }
}

/* Returns why the order must not be carried out, or NULL. */
static const char *
find_refusal(const struct push *push, const struct plan_record *order)
{
    if (push->action == ACTION_STATUS) {
        return NULL;
    } else if (push->diff->unfit.n) {
        return push_unfit_reason(push);
    } else if (is_order(push->action) && order->held
               && strcmp(order->held, push_held(push))) {
        return arena_printf(push->arena, "bridge %s holds other flows or "
                            "meters of Bulkhead's than when the plan was "
                            "made; make it anew", push->target->bridge);
    }
    return NULL;
}

void
push_set_plan(struct push *push, const struct plan *plan)
{
    size_t n = MAX(1, plan->meters.n);

    free(push->ids);
    free(push->present);
    push->plan = plan;
    push->ids = xcalloc(n, sizeof *push->ids);
    push->present = xcalloc(n, sizeof *push->present);
}

void
push_init(struct push *push, const struct push_target *target,
          enum push_action action)
{
    *push = (struct push) { .target = target, .action = action };
    switch_state_init(&push->wanted);
    switch_state_init(&push->live);
    limits_init(&push->limits);
    bridge_info_init(&push->info);
}

void
push_begin(struct push *push, struct arena *arena, struct push_diff *diff)
{
    push->n_about = 0;
    push->arena = arena;
    push->diff = diff;
    push->deadline = time_msec() + push->target->timeout_ms;
    memset(diff, 0, sizeof *diff);
    limits_forget(push);
}

void
push_destroy(struct push *push)
{
    free(push->about);
    free(push->ids);
    free(push->present);
    session_close(push->session);
    switch_state_destroy(&push->wanted);
    switch_state_destroy(&push->live);
    limits_destroy(&push->limits);
    bridge_info_destroy(&push->info);
}

const char *
push_carry_out(struct push *push)
{
    return (push->diff->unfit.n ? push_unfit_reason(push)
            : push_diff_is_of_flows(push->diff) ? push_changes(push) : NULL);
}

const char *
push_run(const struct push_target *target, const struct plan_record *order,
         const struct state *state, enum push_action action,
         struct push_diff *diff)
{
    struct push push;
    const char *reason;

    push_init(&push, target, action);
    push_set_plan(&push, order->plan);
    push_begin(&push, order->plan->arena, diff);
    reason = push_prepare(&push);
    if (!reason && push.comparable) {
        push_compare(&push);
        note_other(&push, order, state);
        tell(&push, state);
    }
    if (!reason) {
        reason = find_refusal(&push, order);
    }
    if (!reason && (action == ACTION_APPLY || action == ACTION_CLEAR)) {
        push.state = state;
        reason = push_carry_out(&push);
    }
    push_destroy(&push);
    return reason;
}
