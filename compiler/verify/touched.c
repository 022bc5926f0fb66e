/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/touched.h"

#include <stdlib.h>

#include "bitmap.h"
#include "util.h"

void
touched_init(struct touched *t, size_t n)
{
    *t = (struct touched) { .who = bitmap_allocate(n + 1) };
}

void
touched_destroy(struct touched *t)
{
    free(t->who);
    free(t->came);
    free(t->changed);
    free(t->meters);
}

void
touched_clear(struct touched *t, size_t n)
{
    bitmap_set_multiple(t->who, 0, n + 1, false);
    t->n_came = t->n_changed = t->n_meters = 0;
}

void
touched_change(struct touched *t, struct table_flow *flow)
{
    if (t->n_changed >= t->allocated_changed) {
        t->changed = x2nrealloc(t->changed, &t->allocated_changed,
                                sizeof *t->changed);
    }
    t->changed[t->n_changed++] = flow;
}

/* What was there before is known once. */
void
touched_meter(struct touched *t, uint32_t id, bool before)
{
    for (size_t i = 0; i < t->n_meters; i++) {
        if (t->meters[i].id == id) {
            return;
        }
    }
    if (t->n_meters >= t->allocated_meters) {
        t->meters = x2nrealloc(t->meters, &t->allocated_meters,
                               sizeof *t->meters);
    }
    t->meters[t->n_meters++] = (struct meter_change) { id, before };
}

void
touched_come(struct touched *t, struct table_flow *flow)
{
    if (t->n_came >= t->allocated_came) {
        t->came = x2nrealloc(t->came, &t->allocated_came, sizeof *t->came);
    }
    t->came[t->n_came++] = flow;
}

void
touched_go(struct touched *t, const struct table_flow *flow)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_came; i++) {
        if (t->came[i] != flow) {
            t->came[n++] = t->came[i];
        }
    }
    t->n_came = n;
}
