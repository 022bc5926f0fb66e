/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "openvswitch/json.h"
#include "plan/row.h"
#include "push/nb-idl.h"
#include "sema/northbound.h"
#include "util.h"

/* The operations of one transaction (RFC 7047, section 5.2).  The copy of the
 * database could send them by itself, but for those that say what must not be
 * there: rows that others have given a name of ours meanwhile. */

struct writer {
    const struct nb_comparison *c;
    uint64_t generation;
    struct hmap added;          /* nb_items. */
    struct json *operations;
};

static bool
is_added(const struct writer *w, const struct uuid *uuid)
{
    const struct nb_item *item;

    HMAP_FOR_EACH_WITH_HASH (item, node, uuid_hash(uuid), &w->added) {
        if (uuid_equals(&item->uuid, uuid)) {
            return true;
        }
    }
    return false;
}

static struct json *
uuid_to_json(const struct uuid *uuid)
{
    return json_array_create_2(
        json_string_create("uuid"),
        json_string_create_nocopy(xasprintf(UUID_FMT, UUID_ARGS(uuid))));
}

/* What a column holds.  Rows that are to be added have names only. */
static struct json *
datum_to_json(const struct writer *w, const struct ovsdb_datum *datum,
              const struct ovsdb_type *type)
{
    struct json *refs;

    if (type->key.type != OVSDB_TYPE_UUID) {
        return ovsdb_datum_to_json(datum, type);
    }
    refs = json_array_create_empty();
    for (size_t i = 0; i < datum->n; i++) {
        const struct uuid *uuid = &datum->keys[i].uuid;

        json_array_add(refs, is_added(w, uuid)
                       ? json_array_create_2(
                           json_string_create("named-uuid"),
                           json_string_create_nocopy(
                               ovsdb_data_row_name(uuid)))
                       : uuid_to_json(uuid));
    }
    return json_array_create_2(json_string_create("set"), refs);
}

/* An operation on a row that is there. */
static struct json *
row_operation(const char *name, const struct ovsdb_idl_row *row)
{
    struct json *operation = plan_operation(name, row->table->class_->name);

    json_object_put(operation, "where", json_array_create_1(
        json_array_create_3(json_string_create("_uuid"),
                            json_string_create("=="),
                            uuid_to_json(&row->uuid))));
    return operation;
}

/* What a row must hold as it was compared, apart from external_ids. */
enum held {
    HELD_NOTHING,
    HELD_ROWS,                  /* What would go with it. */
    HELD_ALL,
};

static bool
is_held(const struct ovsdb_idl_column *column, enum held held)
{
    if (!strcmp(column->name, "external_ids")) {
        return true;
    } else if (held == HELD_ROWS) {
        return (column->type.key.type == OVSDB_TYPE_UUID
                && nb_holds_rows(column));
    }
    return held == HELD_ALL && !nb_is_of_northd(column);
}

static void
put_wait(struct writer *w, const struct nb_item *item, enum held held)
{
    struct json *wait = row_operation("wait", item->row);
    struct json *columns = json_array_create_empty();
    struct json *row = json_object_create();

    for (size_t i = 0; i < item->class->n_columns; i++) {
        const struct ovsdb_idl_column *column = &item->class->columns[i];

        if (is_held(column, held)) {
            json_array_add(columns, json_string_create(column->name));
            json_object_put(row, column->name,
                            ovsdb_datum_to_json(
                                ovsdb_idl_read(item->row, column),
                                &column->type));
        }
    }
    json_object_put(wait, "timeout", json_integer_create(0));
    json_object_put(wait, "columns", columns);
    json_object_put_string(wait, "until", "==");
    json_object_put(wait, "rows", json_array_create_1(row));
    json_array_add(w->operations, wait);
}

/* What external_ids are to be, and by which generation. */
static struct json *
ids_to_json(const struct writer *w, const struct ovsdb_datum *wanted,
            const struct ovsdb_type *type)
{
    union ovsdb_atom key, value;
    struct ovsdb_datum ids;
    struct json *json;
    unsigned int i;

    key.s = ovsdb_atom_string_create(NB_VERSION_KEY);
    value.s = ovsdb_atom_string_create_nocopy(xasprintf("%"PRIu64,
                                                        w->generation));
    ovsdb_datum_clone(&ids, wanted);
    ovsdb_datum_unshare(&ids, type);
    if (ovsdb_datum_find_key(&ids, &key, OVSDB_TYPE_STRING, &i)) {
        ovsdb_datum_remove_unsafe(&ids, i, type);
    }
    ovsdb_datum_add_unsafe(&ids, &key, &value, type, NULL);
    ovsdb_datum_sort_unique(&ids, type);
    json = ovsdb_datum_to_json(&ids, type);
    ovsdb_datum_destroy(&ids, type);
    ovsdb_atom_destroy(&key, OVSDB_TYPE_STRING);
    ovsdb_atom_destroy(&value, OVSDB_TYPE_STRING);
    return json;
}

/* Single elements of a set, so that what others do to it meanwhile stays, and
 * large sets cost little. */
