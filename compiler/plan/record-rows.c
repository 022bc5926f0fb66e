/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record-rows.h"

#include <string.h>

#include "openvswitch/json.h"
#include "plan/plan.h"
#include "plan/row.h"
#include "util.h"

/* A row is ["TABLE", "ID", COLUMN...], a column ["NAME", KIND, ATOM...], and
 * an atom a string, a pair of key and value, or the number of a row. */

static struct json *
atom_to_json(const struct plan_atom *atom)
{
    return (atom->row ? json_integer_create(atom->row->index)
            : atom->key
            ? json_array_create_2(json_string_create(atom->key),
                                  json_string_create(atom->value))
            : json_string_create(atom->value));
}

static struct json *
column_to_json(const struct plan_column *column)
{
    struct json *array = json_array_create_2(
        json_string_create(column->name), json_integer_create(column->kind));

    for (size_t i = 0; i < column->atoms.n; i++) {
        json_array_add(array, atom_to_json(&column->atoms.v[i]));
    }
    return array;
}

struct json *
plan_rows_to_json(const struct plan *plan)
{
    struct json *rows = json_array_create_empty();

    for (size_t i = 0; i < plan->rows.n; i++) {
        const struct plan_row *row = plan->rows.v[i];
        struct json *array = json_array_create_2(
            json_string_create(row->table), json_string_create(row->id));

        for (size_t j = 0; j < row->columns.n; j++) {
            json_array_add(array, column_to_json(&row->columns.v[j]));
        }
        json_array_add(rows, array);
    }
    return rows;
}

/* Element 'i' of an array, if it is of this type; else NULL. */
static const struct json *
element(const struct json *array, size_t i, enum json_type type)
{
    return (array->type == JSON_ARRAY && i < array->array.n
            && array->array.elems[i]->type == type
            ? array->array.elems[i] : NULL);
}

/* The string there, in the arena; or NULL. */
static const char *
string_at(const struct json *array, size_t i, struct plan *plan)
{
    const struct json *json = element(array, i, JSON_STRING);

    return json ? arena_strdup(plan->arena, json_string(json)) : NULL;
}

/* Of each kind, what an atom is. */
static bool
read_atom(const struct json *array, size_t i, enum plan_kind kind,
          struct plan *plan, struct plan_atom *atom)
{
    const struct json *n = element(array, i, JSON_INTEGER);
    const struct json *pair = element(array, i, JSON_ARRAY);

    if (kind == PLAN_REFS) {
        if (!n || n->integer < 0 || n->integer >= plan->rows.n) {
            return false;
        }
        atom->row = plan->rows.v[n->integer];
        return true;
    } else if (kind == PLAN_MAP || kind == PLAN_NUMBERS) {
        atom->key = pair ? string_at(pair, 0, plan) : NULL;
        atom->value = pair ? string_at(pair, 1, plan) : NULL;
        return atom->key && atom->value;
    }
    atom->value = string_at(array, i, plan);
    return atom->value != NULL;
}

static bool
read_column(const struct json *json, struct plan *plan, struct plan_row *row)
{
    const struct json *kind = element(json, 1, JSON_INTEGER);
    struct plan_column *column = vec_push(plan->arena, &row->columns);

    column->name = string_at(json, 0, plan);
    if (!column->name || !kind || kind->integer < PLAN_STRING
        || kind->integer > PLAN_BOOLEAN || json->array.n < 3) {
        return false;
    }
    column->kind = kind->integer;
    if (plan_kind_is_one(column->kind) && json->array.n > 3) {
        return false;
    }
    for (size_t i = 2; i < json->array.n; i++) {
        if (!read_atom(json, i, column->kind, plan,
                       vec_push(plan->arena, &column->atoms))) {
            return false;
        }
    }
    return true;
}

static bool
read_columns(const struct json *json, struct plan *plan,
             struct plan_row *row)
{
    for (size_t i = 2; i < json->array.n; i++) {
        const struct json *column = element(json, i, JSON_ARRAY);

        if (!column || !read_column(column, plan, row)) {
            return false;
        }
    }
    return row->columns.n && !strcmp(row->columns.v[0].name, "external_ids");
}

bool
plan_rows_from_json(const struct json *json, struct plan *plan)
{
    size_t n = json->type == JSON_ARRAY ? json->array.n : 0;

    for (size_t i = 0; i < n; i++) {
        struct plan_row *row = arena_zalloc(plan->arena, sizeof *row);

        row->table = string_at(json->array.elems[i], 0, plan);
        row->id = string_at(json->array.elems[i], 1, plan);
        row->index = i;
        if (!row->table || !row->id) {
            return false;
        }
        *vec_push(plan->arena, &plan->rows) = row;
    }
    for (size_t i = 0; i < n; i++) {
        if (!read_columns(json->array.elems[i], plan, plan->rows.v[i])) {
            return false;
        }
    }
    return json->type == JSON_ARRAY;
}
