/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "push/control.h"
#include "push/run.h"
#include "timeval.h"
#include "util.h"

/* What the switch says of a zone, and what it is told. */
#define FORMAT_LIMIT "zone=%"PRIu16",limit=%"PRIu32
#define SCAN_LIMIT "zone=%"SCNu16",limit=%"SCNu32

/* The datapath of the bridge, and of all others of its type. */
static const char *
datapath(const struct push *push)
{
    return arena_printf(push->arena, "%s@ovs-%s", push->info.datapath_type,
                        push->info.datapath_type);
}

void
limits_init(struct limits *limits)
{
    *limits = (struct limits) { .changes = VEC_INIT };
    hmap_init(&limits->live);
    upcalls_init(&limits->upcalls);
}

static void
clear(struct limits *limits)
{
    struct zone_limit *limit;

    HMAP_FOR_EACH_POP (limit, node, &limits->live) {
        free(limit);
    }
}

void
limits_destroy(struct limits *limits)
{
    clear(limits);
    hmap_destroy(&limits->live);
    upcalls_destroy(&limits->upcalls);
}

static struct zone_limit *
find_live(const struct limits *limits, uint16_t zone)
{
    struct zone_limit *limit;

    HMAP_FOR_EACH_WITH_HASH (limit, node, hash_int(zone, 0), &limits->live) {
        if (limit->zone == zone) {
            return limit;
        }
    }
    return NULL;
}

static void
put_live(struct limits *limits, uint16_t zone, uint32_t connections)
{
    struct zone_limit *limit = find_live(limits, zone);

    if (!limit) {
        limit = xmalloc(sizeof *limit);
        limit->zone = zone;
        hmap_insert(&limits->live, &limit->node, hash_int(zone, 0));
    }
    limit->connections = connections;
}

/* What flows of Bulkhead's say of the zone: whose it is, for instance. */
static const struct flow_entry *
find_flow(const struct switch_state *state, uint16_t zone, bool limited)
{
    const struct flow_entry *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, owner, hash_int(zone, 0), &state->owners) {
        if (flow->zone == zone && (flow->connections || !limited)
            && flow_is_ours(flow)) {
            return flow;
        }
    }
    return NULL;
}

bool
limits_are_of(const struct switch_state *state)
{
    return state->n_connections || upcalls_are_of(state);
}

static const char *
read_zones(struct push *push)
{
    const char *const arguments[] = { datapath(push) };
    const char *answer, *reason;

    clear(&push->limits);
    reason = control_ask("dpctl/ct-get-limits", arguments,
                         ARRAY_SIZE(arguments), push->deadline, push->arena,
                         &answer);
    if (reason) {
        return (push->wanted.n_connections || push->live.n_connections
                ? arena_printf(push->arena, "bridge %s: %s",
                               push->target->bridge, reason) : NULL);
    }
    for (const char *line = answer; line; line = strchr(line, '\n')) {
        uint32_t connections;
        uint16_t zone;

        line += *line == '\n';
        if (ovs_scan(line, SCAN_LIMIT, &zone, &connections)) {
            put_live(&push->limits, zone, connections);
        }
    }
    return NULL;
}

const char *
limits_read(struct push *push)
{
    const char *reason = read_zones(push);

    reason = reason ? reason : upcalls_read(push);
    push->limits.unknown = reason != NULL;
    return reason;
}

static void
add_change(struct push *push, const struct flow_entry *flow)
{
    const struct flow_entry *wanted = find_flow(&push->wanted, flow->zone,
                                                true);
    const struct zone_limit *live = find_live(&push->limits, flow->zone);
    struct limit_change change = {
        .zone = flow->zone, .had = live, .has = wanted,
        .was = live ? live->connections : 0,
        .is = wanted ? wanted->connections : 0,
    };

    for (size_t i = 0; i < push->limits.changes.n; i++) {
        if (push->limits.changes.v[i].zone == change.zone) {
            return;
        }
    }
    if (change.had != change.has || change.was != change.is) {
        *vec_push(push->arena, &push->limits.changes) = change;
        push->diff->limits_set += change.has;
        push->diff->limits_deleted += !change.has;
    }
}

static int
compare_zones(const void *a_, const void *b_)
{
    const struct limit_change *a = a_, *b = b_;

    return a->zone < b->zone ? -1 : a->zone > b->zone;
}

void
limits_forget(struct push *push)
{
    memset(&push->limits.changes, 0, sizeof push->limits.changes);
    upcalls_forget(push);
    push->diff->limits_set = push->diff->limits_deleted = 0;
}

bool
limits_differ(const struct limits *limits)
{
    return limits->changes.n || limits->upcalls.changes.n;
}

static void
compare_owners(struct push *push, const struct switch_state *state)
{
    const struct flow_entry *flow;

    HMAP_FOR_EACH (flow, owner, &state->owners) {
        if (flow_is_ours(flow)) {
            add_change(push, flow);
        }
    }
}

void
limits_compare(struct push *push)
{
    struct limits *limits = &push->limits;

    limits_forget(push);
    if (limits->unknown) {
        return;
    }
    /* Else no zone has a limit, nor is to have one. */
    if (push->wanted.n_connections || !hmap_is_empty(&limits->live)) {
        compare_owners(push, &push->wanted);
        compare_owners(push, &push->live);
    }
    if (limits->changes.n) {
        qsort(limits->changes.v, limits->changes.n,
              sizeof *limits->changes.v, compare_zones);
    }
    upcalls_compare(push);
}

