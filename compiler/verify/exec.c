/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/exec.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "timeval.h"
#include "util.h"
#include "verify/exec-private.h"
#include "verify/mix.h"

/* A switch drops what needs more: MAX_DEPTH and MAX_RESUBMITS in
 * ofproto/ofproto-dpif-xlate.c, MAX_RECIRC_DEPTH in lib/dpif-netdev.c less the
 * one that takes the outer header off.  MAX_NESTED is for our own stack. */
enum {
    MAX_DEPTH = 64,
    MAX_RESUBMITS = MAX_DEPTH * MAX_DEPTH,
    MAX_PASSES = 5,
    MAX_NESTED = 400,
};

struct known_state {
    struct hmap_node node;
    uint8_t table;
    bool done;                  /* Else it is being computed. */
    dd_t result;
    struct reach reach;
    struct state state;
};

static dd_t
leaf_join(void *effects, dd_t a, dd_t b)
{
    return effects_join(effects, a, b);
}

static dd_t
leaf_merge(void *effects, dd_t a, dd_t b)
{
    return (effects_same(effects, a, b) ? a
            : effects_one(effects, EFFECT_AMBIGUOUS, 0));
}

struct exec *
exec_create(struct table_set *tables, const struct exec_fields *fields_,
            struct space *space, struct terms *terms, struct effects *effects,
            ofp_port_t tunnel, long long int deadline)
{
    struct exec *ex = xzalloc(sizeof *ex);

    ex->tables = tables;
    ex->fields = fields_;
    ex->space = space;
    ex->terms = terms;
    ex->effects = effects;
    ex->tunnel = tunnel;
    ex->deadline = deadline;
    ex->within = DD_ALL;
    ex->join = (struct dd_op) {
        leaf_join, NULL, effects, true, false, OP_JOIN,
    };
    ex->merge = (struct dd_op) {
        leaf_merge, NULL, effects, false, true, OP_MERGE,
    };
    dd_settle_by(space->dd, exec_settle, ex);
    hmap_init(&ex->states);
    ex->notes = exec_take_notes(fields_, tables->flows.n);
    ex->number = ++ex->notes->n_execs;
    ex->tallies = xcalloc(table_set_n_conjunctions(tables) + 1,
                          sizeof *ex->tallies);
    memo_init(&ex->conditions);
    pool_init(&ex->splits.keys);
    pool_init(&ex->views);
    pool_init(&ex->tails);
    pool_init(&ex->bindings);
    pool_init(&ex->parts);
    pool_init(&ex->bounds);
    return ex;
}

void
exec_destroy(struct exec *ex)
{
    struct known_state *known;

    if (ex) {
        HMAP_FOR_EACH_POP (known, node, &ex->states) {
            free(known);
        }
        hmap_destroy(&ex->states);
        free(ex->tallies);
        memo_destroy(&ex->conditions);
        pool_destroy(&ex->splits.keys);
        free(ex->splits.v);
        free(ex->shares.v);
        pool_destroy(&ex->views);
        pool_destroy(&ex->tails);
        pool_destroy(&ex->bindings);
        pool_destroy(&ex->parts);
        free(ex->part);
        pool_destroy(&ex->bounds);
        free(ex->bound);
        free(ex);
    }
}

size_t
exec_n_states(const struct exec *ex)
{
    return hmap_count(&ex->states);
}

dd_t
exec_refuse(struct exec *ex, const struct table_flow *flow, const char *what)
{
    if (!ex->refused) {
        ex->refused = arena_printf(ex->tables->arena, "%s: %s, which is not "
                                   "modelled", flow_place(ex->tables, flow),
                                   what);
    }
    return DD_NONE;
}

const char *
exec_refused(const struct exec *ex, bool *layout)
{
    *layout = ex->layout;
    return ex->refused;
}

term_t
exec_const(struct exec *ex, enum field f, u128 value)
{
    return term_const(ex->terms, fields[f].width, value);
}

term_t
exec_field(struct exec *ex, enum field f)
{
    return ex->values ? exec_const(ex, f, ex->values[f])
           : term_field(ex->terms, f);
}

bool
exec_is_const(const struct exec *ex, term_t t, u128 *value)
{
    const struct term *term = term_get(ex->terms, t);

    *value = term->value;
    return term->known == field_ones(term->width);
}

static uint32_t
hash_state(uint8_t table, const struct state *state)
{
    return mix_word(mix_bytes(state, sizeof *state), table);
}

