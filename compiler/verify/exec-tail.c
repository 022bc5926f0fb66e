/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What is shared by packets of different receivers.
 *
 * A tail is the end of the tables, where no flow matches a packet: by then all
 * has been decided but by which port it leaves.  Much of what a state holds is
 * read there alone: who receives the packet, and with which MACs.  That is
 * left open while the tables before are run, so they are run once for all
 * receivers that are treated alike; then each has its own bound in. */

#include <stdlib.h>
#include <string.h>

#include "openvswitch/ofp-actions.h"
#include "util.h"
#include "verify/exec-private.h"

/* Fields that are never left open. */
static const field_set kept = (FIELD_BIT(F_QUEUE) | FIELD_BIT(F_TRACKED)
                               | FIELD_BIT(F_CONJ_ID)
                               | FIELD_BIT(F_ND_RESERVED)
                               | FIELD_BIT(F_ND_OPTIONS));

/* All fields that are not the packet's but the first. */
#define REGISTERS \
    ((FIELD_BIT(F_FIRST_OF_PACKET) - 1) & ~FIELD_BIT(F_IN_PORT))

/* Can the flow be in a tail, but for where it leads? */
static bool
is_for_tail(const struct table_flow *flow)
{
    const struct ofpact *a;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (field_is_packets(flow->conditions[i].field)) {
            return false;
        }
    }
    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CT || a->type == OFPACT_CLONE
            || a->type == OFPACT_DEC_TTL || a->type == OFPACT_CONJUNCTION) {
            return false;
        }
    }
    return true;
}

/* Does the flow lead to a table of which nothing ends a tail? */
static bool
leads_to_tails(const struct exec_fields *f,
               const struct table_flow *flow)
{
    unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
    size_t table;

    exec_reads(flow, next);
    BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
        if (!bitmap_is_set(f->tail, table)) {
            return false;
        }
    }
    return true;
}

static bool
update_tails(struct exec_fields *f, const struct table_set *tables)
{
    bool changed = false;

    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *flow = tables->flows.v[i];

        if (bitmap_is_set(f->tail, flow->table)
            && !(is_for_tail(flow) && leads_to_tails(f, flow))) {
            bitmap_set0(f->tail, flow->table);
            changed = true;
        }
    }
    return changed;
}

static bool
update_body(struct exec_fields *f, const struct table_set *tables)
{
    bool changed = false;

    for (size_t i = tables->flows.n; i > 0; i--) {
        const struct table_flow *flow = tables->flows.v[i - 1];
        field_set *body = &f->body[flow->table], old = *body;
        unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
        size_t table;

        if (bitmap_is_set(f->tail, flow->table)) {
            continue;
        }
        *body |= kept | exec_reads(flow, next);
        BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
            *body |= f->body[table];
        }
        for (size_t j = 0; j < flow->n_conditions; j++) {
            *body |= exec_matches(&flow->conditions[j]);
        }
        changed |= *body != old;
    }
    return changed;
}

void
exec_find_tails(struct exec_fields *f, const struct table_set *tables)
{
    bitmap_set_multiple(f->tail, 0, N_TABLES_MAX, true);
    while (update_tails(f, tables)) {
        continue;
    }
    while (update_body(f, tables)) {
        continue;
    }
}

bool
exec_tails_hold(const struct exec_fields *f, const struct table_flow *flow)
{
    unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
    field_set reads = kept | exec_reads(flow, next);
    size_t table;

    if (bitmap_is_set(f->tail, flow->table)) {
        return is_for_tail(flow) && leads_to_tails(f, flow);
    }
    BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
        reads |= f->body[table];
    }
    for (size_t i = 0; i < flow->n_conditions; i++) {
        reads |= exec_matches(&flow->conditions[i]);
    }
    return !(reads & ~f->body[flow->table]);
}

static bool
is_open(struct exec *ex, const struct state *state, int f)
{
    return state->fields[f] == term_open(ex->terms, f);
}

/* A state with something open. */
static bool
has_open(struct exec *ex, const struct state *state)
{
    for (int f = F_IN_PORT + 1; f < N_FIELDS; f++) {
        if (is_open(ex, state, f)) {
            return true;
        }
    }
    return false;
}

bool
exec_is_tail(struct exec *ex, uint8_t table, const struct state *state)
{
    return bitmap_is_set(ex->fields->tail, table) && has_open(ex, state);
}

