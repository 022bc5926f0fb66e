/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "intent/exceed.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

void
plan_init(struct plan *plan, struct arena *arena, const char *node,
          const char *target)
{
    memset(plan, 0, sizeof *plan);
    plan->arena = arena;
    plan->node = node;
    plan->target = target;
}

void
plan_add_flow(struct plan *plan, uint8_t table, uint16_t priority,
              uint64_t cookie, const char *match, const char *actions)
{
    *vec_push(plan->arena, &plan->flows) = (struct plan_flow) {
        .table = table, .priority = priority, .cookie = cookie,
        .match = match, .actions = actions,
    };
}

/* The action that notes the numbers, each of 4 bytes, after two of 0. */
static const char *
format_note(struct arena *arena, const uint32_t numbers[], size_t n)
{
    const char *note = "note:00.00";

    for (size_t i = 0; i < n; i++) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            note = arena_printf(arena, "%s.%02"PRIx32, note,
                                numbers[i] >> shift & 0xff);
        }
    }
    return note;
}

const char *
plan_limit_note(struct arena *arena, uint32_t connections)
{
    return format_note(arena, &connections, 1);
}

const char *
plan_upcalls_note(struct arena *arena, const struct plan_upcalls *limit)
{
    const uint32_t numbers[] = { limit->number, limit->rate, limit->burst };

    return format_note(arena, numbers, ARRAY_SIZE(numbers));
}

int
plan_compare_flows(const struct plan_flow *a, const struct plan_flow *b)
{
    if (a->table != b->table) {
        return a->table < b->table ? -1 : 1;
    } else if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    return strcmp(a->match, b->match);
}

/* Orders equal flows as they were added. */
static int
compare_added(const void *a_, const void *b_)
{
    const struct plan_flow *const *a = a_;
    const struct plan_flow *const *b = b_;
    int cmp = plan_compare_flows(*a, *b);

    return cmp ? cmp : *a < *b ? -1 : *a > *b;
}

void
plan_finish(struct plan *plan)
{
    size_t n = plan->flows.n, n_kept = 0;
    struct plan_flow **sorted = arena_zalloc(plan->arena, n * sizeof *sorted);
    struct plan_flow *kept = arena_zalloc(plan->arena, n * sizeof *kept);

    for (size_t i = 0; i < n; i++) {
        sorted[i] = &plan->flows.v[i];
    }
    if (n) {
        qsort(sorted, n, sizeof *sorted, compare_added);
    }
    for (size_t i = 0; i < n; i++) {
        if (!i || plan_compare_flows(sorted[i], sorted[i - 1])) {
            kept[n_kept++] = *sorted[i];
        } else if (strcmp(sorted[i]->actions, kept[n_kept - 1].actions)) {
            plan->conflict = arena_printf(
                plan->arena, "'%s' and '%s'",
                plan_flow_string(plan, &kept[n_kept - 1]),
                plan_flow_string(plan, sorted[i]));
        }
    }
    plan->flows.v = kept;
    plan->flows.n = n_kept;
    plan->flows.allocated = n;
}

void
plan_put_flow(const struct plan_flow *flow, struct ds *ds)
{
    ds_put_format(ds, "cookie=%#"PRIx64",table=%u,priority=%u", flow->cookie,
                  flow->table, flow->priority);
    if (flow->match[0]) {
        ds_put_char(ds, ',');
        ds_put_cstr(ds, flow->match);
    }
    ds_put_cstr(ds, " actions=");
    ds_put_cstr(ds, flow->actions);
}

const char *
plan_flow_string(const struct plan *plan, const struct plan_flow *flow)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    plan_put_flow(flow, &ds);
    s = arena_strndup(plan->arena, ds.string, ds.length);
    ds_destroy(&ds);
    return s;
}

/* Appends " NAME=N", if there is such a number. */
static void
put_number(struct ds *ds, const char *name, uint64_t n)
{
    if (n) {
        ds_put_format(ds, " %s=%"PRIu64, name, n);
    }
}

