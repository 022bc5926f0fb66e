/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/view.h"

#include <stdlib.h>
#include <string.h>

#include "telemetry/names.h"
#include "telemetry/tally.h"

const char *const view_order_names[VIEW_N_ORDERS] = {
    [VIEW_BY_RATE] = "rate", [VIEW_BY_PACKETS] = "packets",
    [VIEW_BY_DROPS] = "drops", [VIEW_BY_MARKS] = "marks",
    [VIEW_BY_BURSTS] = "bursts", [VIEW_BY_NAME] = "name",
};

/* A counter that fell is one that began anew. */
static double
per_second(uint64_t before, uint64_t now, double seconds)
{
    return (now >= before ? now - before : now) / seconds;
}

static void
set_rates(struct view_row *row, const struct tq_counts *before,
          const struct tq_counts *now, double seconds)
{
    row->bits = 8 * per_second(before->sent.bytes, now->sent.bytes, seconds);
    row->packets = per_second(before->sent.packets, now->sent.packets,
                              seconds);
    row->dropped = per_second(before->dropped.packets, now->dropped.packets,
                              seconds);
    row->marked = per_second(before->marked.packets, now->marked.packets,
                             seconds);
    row->borrowed = per_second(before->borrowed.packets,
                               now->borrowed.packets, seconds);
    for (int i = 0; i < TQ_REASONS; i++) {
        row->metered += per_second(before->metered[i].packets,
                                   now->metered[i].packets, seconds);
    }
}

void
view_rows_make(const struct sample *before, const struct sample *now,
               const struct tally *tally, const struct tenant_names *names,
               struct arena *arena, view_rows *rows)
{
    double seconds = (now->clock_ns > before->clock_ns
                      ? (now->clock_ns - before->clock_ns) / 1e9 : 1);
    bool same_file = now->pid == before->pid && now->file == before->file;

    for (size_t i = 0; i < now->totals.n; i++) {
        static const struct tq_counts none;
        const struct queue_total *total = &now->totals.v[i];
        const char *port = sample_port_name(now, total->generation);
        const struct queue_total *old = !same_file ? NULL : sample_total(
            before, total->generation, total->tag, total->queue);
        const struct tally_entry *bursts;
        struct view_row *row;
        char buffer[32];

        if (!port) {
            continue;           /* A recording may say anything. */
        }
        row = vec_push(arena, rows);
        row->port = port;
        row->tenant = arena_strdup(arena, tenant_names_text(
            names, total->tag, buffer));
        row->queue = total->queue;
        set_rates(row, old ? &old->counts : &none, &total->counts, seconds);
        bursts = tally_find(tally, port, total->tag);
        if (bursts) {
            row->culprit = bursts->culprit.n;
            row->victim = bursts->victim.n;
        }
    }
}

/* What a row is sorted by, but its name. */
static double
weight(const struct view_row *row, enum view_order order)
{
    switch (order) {
    case VIEW_BY_RATE: return row->bits;
    case VIEW_BY_PACKETS: return row->packets;
    case VIEW_BY_DROPS: return row->dropped + row->metered;
    case VIEW_BY_MARKS: return row->marked;
    case VIEW_BY_BURSTS: return row->culprit;
    case VIEW_BY_NAME:
    case VIEW_N_ORDERS:
        break;
    }
    return 0;
}

static enum view_order sort_order;      /* qsort() passes nothing on. */

static int
compare_rows(const void *a_, const void *b_)
{
    const struct view_row *a = a_, *b = b_;
    double x = weight(a, sort_order), y = weight(b, sort_order);
    int order;

    if (x != y) {
        return x > y ? -1 : 1;
    }
    order = strcmp(a->port, b->port);
    order = order ? order : strcmp(a->tenant, b->tenant);
    return order ? order : a->queue < b->queue ? -1 : a->queue > b->queue;
}

static int
compare_reverse(const void *a, const void *b)
{
    return compare_rows(b, a);
}

void
view_rows_sort(view_rows *rows, enum view_order order, bool reverse)
{
    sort_order = order;
    if (rows->n) {
        qsort(rows->v, rows->n, sizeof *rows->v,
              reverse ? compare_reverse : compare_rows);
    }
}