bool
exec_leave_open(struct exec *ex, uint8_t table, const struct state *state,
                struct state *open)
{
    field_set late = ex->fields->live[table] & ~ex->fields->body[table];
    bool gained = false;

    if (!(late & REGISTERS)
        || bitmap_is_set(ex->fields->tail, table) || has_open(ex, state)) {
        return false;
    }
    *open = *state;
    for (int f = F_IN_PORT + 1; f < N_FIELDS; f++) {
        bool packets = field_is_packets(f);
        term_t usual = (packets && fields[f].mf != MFF_N_IDS
                        ? term_field(ex->terms, f)
                        : term_zero(ex->terms, f));

        if (!(ex->fields->body[table] & FIELD_BIT(f))
            && state->fields[f] != usual) {
            open->fields[f] = term_open(ex->terms, f);
            gained |= !packets;
        }
    }
    return gained;
}

/* Binds what a state says in where it was left open. */
struct binding {
    struct exec *exec;
    const struct state *state;
    struct reach reach;         /* From where tails begin. */
    bool broken;                /* It cannot be done so. */
};

struct effect_list {
    struct effect *v;
    size_t n, allocated;
};

/* Of what a binding makes of a leaf. */
struct bound_key {
    uint32_t binding;
    dd_t leaf;
};

/* Of what it makes of one effect, which most of its leaves have in common. */
struct part_key {
    uint64_t arg;
    enum effect_kind kind;
    uint32_t binding;
};

static void
bind_fields(struct binding *b, term_t terms[N_FIELDS])
{
    for (int f = 0; f < N_FIELDS; f++) {
        b->broken |= !term_bind(b->exec->terms, &terms[f],
                                b->state->fields);
    }
}

static dd_t
bind_tail(struct binding *b, uint64_t id)
{
    struct exec *ex = b->exec;
    size_t size;
    struct tail tail = *(const struct tail *) pool_get(&ex->tails, id, &size);

    bind_fields(b, tail.state.fields);
    return (b->broken ? DD_NONE
            : exec_table(ex, tail.table, &tail.state, &b->reach));
}

static dd_t
bind_out(struct binding *b, uint64_t id)
{
    struct effects *effects = b->exec->effects;
    struct out out = *effects_out(effects, id);

    bind_fields(b, out.fields);
    return effects_one(effects, EFFECT_OUT, effects_add_out(effects, &out));
}

static struct part
bind_part(struct exec *ex, uint32_t number, const struct effect *e)
{
    struct binding b = { .exec = ex };
    struct part part;
    size_t size;

    b.state = pool_get(&ex->bindings, number / 2 - 1, &size);
    part.list = (e->kind == EFFECT_TAIL ? bind_tail(&b, e->arg)
                 : bind_out(&b, e->arg));
    /* Of what a packet decides in a tail there is no single list. */
    if (b.broken || !dd_is_leaf(part.list)) {
        part.list = DD_NONE;
    }
    part.reach = b.reach;
    return part;
}

/* What becomes of EFFECT_TAIL or EFFECT_OUT. */
static struct part
find_part(struct exec *ex, uint32_t number, const struct effect *e)
{
    struct part_key key = { e->arg, e->kind, number };
    size_t n = ex->parts.n;
    uint32_t id = pool_add(&ex->parts, &key, sizeof key);
    struct part part;

    if (id < n) {
        return ex->part[id];
    }
    if (id >= ex->allocated_part) {
        ex->part = x2nrealloc(ex->part, &ex->allocated_part,
                              sizeof *ex->part);
    }
    ex->part[id] = (struct part) { .list = DD_NONE };
    part = bind_part(ex, number, e);
    ex->part[id] = part;        /* Which may have moved. */
    return part;
}

/* Adds what becomes of one effect to the list.  Returns false if there is no
 * single list. */
static bool
add_bound(struct exec *ex, uint32_t number, const struct effect *e,
          struct effect_list *list, struct reach *reach)
{
    struct reach below;
    struct part part;
    size_t n;