static const char *
microburst_string(const struct plan *plan, const struct plan_meter *meter)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    ds_put_format(&ds, "meter=%"PRIu32",kbps,burst,stats,bands="
                  "type=microburst rate=%"PRIu64" burst_bytes=%"PRIu32,
                  meter->id, meter->rate, meter->burst);
    put_number(&ds, "peak_rate", meter->peak);
    put_number(&ds, "mark", meter->mark);
    put_number(&ds, "depth", meter->depth);
    put_number(&ds, "limit", meter->limit);
    if (meter->exceed != EXCEED_DROP) {
        ds_put_cstr(&ds, " exceed=");
        exceed_format(meter->exceed, &ds);
    }
    put_number(&ds, "parent", meter->parent);
    put_number(&ds, "weight", meter->weight);
    put_number(&ds, "tag", meter->tag);
    s = arena_strdup(plan->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

const char *
plan_meter_string(const struct plan *plan, const struct plan_meter *meter)
{
    if (meter->microburst) {
        return microburst_string(plan, meter);
    }
    return arena_printf(plan->arena, "meter=%"PRIu32",%s,burst,stats,"
                        "bands=type=drop,rate=%"PRIu64",burst_size=%"PRIu32,
                        meter->id, meter->packets ? "pktps" : "kbps",
                        meter->rate, meter->burst);
}

const char *
plan_cookie_name(const struct plan *plan, uint64_t cookie)
{
    for (size_t i = 0; i < plan->cookies.n; i++) {
        if (plan->cookies.v[i].cookie == cookie) {
            return plan->cookies.v[i].name;
        }
    }
    return NULL;
}

const char *
plan_port_place(const struct plan *plan, const char *interface)
{
    for (size_t i = 0; i < plan->ports.n; i++) {
        if (!strcmp(plan->ports.v[i].interface, interface)) {
            return plan->ports.v[i].place;
        }
    }
    return NULL;
}

const char *
plan_meter_title(const struct plan *plan, const struct plan_meter *meter)
{
    const char *words[] = {
        meter->receive ? "receive" : NULL, meter->uplink,
        (meter->class ? arena_printf(plan->arena, "class %s", meter->class)
         : NULL),
        meter->dscp_in ? "dscp_in" : NULL, meter->tags ? "tag" : NULL,
        meter->rest ? "rest" : NULL, meter->limits ? "limit" : NULL,
    };
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *title, *separator = " (";

    ds_put_format(&ds, "%s%s", meter->lends ? "uplink " : "",
                  meter->endpoint ? meter->endpoint : meter->name);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (words[i]) {
            ds_put_format(&ds, "%s%s", separator, words[i]);
            separator = ", ";
        }
    }
    ds_put_cstr(&ds, separator[0] == ',' ? ")" : "");
    title = arena_strdup(plan->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return title;
}

const char *
plan_meter_name(const struct plan *plan, uint32_t id)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        uint32_t own = plan->meters.v[i].id;

        if (own == id || plan_meter_other(own) == id) {
            return plan_meter_title(plan, &plan->meters.v[i]);
        }
    }
    return NULL;
}

int
plan_compare_meters(const struct plan_meter *a, const struct plan_meter *b)
{
    return (a->lends != b->lends ? (a->lends ? -1 : 1)
            : a->split != b->split ? (a->split ? -1 : 1)
            : a->id < b->id ? -1 : a->id > b->id);
}

bool
plan_meter_same(const struct plan_meter *a, const struct plan_meter *b)
{
    return (a->packets == b->packets && a->rate == b->rate
            && a->burst == b->burst && a->microburst == b->microburst
            && a->exceed == b->exceed && a->mark == b->mark
            && a->depth == b->depth
            && a->limit == b->limit && a->tag == b->tag && a->peak == b->peak
            && a->parent == b->parent && a->weight == b->weight);
}
