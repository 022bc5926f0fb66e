/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top-table.h"
#include "telemetry/json.h"
#include "telemetry/names.h"
#include "util.h"

void
top_summary(const struct top *top, struct arena *arena, watch_lines *lines)
{
    const struct sample *now = &top->samples[1];
    char time[64];

    time_to_text(now->time_ns, time);
    *vec_push(arena, lines) = arena_printf(
        arena, "%.19sZ  ovs-vswitchd %"PRIu64", %"PRIuSIZE" ports; %"PRIu64
        " bursts seen, %"PRIu64" missed", time, now->pid, now->ports.n,
        top->tally.n_bursts, top->tally.n_missed);
    *vec_push(arena, lines) = arena_printf(
        arena, "last burst: %s", top->last_burst ? top->last_burst : "none");
    if (top->trouble) {
        *vec_push(arena, lines) = top->trouble;
    } else {
        watch_doubts(&top->names, now, arena, lines);
    }
    *vec_push(arena, lines) = "";
}

static bool
is_filtered_out(const struct top *top, const char *port, const char *tenant)
{
    return (top->filter[0] && !strstr(port, top->filter)
            && !(tenant && strstr(tenant, top->filter)));
}

static const struct top_column tenant_columns[] = {
    { "PORT", 15, TOP_NAME }, { "TENANT", 20, TOP_NAME }, { "QUEUE", 5, 3 },
    { "RATE", 9, 6 }, { "PACKETS/S", 10, 0 }, { "DROPS/S", 9, 4 },
    { "METER/S", 8, 5 }, { "MARKS/S", 9, 2 }, { "BORROW/S", 9, 1 },
    { "CULPRIT", 7, TOP_KEPT + 1 }, { "VICTIM", 6, TOP_KEPT },
};

void
top_tenants(const struct top *top, struct arena *arena, size_t width,
            watch_lines *lines)
{
    struct top_table table = { tenant_columns, ARRAY_SIZE(tenant_columns) };
    view_rows rows = VEC_INIT;

    view_rows_make(&top->samples[0], &top->samples[1], &top->tally,
                   top->names.names, arena, &rows);
    view_rows_sort(&rows, top->order, top->reverse);
    for (size_t i = 0; i < rows.n; i++) {
        const struct view_row *r = &rows.v[i];
        char bits[WATCH_TEXT];

        if (!watch_selects_port(top->options, r->port)
            || (top->options->tenant
                && strcmp(top->options->tenant, r->tenant))
            || is_filtered_out(top, r->port, r->tenant)) {
            continue;
        }
        top_table_add(&table, arena, "%s\t%s\t%"PRIu64"\t%s\t%.0f\t%.0f"
                      "\t%.0f\t%.0f\t%.0f\t%"PRIu64"\t%"PRIu64, r->port,
                      r->tenant, r->queue, watch_bits(r->bits, bits),
                      r->packets, r->dropped, r->metered, r->marked,
                      r->borrowed, r->culprit, r->victim);
    }
    top_table_print(&table, arena, width, lines);
}

static const struct top_column port_columns[] = {
    { "PORT", 15, TOP_NAME }, { "SPEED", 9, 4 }, { "THRESHOLD", 9, 0 },
    { "DEPTH", 9, 3 }, { "DEEP 6S", 9, 5 }, { "DEEPEST", 9, 2 },
    { "POLL GAP", 9, 1 }, { "BURSTS", 7, TOP_KEPT },
};

void
top_ports(const struct top *top, struct arena *arena, size_t width,
          watch_lines *lines)
{
    struct top_table table = { port_columns, ARRAY_SIZE(port_columns) };
    const struct sample *now = &top->samples[1];

    for (size_t i = 0; i < now->ports.n; i++) {
        const struct queue_port *p = &now->ports.v[i];
        char texts[6][WATCH_TEXT];

        if (!watch_selects_port(top->options, p->name)
            || is_filtered_out(top, p->name, NULL)) {
            continue;
        }
        top_table_add(&table, arena, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%"PRIu64,
                      p->name, p->rate ? watch_bits(p->rate * 1e3, texts[0])
                      : "unknown", watch_bytes(p->threshold, texts[1]),
                      watch_bytes(p->depth, texts[2]),
                      watch_bytes(p->recent_depth, texts[3]),
                      watch_bytes(p->max_depth, texts[4]),
                      watch_ns(p->gap_ns, texts[5]), p->n_bursts);
    }
    top_table_print(&table, arena, width, lines);
}
