/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Finds flows: by what they match as a whole of the fields that the tables
 * note, and by all that they match.  Flows that do not match a field as a
 * whole are in groups of their own, never left out. */

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"
#include "verify/pool.h"
#include "verify/tables.h"

struct indexed {
    struct hmap_node node;
    struct table_flow *flow;
};

/* Flows of a table that match the same fields. */
struct group {
    unsigned long whole;        /* 1-bits: fields that are not the packet's,
                                 * matched as a whole. */
    const struct table_flow *like;      /* By 'masks': one of them, ... */
    uint16_t lowest;            /* ...and the lowest priority that one had. */
    struct hmap flows;          /* Contains "struct indexed"s. */
};
VEC_TYPEDEF(group_vec, struct group *);

/* What makes two clauses those of one conjunction. */
struct conjunction_key {
    uint32_t table, priority, id;
};

struct flow_index {
    struct hmap actions;        /* Contains "struct indexed"s, one for all that
                                 * do the same. */
    size_t n_deeds;             /* That there are. */
    struct pool conjunctions;   /* Of "struct conjunction_key"s. */
    group_vec notes[N_TABLES_MAX];      /* By what the tables note. */
    group_vec masks[N_TABLES_MAX];      /* By masks of all fields. */
};

static bool
is_whole(const struct condition *c)
{
    return !field_is_packets(c->field) && condition_is_whole(c);
}

static uint32_t
hash_value(uint32_t hash, u128 value)
{
    return hash_add64(hash_add64(hash, value), value >> 64);
}

static uint32_t
hash_notes(const struct table_flow *flow)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (is_whole(&flow->conditions[i])) {
            hash = hash_value(hash, flow->conditions[i].value);
        }
    }
    return hash;
}

static bool
same_masks(const struct table_flow *a, const struct table_flow *b)
{
    if (a->n_conditions != b->n_conditions) {
        return false;
    }
    for (size_t i = 0; i < a->n_conditions; i++) {
        if (a->conditions[i].field != b->conditions[i].field
            || a->conditions[i].mask != b->conditions[i].mask) {
            return false;
        }
    }
    return true;
}

/* Of the values of 'flow' as far as 'like' matches them; which is less. */
static uint32_t
hash_masked(const struct table_flow *flow, const struct table_flow *like)
{
    uint32_t hash = 0;

    for (size_t i = 0, j = 0; i < like->n_conditions; i++) {
        while (flow->conditions[j].field != like->conditions[i].field) {
            j++;
        }
        hash = hash_value(hash, flow->conditions[j].value
                          & like->conditions[i].mask);
    }
    return hash;
}

/* Does 'flow' match each bit that 'like' does? */
static bool
has_masks_of(const struct table_flow *flow, const struct table_flow *like)
{
    size_t j = 0;

    for (size_t i = 0; i < like->n_conditions; i++) {
        while (j < flow->n_conditions
               && flow->conditions[j].field < like->conditions[i].field) {
            j++;
        }
        if (j == flow->n_conditions
            || flow->conditions[j].field != like->conditions[i].field
            || like->conditions[i].mask & ~flow->conditions[j].mask) {
            return false;
        }
    }
    return true;
}

/* Does 'wide' match all that 'flow' does?  has_masks_of() holds. */
static bool
holds(const struct table_flow *wide, const struct table_flow *flow)
{
    for (size_t i = 0, j = 0; i < wide->n_conditions; i++) {
        const struct condition *c = &wide->conditions[i];

        while (flow->conditions[j].field != c->field) {
            j++;
        }
        if ((flow->conditions[j].value ^ c->value) & c->mask) {
            return false;
        }
    }
    return true;
}

static struct group *
add_group(const struct table_set *t, group_vec *groups)
{
    struct group *group = arena_zalloc(t->arena, sizeof *group);

    hmap_init(&group->flows);
    *vec_push(t->arena, groups) = group;
    return group;
}

static void
add_to_group(const struct table_set *t, struct group *group, uint32_t hash,
             struct table_flow *flow)
{
    struct indexed *indexed = arena_zalloc(t->arena, sizeof *indexed);

    indexed->flow = flow;
    hmap_insert(&group->flows, &indexed->node, hash);
}

/* The flow's group by notes; NULL if there is none. */
static struct group *
find_by_notes(const struct table_set *t, const struct table_flow *flow,
              unsigned long *whole)
{
    const group_vec *groups = &t->index->notes[flow->table];

    *whole = 0;
    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (is_whole(&flow->conditions[i])) {
            *whole |= 1UL << flow->conditions[i].field;
        }
    }
    for (size_t i = 0; i < groups->n; i++) {
        if (groups->v[i]->whole == *whole) {
            return groups->v[i];
        }
    }
    return NULL;
}

