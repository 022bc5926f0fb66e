/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <inttypes.h>
#include <stdlib.h>

#include "openvswitch/ofpbuf.h"
#include "push/session.h"
#include "timeval.h"
#include "util.h"

static const char *
refusal(struct push *push, const char *what, int error,
        const struct session_error *serror, const char *about)
{
    if (serror->ofperr) {
        return arena_printf(push->arena, "bridge %s refused %s: %s%s%s",
                            push->target->bridge, what,
                            ofperr_to_string(serror->ofperr),
                            about ? ": " : "", about ? about : "");
    }
    return push_errno(push, what, error);
}

/* Deletes the meters of the switch whose 'used' is 'used' and that the plan
 * does not keep, children before their parents. */
static void
delete_meters(struct push *push, bool used)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    struct session_error serror;
    struct meter_entry *meter;

    for (unsigned int level = METER_MAX_LEVELS; level-- > 0; ) {
        HMAP_FOR_EACH_SAFE (meter, node, &push->live.meters) {
            if (meter->used == used && !meter->kept
                && meter_level(&push->live, meter) == level) {
                struct ofpbuf *msg = meter_delete_message(meter->id);

                ovs_list_push_back(&requests, &msg->list_node);
                hmap_remove(&push->live.meters, &meter->node);
                free(meter);
            }
        }
    }
    /* A meter that stays is found and deleted by the next run. */
    session_send_all(push->session, &requests, push->deadline, &serror, NULL);
}

/* Takes back what add_meters() did, last first: deletes the meters that are
 * not in 'failed', which is in the order of those that the plan adds.  A meter
 * that the switch would not add may be there for somebody else. */
static void
undo_meters(struct push *push, const bool *failed)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    struct session_error serror;
    size_t n = 0;

    for (size_t i = 0; i < push->plan->meters.n; i++) {
        n += !push->present[i];
    }
    for (size_t i = push->plan->meters.n; i-- > 0; ) {
        if (!push->present[i] && !(failed && failed[--n])) {
            struct ofpbuf *msg = meter_delete_message(push->ids[i]);

            ovs_list_push_back(&requests, &msg->list_node);
        }
    }
    /* The deadline may have passed already: a second for the undoing. */
    session_send_all(push->session, &requests,
                     MAX(push->deadline, time_msec() + 1000), &serror, NULL);
}

/* What add_meters() added, and undo_meters() did not take back, is live. */
static void
settle_meters(struct push *push)
{
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        if (!push->present[i]) {
            struct plan_meter meter = push_placed_meter(push, i);

            meter_put(&push->live, meter.id, &meter);
            push->present[i] = true;
        }
    }
}

static const char *
add_meters(struct push *push)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    const struct plan *plan = push->plan;
    struct session_error serror;
    const struct plan_meter **about = xcalloc(MAX(1, plan->meters.n),
                                              sizeof *about);
    bool *failed = xcalloc(MAX(1, plan->meters.n), sizeof *failed);
    const char *reason = NULL;
    size_t n = 0;
    int error;

    for (size_t i = 0; i < plan->meters.n; i++) {
        if (!push->present[i]) {
            struct plan_meter m = push_placed_meter(push, i);
            struct ofpbuf *msg = meter_add_message(m.id, &m);

            about[n++] = &plan->meters.v[i];
            ovs_list_push_back(&requests, &msg->list_node);
        }
    }
    error = session_send_all(push->session, &requests, push->deadline, &serror,
                             failed);
    if (error) {
        reason = refusal(push, "a meter", error, &serror, serror.index < n
                         ? plan_meter_string(plan, about[serror.index])
                         : NULL);
        undo_meters(push, failed);
    }
    free(about);
    free(failed);
    return reason;
}

static const char *
change_flows(struct push *push)
{
    struct session_error serror;
    int error = session_bundle(push->session, &push->changes, push->deadline,
                               &serror);
    const char *reason;

    if (!error) {
        return NULL;
    } else if (serror.unknown) {
        /* Meters stay: the flows may be there and need them. */
        push->diff->doubt = true;
        return arena_printf(push->arena, "bridge %s: %s while it "
                            "committed the flows: all of them took effect or "
                            "none; see 'bulkhead status'",
                            push->target->bridge,
                            ovs_retval_to_string(error));
    }
    reason = refusal(push, "the flows", error, &serror,
                     serror.index < push->n_about
                     ? push->about[serror.index]->text : NULL);
    undo_meters(push, NULL);
    return reason;
}

const char *
push_changes(struct push *push)
{
    const char *reason;

    delete_meters(push, false);
    reason = add_meters(push);
    if (!reason && push->n_about) {
        reason = change_flows(push);
    }
    if (!reason) {
        settle_meters(push);
        push_flush_zones(push);
        delete_meters(push, true);
    }
    return reason;
}
