/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <stdlib.h>
#include <string.h>

#include "push/nb-idl.h"
#include "sema/northbound.h"
#include "util.h"

/* What columns hold. */

/* Does the column hold what the plan has for it? */
static bool
holds(const struct ovsdb_type *type, enum plan_kind kind)
{
    enum ovsdb_atomic_type key = type->key.type, value = type->value.type;

    switch (kind) {
    case PLAN_STRING:
    case PLAN_SET:
        return key == OVSDB_TYPE_STRING && !ovsdb_type_is_map(type);
    case PLAN_INTEGER:
        return key == OVSDB_TYPE_INTEGER && !ovsdb_type_is_map(type);
    case PLAN_BOOLEAN:
        return key == OVSDB_TYPE_BOOLEAN && !ovsdb_type_is_map(type);
    case PLAN_REFS: return key == OVSDB_TYPE_UUID && !ovsdb_type_is_map(type);
    case PLAN_MAP:
        return key == OVSDB_TYPE_STRING && value == OVSDB_TYPE_STRING;
    case PLAN_NUMBERS:
        return key == OVSDB_TYPE_STRING && value == OVSDB_TYPE_INTEGER;
    }
    OVS_NOT_REACHED();
}

const char *
nb_find_unknown(const struct plan *plan, struct arena *arena)
{
    for (size_t i = 0; i < plan->rows.n; i++) {
        const struct plan_row *row = plan->rows.v[i];
        size_t table = nb_table(row->table);

        if (table == NB_N_TABLES) {
            return arena_printf(arena, "table %s", row->table);
        }
        for (size_t j = 0; j < row->columns.n; j++) {
            const struct plan_column *c = &row->columns.v[j];
            const struct ovsdb_idl_column *column
                = nb_column(nb_tables[table], c->name);

            if (!column || !holds(&column->type, c->kind)) {
                return arena_printf(arena, "column %s of table %s", c->name,
                                    row->table);
            }
        }
    }
    return NULL;
}

static void
put_atom(union ovsdb_atom *atom, enum ovsdb_atomic_type type, const char *s)
{
    if (type == OVSDB_TYPE_INTEGER) {
        atom->integer = strtoll(s, NULL, 10);
    } else if (type == OVSDB_TYPE_BOOLEAN) {
        atom->boolean = !strcmp(s, "true");
    } else {
        ovs_assert(type == OVSDB_TYPE_STRING);
        atom->s = ovsdb_atom_string_create(s);
    }
}

void
nb_datum_from_plan(const struct plan_column *column,
                   const struct ovsdb_type *type, const struct uuid *uuids,
                   struct ovsdb_datum *datum)
{
    bool is_map = ovsdb_type_is_map(type);

    if (!column) {
        ovsdb_datum_init_default(datum, type);
        return;
    }
    ovsdb_datum_init_empty(datum);
    datum->n = column->atoms.n;
    datum->keys = xmalloc(datum->n * sizeof *datum->keys);
    datum->values = is_map ? xmalloc(datum->n * sizeof *datum->values) : NULL;
    for (size_t i = 0; i < column->atoms.n; i++) {
        const struct plan_atom *atom = &column->atoms.v[i];

        if (atom->row) {
            datum->keys[i].uuid = uuids[atom->row->index];
        } else if (is_map) {
            put_atom(&datum->keys[i], type->key.type, atom->key);
            put_atom(&datum->values[i], type->value.type, atom->value);
        } else {
            put_atom(&datum->keys[i], type->key.type, atom->value);
        }
    }
    ovsdb_datum_sort_unique(datum, type);
}

bool
nb_is_our_key(const char *key)
{
    return (!strcmp(key, NB_MARK_KEY)
            || (!strncmp(key, NB_MARK_KEY"-", strlen(NB_MARK_KEY"-"))
                && strcmp(key, NB_VERSION_KEY)));
}

bool
nb_holds_rows(const struct ovsdb_idl_column *column)
{
    const char *table = column->type.key.uuid.refTableName;

    for (size_t i = 0; table && i < nbrec_idl_class.n_tables; i++) {
        if (!strcmp(nbrec_idl_class.tables[i].name, table)) {
            return !nbrec_idl_class.tables[i].is_root;
        }
    }
    return false;
}

/* Is what stands in 'row' at 'i' another's? */
static bool
is_foreign(const struct ovsdb_idl_column *column,
           const struct ovsdb_datum *held, size_t i,
           const struct nb_index *index)
{
    if (column->type.key.type == OVSDB_TYPE_UUID) {
        const struct nb_row *row = nb_index_find(index, &held->keys[i].uuid);

        return nb_holds_rows(column) && (!row || !row->ours);
    }
    return (!strcmp(column->name, "external_ids")
            && !nb_is_our_key(json_string(held->keys[i].s)));
}

void
nb_datum_keep(struct ovsdb_datum *wanted,
              const struct ovsdb_idl_column *column,
              const struct ovsdb_idl_row *row, const struct nb_index *index)
{
    const struct ovsdb_datum *held = ovsdb_idl_read(row, column);
    struct ovsdb_datum others;

    if (column->type.key.type != OVSDB_TYPE_UUID
        && strcmp(column->name, "external_ids")) {
        return;
    }
    ovsdb_datum_init_empty(&others);
    for (size_t i = 0; i < held->n; i++) {
        if (is_foreign(column, held, i, index)) {
            ovsdb_datum_add_from_index_unsafe(&others, held, i,
                                              &column->type);
        }
    }
    ovsdb_datum_union(wanted, &others, &column->type);
    ovsdb_datum_destroy(&others, &column->type);
}
