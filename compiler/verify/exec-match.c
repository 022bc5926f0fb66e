/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Which packets match a flow. */

#include "util.h"
#include "verify/exec-private.h"

bool
exec_is_ruled_out(const struct exec *ex, const struct table_flow *flow,
                  const struct state *state)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];
        const struct term *term = term_get(ex->terms,
                                           state->fields[c->field]);

        if ((term->value ^ c->value) & c->mask & term->known) {
            return true;
        }
    }
    return false;
}

static dd_t
match_condition(struct exec *ex, const struct table_flow *flow,
                const struct condition *c, term_t term)
{
    struct {
        u128 value, mask;
        uint64_t term, pad;
    } key = { c->value, c->mask, term, 0 };
    dd_t *known = memo_find(&ex->conditions, &key, sizeof key), set;

    if (*known != DD_NONE) {
        return *known;
    } else if (!term_match(ex->terms, term, c->value, c->mask, ex->space,
                           &set)) {
        return exec_refuse(ex, flow, arena_printf(
            ex->tables->arena, "it matches %s as changed before",
            fields[c->field].name));
    } else if (dd_is_refused(ex->space->dd)) {
        ex->layout = true;
        return exec_refuse(ex, flow, arena_printf(
            ex->tables->arena, "its match scatters over more than %d ranges "
            "of %s", DD_MAX_RUNS, fields[c->field].name));
    }
    return *known = set;
}

/* 'set' less the packets that do not match what 'flow' says of the packet, or
 * of what the tables note. */
static dd_t
match_conditions(struct exec *ex, const struct table_flow *flow,
                 const struct state *state, bool packets, dd_t set)
{
    for (size_t i = 0; i < flow->n_conditions && set != DD_NONE; i++) {
        const struct condition *c = &flow->conditions[i];
        term_t term = state->fields[c->field];

        if (field_is_packets(c->field) == packets
            && c->mask & ~term_get(ex->terms, term)->known) {
            set = dd_and(ex->space->dd, set,
                         match_condition(ex, flow, c, term));
        }
    }
    return set;
}

/* Is all that 'flow' matches of the packet as it came? */
static bool
is_usual(const struct exec *ex, const struct table_flow *flow,
         const struct state *state)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        enum field f = flow->conditions[i].field;

        if (field_is_packets(f)
            && state->fields[f] != term_field(ex->terms, f)) {
            return false;
        }
    }
    return true;
}

dd_t
exec_match_set(struct exec *ex, const struct table_flow *flow,
               const struct state *state)
{
    dd_t *usual = &exec_note(ex, flow)->matching, set;

    if (!is_usual(ex, flow, state)) {
        set = match_conditions(ex, flow, state, true, DD_ALL);
    } else {
        if (*usual == DD_NONE) {
            *usual = match_conditions(ex, flow, state, true, DD_ALL);
        }
        set = *usual;
    }
    return match_conditions(ex, flow, state, false, set);
}
