/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(undo);

/* A change that the switch does not take: the node stays with what it has
 * taken, which is watched, repaired and cut off as ever. */

/* All packets of an interface are let in, or not, by this table. */
enum { TABLE_ADMIT = 0 };

void
before_init(struct keep_before *b, const struct keeper *k)
{
    *b = (struct keep_before) {
        .whole = k->whole, .accepted = k->accepted,
    };
    switch_state_init(&b->wanted);
    svec_init(&b->olds);
    svec_init(&b->news);
    svec_clone(&b->withdrawn, &k->withdrawn);
}

void
before_flow(struct keep_before *b, const struct keeper *k,
            const struct flow_entry *flow)
{
    const struct flow_entry *old = flow_find(&k->push.wanted, flow);

    svec_add(old ? &b->olds : &b->news, old ? old->text : flow->text);
}

void
before_destroy(struct keep_before *b)
{
    switch_state_destroy(&b->wanted);
    svec_destroy(&b->olds);
    svec_destroy(&b->news);
    svec_destroy(&b->withdrawn);
    arena_destroy(b->plan_arena);
}

/* Flow by flow. */
static const char *
restore_flows(struct keep_before *b, struct keeper *k)
{
    struct flow_entry *flow;
    const char *reason;

    for (size_t i = 0; i < b->news.n; i++) {
        reason = flow_parse(b->news.names[i], &k->ports, k->arena, &flow);
        if (reason) {
            return reason;
        }
        watch_unwant(&k->watch, flow);
        flow_destroy(flow);
    }
    for (size_t i = 0; i < b->olds.n; i++) {
        reason = flow_parse(b->olds.names[i], &k->ports, k->arena, &flow);
        if (reason) {
            return reason;
        }
        watch_want(&k->watch, flow);
    }
    return NULL;
}

const char *
before_restore(struct keep_before *b, struct keeper *k)
{
    const char *reason = NULL;

    if (b->plan_arena) {
        arena_destroy(k->plan_arena);
        k->plan = b->plan;
        k->plan.arena = k->arena;
        k->plan_arena = b->plan_arena;
        b->plan_arena = NULL;
    }
    push_set_plan(&k->push, &k->plan);
    if (b->all) {
        flows_swap(&k->push.wanted, &b->wanted);
    } else {
        reason = restore_flows(b, k);
    }
    svec_destroy(&k->withdrawn);
    svec_clone(&k->withdrawn, &b->withdrawn);
    k->whole = b->whole && !reason;
    k->accepted = b->accepted;
    k->owed = true;
    return reason;
}

/* Adds the text of 'old', which was wanted, if it let in what is let in no
 * more, or otherwise. */
static void
find_lost(const struct keeper *k, const struct flow_entry *old,
          struct svec *lost)
{
    const struct flow_entry *new;

    if (old->table == TABLE_ADMIT && old->named) {
        new = flow_find(&k->push.wanted, old);
        if (!new || !flow_same(new, old)) {
            svec_add(lost, old->text);
        }
    }
}

/* Of all that was wanted before. */
static void
find_all_lost(const struct keep_before *b, const struct keeper *k,
              struct svec *lost)
{
    struct flow_entry *flow;

    HMAP_FOR_EACH (flow, node, &b->wanted.flows) {
        find_lost(k, flow, lost);
    }
    for (size_t i = 0; i < b->olds.n; i++) {
        if (!flow_parse(b->olds.names[i], &k->ports, k->arena, &flow)) {
            find_lost(k, flow, lost);
            flow_destroy(flow);
        }
    }
}

/* Is anything let in that comes by the interface? */
static bool
lets_in(const struct keeper *k, const char *interface)
{
    const struct flow_entry *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, name,
                             flow_named(interface, strlen(interface)),
                             &k->push.wanted.named) {
        if (flow->table == TABLE_ADMIT) {
            return true;
        }
    }
    return false;
}

/* Makes these flows unwanted, and with the last of an interface all that name
 * it. */
static void
cut_off(struct keeper *k, const struct svec *lost)
{
    struct sset interfaces = SSET_INITIALIZER(&interfaces);
    const char *text, *next;
    size_t i;

    SVEC_FOR_EACH (i, text, lost) {
        const char *name = strchr(text, '"');
        struct flow_entry *flow;

        if (!flow_parse(text, &k->ports, k->arena, &flow)) {
            watch_unwant(&k->watch, flow);
            flow_destroy(flow);
        }
        sset_add_and_free(&interfaces,
                          xmemdup0(name + 1, strcspn(name + 1, "\"")));
    }
    SSET_FOR_EACH_SAFE (text, next, &interfaces) {
        if (lets_in(k, text)) {
            sset_delete(&interfaces, SSET_NODE_FROM_NAME(text));
        }
    }
    keeper_leave_out(k, &interfaces);
    sset_destroy(&interfaces);
}

/* Makes the bridge hold what is wanted, unfit as it may be: nothing new is. */
static void
go_on(struct keeper *k, const char *reason)
{
    reason = reason ? reason : keeper_read_live(k);
    reason = reason ? reason : limits_read(&k->push);
    if (!reason) {
        push_compare(&k->push);
        reason = keeper_send(k);
    }
    if (reason) {
        keeper_fail(k, reason);
    } else {
        k->wants_plan = false;
        k->next_check = time_msec() + KEEPER_CHECK_MS;
    }
}

void
keeper_take_back(struct keeper *k, struct keep_before *b, const char *reason,
                 const struct sset *without)
{
    bool refused = k->diff.refused || k->diff.unfit.n;
    struct svec lost = SVEC_EMPTY_INITIALIZER;

    if (!b->accepted || k->diff.doubt) {
        keeper_fail(k, reason);
        return;
    } else if (!refused) {
        before_restore(b, k);
        keeper_fail(k, reason);
        return;
    }
    keeper_set_refusal(k, reason);
    keeper_begin(k);
    find_all_lost(b, k, &lost);
    reason = before_restore(b, k);
    cut_off(k, &lost);
    if (without) {
        keeper_leave_out(k, without);
    }
    if (!reason && b->all) {    /* Ports may have other numbers now. */
        reason = flows_resolve(&k->push.wanted, &k->ports, k->arena);
    }
    go_on(k, reason);
    svec_destroy(&lost);
}

void
keeper_set_refusal(struct keeper *k, const char *reason)
{
    if (reason && (!k->refusal || strcmp(reason, k->refusal))) {
        VLOG_WARN("%s; until then, bridge %s is kept as it was", reason,
                  k->target.bridge);
    }
    free(k->refusal);
    k->refusal = nullable_xstrdup(reason);
    k->plan_at = time_msec() + k->retry_ms;
    k->retry_ms = (reason ? MIN(2 * k->retry_ms, KEEPER_MAX_RETRY_MS)
                   : KEEPER_RETRY_MS);
}