static struct known_state *
find_state(struct exec *ex, uint8_t table, const struct state *state,
           uint32_t hash)
{
    struct known_state *known;

    HMAP_FOR_EACH_WITH_HASH (known, node, hash, &ex->states) {
        if (known->table == table
            && !memcmp(&known->state, state, sizeof *state)) {
            return known;
        }
    }
    return NULL;
}

/* Forgets what nobody reads any more. */
static struct state
forget_dead(struct exec *ex, uint8_t table, const struct state *state)
{
    uint64_t dead = ~(uint64_t) ex->fields->live[table]
                    & ((UINT64_C(1) << F_FIRST_OF_PACKET) - 1)
                    & ~(UINT64_C(1) << F_IN_PORT);
    struct state s = *state;

    for (; dead; dead &= dead - 1) {
        int f = raw_ctz(dead);

        s.fields[f] = term_zero(ex->terms, f);
    }
    if (!ex->by_port && !ex->values
        && !(ex->fields->live[table] & FIELD_BIT(F_IN_PORT))) {
        s.fields[F_IN_PORT] = term_open(ex->terms, F_IN_PORT);
    }
    return s;
}

static bool
is_late(struct exec *ex)
{
    if (ex->deadline && time_msec() > ex->deadline) {
        ex->refused = arena_printf(
            ex->tables->arena, "time is up after %"PRIuSIZE" states of "
            "tables", exec_n_states(ex));
    }
    return ex->refused != NULL;
}

static void
refuse_depth(struct exec *ex, uint8_t table)
{
    if (!ex->refused) {
        ex->refused = arena_printf(ex->tables->arena, "%s: what table %u "
                                   "leads to goes deeper than a switch does",
                                   ex->tables->file, table);
    }
}

bool
exec_nest(struct exec *ex, uint8_t table)
{
    if (ex->nested >= MAX_NESTED) {
        refuse_depth(ex, table);
        return false;
    }
    ex->nested++;
    return true;
}

struct reach
reach_max(struct reach a, struct reach b)
{
    return (struct reach) { MAX(a.depth, b.depth),
                            MAX(a.resubmits, b.resubmits),
                            MAX(a.passes, b.passes) };
}

/* Looks up, and stores how far that reaches. */
static dd_t
look_up(struct exec *ex, uint8_t table, const struct state *s,
        struct reach *reach)
{
    struct reach outer = ex->reach;
    dd_t result = DD_NONE;

    ex->reach = (struct reach) { .depth = 0 };
    if (exec_nest(ex, table)) {
        result = exec_look_up(ex, table, s);
        ex->nested--;
    }
    *reach = ex->reach;
    ex->reach = outer;
    return result;
}

static struct known_state *get_state(struct exec *, uint8_t table,
                                     const struct state *);

static struct known_state *
add_state(struct exec *ex, uint8_t table, const struct state *state,
          uint32_t hash)
{
    struct known_state *known = xmalloc(sizeof *known);

    known->table = table;
    known->done = false;
    known->result = DD_NONE;
    known->reach = (struct reach) { .depth = 0 };
    known->state = *state;
    hmap_insert(&ex->states, &known->node, hash);
    return known;
}

/* Finds what becomes of packets by what is known of others that nothing tells
 * apart before the tail. */
static bool
bind_state(struct exec *ex, uint8_t table, const struct state *state,
           struct known_state *known)
{
    const struct known_state *open_known;
    struct state open;

    if (!exec_leave_open(ex, table, state, &open)) {
        return false;
    }
    open_known = get_state(ex, table, &open);
    if (!open_known || !open_known->done) {
        return false;
    }
    known->result = open_known->result;
    known->reach = open_known->reach;
    return exec_bind(ex, state, &open, &known->result, &known->reach);
}

static struct known_state *
get_state(struct exec *ex, uint8_t table, const struct state *state)
{
    uint32_t hash = hash_state(table, state);
    struct known_state *known = find_state(ex, table, state, hash);

    if (known || is_late(ex)) {
        return known;
    }
    known = add_state(ex, table, state, hash);
    if (!bind_state(ex, table, state, known)) {
        known->result = look_up(ex, table, state, &known->reach);
    }
    known->done = true;
    return known;
}

dd_t
exec_table(struct exec *ex, uint8_t table, const struct state *state,
           struct reach *reach)
{
    struct state s = forget_dead(ex, table, state), joined;
    struct known_state *known;
    bool together;
    size_t index;

