/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "push/keep-private.h"
#include "push/session.h"
#include "reconnect.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(keep);

enum { MIN_BACKOFF_MS = 50, MAX_BACKOFF_MS = 1000 };

struct keeper *
keeper_create(const struct push_target *target)
{
    struct keeper *k = xzalloc(sizeof *k);

    k->target = *target;
    k->db = database_open(target->db, true);
    k->fsm = reconnect_create(time_msec());
    reconnect_set_name(k->fsm, target->bridge);
    reconnect_set_backoff(k->fsm, MIN_BACKOFF_MS, MAX_BACKOFF_MS);
    reconnect_set_probe_interval(k->fsm, 0);
    reconnect_enable(k->fsm, time_msec());
    push_init(&k->push, &k->target, ACTION_APPLY);
    k->push.resident = true;
    k->arena = arena_create();
    k->plan_arena = arena_create();
    k->info_arena = arena_create();
    plan_init(&k->plan, k->plan_arena, "", "");
    push_set_plan(&k->push, &k->plan);
    ofputil_port_map_init(&k->ports);
    svec_init(&k->withdrawn);
    watch_init(&k->watch, &k->push);
    token_bucket_init(&k->repairs, 1, KEEPER_REPAIR_BURST);
    k->wants_plan = k->owed = true;
    k->retry_ms = KEEPER_RETRY_MS;
    return k;
}

void
keeper_destroy(struct keeper *k)
{
    if (k) {
        push_destroy(&k->push);
        session_close(k->connecting);
        ofputil_port_map_destroy(&k->ports);
        svec_destroy(&k->withdrawn);
        reconnect_destroy(k->fsm);
        database_close(k->db);
        arena_destroy(k->arena);
        arena_destroy(k->plan_arena);
        arena_destroy(k->info_arena);
        free(k->trouble);
        free(k->refusal);
        free(k->blind);
        free(k->no_bridge);
        free(k);
    }
}

void
keeper_set_trouble(struct keeper *k, const char *reason)
{
    if (reason && (!k->trouble || strcmp(reason, k->trouble))) {
        VLOG_WARN("%s", reason);
    } else if (!reason && k->trouble) {
        VLOG_INFO("bridge %s: holds its plan", k->target.bridge);
    }
    free(k->trouble);
    k->trouble = nullable_xstrdup(reason);
}

void
keeper_begin(struct keeper *k)
{
    struct arena *old = k->arena;

    k->arena = arena_create();
    push_begin(&k->push, k->arena, &k->diff);
    k->plan.arena = k->arena;
    arena_destroy(old);
}

void
keeper_disconnect(struct keeper *k, int error)
{
    if (k->push.session) {
        session_close(k->push.session);
        k->push.session = NULL;
        reconnect_disconnected(k->fsm, time_msec(), error);
    }
    k->live_known = false;
    k->asked = false;
    k->wants_plan = true;
}

void
keeper_fail(struct keeper *k, const char *reason)
{
    bool refused = k->diff.refused || k->diff.unfit.n;

    keeper_set_trouble(k, reason);
    k->next_try = time_msec() + (refused ? k->retry_ms : KEEPER_RETRY_MS);
    if (refused && k->wants_plan) {
        k->retry_ms = MIN(2 * k->retry_ms, KEEPER_MAX_RETRY_MS);
    }
    k->live_known = k->live_known && (k->diff.refused || !k->wants_plan);
    if (k->diff.doubt || (!k->diff.unfit.n && !k->diff.refused)) {
        keeper_disconnect(k, 0);
    }
}

/* Flows that have been sent are live now, and what has been deleted is not. */
static void
settle_flows(struct keeper *k)
{
    struct push *push = &k->push;

    for (size_t i = 0; i < push->n_about; i++) {
        const struct flow_entry *flow = push->about[i];

        if (flow->text) {
            k->watch.own_flows += !flow_find(&push->live, flow);
            switch_state_put(&push->live, flow_clone(flow));
        } else {
            k->watch.own_flows--;
            switch_state_remove(&push->live, flow_find(&push->live, flow));
        }
    }
    push->n_about = 0;
}

/* All that was compared has been sent. */
static void
settle(struct keeper *k)
{
    settle_flows(k);
    k->watch.own_meters |= (k->diff.meters_added || k->diff.meters_deleted);
    watch_forget(&k->watch);
}

