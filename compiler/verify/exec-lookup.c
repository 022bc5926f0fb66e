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
    field_set varied;           /* Of these, what sender 'sender' has is taken
                                 * for known. */
    size_t sender;
    const struct table_flow *all;       /* Of those found one that all packets
                                         * match, or NULL. */
    LIST(struct candidate) found;
    bool for_conjunction;       /* It is looked up for one, and no longer asked
                                 * for others. */
    LIST(struct clause_flow) clauses;
    struct dd_list sets;        /* Of what is being put together. */
    struct dd_list taken;       /* By those of one priority. */
};

static void
known_bits(const void *lookup_, enum field f, u128 *value, u128 *mask)
{
    const struct lookup *l = lookup_;
    const struct term *term = term_get(l->exec->terms, l->state->fields[f]);
    size_t n;

    *value = term->value;
    *mask = term->known;
    if (l->varied >> f & 1) {
        *value = term_choices(l->exec->terms, l->state->fields[f],
                              &n)[l->sender];
        *mask = field_ones(fields[f].width);
    }
}

static void
visit(void *lookup_, struct table_flow *flow)
{
    struct lookup *l = lookup_;
    const struct table_flow *all = l->all;
    struct exec_note *note = exec_note(l->exec, flow);
    bool seen = note->seen == l->exec->n_lookups;
    dd_t set;

    note->seen = l->exec->n_lookups;
    if (seen || (l->for_conjunction && flow->clause && !flow->temporary)
        || exec_is_ruled_out(l->exec, flow, l->state)
        || (all && (flow->priority < all->priority
                    || (flow->priority == all->priority
                        && flow->like == all->like
                        && flow->temporary == all->temporary)))) {
        return;
    }
    set = exec_match_set(l->exec, flow, l->state);
    if (set == DD_NONE) {
        return;
    } else if (flow->temporary && flow->clause) {
        exec_refuse(l->exec, flow, EXEC_TEMPORARY);
    } else if (flow->clause) {
        *LIST_ADD(&l->clauses) = (struct clause_flow) { flow, set };
    } else {
        *LIST_ADD(&l->found) = (struct candidate) {
            flow, 0, flow->priority, flow->order, set,
        };
        l->all = set == DD_ALL ? flow : all;
    }
}

/* The strongest first, and side by side what does the same. */
static int
compare_candidates(const void *a_, const void *b_)
{
    const struct candidate *a = a_, *b = b_;
    size_t x = a->flow ? a->flow->deed : a->id;
    size_t y = b->flow ? b->flow->deed : b->id;

    return (a->priority != b->priority ? (a->priority < b->priority ? 1 : -1)
            : !a->flow != !b->flow ? !a->flow - !b->flow
            : x != y ? (x < y ? -1 : 1)
            : a->order < b->order ? -1 : a->order > b->order);
}

static bool
do_the_same(const struct candidate *a, const struct candidate *b)
{
    return (a->flow && b->flow && a->priority == b->priority
            && a->flow->like == b->flow->like
            && a->flow->temporary == b->flow->temporary);
}

static void
add_conjunction(void *lookup_, uint32_t id, uint16_t priority, dd_t set)
{
    struct lookup *l = lookup_;

    *LIST_ADD(&l->found) = (struct candidate) { NULL, id, priority, 0, set };
}

/* The Ethernet type of all packets that match, or 0. */
static uint16_t
type_of(const struct lookup *l, const struct candidate *candidate)
{
    term_t came = term_field(l->exec->terms, F_ETH_TYPE);
    const struct table_flow *flow = candidate->flow;

    for (size_t i = 0; flow && i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];

        if (c->field == F_ETH_TYPE && c->mask == field_ones(16)
            && l->state->fields[F_ETH_TYPE] == came) {
            return c->value;
        }
    }
    return 0;
}

/* Adds what those of the strongest candidates from '*i' on take of 'packets';
 * goes past them.  Returns all that they take. */
