/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/plan.h"
#include "plan/row.h"
#include "sema/northbound.h"
#include "util.h"

const char *const plan_roots[] = {
    "Port_Group", "Logical_Router", "Logical_Switch", "Copp", "Meter",
    "Address_Set", "DHCP_Options",
};
const size_t plan_n_roots = ARRAY_SIZE(plan_roots);

/* What a row is called within one request. */
static char *
row_symbol(const struct plan_row *row)
{
    return xasprintf("row%"PRIuSIZE, row->index);
}

static struct json *
atom_json(enum plan_kind kind, const struct plan_atom *atom)
{
    if (atom->row) {
        char *symbol = row_symbol(atom->row);
        struct json *json = json_array_create_2(
            json_string_create("named-uuid"), json_string_create(symbol));

        free(symbol);
        return json;
    }
    return (kind == PLAN_INTEGER || kind == PLAN_NUMBERS
            ? json_integer_create(strtoll(atom->value, NULL, 10))
            : kind == PLAN_BOOLEAN
            ? json_boolean_create(!strcmp(atom->value, "true"))
            : json_string_create(atom->value));
}

static struct json *
column_json(const struct plan_column *column)
{
    bool is_map = column->kind == PLAN_MAP || column->kind == PLAN_NUMBERS;
    struct json *atoms;

    if (plan_kind_is_one(column->kind)) {
        return atom_json(column->kind, &column->atoms.v[0]);
    }
    atoms = json_array_create_empty();
    for (size_t i = 0; i < column->atoms.n; i++) {
        const struct plan_atom *atom = &column->atoms.v[i];
        struct json *value = atom_json(column->kind, atom);

        json_array_add(atoms, is_map
                       ? json_array_create_2(json_string_create(atom->key),
                                             value)
                       : value);
    }
    return json_array_create_2(json_string_create(is_map ? "map" : "set"),
                               atoms);
}

struct json *
plan_operation(const char *name, const char *table)
{
    struct json *op = json_object_create();

    json_object_put_string(op, "op", name);
    json_object_put_string(op, "table", table);
    return op;
}

/* A clause of "where": are the row's external_ids marked? */
static struct json *
mark_clause(const char *function)
{
    struct json *pair = json_array_create_2(
        json_string_create(NB_MARK_KEY),
        json_string_create(NB_MARK));

    return json_array_create_3(
        json_string_create("external_ids"), json_string_create(function),
        json_array_create_2(json_string_create("map"),
                            json_array_create_1(pair)));
}

static void
put_op(struct ds *ds, struct json *op)
{
    char *s = json_to_string(op, JSSF_SORT);

    ds_put_format(ds, ",\n%s", s);
    free(s);
    json_destroy(op);
}

/* The string of a column, or NULL. */
static const char *
row_string(const struct plan_row *row, const char *column)
{
    const struct plan_column *c = plan_row_column(row, column);

    return c && c->kind == PLAN_STRING ? c->atoms.v[0].value : NULL;
}

/* Appends what refuses all if there is a row of this name that is not marked.
 */
static void
add_wait(const struct plan_claim *claim, struct json *operations)
{
    struct json *op = plan_operation("wait", claim->table);

    json_object_put(op, "timeout", json_integer_create(0));
    json_object_put(op, "columns",
                    json_array_create_1(json_string_create("name")));
    json_object_put_string(op, "until", "==");
    json_object_put(op, "rows", json_array_create_empty());
    json_object_put(op, "where", json_array_create_2(
        json_array_create_3(json_string_create("name"),
                            json_string_create("=="),
                            json_string_create(claim->name)),
        mark_clause("excludes")));
    json_array_add(operations, op);
}

plan_claims
plan_row_claims(struct arena *arena, const struct plan_row *row)
{
    static const struct {
        const char *of, *table, *suffix;
        bool indexed;
    } names[] = {
        { "Logical_Switch", "Logical_Switch", "", false },
        { "Logical_Router", "Logical_Router", "", false },
        { "Logical_Switch_Port", "Logical_Switch_Port", "", true },
        { "Logical_Switch_Port", "Logical_Router_Port", "", false },
        { "Logical_Router_Port", "Logical_Router_Port", "", true },
        { "Logical_Router_Port", "Logical_Switch_Port", "", false },
        { "Port_Group", "Port_Group", "", true },
        { "Port_Group", "Address_Set", "_ip4", false },
        { "Port_Group", "Address_Set", "_ip6", false },
        { "Address_Set", "Address_Set", "", true },
        { "Copp", "Copp", "", true },
        { "Meter", "Meter", "", true },
    };
    plan_claims claims = VEC_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!strcmp(names[i].of, row->table)) {
            *vec_push(arena, &claims) = (struct plan_claim) {
                names[i].table,
                arena_printf(arena, "%s%s", row_string(row, "name"),
                             names[i].suffix),
                names[i].indexed,
            };
        }
    }
    return claims;
}

void
plan_add_waits(struct arena *arena, const struct plan_row *row,
               struct json *operations)
{
    plan_claims claims = plan_row_claims(arena, row);

    for (size_t i = 0; i < claims.n; i++) {
        if (!claims.v[i].indexed) {
            add_wait(&claims.v[i], operations);
        }
    }
}

static void
put_insert(struct ds *ds, const struct plan_row *row)
{
    struct json *op = plan_operation("insert", row->table);
    struct json *columns = json_object_create();
    char *symbol = row_symbol(row);

    for (size_t i = 0; i < row->columns.n; i++) {
        json_object_put(columns, row->columns.v[i].name,
                        column_json(&row->columns.v[i]));
    }
    json_object_put(op, "row", columns);
    json_object_put_string(op, "uuid-name", symbol);
    put_op(ds, op);
    free(symbol);
}

void
plan_format_transaction(const struct plan *plan, struct ds *ds)
{
    struct json *waits = json_array_create_empty();

    ds_put_cstr(ds, "[\"OVN_Northbound\"");
    for (size_t i = 0; i < plan->rows.n; i++) {
        plan_add_waits(plan->arena, plan->rows.v[i], waits);
    }
    for (size_t i = 0; i < waits->array.n; i++) {
        put_op(ds, json_clone(waits->array.elems[i]));
    }
    json_destroy(waits);
    for (size_t i = 0; i < plan_n_roots; i++) {
        struct json *op = plan_operation("delete", plan_roots[i]);

        json_object_put(op, "where",
                        json_array_create_1(mark_clause("includes")));
        put_op(ds, op);
    }
    for (size_t i = 0; i < plan->rows.n; i++) {
        put_insert(ds, plan->rows.v[i]);
    }
    ds_put_cstr(ds, "]\n");
}