const char *
keeper_send(struct keeper *k)
{
    const char *reason = push_carry_out(&k->push);

    if (!reason) {
        settle(k);
        keeper_set_trouble(k, NULL);
    }
    return reason;
}

void
keeper_send_deletes(struct keeper *k)
{
    push_deletes(&k->push);
    settle_flows(k);
}

bool
keeper_carry_out(struct keeper *k)
{
    const char *reason = keeper_send(k);

    if (reason && (k->diff.refused || k->diff.unfit.n)) {
        keeper_send_deletes(k);         /* What is to go can all the same. */
    }
    if (reason) {
        keeper_fail(k, reason);
    }
    return !reason;
}

/* Takes what the switch has told.  Returns false if the session had to end. */
static bool
hear(struct keeper *k)
{
    int error = session_run(k->push.session);

    while (!k->live_known) {    /* All will be read, later than this. */
        struct ofpbuf *update = session_pop(k->push.session);

        if (!update) {
            break;
        }
        ofpbuf_delete(update);
    }
    if (!error && k->live_known && !watch_hear(&k->watch)) {
        error = ENOBUFS;
    }
    if (error) {
        keeper_set_trouble(k, arena_printf(
            k->arena, "bridge %s: the session ended: %s", k->target.bridge,
            ovs_retval_to_string(error)));
        keeper_disconnect(k, error);
    }
    return !error;
}

/* Are the live flows as many as the switch has?  If not, twice in a row, they
 * are to be read again: what it tells and what it is asked may cross.  Returns
 * true if that is to be asked again at once. */
static bool
count_flows(struct keeper *k, long long int more)
{
    if (k->hidden < 0 && more >= 0) {
        k->hidden = more;
    } else if (more >= 0 && more == k->hidden) {
        k->miscounted = false;
    } else if (!k->miscounted) {        /* Fewer than live, or others. */
        k->miscounted = true;
    } else {
        VLOG_WARN("bridge %s: its flows have changed, and it has not told",
                  k->target.bridge);
        k->live_known = false;
        k->wants_plan = true;
        k->next_try = 0;
    }
    return k->miscounted;
}

/* The session is of no use. */
static void
give_up(struct keeper *k, int error)
{
    keeper_set_trouble(k, push_errno(&k->push, "looking for changes", error));
    keeper_disconnect(k, error);
}

/* Looks at limits, which another socket of the switch tells.  That it does not
 * is no reason to leave flows as they are. */
static void
check_limits(struct keeper *k)
{
    const char *reason;

    if (time_msec() < k->limits_at) {
        return;
    }
    k->push.deadline = MIN(k->push.deadline, time_msec() + KEEPER_LIMITS_MS);
    reason = watch_limits(&k->watch);
    if (reason && !k->blind) {
        VLOG_WARN("%s", reason);
    }
    free(k->blind);
    k->blind = nullable_xstrdup(reason);
    k->limits_at = reason ? time_msec() + KEEPER_LIMITS_RETRY_MS : 0;
}

/* Takes what the switch says when it is asked, by 'deadline'; or, if that is
 * 0, if it has said it. */
static void
take_answer(struct keeper *k, long long int deadline)
{
    bool meters = !k->watch.own_meters, again;
    long long int more;
    int error;

    keeper_begin(k);
    error = watch_answer(&k->watch, deadline, &more);
    if (error == EAGAIN) {
        return;
    }
    k->asked = false;
    if (error) {
        give_up(k, error);
        return;
    }
    check_limits(k);
    again = count_flows(k, more) || !meters;
    k->next_check = time_msec() + (again ? 0 : KEEPER_CHECK_MS);
}

/* Takes the answer to keeper_ask(), if it has come. */
static void
check(struct keeper *k)
{
    if (k->asked) {
        take_answer(k, 0);
        if (k->asked && time_msec() >= k->asked_until) {
            give_up(k, ETIMEDOUT);
        }
    }
}

void
keeper_ask(struct keeper *k)
{
    if (k->push.session && !k->wants_plan && !k->asked
        && time_msec() >= k->next_check) {
        keeper_begin(k);
        watch_ask(&k->watch);
        k->asked = true;
        k->asked_until = k->push.deadline;
    }
}

