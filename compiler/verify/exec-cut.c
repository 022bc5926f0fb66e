/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Tables that are cut in two at one that decides: what comes to it, whatever
 * it decides, and what it decides, whatever comes. */

#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "verify/exec-private.h"

/* The registers that are numbers of sides. */
static const enum field numbers[] = { F_REG11, F_REG12, F_REG13, F_REG14 };

static bool
is_number(enum field f)
{
    return f >= F_REG11 && f <= F_REG14;
}

bool
exec_number(const struct asked *asked, enum field f, uint64_t *value)
{
    uint64_t both = f <= F_REG12 ? asked->opener : asked->opened;

    *value = f == F_REG11 || f == F_REG13 ? both >> 32 : both & UINT32_MAX;
    return is_number(f);
}

void
exec_cut(struct exec *ex, const struct exec_cut *cut)
{
    ex->cut = cut;
}

const struct exec_view *
exec_view(const struct exec *ex, uint64_t number)
{
    size_t size;

    return pool_get(&ex->views, number, &size);
}

field_set
exec_matched(const struct exec_fields *ef, uint8_t table)
{
    return ef->matched[table];
}

static dd_t
refuse(struct exec *ex, uint8_t table)
{
    if (!ex->refused) {
        ex->refused = arena_printf(ex->tables->arena, "%s: what table %u "
                                   "looks at is not modelled",
                                   ex->tables->file, table);
    }
    return DD_NONE;
}

/* Adds what else 'table' looks at in the state.  Returns false if that depends
 * on who sends, on connection tracking, or is too much. */
static bool
add_view(struct exec *ex, uint8_t table, const struct state *state,
         uint64_t *number)
{
    struct exec_view view;

    memset(&view, 0, sizeof view);
    for (int f = 0; f < N_FIELDS; f++) {
        const struct term *term = term_get(ex->terms, state->fields[f]);

        if (!(ex->fields->matched[table] & FIELD_BIT(f)) || is_number(f)
            || f == F_CONJ_ID) {
            continue;
        } else if (view.n == EXEC_MAX_VIEWED || !term_is_plain(term)) {
            return false;
        }
        view.v[view.n].field = f;
        memcpy(&view.v[view.n++].term, term, sizeof *term);
    }
    *number = pool_add(&ex->views, &view, sizeof view);
    return true;
}

/* What a register that is a number holds, of sender 'i' of '*n', which it
 * widens; 0 if 'table' does not look at it.  Returns false if it is not
 * known. */
static bool
get_number(struct exec *ex, uint8_t table, const struct state *state,
           enum field f, size_t i, size_t *n, uint64_t *value)
{
    size_t n_choices;
    const uint64_t *choices = term_choices(ex->terms, state->fields[f],
                                           &n_choices);
    u128 known = 0;

    if (!(ex->fields->matched[table] & FIELD_BIT(f))) {
        *value = 0;
        return true;
    } else if (choices) {
        *value = choices[i];
        *n = n_choices;
        return true;
    } else if (!exec_is_const(ex, state->fields[f], &known)) {
        return false;
    }
    *value = known;
    return true;
}

/* EFFECT_ASKED, for each of those who are run together. */
static dd_t
ask(struct exec *ex, uint8_t table, const struct state *state)
{
    struct space *space = ex->space;
    dd_t result = DD_NONE;
    struct asked asked;

    if (!add_view(ex, table, state, &asked.view)) {
        return refuse(ex, table);
    }
    for (size_t i = 0, n = 1; i < n; i++) {
        uint64_t v[ARRAY_SIZE(numbers)];
        dd_t leaf;

        for (size_t k = 0; k < ARRAY_SIZE(numbers); k++) {
            if (!get_number(ex, table, state, numbers[k], i, &n, &v[k])) {
                return refuse(ex, table);
            }
        }
        asked.opener = v[0] << 32 | v[1];
        asked.opened = v[2] << 32 | v[3];
        leaf = effects_one(ex->effects, EFFECT_ASKED,
                           effects_add_asked(ex->effects, &asked));
        if (n == 1) {
            return leaf;
        }
        result = dd_over(space->dd, result, dd_cut(
            space->dd, space_is(space, F_SENDER, i), leaf));
    }
    return result;
}

dd_t
exec_look_cut(struct exec *ex, uint8_t table, const struct state *state)
{
    const struct exec_cut *cut = ex->cut;
    struct space *space = ex->space;
    dd_t result = DD_NONE;

    for (size_t i = 0; i < cut->n && !ex->refused; i++) {
        u128 last = i + 1 < cut->n ? i : field_ones(fields[F_VERDICT].width);

        result = dd_over(space->dd, result, dd_cut(
            space->dd, space_range(space, F_VERDICT, i, last),
            exec_flow(ex, cut->outcomes[i], state, DD_ALL)));
    }
    return dd_apply(space->dd, &ex->join, ask(ex, table, state), result);
}

/* Of two flows of one priority, if they do the same. */
static dd_t
leaf_decide(void *exec, dd_t a, dd_t b)
{
    const struct exec *ex = exec;
    const struct table_flow *x, *y;

    if (a == DD_ALL || b == DD_ALL) {
        return DD_ALL;
    }
    x = ex->tables->flows.v[dd_leaf(a) - 2];
    y = ex->tables->flows.v[dd_leaf(b) - 2];
    return (x->ofpacts_len == y->ofpacts_len
            && !memcmp(x->ofpacts, y->ofpacts, x->ofpacts_len) ? a : DD_ALL);
}

static dd_t decide(struct exec *, uint8_t table, const struct state *);

static dd_t
decide_share(struct exec *ex, uint8_t table, const struct state *state,
             const struct share *share)
{
    struct state s = *state;
    dd_t result;

    if (share->flow) {
        return (share->flow->temporary
                ? exec_refuse(ex, share->flow, EXEC_TEMPORARY)
                : DD_LEAF(share->flow->order + 2));
    }
    s.fields[F_CONJ_ID] = exec_const(ex, F_CONJ_ID, share->id);
    if (!exec_nest(ex, table)) {
        return DD_NONE;
    }
    result = decide(ex, table, &s);
    ex->nested--;
    return result;
}

static dd_t
decide(struct exec *ex, uint8_t table, const struct state *state)
{
    const struct dd_op op = {
        leaf_decide, NULL, ex, false, true, OP_DECIDE,
    };
    struct dd *dd = ex->space->dd;
    struct split split = exec_split(ex, table, state);
    dd_t *parts = xcalloc(split.n + 1, sizeof *parts), result;

    for (size_t i = 0; i < split.n && !ex->refused; i++) {
        struct share share = ex->shares.v[split.first + i];

        parts[i] = dd_cut(dd, share.packets,
                          decide_share(ex, table, state, &share));
    }
    parts[split.n] = dd_cut(dd, split.missed, DD_ALL);
    result = ex->refused ? DD_NONE : dd_fold(dd, &op, parts, split.n + 1);
    free(parts);
    return result;
}

dd_t
exec_decide(struct exec *ex, uint8_t table, const struct asked *asked,
            const struct exec_view *view)
{
    struct state s;
    uint64_t value;

    for (int f = 0; f < N_FIELDS; f++) {
        s.fields[f] = (exec_number(asked, f, &value)
                       ? exec_const(ex, f, value)
                       : term_unknown(ex->terms, fields[f].width));
    }
    s.fields[F_CONJ_ID] = term_zero(ex->terms, F_CONJ_ID);
    for (size_t i = 0; i < view->n; i++) {
        s.fields[view->v[i].field] = term_add(ex->terms, &view->v[i].term);
    }
    return decide(ex, table, &s);
}
