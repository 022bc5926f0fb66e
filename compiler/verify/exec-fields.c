/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Which of what packets and tables say counts in which table. */

#include "verify/exec-private.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Fields that no flow sees, but that count for what leaves. */
static field_set
always_live(void)
{
    return (FIELD_BIT(F_QUEUE) | FIELD_BIT(F_TRACKED)
            | FIELD_BIT(F_ND_RESERVED) | FIELD_BIT(F_ND_OPTIONS));
}

static bool
update_live(struct exec_fields *fields_, const struct table_set *tables)
{
    bool changed = false;

    for (size_t i = tables->flows.n; i > 0; i--) {
        const struct table_flow *flow = tables->flows.v[i - 1];
        field_set *live = &fields_->live[flow->table], old = *live;
        unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
        size_t table;

        *live |= always_live() | exec_reads(flow, next);
        BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
            *live |= fields_->live[table];
        }
        for (size_t j = 0; j < flow->n_conditions; j++) {
            fields_->matched[flow->table]
                |= exec_matches(&flow->conditions[j]);
        }
        *live |= fields_->matched[flow->table];
        *live &= FIELD_BIT(F_FIRST_OF_PACKET) - 1;
        changed |= *live != old;
    }
    return changed;
}

bool
exec_fields_add(struct exec_fields *f, const struct table_flow *flow)
{
    unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
    field_set reads = exec_reads(flow, next), live = f->live[flow->table];
    field_set matches = 0;
    size_t table;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        matches |= exec_matches(&flow->conditions[i]);
    }
    if (matches & ~f->matched[flow->table]) {
        return false;
    }
    reads |= matches;
    BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
        reads |= f->live[table];
    }
    if (reads & ~live & (FIELD_BIT(F_FIRST_OF_PACKET) - 1)
        || !exec_tails_hold(f, flow)) {
        return false;
    }
    return exec_add_sender(f, flow);
}

struct exec_fields *
exec_fields_create(const struct table_set *tables)
{
    struct exec_fields *f = xzalloc(sizeof *f);

    while (update_live(f, tables)) {
        continue;
    }
    exec_find_tails(f, tables);
    f->senders = exec_find_senders(f, tables);
    f->notes = xzalloc(sizeof *f->notes);
    return f;
}

void
exec_fields_destroy(struct exec_fields *f)
{
    if (f) {
        exec_destroy_senders(f->senders);
        free(f->notes->v);
        free(f->notes);
        free(f);
    }
}

struct exec_notes *
exec_take_notes(const struct exec_fields *f, size_t n)
{
    struct exec_notes *notes = f->notes;

    if (n > notes->n) {
        notes->v = xrealloc(notes->v, n * sizeof *notes->v);
        memset(&notes->v[notes->n], 0, (n - notes->n) * sizeof *notes->v);
        notes->n = n;
    }
    return notes;
}