    *reach = (struct reach) { .depth = 0 };
    if (ex->refused) {
        return DD_NONE;
    } else if (ex->values) {
        return look_up(ex, table, &s, reach);
    } else if (exec_is_tail(ex, table, &s)) {
        struct tail tail = { .table = table, .state = s };

        return effects_one(ex->effects, EFFECT_TAIL,
                           pool_add(&ex->tails, &tail, sizeof tail));
    }
    together = exec_join_senders(ex, table, &s, &joined, &index);
    if (together && ex->scouted) {
        bitmap_set1(ex->scouted, index);
        return DD_NONE;
    }
    known = get_state(ex, table, together ? &joined : &s);
    if (!known) {
        return DD_NONE;
    } else if (!known->done && !ex->refused) {
        ex->refused = arena_printf(ex->tables->arena, "%s: packets go round "
                                   "in circles through table %u, which is "
                                   "not modelled", ex->tables->file, table);
    }
    *reach = known->reach;
    return (!together ? known->result
            : dd_where(ex->space->dd, known->result,
                       ex->space->begin[F_SENDER], index));
}

dd_t
exec_resubmit(struct exec *ex, uint8_t from, uint8_t table,
              const struct state *state)
{
    struct reach below;
    dd_t result = exec_table(ex, table, state, &below);

    below.depth += table <= from;
    below.resubmits += ex->reach.resubmits + 1;
    ex->reach = reach_max(ex->reach, below);
    if (ex->reach.depth >= MAX_DEPTH
        || ex->reach.resubmits >= MAX_RESUBMITS) {
        refuse_depth(ex, from);
    }
    return result;
}

/* Each pass of a packet is a translation of its own. */
dd_t
exec_recirculate(struct exec *ex, uint8_t table, const struct state *state)
{
    struct reach below;
    dd_t result = exec_table(ex, table, state, &below);

    ex->reach.passes = MAX(ex->reach.passes, below.passes + 1);
    if (ex->reach.passes > MAX_PASSES) {
        refuse_depth(ex, table);
    }
    return result;
}

dd_t
exec_look_again(struct exec *ex, uint8_t table, const struct state *state)
{
    struct reach below;
    dd_t result = exec_table(ex, table, state, &below);

    ex->reach = reach_max(ex->reach, below);
    return result;
}

static dd_t
run_from(struct exec *ex, const struct ingress *in)
{
    struct reach reach;
    struct state s;

    for (int f = 0; f < N_FIELDS; f++) {
        bool outer = f >= F_TUN_ID && f <= F_TUN_IPV6_DST;

        s.fields[f] = (field_is_packets(f) && fields[f].mf != MFF_N_IDS
                       && (in->outer || !outer)
                       ? exec_field(ex, f) : exec_const(ex, f, 0));
    }
    s.fields[F_IN_PORT] = exec_const(ex, F_IN_PORT, ofp_to_u16(in->port));
    return exec_table(ex, 0, &s, &reach);
}

void
exec_by_port(struct exec *ex)
{
    ex->by_port = true;
}

void
exec_any_opener(struct exec *ex)
{
    ex->any_opener = true;
}

void
exec_apart(struct exec *ex)
{
    ex->apart = true;
}

/* Marks all who are run with others. */
static void
scout(struct exec *ex, const struct ingress *const from[], size_t n,
      unsigned long senders[])
{
    struct known_state *known;

    ex->scouted = senders;
    for (size_t i = 0; i < n; i++) {
        run_from(ex, from[i]);
    }
    ex->scouted = NULL;
    HMAP_FOR_EACH_POP (known, node, &ex->states) {
        free(known);
    }
}

void
exec_within(struct exec *ex, dd_t set, const struct ingress *const from[],
            size_t n)
{
    unsigned long *senders = bitmap_allocate(EXEC_MAX_ALIKE);
    struct space *space = ex->space;
    dd_t some = DD_NONE;
    size_t i;

    ex->within = set;
    scout(ex, from, n, senders);
    BITMAP_FOR_EACH_1 (i, EXEC_MAX_ALIKE, senders) {
        ex->first_sender = some == DD_NONE ? i : ex->first_sender;
        some = dd_or(space->dd, some, space_is(space, F_SENDER, i));
    }
    ex->some_senders = some != DD_NONE;
    if (ex->some_senders) {
        ex->within = dd_and(space->dd, set, some);
    }
    free(senders);
}

dd_t
exec_run(struct exec *ex, const struct ingress *in)
{
    dd_t effects = run_from(ex, in);

    return (!ex->some_senders ? effects
            : dd_where(ex->space->dd, effects, ex->space->begin[F_SENDER],
                       ex->first_sender));
}

dd_t
exec_walk(struct exec *ex, const struct ingress *in, const u128 values[],
          struct arena *arena, step_vec *steps)
{
    dd_t leaf;

    ex->values = values;
    ex->arena = arena;
    ex->steps = steps;
    leaf = run_from(ex, in);
    ex->values = NULL;
    return leaf;
}