static void
add_by_notes(const struct table_set *t, struct table_flow *flow)
{
    unsigned long whole;
    struct group *group = find_by_notes(t, flow, &whole);

    if (!group) {
        group = add_group(t, &t->index->notes[flow->table]);
        group->whole = whole;
    }
    add_to_group(t, group, hash_notes(flow), flow);
}

static struct group *
find_by_masks(const struct table_set *t, const struct table_flow *flow)
{
    const group_vec *groups = &t->index->masks[flow->table];

    for (size_t i = 0; i < groups->n; i++) {
        if (same_masks(groups->v[i]->like, flow)) {
            return groups->v[i];
        }
    }
    return NULL;
}

/* Returns a flow with the same match and priority that is there already, or
 * NULL. */
static const struct table_flow *
add_by_masks(const struct table_set *t, struct table_flow *flow)
{
    uint32_t hash = hash_masked(flow, flow);
    struct group *group = find_by_masks(t, flow);
    struct indexed *other;

    if (!group) {
        group = add_group(t, &t->index->masks[flow->table]);
        group->like = flow;
        group->lowest = flow->priority;
    }
    group->lowest = MIN(group->lowest, flow->priority);
    HMAP_FOR_EACH_WITH_HASH (other, node, hash, &group->flows) {
        if (other->flow->priority == flow->priority
            && holds(other->flow, flow)) {
            return other->flow;
        }
    }
    add_to_group(t, group, hash, flow);
    return NULL;
}

/* Finds the first flow that does the same. */
static void
set_like(const struct table_set *t, struct table_flow *flow)
{
    uint32_t hash = hash_bytes(flow->ofpacts, flow->ofpacts_len,
                               hash_int(flow->cookie, flow->table));
    struct indexed *other;

    HMAP_FOR_EACH_WITH_HASH (other, node, hash, &t->index->actions) {
        if (other->flow->table == flow->table
            && other->flow->cookie == flow->cookie
            && other->flow->ofpacts_len == flow->ofpacts_len
            && !memcmp(other->flow->ofpacts, flow->ofpacts,
                       flow->ofpacts_len)) {
            flow->like = other->flow;
            flow->deed = other->flow->deed;
            return;
        }
    }
    flow->like = flow;
    flow->deed = t->index->n_deeds++;
    other = arena_zalloc(t->arena, sizeof *other);
    other->flow = flow;
    hmap_insert(&t->index->actions, &other->node, hash);
}

/* Notes which clauses of which conjunctions the flow is part of. */
static void
set_clauses(const struct table_set *t, struct table_flow *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        flow->n_clauses += a->type == OFPACT_CONJUNCTION;
    }
    flow->clauses = arena_zalloc(t->arena,
                                 flow->n_clauses * sizeof *flow->clauses);
    flow->n_clauses = 0;
    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            const struct ofpact_conjunction *c = ofpact_get_CONJUNCTION(a);
            struct conjunction_key key = { flow->table, flow->priority,
                                           c->id };

            flow->clauses[flow->n_clauses++] = (struct table_clause) {
                pool_add(&t->index->conjunctions, &key, sizeof key), c->id,
                c->clause, c->n_clauses,
            };
        }
    }
}

size_t
table_set_n_conjunctions(const struct table_set *t)
{
    return t->index->conjunctions.n;
}

const char *
table_set_index(struct table_set *t, struct table_flow *flow)
{
    const struct table_flow *same = add_by_masks(t, flow);

    if (same) {
        return arena_printf(t->arena, "%s: the flow at %s has the same "
                            "match and priority", flow_place(t, flow),
                            flow_place(t, same));
    }
    add_by_notes(t, flow);
    set_like(t, flow);
    if (flow->clause) {
        set_clauses(t, flow);
    }
    return NULL;
}

const char *
table_set_finish(struct table_set *t)
{
    const char *wrong = NULL;

    t->index = arena_zalloc(t->arena, sizeof *t->index);
    hmap_init(&t->index->actions);
    pool_init(&t->index->conjunctions);
    for (size_t i = 0; i < t->flows.n && !wrong; i++) {
        wrong = table_set_index(t, t->flows.v[i]);
    }
    return wrong;
}

/* Takes the flow out of the group that has its hash. */
static void
leave_group(struct group *group, uint32_t hash,
            const struct table_flow *flow)
{
    struct indexed *indexed;

    HMAP_FOR_EACH_WITH_HASH (indexed, node, hash, &group->flows) {
        if (indexed->flow == flow) {
            hmap_remove(&group->flows, &indexed->node);
            return;
        }
    }
}