static void
put_mutation(const struct writer *w, const struct nb_item *item,
             const struct nb_cell *cell, struct json *mutations)
{
    const struct ovsdb_type *type = &cell->column->type;
    static const char *const mutators[] = { "insert", "delete" };
    struct ovsdb_datum differences[2];

    ovsdb_datum_added_removed(&differences[0], &differences[1],
                              ovsdb_idl_read(item->row, cell->column),
                              &cell->wanted, type);
    for (size_t i = 0; i < ARRAY_SIZE(mutators); i++) {
        if (differences[i].n) {
            json_array_add(mutations, json_array_create_3(
                json_string_create(cell->column->name),
                json_string_create(mutators[i]),
                datum_to_json(w, &differences[i], type)));
        }
        ovsdb_datum_destroy(&differences[i], type);
    }
}

static bool
is_set(const struct ovsdb_type *type)
{
    return type->n_max == UINT_MAX && !ovsdb_type_is_map(type);
}

/* The columns of an item that are written as a whole, external_ids always. */
static struct json *
columns_to_json(const struct writer *w, const struct nb_item *item)
{
    const struct ovsdb_idl_column *ids = nb_column(item->class,
                                                   "external_ids");
    const struct ovsdb_datum *wanted_ids = NULL;
    struct json *columns = json_object_create();

    for (size_t i = 0; i < item->cells.n; i++) {
        const struct nb_cell *cell = &item->cells.v[i];

        if (cell->column == ids) {
            wanted_ids = &cell->wanted;
        } else if (!item->row || !is_set(&cell->column->type)) {
            json_object_put(columns, cell->column->name,
                            datum_to_json(w, &cell->wanted,
                                          &cell->column->type));
        }
    }
    wanted_ids = wanted_ids ? wanted_ids : ovsdb_idl_read(item->row, ids);
    json_object_put(columns, ids->name, ids_to_json(w, wanted_ids,
                                                    &ids->type));
    return columns;
}

static void
put_insert(struct writer *w, const struct nb_item *item)
{
    struct json *insert = plan_operation("insert", item->class->name);

    json_object_put(insert, "uuid-name", json_string_create_nocopy(
        ovsdb_data_row_name(&item->uuid)));
    json_object_put(insert, "row", columns_to_json(w, item));
    json_array_add(w->operations, insert);
}

/* Where only the generation is written, nothing came of the comparison. */
static void
put_update(struct writer *w, const struct nb_item *item)
{
    struct json *update = row_operation("update", item->row);
    struct json *mutations = json_array_create_empty();

    put_wait(w, item, item->cells.n ? HELD_ALL : HELD_NOTHING);
    json_object_put(update, "row", columns_to_json(w, item));
    json_array_add(w->operations, update);
    for (size_t i = 0; i < item->cells.n; i++) {
        if (is_set(&item->cells.v[i].column->type)) {
            put_mutation(w, item, &item->cells.v[i], mutations);
        }
    }
    if (mutations->array.n) {
        struct json *mutate = row_operation("mutate", item->row);

        json_object_put(mutate, "mutations", mutations);
        json_array_add(w->operations, mutate);
    } else {
        json_destroy(mutations);
    }
}

/* What others put into the row meanwhile would go with it; or it may be ours
 * no more. */
static void
put_delete(struct writer *w, const struct nb_item *item)
{
    put_wait(w, item, HELD_ROWS);
    json_array_add(w->operations, row_operation("delete", item->row));
}

/* The generation of the database is that of this row, whether it differs or
 * not. */
static void
put_generation(struct writer *w)
{
    const struct nb_row *all = shash_find_data(
        &w->c->index.ours[nb_table("Port_Group")], NB_EVERYBODY);
    struct nb_item item = { .class = &nbrec_table_port_group };

    for (size_t i = 0; i < w->c->items.n; i++) {
        if (all && w->c->items.v[i].row == all->row) {
            return;
        }
    }
    if (all) {
        item.row = all->row;
        put_update(w, &item);
    }
}

static void
put_comment(struct writer *w)
{
    struct json *comment = json_object_create();

    json_object_put_string(comment, "op", "comment");
    json_object_put_format(comment, "comment",
                           "bulkhead: generation %"PRIu64, w->generation);
    json_array_add(w->operations, comment);
}

static void
put_items(struct writer *w)
{
    const struct nb_comparison *c = w->c;

    for (size_t i = 0; i < c->items.n; i++) {
        if (c->items.v[i].wanted && c->items.v[i].row) {
            put_update(w, &c->items.v[i]);
        } else if (c->items.v[i].wanted) {
            plan_add_waits(c->arena, c->items.v[i].wanted, w->operations);
            put_insert(w, &c->items.v[i]);
        }
    }
    for (size_t i = 0; i < c->items.n; i++) {
        if (!c->items.v[i].wanted) {
            put_delete(w, &c->items.v[i]);
        }
    }
}

struct json *
nb_operations(struct nb_comparison *c, uint64_t generation)
{
    struct writer w = {
        .c = c, .generation = generation,
        .added = HMAP_INITIALIZER(&w.added),
        .operations = json_array_create_1(
            json_string_create(nbrec_idl_class.database)),
    };

    for (size_t i = 0; i < c->items.n; i++) {
        struct nb_item *item = &c->items.v[i];

        if (!item->row) {
            hmap_insert(&w.added, &item->node, uuid_hash(&item->uuid));
        }
    }
    put_comment(&w);
    put_items(&w);
    put_generation(&w);
    hmap_destroy(&w.added);
    return w.operations;
}
