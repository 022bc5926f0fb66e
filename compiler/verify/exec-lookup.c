/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>

#include "openvswitch/ofp-actions.h"
#include "util.h"
#include "verify/exec-private.h"

/* A flow, or a conjunction, that could match in a state. */
struct candidate {
    const struct table_flow *flow;      /* NULL: a conjunction. */
    uint32_t id;                /* Of the conjunction. */
    uint16_t priority;
    size_t order;
    dd_t set;                   /* The packets that match. */
};

struct lookup {
    struct exec *exec;
    const struct state *state;
    struct candidate *v;
    size_t n, allocated;
    struct candidate *clauses;
    size_t n_clauses, allocated_clauses;
};

static void
known_bits(const void *lookup_, enum field f, u128 *value, u128 *mask)
{
    const struct lookup *l = lookup_;
    const struct term *term = term_get(l->exec->terms, l->state->fields[f]);

    *value = term->value;
    *mask = term->known;
}

/* The packets that match 'flow' in the state. */
static dd_t
match_set(struct exec *ex, const struct table_flow *flow,
          const struct state *state)
{
    dd_t set = DD_ALL;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];
        const struct term *term = term_get(ex->terms,
                                           state->fields[c->field]);

        if ((term->value ^ c->value) & c->mask & term->known) {
            return DD_NONE;
        }
    }
    for (size_t i = 0; i < flow->n_conditions && set != DD_NONE; i++) {
        const struct condition *c = &flow->conditions[i];
        dd_t part;

        if (!term_match(ex->terms, state->fields[c->field], c->value,
                        c->mask, ex->space, &part)) {
            return exec_refuse(ex, flow, arena_printf(
                ex->tables->arena, "it matches %s as changed before",
                fields[c->field].name));
        } else if (dd_is_refused(ex->space->dd)) {
            ex->layout = true;
            return exec_refuse(ex, flow, arena_printf(
                ex->tables->arena, "its match scatters over more than %d "
                "ranges of %s", DD_MAX_RUNS, fields[c->field].name));
        }
        set = dd_and(ex->space->dd, set, part);
    }
    return set;
}

static struct candidate *
add_candidate(struct candidate **v, size_t *n, size_t *allocated)
{
    if (*n >= *allocated) {
        *v = x2nrealloc(*v, allocated, sizeof **v);
    }
    return &(*v)[(*n)++];
}

static void
visit(void *lookup_, struct table_flow *flow)
{
    struct lookup *l = lookup_;
    dd_t set = match_set(l->exec, flow, l->state);
    struct candidate *c;

    if (set == DD_NONE) {
        return;
    } else if (flow->temporary && flow->clause) {
        exec_refuse(l->exec, flow, EXEC_TEMPORARY);
    }
    c = (flow->clause
         ? add_candidate(&l->clauses, &l->n_clauses, &l->allocated_clauses)
         : add_candidate(&l->v, &l->n, &l->allocated));
    *c = (struct candidate) { flow, 0, flow->priority, flow->order, set };
}

/* The strongest first. */
static int
compare_candidates(const void *a_, const void *b_)
{
    const struct candidate *a = a_, *b = b_;

    return (a->priority != b->priority ? (a->priority < b->priority ? 1 : -1)
            : a->order < b->order ? -1 : a->order > b->order);
}

/* The clause 'k' of conjunction 'id' at 'priority': the packets that match one
 * of its flows.  Stores how many clauses there are. */
static dd_t
find_clause(struct lookup *l, uint32_t id, uint16_t priority, int k, int *n)
{
    dd_t set = DD_NONE;

    for (size_t i = 0; i < l->n_clauses; i++) {
        const struct table_flow *flow = l->clauses[i].flow;
        const struct ofpact *a;

        if (flow->priority != priority) {
            continue;
        }
        OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
            const struct ofpact_conjunction *c
                = (a->type == OFPACT_CONJUNCTION ? ofpact_get_CONJUNCTION(a)
                   : NULL);

            if (c && c->id == id) {
                *n = c->n_clauses;
                if (c->clause == k) {
                    set = dd_or(l->exec->space->dd, set, l->clauses[i].set);
                }
            }
        }
    }
    return set;
}

static bool
has_conjunction(const struct lookup *l, uint32_t id, uint16_t priority)
{
    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i].flow && l->v[i].id == id
            && l->v[i].priority == priority) {
            return true;
        }
    }
    return false;
}

/* Adds the conjunctions of which a packet can match all clauses. */
static void
add_conjunctions(struct lookup *l)
{
    for (size_t i = 0; i < l->n_clauses; i++) {
        const struct table_flow *flow = l->clauses[i].flow;
        const struct ofpact *a;

        OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
            uint32_t id;
            int n = 0;
            dd_t set;

            if (a->type != OFPACT_CONJUNCTION) {
                continue;
            }
            id = ofpact_get_CONJUNCTION(a)->id;
            set = find_clause(l, id, flow->priority, 0, &n);
            for (int k = 1; k < n && set != DD_NONE; k++) {
                set = dd_and(l->exec->space->dd, set,
                             find_clause(l, id, flow->priority, k, &n));
            }
            if (set != DD_NONE && !has_conjunction(l, id, flow->priority)) {
                *add_candidate(&l->v, &l->n, &l->allocated)
                    = (struct candidate) { NULL, id, flow->priority,
                                           flow->order, set };
            }
        }
    }
}

static dd_t
run_candidate(struct exec *ex, uint8_t table, const struct state *state,
              const struct candidate *c, dd_t met)
{
    struct state with_id = *state;

    if (c->flow) {
        return exec_flow(ex, c->flow, state, met);
    }
    with_id.fields[F_CONJ_ID] = exec_const(ex, F_CONJ_ID, c->id);
    return exec_look_again(ex, table, &with_id);
}

/* What each candidate does to the packets that no stronger one takes. */
static dd_t
run_candidates(struct exec *ex, uint8_t table, const struct state *state,
               const struct lookup *l)
{
    struct dd *dd = ex->space->dd;
    dd_t result = DD_NONE, taken = DD_NONE;

    for (size_t i = 0; i < l->n && taken != DD_ALL && !ex->refused; ) {
        uint16_t priority = l->v[i].priority;
        dd_t level = DD_NONE, level_taken = taken;

        /* Of one packet, the first that matches tells the way. */
        for (; i < l->n && l->v[i].priority == priority
             && !(ex->values && level != DD_NONE); i++) {
            dd_t left = dd_and(dd, dd_not(dd, taken), l->v[i].set);

            if (left != DD_NONE) {
                level = dd_apply(dd, &ex->merge, level, dd_cut(
                    dd, left, run_candidate(ex, table, state, &l->v[i],
                                            left)));
                level_taken = dd_or(dd, level_taken, left);
            }
        }
        result = dd_over(dd, result, level);
        taken = level_taken;
    }
    return dd_over(dd, result, effects_one(ex->effects, EFFECT_MISS, table));
}

dd_t
exec_look_up(struct exec *ex, uint8_t table, const struct state *state)
{
    struct lookup l = { .exec = ex, .state = state };
    u128 conj_id;
    dd_t result;

    table_set_find(ex->tables, table, known_bits, &l, visit, &l);
    /* Looked up for a conjunction, it is no longer asked for others. */
    if (l.n_clauses && exec_is_const(ex, state->fields[F_CONJ_ID], &conj_id)
        && !conj_id) {
        add_conjunctions(&l);
    }
    qsort(l.v, l.n, sizeof *l.v, compare_candidates);
    result = run_candidates(ex, table, state, &l);
    free(l.v);
    free(l.clauses);
    return result;
}
