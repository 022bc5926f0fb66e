/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/push.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dirs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vconn.h"
#include "push/flows.h"
#include "push/ovsdb.h"
#include "push/session.h"
#include "timeval.h"
#include "util.h"

/* One run against one bridge. */
struct push {
    const struct push_target *target;
    const struct plan *plan;
    struct push_diff *diff;
    long long int deadline;
    struct bridge_info info;
    struct vconn *vconn;
    struct switch_state wanted, live;

    /* For each meter of the plan: the id in the plan, the id on the switch,
     * and whether it is there already. */
    uint32_t *plan_ids, *ids;
    bool *present;
};

bool
push_diff_is_empty(const struct push_diff *diff)
{
    return !(diff->flows_added || diff->flows_changed || diff->flows_deleted
             || diff->meters_added || diff->meters_deleted);
}

static const char *
errno_reason(struct push *push, const char *what, int error)
{
    return arena_printf(push->plan->arena, "bridge %s: %s: %s",
                        push->target->bridge, what,
                        ovs_retval_to_string(error));
}

/* Is the bridge one that the plan was made for? */
static const char *
check_bridge(struct push *push)
{
    struct arena *arena = push->plan->arena;
    const char *bridge = push->target->bridge;
    const char *type = push->info.datapath_type;
    const char *missing = "";

    if (strcmp(type, "netdev") && strcmp(type, "dummy")) {
        return arena_printf(arena, "bridge %s is not of the userspace "
                            "datapath; ovs-vsctl set bridge %s "
                            "datapath_type=netdev", bridge, bridge);
    } else if (strcmp(push->info.fail_mode, "secure")) {
        return arena_printf(arena, "bridge %s forwards by itself when it has "
                            "no flows; ovs-vsctl set-fail-mode %s secure",
                            bridge, bridge);
    }
    for (size_t i = 0; i < push->plan->ports.n; i++) {
        const char *name = push->plan->ports.v[i];

        if (ofputil_port_map_get_number(&push->info.ports, name)
            == OFPP_NONE) {
            missing = arena_printf(arena, "%s %s", missing, name);
        }
    }
    return (missing[0]
            ? arena_printf(arena, "bridge %s lacks interfaces that the "
                           "intent binds:%s", bridge, missing)
            : NULL);
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
        uint32_t candidates[2] = { m->id, PLAN_METER_OTHER(m->id) };
        struct meter_entry *held[2];
        int chosen = -1;

        push->plan_ids[i] = m->id;
        for (int j = 0; j < 2; j++) {
            held[j] = meter_find(&push->live, candidates[j]);
            if (chosen < 0 && held[j] && held[j]->simple
                && held[j]->rate_kbps == m->rate_kbps
                && held[j]->burst_kbit == m->burst_kbit) {
                chosen = j;
                held[j]->used = push->present[i] = true;
            }
        }
        if (chosen < 0) {
            /* An unused one there is a leftover that goes first. */
            chosen = held[0] && held[0]->used ? 1 : 0;
        }
        push->ids[i] = candidates[chosen];
    }
    flows_renumber_meters(&push->wanted, push->plan_ids, push->ids,
                          plan->meters.n);
}

/* Reads both sides and connects them.  Changes nothing. */
static const char *
push_prepare(struct push *push)
{
    struct arena *arena = push->plan->arena;
    const char *remote = arena_printf(arena, "unix:%s/%s.mgmt", ovs_rundir(),
                                      push->target->bridge);
    const char *reason = bridge_info_read(push->target->db,
                                          push->target->bridge,
                                          push->deadline, arena, &push->info);
    int error;

    if (!reason) {
        reason = check_bridge(push);
    }
    if (!reason) {
        reason = plan_to_flows(push->plan, &push->info.ports, &push->wanted);
    }
    if (reason) {
        return reason;
    }
    error = session_open(remote, push->deadline, &push->vconn);
    if (error) {
        return errno_reason(push, remote, error);
    }
    error = switch_to_flows(push->vconn, push->deadline, &push->live);
    if (error) {
        return errno_reason(push, "reading flows and meters", error);
    }
    place_meters(push);
    return NULL;
}

/* Compares; adds the messages that make the live flows the wanted ones to
 * 'changes', and the flows that they are about to 'about', if not null. */
static const char *
compare_flows(struct push *push, struct ovs_list *changes,
              const struct flow_entry **about)
{
    struct push_diff *diff = push->diff;
    struct flow_entry *flow;
    size_t n = 0;

    HMAP_FOR_EACH (flow, node, &push->wanted.flows) {
        struct flow_entry *live = flow_find(&push->live, flow);

        if (live && !flow_is_ours(live)) {
            return arena_printf(push->plan->arena, "bridge %s has a flow of "
                                "somebody else (cookie %#"PRIx64") where this "
                                "must go: %s", push->target->bridge,
                                live->cookie, flow->text);
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
            diff->foreign_flows++;
        } else if (!flow_find(&push->wanted, flow)) {
            diff->flows_deleted++;
            about[n++] = flow;
            ovs_list_push_back(changes,
                               &flow_delete_message(flow)->list_node);
        }
    }
    return NULL;
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
}