static dd_t
split_level(struct lookup *l, size_t *i, dd_t packets)
{
    struct exec *ex = l->exec;
    struct dd *dd = ex->space->dd;
    uint16_t priority = l->found.v[*i].priority;

    l->taken.n = 0;
    while (*i < l->found.n && l->found.v[*i].priority == priority) {
        const struct candidate *c = &l->found.v[*i];
        uint16_t type = type_of(l, c);
        dd_t left;

        l->sets.n = 0;
        do {
            type = type_of(l, &l->found.v[*i]) == type ? type : 0;
            *LIST_ADD(&l->sets) = l->found.v[(*i)++].set;
        } while (*i < l->found.n && do_the_same(c, &l->found.v[*i]));
        /* Of one packet, the first that matches tells the way. */
        left = (ex->values && l->taken.n ? DD_NONE
                : dd_and(dd, packets, dd_over_all(dd, l->sets.v, l->sets.n)));
        if (left != DD_NONE) {
            *LIST_ADD(&l->taken) = left;
            *LIST_ADD(&ex->shares) = (struct share) {
                c->flow, c->id, left, type, 0,
            };
        }
    }
    return dd_over_all(dd, l->taken.v, l->taken.n);
}

/* The fields that the table matches of which senders hold different values;
 * stores how many senders there are. */
static field_set
varied_fields(const struct lookup *l, uint8_t table, size_t *n)
{
    field_set varied = (exec_varied(l->exec->fields)
                        & l->exec->fields->matched[table]);

    *n = 1;
    for (int f = 0; f < F_FIRST_OF_PACKET; f++) {
        size_t n_values;

        if (varied >> f & 1) {
            if (term_choices(l->exec->terms, l->state->fields[f],
                             &n_values)) {
                *n = n_values;
            } else {
                varied &= ~FIELD_BIT(f);
            }
        }
    }
    return varied;
}

/* Does the sender hold the same there as the one before? */
static bool
is_as_before(const struct lookup *l, size_t sender)
{
    for (int f = 0; f < F_FIRST_OF_PACKET && sender; f++) {
        size_t n;

        if (l->varied >> f & 1) {
            const uint64_t *v = term_choices(l->exec->terms,
                                             l->state->fields[f], &n);

            if (v[sender] != v[sender - 1]) {
                return false;
            }
        }
    }
    return sender > 0;
}

/* Visits the flows that could match for any of the senders. */
static void
find_flows(struct lookup *l, uint8_t table)
{
    size_t n;

    l->exec->n_lookups++;
    l->varied = varied_fields(l, table, &n);
    for (size_t i = 0; i < n; i++) {
        if (!is_as_before(l, i)) {
            l->sender = i;
            table_set_find(l->exec->tables, table, known_bits, l, visit, l);
        }
    }
}

static void
find_candidates(struct lookup *l, uint8_t table)
{
    u128 conj_id;

    l->for_conjunction = (!exec_is_const(l->exec, l->state->fields[F_CONJ_ID],
                                         &conj_id) || conj_id);
    find_flows(l, table);
    exec_find_conjunctions(l->exec, l->clauses.v, l->clauses.n,
                           add_conjunction, l);
    if (l->found.n) {
        qsort(l->found.v, l->found.n, sizeof *l->found.v,
              compare_candidates);
    }
}

/* Puts the sets of all shares together, and of what is missed. */
static dd_t
shape_of(struct lookup *l, const struct split *split)
{
    struct exec *ex = l->exec;

    l->sets.n = 0;
    for (size_t i = 0; i < split->n; i++) {
        struct share *share = &ex->shares.v[split->first + i];

        share->deepest = dd_deepest(ex->space->dd, share->packets) + 1;
        *LIST_ADD(&l->sets) = share->packets;
    }
    *LIST_ADD(&l->sets) = split->missed;
    return dd_shape(ex->space->dd, l->sets.v, l->sets.n);
}

/* Which packets meet which flow, of those that no stronger one takes. */
static void
split(struct lookup *l, uint8_t table, struct split *split)
{
    struct dd *dd = l->exec->space->dd;
    struct state state = *l->state;
    dd_t left = l->exec->values ? DD_ALL : l->exec->within;

    if (state.fields[F_TYPE] != term_zero(l->exec->terms, F_TYPE)
        && state.fields[F_ETH_TYPE] == term_field(l->exec->terms,
                                                  F_ETH_TYPE)) {
        state.fields[F_ETH_TYPE] = state.fields[F_TYPE];
    }
    l->state = &state;
    find_candidates(l, table);
    split->first = l->exec->shares.n;
    for (size_t i = 0; i < l->found.n && left != DD_NONE
         && !l->exec->refused; ) {
        left = dd_and(dd, left, dd_not(dd, split_level(l, &i, left)));
    }
    split->n = l->exec->shares.n - split->first;
    split->missed = left;
    split->shape = l->exec->values ? DD_NONE : shape_of(l, split);
    free(l->found.v);
    free(l->clauses.v);
    free(l->sets.v);
    free(l->taken.v);
}

