/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "push/session.h"
#include "resident/resident.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(push);

VEC_TYPEDEF(index_vec, size_t);

/* Makes a copy of the part of the plan that is needed between steps; the one
 * before becomes that of 'before'. */
static void
set_frame(struct keeper *k, const struct plan *plan,
          struct keep_before *before)
{
    struct arena *arena = arena_create();
    struct plan frame;

    plan_init(&frame, arena, arena_strdup(arena, plan->node), "");
    frame.telemetry = plan->telemetry;
    frame.tunnel = plan->tunnel;
    if (plan->tunnel.type) {
        frame.tunnel.type = arena_strdup(arena, plan->tunnel.type);
        frame.tunnel.local_ip = arena_strdup(arena, plan->tunnel.local_ip);
    }
    for (size_t i = 0; i < plan->ports.n; i++) {
        *vec_push(arena, &frame.ports) = (struct plan_port) {
            .interface = arena_strdup(arena, plan->ports.v[i].interface),
        };
    }
    for (size_t i = 0; i < plan->meters.n; i++) {
        struct plan_meter *m = vec_push(arena, &frame.meters);

        *m = plan->meters.v[i];
        m->name = arena_strdup(arena, m->name);
        m->uplink = m->uplink ? arena_strdup(arena, m->uplink) : NULL;
        m->endpoint = m->endpoint ? arena_strdup(arena, m->endpoint) : NULL;
        m->place = m->place ? arena_strdup(arena, m->place) : NULL;
    }
    before->plan = k->plan;
    before->plan_arena = k->plan_arena;
    k->plan_arena = arena;
    k->plan = frame;
    k->plan.arena = k->arena;
}

const char *
keeper_read_live(struct keeper *k)
{
    int error;

    if (k->live_known) {
        return NULL;
    }
    session_forget(k->push.session);    /* About the old ones. */
    k->asked = false;
    switch_state_destroy(&k->push.live);
    switch_state_init(&k->push.live);
    error = switch_to_flows(k->push.session, k->push.deadline, &k->push.live);
    if (error) {
        return push_errno(&k->push, "reading flows and meters", error);
    }
    k->live_known = true;
    k->hidden = -1;
    k->miscounted = false;
    return (watch_hear(&k->watch) ? NULL
            : push_errno(&k->push, "reading flows", ENOBUFS));
}

void
keeper_take_ports(struct keeper *k)
{
    const struct smap_node *node;

    ofputil_port_map_destroy(&k->ports);
    ofputil_port_map_init(&k->ports);
    SMAP_FOR_EACH (node, &k->push.info.types) {
        ofp_port_t port = ofputil_port_map_get_number(&k->push.info.ports,
                                                      node->key);

        if (port != OFPP_NONE) {
            ofputil_port_map_put(&k->ports, port, node->key);
        }
    }
}

/* If 'plan' is NULL, what was wanted before; else that becomes 'before''s. */
static const char *
make_wanted(struct keeper *k, const struct plan *plan,
            struct keep_before *before)
{
    const char *reason;

    keeper_take_ports(k);
    if (!plan) {
        return flows_resolve(&k->push.wanted, &k->ports, k->arena);
    }
    flows_swap(&k->push.wanted, &before->wanted);
    before->all = true;
    svec_clear(&k->withdrawn);
    k->whole = k->accepted = false;
    reason = plan_to_flows(plan, &k->ports, &k->push.wanted);
    k->whole = !reason;
    k->owed = k->owed && reason;
    return reason;
}

/* The same of a plan that cannot be put now, on a bridge that may lack ports,
 * as that of tunnels: of what is there. */
static const char *
make_wanted_here(struct keeper *k, const struct plan *plan,
                 struct keep_before *before)
{
    struct sset gone = SSET_INITIALIZER(&gone);
    struct plan here;
    const char *reason;

    keeper_take_ports(k);
    keeper_find_gone(k, plan, &gone);
    here = push_without(plan, &gone, k->arena);
    reason = make_wanted(k, &here, before);
    k->owed = k->owed || here.flows.n < plan->flows.n;
    sset_destroy(&gone);
    return reason;
}

void
keeper_note_push(struct keeper *k)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(60, 60);
    const struct push_diff *diff = &k->diff;
    struct timespec now;

    xclock_gettime(CLOCK_REALTIME, &now);
    k->counts.last_push_ns = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
    k->counts.pushes++;
    if (push_diff_is_of_flows(diff)) {
        VLOG_INFO_RL(&rl, "bridge %s: pushed: flows %"PRIuSIZE" added, "
                     "%"PRIuSIZE" changed, %"PRIuSIZE" deleted; meters "
                     "%"PRIuSIZE" added, %"PRIuSIZE" deleted",
                     k->target.bridge, diff->flows_added, diff->flows_changed,
                     diff->flows_deleted, diff->meters_added,
                     diff->meters_deleted);
    }
}

