/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "byte-order.h"
#include "openvswitch/ofp-monitor.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/ofpbuf.h"
#include "push/run.h"
#include "push/session.h"
#include "util.h"

void
watch_init(struct watch *w, struct push *push)
{
    w->push = push;
    ovs_list_init(&w->wanted);
    ovs_list_init(&w->live);
    w->meters = w->limits = w->news = w->own_meters = false;
    w->own_flows = 0;
}

static void
move(struct flow_entry *flow, struct ovs_list *list)
{
    ovs_list_remove(&flow->changed);
    ovs_list_push_back(list, &flow->changed);
}

/* Notes that the flow of this key is to be compared. */
static void
mark(struct watch *w, const struct flow_entry *key)
{
    struct flow_entry *wanted = flow_find(&w->push->wanted, key);
    struct flow_entry *live = flow_find(&w->push->live, key);

    if (wanted) {
        move(wanted, &w->wanted);
    } else if (live) {
        move(live, &w->live);
    }
}

/* A flow as the switch tells of it.  Of its flags it does not tell, and
 * somebody else has put it there: so it is none as Bulkhead's are. */
static struct flow_entry *
updated_flow(const struct ofputil_flow_update *update)
{
    struct flow_entry *flow = xzalloc(sizeof *flow);

    ovs_list_init(&flow->changed);
    flow->table = update->table_id;
    flow->priority = update->priority;
    flow->cookie = ntohll(update->cookie);
    minimatch_init(&flow->match, &update->match);
    flow->ofpacts = xmemdup(update->ofpacts, update->ofpacts_len);
    flow->ofpacts_len = update->ofpacts_len;
    return flow;
}

static void
take_update(struct watch *w, const struct ofputil_flow_update *update)
{
    struct flow_entry *flow = updated_flow(update);

    w->news = true;
    if (update->event == OFPFME_REMOVED) {
        struct flow_entry *live = flow_find(&w->push->live, flow);

        if (live) {
            /* It may have kept a meter that must go. */
            w->meters = w->meters || (live->meter && !flow_is_ours(live));
            switch_state_remove(&w->push->live, live);
        }
        mark(w, flow);
        flow_destroy(flow);
    } else {
        switch_state_put(&w->push->live, flow);
        mark(w, flow);
    }
}

/* One message.  Own changes are told in a word; while the switch is pausing,
 * something may be missing. */
static bool
take_message(struct watch *w, struct ofpbuf *msg, struct ofpbuf *ofpacts)
{
    for (;;) {
        struct ofputil_flow_update update;
        int retval = ofputil_decode_flow_update(&update, msg, ofpacts);

        if (retval) {
            return retval == EOF;
        }
        switch (update.event) {
        case OFPFME_ADDED:
        case OFPFME_MODIFIED:
        case OFPFME_REMOVED:
            take_update(w, &update);
            break;
        case OFPFME_ABBREV:
            break;
        case OFPFME_INITIAL:
        case OFPFME_PAUSED:
        case OFPFME_RESUMED:
        default:
            return false;
        }
    }
}

bool
watch_hear(struct watch *w)
{
    struct ofpbuf ofpacts, *msg;
    bool ok = true;

    ofpbuf_init(&ofpacts, 0);
    while (ok && (msg = session_pop(w->push->session)) != NULL) {
        ok = take_message(w, msg, &ofpacts);
        ofpbuf_delete(msg);
    }
    ofpbuf_uninit(&ofpacts);
    return ok;
}

static bool
same_meter(const struct meter_entry *a, const struct meter_entry *b)
{
    return (b && a->simple == b->simple
            && (!a->simple || plan_meter_same(&a->limit, &b->limit)));
}

static bool
same_meters(const struct switch_state *a, const struct switch_state *b)
{
    const struct meter_entry *meter;

    if (hmap_count(&a->meters) != hmap_count(&b->meters)) {
        return false;
    }
    HMAP_FOR_EACH (meter, node, &a->meters) {
        if (!same_meter(meter, meter_find(b, meter->id))) {
            return false;
        }
    }
    return true;
}

