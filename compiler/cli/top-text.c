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
        watch_doubts(top->options, now, arena, lines);
    }
    *vec_push(arena, lines) = "";
}

static bool
is_filtered_out(const struct top *top, const char *port, const char *tenant)
{
    return (top->filter[0] && !strstr(port, top->filter)
            && !(tenant && strstr(tenant, top->filter)));
}

void
top_tenants(const struct top *top, struct arena *arena, watch_lines *lines)
{
    view_rows rows = VEC_INIT;

    view_rows_make(&top->samples[0], &top->samples[1], &top->tally,
                   top->names.names, arena, &rows);
    view_rows_sort(&rows, top->order, top->reverse);
    *vec_push(arena, lines) = arena_printf(
        arena, "%-15s %-20s %5s %9s %10s %9s %9s %9s %7s %6s", "PORT",
        "TENANT", "QUEUE", "RATE", "PACKETS/S", "DROPS/S", "MARKS/S",
        "BORROW/S", "CULPRIT", "VICTIM");
    for (size_t i = 0; i < rows.n; i++) {
        const struct view_row *r = &rows.v[i];
        char bits[WATCH_TEXT];

        if (!watch_selects_port(top->options, r->port)
            || (top->options->tenant
                && strcmp(top->options->tenant, r->tenant))
            || is_filtered_out(top, r->port, r->tenant)) {
            continue;
        }
        *vec_push(arena, lines) = arena_printf(
            arena, "%-15s %-20s %5"PRIu64" %9s %10.0f %9.0f %9.0f %9.0f "
            "%7"PRIu64" %6"PRIu64, r->port, r->tenant, r->queue,
            watch_bits(r->bits, bits), r->packets, r->dropped, r->marked,
            r->borrowed, r->culprit, r->victim);
    }
}

void
top_ports(const struct top *top, struct arena *arena, watch_lines *lines)
{
    const struct sample *now = &top->samples[1];

    *vec_push(arena, lines) = arena_printf(
        arena, "%-15s %9s %9s %9s %9s %9s %9s %7s", "PORT", "SPEED",
        "THRESHOLD", "DEPTH", "DEEP 6S", "DEEPEST", "POLL GAP", "BURSTS");
    for (size_t i = 0; i < now->ports.n; i++) {
        const struct queue_port *p = &now->ports.v[i];
        char texts[6][WATCH_TEXT];

        if (!watch_selects_port(top->options, p->name)
            || is_filtered_out(top, p->name, NULL)) {
            continue;
        }
        *vec_push(arena, lines) = arena_printf(
            arena, "%-15s %9s %9s %9s %9s %9s %9s %7"PRIu64, p->name,
            p->rate ? watch_bits(p->rate * 1e3, texts[0]) : "unknown",
            watch_bytes(p->threshold, texts[1]),
            watch_bytes(p->depth, texts[2]),
            watch_bytes(p->recent_depth, texts[3]),
            watch_bytes(p->max_depth, texts[4]),
            watch_ns(p->gap_ns, texts[5]), p->n_bursts);
    }
}