/* The switch has taken what is wanted. */
static void
note_accepted(struct keeper *k)
{
    k->accepted = true;
    keeper_set_refusal(k, NULL);
    keeper_note_push(k);
}

/* A switch that does not tell its limits takes no plan. */
static const char *
read_limits(struct keeper *k)
{
    const char *reason = limits_read(&k->push);

    k->diff.refused = reason != NULL;
    return reason;
}

/* Compares what is wanted, which is made, with what there is.  Returns NULL,
 * or why that cannot be. */
static const char *
compare_all(struct keeper *k, const struct plan *plan,
            struct keep_before *before)
{
    const char *reason;

    push_check_bridge(&k->push);
    if (!k->push.comparable) {
        return plan ? make_wanted_here(k, plan, before) : NULL;
    }
    /* It is wanted, whatever the switch says now. */
    reason = make_wanted(k, plan, before);
    reason = reason ? reason : push_check_switch(&k->push);
    if (reason || !k->push.comparable) {
        return reason;
    }
    reason = keeper_read_live(k);
    reason = reason ? reason : read_limits(k);
    if (!reason) {
        push_compare(&k->push);
    }
    return reason;
}

/* If 'plan' is NULL, what was put before. */
static void
put(struct keeper *k, const struct plan *plan)
{
    struct keep_before before;
    const char *reason;

    keeper_begin(k);
    before_init(&before, k);
    before.whole_put = true;
    if (plan) {
        before_judge(&before, plan);
        set_frame(k, plan, &before);
    }
    push_set_plan(&k->push, &k->plan);
    reason = compare_all(k, plan, &before);
    reason = reason ? reason : keeper_send(k);
    if (reason) {
        keeper_take_back(k, &before, reason, NULL);
    } else {
        k->wants_plan = false;
        k->next_check = time_msec() + KEEPER_CHECK_MS;
        note_accepted(k);
    }
    before_destroy(&before);
}

/* Makes it what is wanted, once there is a session. */
static void
hold(struct keeper *k, const struct plan *plan)
{
    struct keep_before before;
    const char *reason;

    keeper_begin(k);
    before_init(&before, k);
    set_frame(k, plan, &before);
    push_set_plan(&k->push, &k->plan);
    reason = make_wanted_here(k, plan, &before);
    if (reason) {
        keeper_set_trouble(k, reason);
    }
    before_destroy(&before);
}

void
keeper_put(struct keeper *k, const struct plan *plan)
{
    k->wants_plan = k->owed = true;
    k->next_try = 0;
    if (k->push.session && k->info_seqno) {
        put(k, plan);
    } else if (k->info_seqno) {
        hold(k, plan);
    }
}

/* Finds out whether the switch holds all that is wanted, and perhaps more.
 * Returns NULL, or why that is not known. */
static const char *
look_for_wanted(struct keeper *k)
{
    const struct push_diff *diff = &k->diff;
    const char *reason;

    if (!k->whole || !k->push.session) {
        return NULL;
    }
    keeper_begin(k);
    reason = keeper_read_live(k);
    if (!reason) {
        limits_read(&k->push);
        push_compare(&k->push);
        k->accepted = (!diff->flows_added && !diff->flows_changed
                       && !diff->meters_added && !diff->limits_set);
    }
    return reason;
}

void
keeper_put_kept(struct keeper *k, const struct plan *plan)
{
    if (!k->accepted && k->info_seqno) {
        const char *reason;

        k->wants_plan = k->owed = true;
        hold(k, plan);
        reason = look_for_wanted(k);
        if (reason) {
            keeper_fail(k, reason);
            return;
        }
    }
    keeper_put(k, plan);
}

void
keeper_again(struct keeper *k)
{
    if (k->whole) {
        put(k, NULL);
    } else {
        k->next_try = LLONG_MAX;
    }
}

/* Appends a meter to 'plan', and where it was in the old one, or SIZE_MAX. */
static void
add_meter(struct keeper *k, struct plan *plan, index_vec *was,
          const struct plan_meter *meter, size_t i)
{
    *vec_push(k->arena, &plan->meters) = *meter;
    *vec_push(k->arena, was) = i;
}

/* Fills 'next' with the meters after the change.  All are in the order of
 * plan_compare_meters().  A meter that is deleted and added changes. */
static void
merge_meters(struct keeper *k, const struct resident_diff *diff,
             struct plan *next, index_vec *was)
{
    const plan_meters *added = &diff->meters_added;
    const plan_meters *deleted = &diff->meters_deleted;
    size_t a = 0, d = 0;

