/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef TELEMETRY_VIEW_H
#define TELEMETRY_VIEW_H 1

/* What is going on between two samples: rates, and whose bursts there were. */

#include <stdbool.h>

#include "telemetry/sample.h"

struct tally;
struct tenant_names;

/* A tenant at a queue of a port. */
struct view_row {
    const char *port, *tenant;
    uint64_t queue;
    double bits;                /* All of these a second... */
    double packets, dropped, metered, marked, borrowed;
    uint64_t culprit, victim;   /* ...but bursts, of all queues of the port,
                                 * since they are counted. */
};
VEC_TYPEDEF(view_rows, struct view_row);

enum view_order {
    VIEW_BY_RATE,
    VIEW_BY_PACKETS,
    VIEW_BY_DROPS,
    VIEW_BY_MARKS,
    VIEW_BY_BURSTS,
    VIEW_BY_NAME,
    VIEW_N_ORDERS
};
extern const char *const view_order_names[VIEW_N_ORDERS];

/* Fills 'rows', in the arena.  What is new since 'before' has sent all that it
 * has since then. */
void view_rows_make(const struct sample *before, const struct sample *now,
                    const struct tally *, const struct tenant_names *,
                    struct arena *, view_rows *);

/* The most first; the rest by name. */
void view_rows_sort(view_rows *, enum view_order, bool reverse);

#endif /* telemetry/view.h */