/* Undoes what others have changed. */
static void
repair(struct keeper *k)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 20);
    struct push_diff *diff = &k->diff;

    keeper_begin(k);            /* With a meter go the flows that call it. */
    watch_ask(&k->watch);
    k->asked = true;
    take_answer(k, k->push.deadline);
    if (k->wants_plan) {
        return;
    }
    watch_compare(&k->watch);
    if (!keeper_carry_out(k) || !push_diff_is_of_flows(diff)) {
        return;
    }
    k->counts.repairs++;
    k->counts.flows += (diff->flows_added + diff->flows_changed
                        + diff->flows_deleted);
    k->counts.meters += diff->meters_added + diff->meters_deleted;
    k->counts.last_repair = time_wall();
    VLOG_WARN_RL(&rl, "bridge %s: repaired what somebody has changed: flows "
                 "%"PRIuSIZE" added, %"PRIuSIZE" changed, %"PRIuSIZE" deleted;"
                 " meters %"PRIuSIZE" added, %"PRIuSIZE" deleted",
                 k->target.bridge, diff->flows_added, diff->flows_changed,
                 diff->flows_deleted, diff->meters_added,
                 diff->meters_deleted);
}

/* May it, but for its tokens? */
static bool
repair_may_begin(const struct keeper *k)
{
    return (watch_is_due(&k->watch)
            && (watch_has_news(&k->watch) || time_msec() >= k->next_try));
}

void
keeper_run(struct keeper *k)
{
    keeper_follow_database(k);
    keeper_connect(k);
    if (!k->push.session || !hear(k) || k->wants_plan) {
        return;
    }
    check(k);
    if (!k->wants_plan && repair_may_begin(k)
        && token_bucket_withdraw(&k->repairs, KEEPER_REPAIR_COST)) {
        repair(k);
    }
}

/* For the plan, which nobody asks for while nothing is known of the bridge. */
static void
wait_for(const struct keeper *k, long long int when)
{
    if (k->info_seqno) {
        poll_timer_wait_until(when);
    }
}

void
keeper_wait(struct keeper *k)
{
    database_wait(k->db);
    keeper_connect_wait(k);
    if (!k->push.session) {
        return;
    }
    session_wait(k->push.session);
    if (k->wants_plan) {
        wait_for(k, k->next_try);
        return;
    } else if (k->refusal) {
        wait_for(k, k->plan_at);
    }
    if (repair_may_begin(k)) {
        token_bucket_wait(&k->repairs, KEEPER_REPAIR_COST);
    } else if (watch_is_due(&k->watch)) {
        poll_timer_wait_until(k->next_try);
    }
    poll_timer_wait_until(k->asked ? k->asked_until : k->next_check);
}

/* The plan. */

bool
keeper_wants_plan(const struct keeper *k)
{
    return (k->push.session && k->info_seqno
            && (k->wants_plan ? time_msec() >= k->next_try
                : k->refusal && time_msec() >= k->plan_at));
}

bool
keeper_is_settled(const struct keeper *k)
{
    return (k->push.session && !k->wants_plan && !k->trouble
            && !watch_is_due(&k->watch));
}

bool
keeper_is_equal(const struct keeper *k)
{
    return keeper_is_settled(k) && !k->refusal && !k->blind;
}

const char *
keeper_trouble(const struct keeper *k)
{
    return (k->no_bridge ? k->no_bridge : k->trouble ? k->trouble
            : k->refusal ? k->refusal : k->blind);
}

bool
keeper_is_connected(const struct keeper *k)
{
    return k->push.session != NULL;
}

const struct keeper_counts *
keeper_counts(const struct keeper *k)
{
    return &k->counts;
}

const struct bridge_info *
keeper_bridge(const struct keeper *k)
{
    return k->info_seqno ? &k->push.info : NULL;
}

unsigned int
keeper_bridge_seqno(const struct keeper *k)
{
    return k->info_seqno;
}

bool
keeper_is_uncounted(const struct keeper *k)
{
    return k->info_seqno && push_is_uncounted(&k->push);
}

/* As count_foreign() of push.c, for all that is live. */
size_t
keeper_foreign_flows(const struct keeper *k)
{
    const struct switch_state *wanted = &k->push.wanted;
    const struct switch_state *live = &k->push.live;
    size_t last = ARRAY_SIZE(wanted->n_flows), n = 0;

    while (last > 0 && !wanted->n_flows[last - 1].ours) {
        last--;
    }
    for (size_t i = 0; i < last; i++) {
        n += live->n_flows[i].others;
    }
    return n;
}