    if (e->kind != EFFECT_TAIL && e->kind != EFFECT_OUT) {
        *LIST_ADD(list) = *e;
        return e->kind != EFFECT_AMBIGUOUS;
    }
    part = find_part(ex, number, e);
    if (part.list == DD_NONE) {
        return false;
    }
    below = part.reach;
    below.resubmits += reach->resubmits;
    *reach = reach_max(*reach, below);
    e = effects_get(ex->effects, part.list, &n);
    for (size_t i = 0; i < n; i++) {
        *LIST_ADD(list) = e[i];
    }
    return true;
}

static struct bound
bind_list(struct exec *ex, uint32_t number, dd_t leaf)
{
    struct bound bound = { .result = DD_NONE };
    struct effect_list list = { .v = NULL };
    bool single = true;
    size_t n;
    const struct effect *e = effects_get(ex->effects, leaf, &n);

    list.allocated = n + 8;
    list.v = xmalloc(list.allocated * sizeof *list.v);
    for (size_t i = 0; i < n && single; i++) {
        single = add_bound(ex, number, &e[i], &list, &bound.reach);
    }
    if (single) {
        bound.result = effects_list(ex->effects, list.v, list.n);
    }
    free(list.v);
    return bound;
}

static struct bound
find_bound(struct exec *ex, uint32_t number, dd_t leaf)
{
    struct bound_key key = { number, leaf };
    size_t n = ex->bounds.n;
    uint32_t id = pool_add(&ex->bounds, &key, sizeof key);
    struct bound bound;

    if (id < n) {
        return ex->bound[id];
    }
    if (id >= ex->allocated_bound) {
        ex->bound = x2nrealloc(ex->bound, &ex->allocated_bound,
                               sizeof *ex->bound);
    }
    ex->bound[id] = (struct bound) { .result = DD_NONE };
    bound = bind_list(ex, number, leaf);
    ex->bound[id] = bound;      /* Which may have moved. */
    return bound;
}

dd_t
exec_bound(struct exec *ex, uint32_t number, dd_t leaf)
{
    return number ? find_bound(ex, number, leaf).result : leaf;
}

/* Copies are put together, each with a binding of its own. */
static bool
is_by_itself(const struct exec *ex, const struct state *state)
{
    u128 tracked;

    exec_is_const(ex, state->fields[F_TRACKED], &tracked);
    return ex->by_port || tracked & TRACKED_COPY;
}

static dd_t
leaf_bind(void *exec, dd_t leaf, dd_t number)
{
    return exec_bound(exec, dd_leaf(number), leaf);
}

struct reaching {
    struct exec *exec;
    uint32_t number;
    struct reach reach;
    bool broken;
};

static bool
reach_leaf(void *reaching_, dd_t leaf)
{
    struct reaching *r = reaching_;
    struct bound bound = find_bound(r->exec, r->number, leaf);

    r->reach = reach_max(r->reach, bound.reach);
    r->broken = bound.result == DD_NONE;
    return r->broken;
}

/* A leaf of which there is no single list, as one of flows that disagree,
 * would be lost. */
bool
exec_settle(void *exec, uint32_t number, dd_t *effects)
{
    struct exec *ex = exec;
    struct dd_op op = { leaf_bind, NULL, ex, true, false, OP_BIND };
    struct reaching r = { .exec = ex, .number = number };

    if (number % 2) {
        return false;
    }
    dd_each_leaf(ex->space->dd, *effects, reach_leaf, &r);
    if (!r.broken) {
        *effects = dd_apply(ex->space->dd, &op, *effects, DD_LEAF(number));
    }
    return !r.broken;
}

bool
exec_bind(struct exec *ex, const struct state *state,
          const struct state *open, dd_t *result, struct reach *reach)
{
    struct reaching r = { .exec = ex };
    struct state binding;

    memset(&binding, 0xff, sizeof binding);     /* TERM_NONE. */
    for (int f = 0; f < N_FIELDS; f++) {
        if (is_open(ex, open, f)) {
            binding.fields[f] = state->fields[f];
        }
    }
    r.number = 2 * (pool_add(&ex->bindings, &binding, sizeof binding) + 1);
    dd_each_leaf(ex->space->dd, *result, reach_leaf, &r);
    if (!r.broken && is_by_itself(ex, state)) {
        exec_settle(ex, r.number, result);
    } else if (!r.broken) {
        *result = dd_bind(ex->space->dd, *result, r.number);
    }
    reach->depth += r.reach.depth;
    reach->resubmits += r.reach.resubmits;
    reach->passes += r.reach.passes;
    return !r.broken;
}
