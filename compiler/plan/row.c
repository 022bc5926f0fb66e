/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/row.h"

#include <string.h>

#include "plan/plan.h"
#include "sema/northbound.h"
#include "util.h"

struct plan_row *
plan_add_row(struct plan *plan, const char *table, const char *id)
{
    struct plan_row *row = arena_zalloc(plan->arena, sizeof *row);

    row->table = table;
    row->id = id;
    row->index = plan->rows.n;
    *vec_push(plan->arena, &plan->rows) = row;
    plan_row_map(plan, row, "external_ids", NB_MARK_KEY, NB_MARK);
    plan_row_map(plan, row, "external_ids", NB_ID_KEY, id);
    return row;
}

const struct plan_column *
plan_row_column(const struct plan_row *row, const char *name)
{
    for (size_t i = 0; i < row->columns.n; i++) {
        if (!strcmp(row->columns.v[i].name, name)) {
            return &row->columns.v[i];
        }
    }
    return NULL;
}

static void
add_atom(struct plan *plan, struct plan_row *row, const char *name,
         enum plan_kind kind, struct plan_atom atom)
{
    struct plan_column *column = CONST_CAST(struct plan_column *,
                                            plan_row_column(row, name));

    if (!column) {
        column = vec_push(plan->arena, &row->columns);
        column->name = name;
        column->kind = kind;
    }
    *vec_push(plan->arena, &column->atoms) = atom;
}

bool
plan_row_refers(const struct plan_row *row, const char *column,
                const struct plan_row *to)
{
    const struct plan_column *c = plan_row_column(row, column);

    /* Who asks mostly asks for the last. */
    for (size_t i = c ? c->atoms.n : 0; i-- > 0; ) {
        if (c->atoms.v[i].row == to) {
            return true;
        }
    }
    return false;
}

void
plan_row_string(struct plan *plan, struct plan_row *row, const char *column,
                const char *value)
{
    add_atom(plan, row, column, PLAN_STRING,
             (struct plan_atom) { .value = value });
}

void
plan_row_integer(struct plan *plan, struct plan_row *row, const char *column,
                 long long int n)
{
    add_atom(plan, row, column, PLAN_INTEGER, (struct plan_atom) {
                 .value = arena_printf(plan->arena, "%lld", n) });
}

void
plan_row_boolean(struct plan *plan, struct plan_row *row, const char *column,
                 bool value)
{
    add_atom(plan, row, column, PLAN_BOOLEAN,
             (struct plan_atom) { .value = value ? "true" : "false" });
}

void
plan_row_set(struct plan *plan, struct plan_row *row, const char *column,
             const char *value)
{
    add_atom(plan, row, column, PLAN_SET,
             (struct plan_atom) { .value = value });
}

void
plan_row_ref(struct plan *plan, struct plan_row *row, const char *column,
             const struct plan_row *to)
{
    add_atom(plan, row, column, PLAN_REFS, (struct plan_atom) { .row = to });
}

void
plan_row_map(struct plan *plan, struct plan_row *row, const char *column,
             const char *key, const char *value)
{
    add_atom(plan, row, column, PLAN_MAP,
             (struct plan_atom) { .key = key, .value = value });
}

void
plan_row_number(struct plan *plan, struct plan_row *row, const char *column,
                const char *key, long long int n)
{
    add_atom(plan, row, column, PLAN_NUMBERS, (struct plan_atom) {
                 .key = key,
                 .value = arena_printf(plan->arena, "%lld", n) });
}

static bool
same_string(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool
same_column(const struct plan_column *a, const struct plan_column *b)
{
    if (strcmp(a->name, b->name) || a->kind != b->kind
        || a->atoms.n != b->atoms.n) {
        return false;
    }
    for (size_t i = 0; i < a->atoms.n; i++) {
        const struct plan_atom *x = &a->atoms.v[i], *y = &b->atoms.v[i];

        if (!same_string(x->key, y->key) || !same_string(x->value, y->value)
            || (x->row ? !y->row || x->row->index != y->row->index
                : y->row != NULL)) {
            return false;
        }
    }
    return true;
}

static bool
same_row(const struct plan_row *a, const struct plan_row *b)
{
    if (strcmp(a->table, b->table) || strcmp(a->id, b->id)
        || a->columns.n != b->columns.n) {
        return false;
    }
    for (size_t i = 0; i < a->columns.n; i++) {
        if (!same_column(&a->columns.v[i], &b->columns.v[i])) {
            return false;
        }
    }
    return true;
}

bool
plan_same_rows(const struct plan *a, const struct plan *b)
{
    if (a->rows.n != b->rows.n) {
        return false;
    }
    for (size_t i = 0; i < a->rows.n; i++) {
        if (!same_row(a->rows.v[i], b->rows.v[i])) {
            return false;
        }
    }
    return true;
}
