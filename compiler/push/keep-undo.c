/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/keep-private.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(undo);

/* A change that the switch does not take: the node stays with what it has
 * taken, which is watched, repaired and cut off as ever. */

#define MATCHES_ADMIT ",table=0,"       /* KEEPER_ADMIT. */

void
before_init(struct keep_before *b, const struct keeper *k)
{
    *b = (struct keep_before) {
        .whole = k->whole, .accepted = k->accepted,
    };
    switch_state_init(&b->wanted);
    svec_init(&b->olds);
    svec_init(&b->news);
    sset_init(&b->admitted);
    svec_clone(&b->withdrawn, &k->withdrawn);
}

static bool
is_admission(const char *text)
{
    return strstr(text, MATCHES_ADMIT) != NULL && strchr(text, '"');
}

void
before_admits(struct keep_before *b, const char *text)
{
    if (is_admission(text)) {
        sset_add_and_free(&b->admitted, push_admission(text));
    }
}

void
before_judge(struct keep_before *b, const struct plan *plan)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    b->judged = true;
    for (size_t i = 0; i < plan->flows.n; i++) {
        if (plan->flows.v[i].table == KEEPER_ADMIT) {
            ds_clear(&ds);
            plan_put_flow(&plan->flows.v[i], &ds);
            before_admits(b, ds_cstr(&ds));
        }
    }
    ds_destroy(&ds);
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
    sset_destroy(&b->admitted);
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

/* Adds the text of what was wanted, if it let in who is let in no more, or as
 * another. */
static void
find_lost(const struct keep_before *b, const char *text, struct svec *lost)
{
    if (is_admission(text)) {
        char *admission = push_admission(text);

        if (!sset_contains(&b->admitted, admission)) {
            svec_add(lost, text);
        }
        free(admission);
    }
}

/* Of all that was wanted before. */
static void
find_all_lost(const struct keep_before *b, const struct keeper *k,
              struct svec *lost)
{
    const struct hmap *wanted = &(b->all ? &b->wanted
                                  : &k->push.wanted)->flows;
    const struct flow_entry *flow;

    HMAP_FOR_EACH (flow, node, wanted) {
        if (b->judged && flow->table == KEEPER_ADMIT) {
            find_lost(b, flow->text, lost);
        }
    }
    for (size_t i = 0; i < b->olds.n; i++) {
        find_lost(b, b->olds.names[i], lost);
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
        if (flow->table == KEEPER_ADMIT) {
            return true;
        }
    }
    return false;
}

/* The wanted flow of that text, which names 'interface', or NULL. */
static struct flow_entry *
find_wanted(const struct keeper *k, const char *interface, const char *text)
{
    struct flow_entry *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, name,
                             flow_named(interface, strlen(interface)),
                             &k->push.wanted.named) {
        if (!strcmp(flow->text, text)) {
            return flow;
        }
    }
    return NULL;
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
        const char *name = strchr(text, '"') + 1;
        char *interface = xmemdup0(name, strcspn(name, "\""));
        struct flow_entry *flow = find_wanted(k, interface, text);

        if (flow) {
            struct flow_entry *key = flow_clone(flow);

            watch_unwant(&k->watch, key);
            flow_destroy(key);
        }
        sset_add_and_free(&interfaces, interface);
    }
    SSET_FOR_EACH_SAFE (text, next, &interfaces) {
        if (lets_in(k, text)) {
            sset_delete(&interfaces, SSET_NODE_FROM_NAME(text));
        }
    }
    keeper_leave_out(k, &interfaces);
    sset_destroy(&interfaces);
}

/* Makes flows unwanted that name interfaces which have gone. */
static void
leave_out_gone(struct keeper *k)
{
    struct sset gone = SSET_INITIALIZER(&gone);

    keeper_find_gone(k, &k->plan, &gone);
    keeper_leave_out(k, &gone);
    sset_destroy(&gone);
}

/* Makes the bridge hold what is wanted, unfit as it may be: nothing new is. */
static void
go_on(struct keeper *k, const char *reason)
{
    reason = reason ? reason : keeper_read_live(k);
    if (reason) {
        keeper_fail(k, reason);
        return;
    }
    limits_read(&k->push);      /* Else they stay as they are. */
    push_compare(&k->push);
    if (keeper_carry_out(k)) {
        k->wants_plan = false;
        k->next_check = time_msec() + KEEPER_CHECK_MS;
    }
}

/* Takes ports as they are now: some may have gone, or have other numbers. */
static const char *
resolve(struct keeper *k)
{
    keeper_take_ports(k);
    leave_out_gone(k);
    return flows_resolve(&k->push.wanted, &k->ports, k->arena);
}

void
keeper_take_back(struct keeper *k, struct keep_before *b, const char *reason,
                 const struct sset *without)
{
    bool refused = k->diff.refused || k->diff.unfit.n;
    struct svec lost = SVEC_EMPTY_INITIALIZER;
    bool whole = b->whole_put;

    if (!refused || k->diff.doubt) {
        k->accepted = false;
        if (!k->whole) {        /* Else that is still to come. */
            before_restore(b, k);
        }
        keeper_fail(k, reason);
        return;
    }
    find_all_lost(b, k, &lost);
    if (!b->accepted) {
        if (!b->all || !k->whole) {     /* Else it is the last plan's. */
            before_restore(b, k);
            cut_off(k, &lost);
            resolve(k);
        }
        keeper_fail(k, reason);
        keeper_close_off(k);
        svec_destroy(&lost);
        return;
    }
    keeper_set_refusal(k, reason);
    keeper_begin(k);
    reason = before_restore(b, k);
    cut_off(k, &lost);
    if (without) {
        keeper_leave_out(k, without);
    }
    if (!reason && whole) {
        reason = resolve(k);
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
