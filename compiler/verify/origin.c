/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Who writes what, and which table is behind which. */

#include "verify/origin-private.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

static void
set_bit(struct origins *o, struct table_bits *bits, size_t table)
{
    o->stale |= !bitmap_is_set(bits->v, table);
    bitmap_set1(bits->v, table);
}

static void
add_write(struct origins *o, enum field to, const struct write *write)
{
    struct written *w = &o->of[to];
    struct write *copy = xmemdup(write, sizeof *write);

    set_bit(o, &w->by, write->flow->table);
    if (write->from == N_FIELDS
        && write->mask == field_ones(fields[to].width)) {
        hmap_insert(&w->whole, &copy->node, origin_hash(write->value));
    } else {
        *LIST_ADD(&w->parts) = copy;
    }
}

/* Calls 'visit' for all that the actions write. */
static void
each_write(struct origins *o, const struct table_flow *flow,
           void (*visit)(struct origins *, enum field, const struct write *))
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        struct write w = { .flow = flow, .from = N_FIELDS };
        enum field to = N_FIELDS;

        if (a->type == OFPACT_SET_FIELD) {
            const struct ofpact_set_field *set = ofpact_get_SET_FIELD(a);
            int n = set->field->n_bytes;

            to = field_find(set->field);
            w.value = field_from_value(set->value, n);
            w.mask = field_from_value(ofpact_set_field_mask(set), n);
        } else if (a->type == OFPACT_REG_MOVE) {
            const struct ofpact_reg_move *move = ofpact_get_REG_MOVE(a);

            to = field_find(move->dst.field);
            w.from = field_find(move->src.field);
            w.from = w.from == N_FIELDS ? F_CONJ_ID : w.from;
            w.ofs = move->dst.ofs;
            w.from_ofs = move->src.ofs;
            w.mask = field_ones(move->dst.n_bits) << move->dst.ofs;
        } else if (a->type == OFPACT_DEC_TTL) {
            to = F_NW_TTL;
        }
        if (to < N_FIELDS) {
            visit(o, to, &w);
        }
    }
}

/* Does the flow go on after connection tracking?  What it leads to then may
 * have been in a zone, and nothing of that is known there. */
static bool
goes_on(const struct table_flow *flow)
{
    const struct ofpact *end = ofpact_end(flow->ofpacts, flow->ofpacts_len);
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CT && ofpact_next(a) != end
            && ofpact_get_CT(a)->recirc_table != NX_CT_RECIRC_NONE) {
            return true;
        }
    }
    return false;
}

/* Notes where the flow leads, and where by connection tracking. */
static void
add_edges(struct origins *o, const struct table_flow *flow)
{
    unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
    const struct ofpact *a;
    size_t table;

    exec_reads(flow, next);
    BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
        set_bit(o, &o->next[flow->table], table);
        if (goes_on(flow)) {
            set_bit(o, &o->noted[flow->table], table);
        }
    }
    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        const struct ofpact_conntrack *ct
            = a->type == OFPACT_CT ? ofpact_get_CT(a) : NULL;

        if (ct && ct->recirc_table < N_TABLES_MAX) {
            set_bit(o, &o->tracked[flow->table], ct->recirc_table);
            if (ct->flags & NX_CT_F_COMMIT) {
                set_bit(o, &o->noted[flow->table], ct->recirc_table);
            }
        }
    }
}

/* The tables that are behind others by 'edges', and all behind those. */
static struct table_bits
find_behind(const struct origins *o, const struct table_bits *tables,
            const struct table_bits edges[])
{
    struct table_bits behind = { { 0 } }, old;
    size_t table;

    BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, tables->v) {
        bitmap_or(behind.v, edges[table].v, N_TABLES_MAX);
    }
    do {
        old = behind;
        BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, old.v) {
            bitmap_or(behind.v, o->next[table].v, N_TABLES_MAX);
        }
    } while (memcmp(&old, &behind, sizeof old));
    return behind;
}

static void
settle(struct origins *o)
{
    struct table_bits all, noted;

    if (!o->stale) {
        return;
    }
    bitmap_init1(all.v, N_TABLES_MAX);
    o->later = find_behind(o, &all, o->tracked);
    o->later = find_behind(o, &o->later, o->tracked);
    noted = find_behind(o, &all, o->noted);
    bitmap_or(o->later.v, noted.v, N_TABLES_MAX);
    for (int f = 0; f < N_FIELDS; f++) {
        o->of[f].behind = find_behind(o, &o->of[f].by, o->next);
    }
    o->stale = false;
}

static void
add_flow(struct origins *o, const struct table_flow *flow)
{
    each_write(o, flow, add_write);
    add_edges(o, flow);
}

void
origins_add(struct origins *o, const struct table_flow *flow)
{
    add_flow(o, flow);
    settle(o);
}

struct origins *
origins_create(const struct table_set *tables)
{
    struct origins *o = xzalloc(sizeof *o);

    for (int f = 0; f < N_FIELDS; f++) {
        hmap_init(&o->of[f].whole);
    }
    for (size_t i = 0; i < tables->flows.n; i++) {
        add_flow(o, tables->flows.v[i]);
    }
    settle(o);
    return o;
}

static void
remove_write(struct origins *o, enum field to, const struct write *write)
{
    struct written *w = &o->of[to];
    struct write *other;

    HMAP_FOR_EACH_WITH_HASH (other, node, origin_hash(write->value),
                             &w->whole) {
        if (other->flow == write->flow) {
            hmap_remove(&w->whole, &other->node);
            free(other);
            return;
        }
    }
    for (size_t i = w->parts.n; i > 0; i--) {
        if (w->parts.v[i - 1]->flow == write->flow) {
            free(w->parts.v[i - 1]);
            w->parts.v[i - 1] = w->parts.v[--w->parts.n];
        }
    }
}

void
origins_remove(struct origins *o, const struct table_flow *flow)
{
    each_write(o, flow, remove_write);
}

void
origins_destroy(struct origins *o)
{
    struct write *w;

    for (int f = 0; o && f < N_FIELDS; f++) {
        HMAP_FOR_EACH_POP (w, node, &o->of[f].whole) {
            free(w);
        }
        hmap_destroy(&o->of[f].whole);
        for (size_t i = 0; i < o->of[f].parts.n; i++) {
            free(o->of[f].parts.v[i]);
        }
        free(o->of[f].parts.v);
    }
    free(o);
}