/* The same once for all states that hold the same in what the table
 * matches. */
struct split
exec_split(struct exec *ex, uint8_t table, const struct state *state)
{
    struct lookup l = { .exec = ex, .state = state };
    field_set matched = ex->fields->matched[table] | FIELD_BIT(F_CONJ_ID);
    size_t n = 1, n_known = ex->splits.keys.n;
    term_t key[N_FIELDS + 1] = { table };
    struct split result;
    uint32_t id;

    if (ex->values) {
        split(&l, table, &result);
        return result;
    }
    for (int f = 0; f < N_FIELDS; f++) {
        if (matched >> f & 1) {
            key[n++] = state->fields[f];
        }
    }
    id = pool_add(&ex->splits.keys, key, n * sizeof *key);
    if (id == n_known) {
        split(&l, table, &result);
        if (id >= ex->splits.allocated) {
            ex->splits.v = x2nrealloc(ex->splits.v, &ex->splits.allocated,
                                      sizeof *ex->splits.v);
        }
        ex->splits.v[id] = result;
    }
    return ex->splits.v[id];
}

static dd_t
run_share(struct exec *ex, uint8_t table, const struct state *state,
          const struct share *share)
{
    struct state s = *state;

    if (share->flow) {
        s.fields[F_TYPE] = (share->type
                            ? exec_const(ex, F_TYPE, share->type)
                            : s.fields[F_TYPE]);
        return exec_flow(ex, share->flow, &s, share->packets);
    }
    s.fields[F_CONJ_ID] = exec_const(ex, F_CONJ_ID, share->id);
    return exec_look_again(ex, table, &s);
}

/* What becomes of packets of each share, and of those that are missed, put
 * together one by one. */
static dd_t
merge_parts(struct exec *ex, const struct split *split, dd_t parts[])
{
    struct dd *dd = ex->space->dd;

    for (size_t i = 0; i < split->n; i++) {
        parts[i] = dd_cut(dd, ex->shares.v[split->first + i].packets,
                          parts[i]);
    }
    parts[split->n] = dd_cut(dd, split->missed, parts[split->n]);
    return dd_fold(dd, &ex->merge, parts, split->n + 1);
}

/* The same at once, but for those that ask for what tells shares apart. */
static dd_t
fill_shape(struct exec *ex, const struct split *split, dd_t parts[])
{
    struct dd *dd = ex->space->dd;
    struct dd_list rest = { .v = NULL };
    uint32_t number = dd_unbind_all(dd, split->shape, parts, split->n);
    dd_t result;

    for (size_t i = 0; i < split->n; i++) {
        const struct share *share = &ex->shares.v[split->first + i];

        if (dd_first(dd, parts[i]) < share->deepest) {
            *LIST_ADD(&rest) = dd_cut(dd, share->packets, parts[i]);
            parts[i] = DD_NONE;
        }
    }
    *LIST_ADD(&rest) = dd_fill(dd, split->shape, parts);
    result = dd_over_all(dd, rest.v, rest.n);
    free(rest.v);
    return number ? dd_bind(dd, result, number) : result;
}

dd_t
exec_look_up(struct exec *ex, uint8_t table, const struct state *state)
{
    bool cut = ex->cut && table == ex->cut->table && !ex->values;
    dd_t *parts, result;
    struct split split;

    if (cut) {
        return exec_look_cut(ex, table, state);
    }
    split = exec_split(ex, table, state);
    parts = xcalloc(split.n + 1, sizeof *parts);

    for (size_t i = 0; i < split.n; i++) {
        struct share share = ex->shares.v[split.first + i];

        parts[i] = (ex->refused ? DD_NONE
                    : run_share(ex, table, state, &share));
    }
    parts[split.n] = effects_one(ex->effects, EFFECT_MISS, table);
    result = (split.shape == DD_NONE ? merge_parts(ex, &split, parts)
              : fill_shape(ex, &split, parts));
    free(parts);
    return result;
}