/* Takes the live meters as the switch has told them. */
static void
take_meters(struct watch *w, struct switch_state *now)
{
    struct push *push = w->push;

    if (same_meters(&push->live, now)) {
        return;
    }
    hmap_swap(&push->live.meters, &now->meters);
    w->meters = w->news = true;
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        struct meter_entry *m = meter_find(&push->live, push->ids[i]);

        struct plan_meter placed = push_placed_meter(push, i);

        push->present[i] = (m && m->simple
                            && plan_meter_same(&m->limit, &placed));
        if (push->present[i]) {
            m->kept = true;
        }
    }
}

/* Adds the flows of the tables to '*n'. */
static int
count_flows(struct ofpbuf *reply, long long int *n)
{
    struct ofputil_table_features features;
    struct ofputil_table_stats stats;
    int retval;

    do {
        retval = ofputil_decode_table_stats_reply(reply, &stats, &features);
        *n += retval ? 0 : stats.active_count;
    } while (!retval);
    return retval == EOF ? 0 : EPROTO;
}

void
watch_ask(struct watch *w)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);

    ovs_list_push_back(&requests, &meters_request()->list_node);
    ovs_list_push_back(&requests,
                       &ofpraw_alloc(OFPRAW_OFPST_TABLE_REQUEST,
                                     SESSION_VERSION, 0)->list_node);
    session_ask(w->push->session, &requests, w->push->deadline);
    w->own_flows = 0;
    w->own_meters = false;
}

const char *
watch_limits(struct watch *w)
{
    struct push *push = w->push;
    const char *reason = NULL;

    push->limits.unknown = false;
    if (limits_are_of(&push->wanted)) {
        reason = limits_read(push);
    }

    if (!reason) {
        limits_compare(push);
        w->limits = limits_differ(&push->limits);
        w->news = w->news || w->limits;
    }
    return reason;
}

int
watch_answer(struct watch *w, long long int deadline, long long int *more)
{
    struct switch_state now;
    struct ovs_list replies;
    struct ofpbuf *reply;
    int error = session_answer(w->push->session, deadline, &replies);

    *more = 0;
    switch_state_init(&now);
    LIST_FOR_EACH_POP (reply, list_node, &replies) {
        enum ofptype type;

        error = (error ? error
                 : ofptype_decode(&type, reply->data) ? EPROTO
                 : type == OFPTYPE_METER_CONFIG_STATS_REPLY
                 ? meters_decode(reply, &now)
                 : type == OFPTYPE_TABLE_STATS_REPLY
                 ? count_flows(reply, more) : EPROTO);
        ofpbuf_delete(reply);
    }
    /* What had been told before the answer is in it. */
    if (!error && !watch_hear(w)) {
        error = ENOBUFS;
    }
    if (!error && !w->own_meters) {
        take_meters(w, &now);
    }
    *more -= (long long int) hmap_count(&w->push->live.flows) - w->own_flows;
    switch_state_destroy(&now);
    return error;
}

void
watch_want(struct watch *w, struct flow_entry *flow)
{
    switch_state_put(&w->push->wanted, flow);
    mark(w, flow);
}

void
watch_unwant(struct watch *w, const struct flow_entry *flow)
{
    struct flow_entry *old = flow_find(&w->push->wanted, flow);

    if (old) {
        switch_state_remove(&w->push->wanted, old);
    }
    mark(w, flow);
}

bool
watch_is_due(const struct watch *w)
{
    return (w->meters || w->limits || !ovs_list_is_empty(&w->wanted)
            || !ovs_list_is_empty(&w->live));
}

bool
watch_has_news(const struct watch *w)
{
    return w->news;
}

void
watch_compare(struct watch *w)
{
    struct push *push = w->push;
    const struct flow_entry *flow;

    w->news = false;
    push_place_meters(push, &w->wanted);
    LIST_FOR_EACH (flow, changed, &w->wanted) {
        push_compare_wanted(push, flow);
    }
    LIST_FOR_EACH (flow, changed, &w->live) {
        push_compare_live(push, flow);
    }
    push_compare_meters(push);
    limits_compare(push);
    push->diff->compared = true;
}

static void
forget(struct ovs_list *list)
{
    while (!ovs_list_is_empty(list)) {
        ovs_list_init(ovs_list_pop_front(list));
    }
}

void
watch_forget(struct watch *w)
{
    forget(&w->wanted);
    forget(&w->live);
    w->meters = w->limits = w->news = false;
}