struct table_flow *
table_set_same(const struct table_set *t, const struct table_flow *like)
{
    struct group *group = find_by_masks(t, like);
    struct indexed *other;

    if (!group) {
        return NULL;
    }
    HMAP_FOR_EACH_WITH_HASH (other, node, hash_masked(like, like),
                             &group->flows) {
        if (other->flow->priority == like->priority
            && holds(other->flow, like)) {
            return other->flow;
        }
    }
    return NULL;
}

struct table_flow *
table_set_unindex(struct table_set *t, const struct table_flow *like)
{
    struct table_flow *flow = table_set_same(t, like);
    unsigned long whole;

    if (flow) {
        leave_group(find_by_masks(t, flow), hash_masked(flow, flow), flow);
        leave_group(find_by_notes(t, flow, &whole), hash_notes(flow), flow);
    }
    return flow;
}

static void
destroy_groups(group_vec *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        hmap_destroy(&groups->v[i]->flows);
    }
}

void
table_set_destroy(struct table_set *t)
{
    for (size_t i = 0; t->index && i < N_TABLES_MAX; i++) {
        destroy_groups(&t->index->notes[i]);
        destroy_groups(&t->index->masks[i]);
    }
    if (t->index) {
        hmap_destroy(&t->index->actions);
        pool_destroy(&t->index->conjunctions);
    }
    t->index = NULL;
}

/* Returns false if not all of the group's fields are known as a whole. */
static bool
hash_known(const struct group *group, table_set_known *known,
           const void *state, uint32_t *hash)
{
    *hash = 0;
    for (unsigned long left = group->whole; left; left &= left - 1) {
        enum field f = raw_ctz(left);
        u128 value, mask;

        known(state, f, &value, &mask);
        if (mask != field_ones(fields[f].width)) {
            return false;
        }
        *hash = hash_value(*hash, value);
    }
    return true;
}

void
table_set_find(const struct table_set *t, uint8_t table,
                 table_set_known *known, const void *state,
                 void (*visit)(void *aux, struct table_flow *), void *aux)
{
    const group_vec *groups = &t->index->notes[table];

    for (size_t i = 0; i < groups->n; i++) {
        struct indexed *indexed;
        uint32_t hash;

        if (hash_known(groups->v[i], known, state, &hash)) {
            HMAP_FOR_EACH_WITH_HASH (indexed, node, hash,
                                     &groups->v[i]->flows) {
                visit(aux, indexed->flow);
            }
        } else {
            HMAP_FOR_EACH (indexed, node, &groups->v[i]->flows) {
                visit(aux, indexed->flow);
            }
        }
    }
}

static bool
keeps_from(const struct table_flow *by, const struct table_flow *flow)
{
    return by->priority > flow->priority && !by->clause && holds(by, flow);
}

const struct table_flow *
table_set_shadow(const struct table_set *t, const struct table_flow *flow)
{
    const group_vec *groups = &t->index->masks[flow->table];

    for (size_t i = 0; i < groups->n; i++) {
        const struct table_flow *like = groups->v[i]->like;
        const struct indexed *other;

        if (!has_masks_of(flow, like)) {
            continue;
        }
        HMAP_FOR_EACH_WITH_HASH (other, node, hash_masked(flow, like),
                                 &groups->v[i]->flows) {
            if (keeps_from(other->flow, flow)) {
                return other->flow;
            }
        }
    }
    return NULL;
}

void
table_set_shadowed(const struct table_set *t, const struct table_flow *by,
                   void (*visit)(void *aux, const struct table_flow *,
                                 const struct table_flow *by), void *aux)
{
    const group_vec *groups = &t->index->masks[by->table];
    const struct indexed *other;

    for (size_t i = 0; i < groups->n && !by->clause; i++) {
        const struct hmap *flows = &groups->v[i]->flows;

        if (by->priority <= groups->v[i]->lowest
            || !has_masks_of(groups->v[i]->like, by)) {
            continue;
        } else if (same_masks(groups->v[i]->like, by)) {
            HMAP_FOR_EACH_WITH_HASH (other, node, hash_masked(by, by),
                                     flows) {
                if (keeps_from(by, other->flow)) {
                    visit(aux, other->flow, by);
                }
            }
            continue;
        }
        HMAP_FOR_EACH (other, node, flows) {
            if (keeps_from(by, other->flow)) {
                visit(aux, other->flow, by);
            }
        }
    }
}