    for (size_t i = 0; i < k->plan.meters.n; i++) {
        const struct plan_meter *m = &k->plan.meters.v[i];

        for (; (a < added->n
                && plan_compare_meters(added->v[a], m) < 0); a++) {
            add_meter(k, next, was, added->v[a], SIZE_MAX);
        }
        if (d == deleted->n || plan_compare_meters(deleted->v[d], m)) {
            add_meter(k, next, was, m, i);
        } else {
            struct meter_entry *live = meter_find(&k->push.live,
                                                  k->push.ids[i]);

            if (live) {
                live->kept = false;
            }
            d++;
        }
    }
    for (; a < added->n; a++) {
        add_meter(k, next, was, added->v[a], SIZE_MAX);
    }
}

static void
change_meters(struct keeper *k, const struct resident_diff *diff,
              struct keep_before *before)
{
    struct plan next = k->plan;
    index_vec was = VEC_INIT;
    uint32_t *ids = k->push.ids;
    bool *present = k->push.present;

    if (!diff->meters_added.n && !diff->meters_deleted.n) {
        return;
    }
    memset(&next.meters, 0, sizeof next.meters);
    merge_meters(k, diff, &next, &was);
    k->push.ids = NULL;
    k->push.present = NULL;
    set_frame(k, &next, before);
    push_set_plan(&k->push, &k->plan);
    for (size_t i = 0; i < was.n; i++) {
        if (was.v[i] != SIZE_MAX) {
            k->push.ids[i] = ids[was.v[i]];
            k->push.present[i] = present[was.v[i]];
        }
    }
    free(ids);
    free(present);
}

/* Lets a new flow call its meter where that is on the switch. */
static void
find_meter(struct keeper *k, const struct flow_entry *flow)
{
    for (size_t i = 0; flow->meter && i < k->plan.meters.n; i++) {
        if (k->plan.meters.v[i].id == flow->meter) {
            flows_set_meter(&k->push.wanted, flow->meter, k->push.ids[i],
                            NULL);
            break;
        }
    }
}

/* What was withdrawn, and has not changed since, is in the plan still. */
static const char *
bring_back(struct keeper *k, const struct switch_state *changed,
           struct keep_before *before)
{
    for (size_t i = 0; i < k->withdrawn.n; i++) {
        struct flow_entry *flow;
        const char *reason = flow_parse(k->withdrawn.names[i], &k->ports,
                                        k->arena, &flow);

        if (reason) {
            return reason;
        } else if (flow_find(changed, flow)) {
            flow_destroy(flow);
        } else {
            before_flow(before, k, flow);
            watch_want(&k->watch, flow);
            find_meter(k, flow);
        }
    }
    svec_clear(&k->withdrawn);
    return NULL;
}

/* Stores in 'changed' what has changed, if anything was withdrawn. */
static const char *
change_flows(struct keeper *k, const struct resident_diff *diff,
             struct switch_state *changed, struct keep_before *before)
{
    const plan_flows *all[] = { &diff->deleted, &diff->added, &diff->changed };
    struct flow_entry *flow;
    const char *reason;

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        for (size_t j = 0; j < all[i]->n; j++) {
            reason = plan_flow_parse(&k->plan, all[i]->v[j], &k->ports, &flow);
            if (reason) {
                return reason;
            }
            if (k->withdrawn.n) {
                switch_state_put(changed, flow_clone(flow));
            }
            before_flow(before, k, flow);
            if (!i) {
                watch_unwant(&k->watch, flow);
                flow_destroy(flow);
            } else {
                before_admits(before, flow->text);
                watch_want(&k->watch, flow);
                find_meter(k, flow);
            }
        }
    }
    return bring_back(k, changed, before);
}

bool
keeper_change(struct keeper *k, const struct resident_diff *diff,
              const struct sset *without)
{
    struct keep_before before;
    struct switch_state changed;
    const char *reason;

    if (k->wants_plan || !k->push.session || k->owed) {
        return false;
    }
    keeper_begin(k);
    before_init(&before, k);
    change_meters(k, diff, &before);
    switch_state_init(&changed);
    reason = change_flows(k, diff, &changed, &before);
    switch_state_destroy(&changed);
    if (reason) {               /* Of an interface that has gone, perhaps. */
        VLOG_DBG("a change by itself is not enough: %s", reason);
        before_restore(&before, k);
        before_destroy(&before);
        return false;
    }
    keeper_leave_out(k, without);
    reason = (k->push.limits.unknown && limits_are_of(&k->push.wanted)
              ? read_limits(k) : NULL);
    if (!reason) {
        watch_compare(&k->watch);
        reason = keeper_send(k);
    }
    if (reason) {
        keeper_take_back(k, &before, reason, without);
    } else {
        note_accepted(k);
    }
    before_destroy(&before);
    return true;
}
