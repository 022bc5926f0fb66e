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
#include "push/state.h"
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

/* Deletes the meters of the switch whose 'used' is 'used' and that neither the
 * plan keeps nor others call, children before their parents. */
static void
delete_meters(struct push *push, bool used)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    struct session_error serror;
    struct meter_entry *meter;

    for (unsigned int level = METER_MAX_LEVELS; level-- > 0; ) {
        HMAP_FOR_EACH_SAFE (meter, node, &push->live.meters) {
            if (meter->used == used && !meter->kept && !meter->used_by_others
                && meter_level(&push->live, meter) == level) {
                struct ofpbuf *msg = meter_delete_message(meter->id);

                ovs_list_push_back(&requests, &msg->list_node);
                hmap_remove(&push->live.meters, &meter->node);
                free(meter);
            }
        }
    }
    /* A meter that stays is found and deleted by the next run. */
    if (push->resident) {
        session_tell(push->session, &requests, push->deadline);
    } else {
        session_send_all(push->session, &requests, push->deadline, &serror,
                         NULL);
    }
}

/* Takes back what send_changes() did, last first: deletes the meters that are
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

/* What send_changes() added, and undo_meters() did not take back, is live. */
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

/* Makes the messages that add meters; 'about' are those of the plan. */
static void
make_meters(struct push *push, struct ovs_list *requests,
            const struct plan_meter **about)
{
    const struct plan *plan = push->plan;

    for (size_t i = 0; i < plan->meters.n; i++) {
        if (!push->present[i]) {
            struct plan_meter m = push_placed_meter(push, i);
            struct ofpbuf *msg = meter_add_message(m.id, &m);

            *about++ = &plan->meters.v[i];
            ovs_list_push_back(requests, &msg->list_node);
        }
    }
}

/* Takes back what may be there, and says why. */
static const char *
take_back(struct push *push, int error, const struct session_error *serror,
          const struct plan_meter **about, size_t n, const bool *failed)
{
    size_t flow = serror->index - n;

    if (serror->unknown) {
        /* Meters stay: the flows may be there and need them. */
        push->diff->doubt = true;
        return arena_printf(push->arena, "bridge %s: %s while it "
                            "committed the flows: all of them took effect or "
                            "none; see 'bulkhead status'",
                            push->target->bridge,
                            ovs_retval_to_string(error));
    }
    undo_meters(push, failed);
    push->diff->refused = serror->ofperr != 0;
    return (serror->index < n || !push->n_about
            ? refusal(push, "a meter", error, serror, serror->index < n
                      ? plan_meter_string(push->plan, about[serror->index])
                      : NULL)
            : refusal(push, "the flows", error, serror, flow < push->n_about
                      ? push->about[flow]->text : NULL));
}

static struct ofpbuf *
make_change(const void *push_, size_t i)
{
    const struct push *push = push_;

    return flow_change_message(push->about[i]);
}

/* From here on the bridge may hold another plan than the one that is kept. */
static void
before_commit(const void *push_)
{
    const struct push *push = push_;

    if (push->state) {
        state_withdraw(push->state);
    }
}

/* Adds the meters, and changes the flows. */
static const char *
send_changes(struct push *push)
{
    struct ovs_list meters = OVS_LIST_INITIALIZER(&meters);
    size_t n_meters = MAX(1, push->plan->meters.n);
    const struct plan_meter **about = xcalloc(n_meters, sizeof *about);
    bool *failed = xcalloc(n_meters, sizeof *failed);
    const struct session_source flows = { push->n_about, make_change,
                                          before_commit, push };
    struct session_error serror;
    const char *reason = NULL;
    size_t n;
    int error;

    make_meters(push, &meters, about);
    n = ovs_list_size(&meters);
    error = (push->n_about
             ? session_bundle(push->session, &meters, &flows, push->deadline,
                              &serror, failed)
             : session_send_all(push->session, &meters, push->deadline,
                                &serror, failed));
    if (error) {
        reason = take_back(push, error, &serror, about, n, failed);
    }
    free(about);
    free(failed);
    return reason;
}

const char *
push_changes(struct push *push)
{
    const char *reason;

    delete_meters(push, false);
    reason = limits_set(push);
    if (reason) {
        return reason;
    }
    reason = send_changes(push);
    if (reason && !push->diff->doubt) {
        limits_undo(push);
    } else if (!reason) {
        settle_meters(push);
        push_flush_zones(push);
        limits_settle(push);
        delete_meters(push, true);
    }
    return reason;
}

void
push_deletes(struct push *push)
{
    struct ovs_list none = OVS_LIST_INITIALIZER(&none);
    struct session_error serror;
    size_t n = 0;

    for (size_t i = 0; i < push->n_about; i++) {
        if (!push->about[i]->text) {
            push->about[n++] = push->about[i];
        }
    }
    push->n_about = n;

    const struct session_source flows = { n, make_change, before_commit,
                                          push };
    if (n && session_bundle(push->session, &none, &flows, push->deadline,
                            &serror, NULL)) {
        push->n_about = 0;
        push->diff->doubt = serror.unknown;
    }
}
