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
#include "openvswitch/vconn.h"
#include "push/run.h"
#include "push/session.h"
#include "push/state.h"
#include "timeval.h"
#include "util.h"

enum { MAX_FOREIGN_SHOWN = 3 };

bool
push_diff_is_of_flows(const struct push_diff *diff)
{
    return (diff->flows_added || diff->flows_changed || diff->flows_deleted
            || diff->meters_added || diff->meters_deleted);
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

/* Decides under which id each meter of the plan is, or will be, on the
 * switch: where it is already, else in the half of the range that is free. */
static void
place_meters(struct push *push)
{
    const struct plan *plan = push->plan;

    flows_mark_meters(&push->live);
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];
        uint32_t candidates[2] = { m->id, plan_meter_other(m->id) };
        struct meter_entry *held[2];
        int chosen = -1;

        push->plan_ids[i] = m->id;
        for (int j = 0; j < 2; j++) {
            held[j] = meter_find(&push->live, candidates[j]);
            if (chosen < 0 && held[j] && held[j]->simple
                && plan_meter_same(&held[j]->limit, m)) {
                chosen = j;
                held[j]->used = push->present[i] = true;
            }
        }
        if (chosen < 0) {
            /* An unused one there is a leftover that goes first. */
            chosen = held[0] && held[0]->used ? 1 : 0;
            if (held[chosen] && held[chosen]->used) {
                push_unfit(push, "bridge %s has flows with Bulkhead's mark "
                           "that call both meters of tenant %s, %"PRIu32
                           " and %"PRIu32"; ovs-ofctl del-meter one of them",
                           push->target->bridge, plan_meter_title(plan, m),
                           candidates[0], candidates[1]);
            }
        }
        push->ids[i] = candidates[chosen];
    }
    flows_renumber_meters(&push->wanted, push->plan_ids, push->ids,
                          plan->meters.n);
}

const char *
push_connect(struct push *push)
{
    const char *remote = arena_printf(push->arena, "unix:%s/%s.mgmt",
                                      ovs_rundir(), push->target->bridge);
    int error = session_open(remote, push->deadline, &push->vconn);

    return (error
            ? arena_printf(push->arena, "bridge %s: %s: %s; is ovs-vswitchd "
                           "running there? see OVS_RUNDIR",
                           push->target->bridge, remote,
                           ovs_retval_to_string(error))
            : NULL);
}

/* Reads both sides and connects them.  Changes nothing. */
static const char *
push_prepare(struct push *push)
{
    const char *reason = bridge_info_read(push->target->db,
                                          push->target->bridge,
                                          push->deadline, push->arena,
                                          &push->info);
    int error;

    if (reason) {
        return reason;
    }
    push->diff->mirrors = push->info.mirrors;
    push_check_bridge(push);
    if (!push->info.has_openflow14) {
        return NULL;
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
    error = switch_to_flows(push->vconn, push->deadline, &push->live);
    if (error) {
        return push_errno(push, "reading flows and meters", error);
    }
    place_meters(push);
    push->diff->compared = true;
    return NULL;
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

/* Compares; adds the messages that make the live flows the wanted ones to
 * 'changes', and the flows that they are about to 'about'. */
static void
compare_flows(struct push *push, struct ovs_list *changes,
              const struct flow_entry **about)
{
    struct push_diff *diff = push->diff;
    struct flow_entry *flow;
    size_t n = 0;

    HMAP_FOR_EACH (flow, node, &push->wanted.flows) {
        struct flow_entry *live = flow_find(&push->live, flow);

        if (live && !flow_is_ours(live)) {
            push_unfit(push, "bridge %s has a flow of somebody else "
                       "(cookie %#"PRIx64") where this must go: %s; "
                       "ovs-ofctl del-flows it, or change its match",
                       push->target->bridge, live->cookie, flow->text);
        } else if (live && flow_same(live, flow)) {
            diff->flows_same++;
        } else {
            diff->flows_changed += live != NULL;
            diff->flows_added += !live;
            about[n++] = flow;
            ovs_list_push_back(changes, &flow_add_message(flow)->list_node);
        }
    }
    HMAP_FOR_EACH (flow, node, &push->live.flows) {
        if (!flow_is_ours(flow)) {
            count_foreign(push, flow);
        } else if (!flow_find(&push->wanted, flow)) {
            diff->flows_deleted++;
            about[n++] = flow;
            ovs_list_push_back(changes,
                               &flow_delete_message(flow)->list_node);
        }
    }
}

bool
push_keeps_meter(const struct push *push, const struct meter_entry *meter)
{
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        if (push->present[i] && push->ids[i] == meter->id) {
            return true;
        }
    }
    return false;
}

static void
compare_meters(struct push *push)
{
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        push->diff->meters_added += !push->present[i];
        push->diff->meters_same += push->present[i];
    }
    push->diff->meters_deleted = hmap_count(&push->live.meters)
                                 - push->diff->meters_same;

    struct meter_entry *meter;
    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        /* Deleting a meter deletes the flows that call it. */
        if (meter->used_by_others && !push_keeps_meter(push, meter)) {
            push_unfit(push, "bridge %s has a flow of somebody else "
                       "that calls meter %"PRIu32", which is Bulkhead's and "
                       "must go; ovs-ofctl del-flows it, or let it call "
                       "another meter", push->target->bridge, meter->id);
        }
    }
}