const char *
limits_text(struct arena *arena, uint16_t zone, uint32_t connections)
{
    return arena_printf(arena, FORMAT_LIMIT, zone, connections);
}

/* Gives zones the limits that they are to have, or that they had. */
static const char *
set(struct push *push, bool undo, long long int deadline)
{
    const struct limits *limits = &push->limits;
    const char **arguments = xcalloc(limits->changes.n + 1,
                                     sizeof *arguments);
    const char *answer, *reason = NULL;
    size_t n = 0;

    arguments[n++] = datapath(push);
    for (size_t i = 0; i < limits->changes.n; i++) {
        const struct limit_change *c = &limits->changes.v[i];

        if (c->has && (c->had || !undo)) {
            arguments[n++] = limits_text(push->arena, c->zone,
                                         undo ? c->was : c->is);
        }
    }
    if (n > 1) {
        reason = control_ask("dpctl/ct-set-limits", arguments, n, deadline,
                             push->arena, &answer);
    }
    free(arguments);
    return reason;
}

/* Takes the limits of zones away that are not to have one, or had none.
 * Returns NULL, or why they stay. */
static const char *
delete(struct push *push, bool undo, long long int deadline)
{
    const struct limits *limits = &push->limits;
    struct ds zones = DS_EMPTY_INITIALIZER;
    const char *answer, *reason = NULL;

    for (size_t i = 0; i < limits->changes.n; i++) {
        const struct limit_change *c = &limits->changes.v[i];

        if (undo ? c->has && !c->had : !c->has) {
            ds_put_format(&zones, "%s%"PRIu16, zones.length ? "," : "zone=",
                          c->zone);
        }
    }
    if (zones.length) {
        const char *const arguments[] = { datapath(push), ds_cstr(&zones) };

        reason = control_ask("dpctl/ct-del-limits", arguments,
                             ARRAY_SIZE(arguments), deadline, push->arena,
                             &answer);
    }
    if (reason) {
        reason = arena_printf(push->arena, "limits of connections stay that "
                              "nobody wants, of %s: %s", ds_cstr(&zones),
                              reason);
    }
    ds_destroy(&zones);
    return reason;
}

const char *
limits_set(struct push *push)
{
    const char *reason = set(push, false, push->deadline);

    reason = reason ? reason : upcalls_set(push);
    if (reason) {
        limits_undo(push);
        push->limits.unknown = push->diff->refused = true;
        reason = arena_printf(push->arena, "bridge %s: %s",
                              push->target->bridge, reason);
    }
    return reason;
}

void
limits_undo(struct push *push)
{
    /* The deadline may have passed already: a second for the undoing. */
    long long int deadline = MAX(push->deadline, time_msec() + 1000);

    set(push, true, deadline);
    delete(push, true, deadline);
    upcalls_undo(push, deadline);
}

void
limits_settle(struct push *push)
{
    const char *reason = delete(push, false, push->deadline);
    struct limits *limits = &push->limits;

    if (reason) {
        *vec_push(push->arena, &push->diff->warnings) = reason;
    }
    for (size_t i = 0; i < limits->changes.n; i++) {
        const struct limit_change *c = &limits->changes.v[i];
        struct zone_limit *live = find_live(limits, c->zone);

        if (c->has) {
            put_live(limits, c->zone, c->is);
        } else if (live && !reason) {
            hmap_remove(&limits->live, &live->node);
            free(live);
        }
    }
    limits->changes.n = 0;
    upcalls_settle(push);
}

const char *
limits_name(const struct plan *plan, const struct limit_change *change)
{
    for (size_t i = 0; i < plan->tenants.n; i++) {
        if (plan->tenants.v[i].zone == change->zone) {
            return plan->tenants.v[i].name;
        }
    }
    return NULL;
}

static const char *
title(const struct push *push, const struct plan *old,
      const struct limit_change *change)
{
    const char *name = limits_name(push->plan, change);

    name = name || !old ? name : limits_name(old, change);
    return (name ? arena_printf(push->arena, "%s (connections)", name)
            : arena_printf(push->arena, "zone %"PRIu16, change->zone));
}

static const char *
words(struct arena *arena, bool there, uint32_t connections)
{
    return (there ? arena_printf(arena, "%"PRIu32" connections", connections)
            : NULL);
}

limit_words_vec
limits_describe(const struct push *push, const struct plan *old)
{
    const struct limits *limits = &push->limits;
    limit_words_vec all = VEC_INIT;

    for (size_t i = 0; i < limits->changes.n; i++) {
        const struct limit_change *c = &limits->changes.v[i];

        *vec_push(push->arena, &all) = (struct limit_words) {
            title(push, old, c), words(push->arena, c->had, c->was),
            words(push->arena, c->has, c->is),
        };
    }
    for (size_t i = 0; i < limits->upcalls.changes.n; i++) {
        const struct upcall_change *c = &limits->upcalls.changes.v[i];

        *vec_push(push->arena, &all) = (struct limit_words) {
            upcalls_title(push, old, c), upcalls_words(push->arena, c->was),
            upcalls_words(push->arena, c->is),
        };
    }
    return all;
}