static const char *
refusal(struct push *push, const char *what, int error,
        const struct session_error *serror, const char *about)
{
    if (serror->ofperr) {
        return arena_printf(push->plan->arena,
                            "bridge %s refused %s: %s: %s",
                            push->target->bridge, what,
                            ofperr_to_string(serror->ofperr),
                            about ? about : "");
    }
    return errno_reason(push, what, error);
}

/* Deletes the meters whose 'used' is 'used' and that the plan does not keep;
 * 'keep' are the plan's ids on the switch. */
static void
delete_meters(struct push *push, bool used)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    struct session_error serror;
    struct meter_entry *meter;

    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        bool keep = false;

        for (size_t i = 0; i < push->plan->meters.n && !keep; i++) {
            keep = push->present[i] && push->ids[i] == meter->id;
        }
        if (!keep && meter->used == used) {
            ovs_list_push_back(&requests,
                               &meter_delete_message(meter->id)->list_node);
        }
    }
    /* A meter that stays is found and deleted by the next run. */
    session_send_all(push->vconn, &requests, push->deadline, &serror);
}

static const char *
add_meters(struct push *push)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    const struct plan *plan = push->plan;
    struct session_error serror;
    size_t *about = xmalloc(MAX(1, plan->meters.n) * sizeof *about);
    const char *reason = NULL;
    size_t n = 0;
    int error;

    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (!push->present[i]) {
            struct ofpbuf *msg = meter_add_message(push->ids[i], m->rate_kbps,
                                                   m->burst_kbit);
            about[n++] = i;
            ovs_list_push_back(&requests, &msg->list_node);
        }
    }
    error = session_send_all(push->vconn, &requests, push->deadline, &serror);
    if (error) {
        reason = refusal(push, "a meter", error, &serror,
                         serror.ofperr && serror.index < n
                         ? plan_meter_string(plan, &plan->meters.v[
                                                 about[serror.index]])
                         : NULL);
    }
    free(about);
    return reason;
}

/* Takes back what add_meters() did. */
static void
undo_meters(struct push *push)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    struct session_error serror;

    for (size_t i = 0; i < push->plan->meters.n; i++) {
        if (!push->present[i]) {
            struct ofpbuf *msg = meter_delete_message(push->ids[i]);

            ovs_list_push_back(&requests, &msg->list_node);
        }
    }
    /* The deadline may have passed already: a second for the undoing. */
    session_send_all(push->vconn, &requests,
                     MAX(push->deadline, time_msec() + 1000), &serror);
}

static const char *
change_flows(struct push *push, struct ovs_list *changes,
             const struct flow_entry **about)
{
    size_t n = ovs_list_size(changes);
    struct session_error serror;
    int error = session_bundle(push->vconn, changes, push->deadline, &serror);
    const char *reason;

    if (!error) {
        return NULL;
    } else if (serror.unknown) {
        /* Meters stay: the flows may be there and need them. */
        return arena_printf(push->plan->arena, "bridge %s: %s while it "
                            "committed the flows: all of them took effect or "
                            "none; see 'bulkhead status'",
                            push->target->bridge,
                            ovs_retval_to_string(error));
    }
    reason = refusal(push, "a flow", error, &serror,
                     serror.ofperr && serror.index < n
                     ? about[serror.index]->text : NULL);
    undo_meters(push);
    return reason;
}

static const char *
push_changes(struct push *push, struct ovs_list *changes,
             const struct flow_entry **about)
{
    const char *reason;

    if (push_diff_is_empty(push->diff)) {
        return NULL;
    }
    delete_meters(push, false);
    reason = add_meters(push);
    if (reason) {
        undo_meters(push);
        return reason;
    }
    if (!ovs_list_is_empty(changes)) {
        reason = change_flows(push, changes, about);
    }
    if (!reason) {
        delete_meters(push, true);
    }
    return reason;
}

static const char *
push_run(const struct push_target *target, const struct plan *plan,
         struct push_diff *diff, bool apply)
{
    size_t n = MAX(1, plan->meters.n);
    struct push push = {
        .target = target, .plan = plan, .diff = diff,
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
    if (!reason) {
        about = xcalloc(1 + hmap_count(&push.wanted.flows)
                        + hmap_count(&push.live.flows), sizeof *about);
        reason = compare_flows(&push, &changes, about);
        compare_meters(&push);
    }
    if (!reason && apply) {
        reason = push_changes(&push, &changes, about);
    }

    ofpbuf_list_delete(&changes);
    free(about);
    free(push.plan_ids);
    free(push.ids);
    free(push.present);
    if (push.vconn) {
        vconn_close(push.vconn);
    }
    switch_state_destroy(&push.wanted);
    switch_state_destroy(&push.live);
    bridge_info_destroy(&push.info);
    return reason;
}

const char *
push_apply(const struct push_target *target, const struct plan *plan,
           struct push_diff *diff)
{
    return push_run(target, plan, diff, true);
}

const char *
push_status(const struct push_target *target, const struct plan *plan,
            struct push_diff *diff)
{
    return push_run(target, plan, diff, false);
}
