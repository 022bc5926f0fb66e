/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <inttypes.h>
#include <stdlib.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

/* Notes a line; beyond the limit it is only counted. */
static void
add_line(struct push *push, const struct push_line *line)
{
    if (push->diff->lines.n < PUSH_MAX_LINES) {
        *vec_push(push->arena, &push->diff->lines) = *line;
    } else {
        push->diff->lines_left_out++;
    }
}

/* The flow as ovs-ofctl writes it. */
static const char *
flow_string(const struct push *push, const struct flow_entry *flow)
{
    struct ds match = DS_EMPTY_INITIALIZER, actions = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params params = {
        .port_map = &push->info.ports, .s = &actions,
    };
    const char *text;

    minimatch_format(&flow->match, NULL, &push->info.ports, &match,
                     flow->priority);
    ofpacts_format(flow->ofpacts, flow->ofpacts_len, &params);
    text = arena_printf(push->arena, "cookie=%#"PRIx64",table=%"PRIu8"%s%s "
                        "actions=%s", flow->cookie, flow->table,
                        match.length ? "," : "", ds_cstr(&match),
                        ds_cstr(&actions));
    ds_destroy(&match);
    ds_destroy(&actions);
    return text;
}

static void
add_flow(struct push *push, const struct flow_entry *flow, bool held)
{
    struct push_line line = { .what = "flow", .held = held };

    if (push->diff->lines.n < PUSH_MAX_LINES) {
        line.text = flow_string(push, flow);
        line.name = plan_cookie_name(push->plan, flow->cookie);
    }
    add_line(push, &line);
}

static int
compare_places(const void *a_, const void *b_)
{
    const struct flow_entry *const *ap = a_, *const *bp = b_;
    const struct flow_entry *a = *ap, *b = *bp;

    return (a->table != b->table ? a->table - b->table
            : a->priority != b->priority ? b->priority - a->priority
            : a->cookie < b->cookie ? -1 : a->cookie > b->cookie);
}

static void
list_flows(struct push *push)
{
    const struct flow_entry **sorted
        = xmemdup(push->about, push->n_about * sizeof *sorted);

    qsort(sorted, push->n_about, sizeof *sorted, compare_places);
    for (size_t i = 0; i < push->n_about; i++) {
        const struct flow_entry *live = flow_find(&push->live, sorted[i]);

        if (live) {
            add_flow(push, live, true);
        }
        if (sorted[i]->text) {
            add_flow(push, sorted[i], false);
        }
    }
    free(sorted);
}

/* Two meters of a tenant have names of their own. */
static const char *
name_of_meter(const struct push *push, uint32_t id)
{
    const char *name = plan_meter_name(push->plan, id);

    return (name && plan_meter_counts_packets(id)
            ? arena_printf(push->arena, "%s (packets)", name) : name);
}

static void
add_meter(struct push *push, uint32_t id, const struct plan_meter *limit,
          bool held)
{
    struct plan_meter meter = limit ? *limit : (struct plan_meter) { .id = 0 };
    struct push_line line = {
        .what = "meter", .held = held,
        .name = name_of_meter(push, id),
    };

    meter.id = id;
    line.text = (limit ? plan_meter_string(push->plan, &meter)
                 : arena_printf(push->arena, "meter=%"PRIu32", which is none "
                                "of Bulkhead's kind", id));
    add_line(push, &line);
}

static int
compare_ids(const void *a_, const void *b_)
{
    const struct meter_entry *const *a = a_, *const *b = b_;

    return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

static void
list_meters(struct push *push)
{
    size_t n = 0;
    const struct meter_entry *meter, **sorted
        = xmalloc((1 + hmap_count(&push->live.meters)) * sizeof *sorted);

    HMAP_FOR_EACH (meter, node, &push->live.meters) {
        if (!meter->kept) {
            sorted[n++] = meter;
        }
    }
    qsort(sorted, n, sizeof *sorted, compare_ids);
    for (size_t i = 0; i < n; i++) {
        add_meter(push, sorted[i]->id,
                  sorted[i]->simple ? &sorted[i]->limit : NULL, true);
    }
    free(sorted);
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        if (!push->present[i]) {
            struct plan_meter placed = push_placed_meter(push, i);

            add_meter(push, placed.id, &placed, false);
        }
    }
}

static void
add_limit(struct push *push, const struct limit_change *c, bool held)
{
    struct push_line line = {
        .what = "limit", .held = held, .name = limits_name(push->plan, c),
        .text = limits_text(push->arena, c->zone, held ? c->was : c->is),
    };

    add_line(push, &line);
}

static void
add_upcalls(struct push *push, const struct upcall_change *c,
            const struct upcall_limit *limit, bool held)
{
    struct push_line line = {
        .what = "limit", .held = held, .name = upcalls_name(push->plan, c),
        .text = limit ? upcalls_text(push->arena, c, limit) : NULL,
    };

    if (limit) {
        add_line(push, &line);
    }
}

static void
list_limits(struct push *push)
{
    for (size_t i = 0; i < push->limits.changes.n; i++) {
        const struct limit_change *c = &push->limits.changes.v[i];

        if (c->had) {
            add_limit(push, c, true);
        }
        if (c->has) {
            add_limit(push, c, false);
        }
    }
    for (size_t i = 0; i < push->limits.upcalls.changes.n; i++) {
        const struct upcall_change *c = &push->limits.upcalls.changes.v[i];

        add_upcalls(push, c, c->was, true);
        add_upcalls(push, c, c->is, false);
    }
}

void
push_list(struct push *push)
{
    list_meters(push);
    list_limits(push);
    if (push->n_about) {
        list_flows(push);
    }
    for (size_t i = 0; i < push->plan->meters.n; i++) {
        if (push->present[i]) {
            *vec_push(push->arena, &push->diff->meters) = (struct push_meter) {
                .name = name_of_meter(push, push->ids[i]),
                .id = push->ids[i], .plan_id = push->plan->meters.v[i].id,
            };
        }
    }
}