/* All that makes the bridge unfit, a line each. */
static const char *
join_unfit(const struct push *push)
{
    const plan_names *unfit = &push->diff->unfit;
    const char *lines = unfit->v[0];

    for (size_t i = 1; i < unfit->n; i++) {
        lines = arena_printf(push->arena, "%s\n%s", lines, unfit->v[i]);
    }
    return lines;
}

/* Tells the differences; the 'n' flows of 'about' are those that differ. */
static void
tell(struct push *push, const struct state *state,
     const struct flow_entry **about, size_t n)
{
    if (push->action == ACTION_STATUS) {
        push_list(push, about, n);
    } else if (push->action == ACTION_PLAN) {
        push->diff->held = push_held(push);
        push_words(push, state->current ? state->current->plan : NULL, about,
                   n);
    }
}

/* Returns why the order must not be carried out, or NULL. */
static const char *
find_refusal(const struct push *push, const struct plan_record *order)
{
    if (push->action == ACTION_STATUS) {
        return NULL;
    } else if (push->diff->unfit.n) {
        return join_unfit(push);
    } else if (push->action == ACTION_APPLY && order->held
               && strcmp(order->held, push_held(push))) {
        return arena_printf(push->arena, "bridge %s holds other flows or "
                            "meters of Bulkhead's than when the plan was "
                            "made; make it anew", push->target->bridge);
    }
    return NULL;
}

static void
push_destroy(struct push *push)
{
    free(push->plan_ids);
    free(push->ids);
    free(push->present);
    if (push->vconn) {
        vconn_close(push->vconn);
    }
    switch_state_destroy(&push->wanted);
    switch_state_destroy(&push->live);
    bridge_info_destroy(&push->info);
}

const char *
push_run(const struct push_target *target, const struct plan_record *order,
         const struct state *state, enum push_action action,
         struct push_diff *diff)
{
    const struct plan *plan = order->plan;
    size_t n = MAX(1, plan->meters.n);
    struct push push = {
        .target = target, .arena = plan->arena, .plan = plan, .diff = diff,
        .action = action,
        .deadline = time_msec() + target->timeout_ms,
        .plan_ids = xcalloc(n, sizeof *push.plan_ids),
        .ids = xcalloc(n, sizeof *push.ids),
        .present = xcalloc(n, sizeof *push.present),
    };
    struct ovs_list changes = OVS_LIST_INITIALIZER(&changes);
    const struct flow_entry **about = NULL;
    const char *reason;

    memset(diff, 0, sizeof *diff);
    switch_state_init(&push.wanted);
    switch_state_init(&push.live);
    reason = push_prepare(&push);
    if (!reason && diff->compared) {
        about = xcalloc(1 + hmap_count(&push.wanted.flows)
                        + hmap_count(&push.live.flows), sizeof *about);
        compare_flows(&push, &changes, about);
        compare_meters(&push);
        tell(&push, state, about, ovs_list_size(&changes));
    }
    if (!reason) {
        reason = find_refusal(&push, order);
    }
    if (!reason && (action == ACTION_APPLY || action == ACTION_CLEAR)
        && push_diff_is_of_flows(diff)) {
        reason = push_changes(&push, &changes, about);
    }

    ofpbuf_list_delete(&changes);
    free(about);
    push_destroy(&push);
    return reason;
}
