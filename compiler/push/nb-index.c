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

const struct ovsdb_idl_table_class *const nb_tables[NB_N_TABLES] = {
    &nbrec_table_logical_switch,
    &nbrec_table_logical_switch_port,
    &nbrec_table_logical_router,
    &nbrec_table_logical_router_port,
    &nbrec_table_logical_router_static_route,
    &nbrec_table_port_group,
    &nbrec_table_acl,
    &nbrec_table_qos,
    &nbrec_table_copp,
    &nbrec_table_meter,
    &nbrec_table_meter_band,
    &nbrec_table_address_set,
    &nbrec_table_dhcp_options,
};

size_t
nb_table(const char *name)
{
    for (size_t i = 0; i < NB_N_TABLES; i++) {
        if (!strcmp(nb_tables[i]->name, name)) {
            return i;
        }
    }
    return NB_N_TABLES;
}

bool
nb_is_of_northd(const struct ovsdb_idl_column *column)
{
    return (column == &nbrec_logical_switch_port_col_up
            || column == &nbrec_logical_switch_port_col_dynamic_addresses
            || column == &nbrec_logical_switch_port_col_tag
            || column == &nbrec_logical_router_port_col_ipv6_prefix);
}

const struct ovsdb_idl_column *
nb_column(const struct ovsdb_idl_table_class *class, const char *name)
{
    for (size_t i = 0; i < class->n_columns; i++) {
        if (!strcmp(class->columns[i].name, name)) {
            return &class->columns[i];
        }
    }
    return NULL;
}

const char *
nb_string(const struct ovsdb_idl_row *row, const char *name)
{
    const struct ovsdb_idl_column *column = nb_column(row->table->class_,
                                                      name);
    const struct ovsdb_datum *datum = (column ? ovsdb_idl_read(row, column)
                                       : NULL);

    return (datum && datum->n && column->type.key.type == OVSDB_TYPE_STRING
            ? json_string(datum->keys[0].s) : NULL);
}

const char *
nb_id(const struct ovsdb_idl_row *row, const char *key)
{
    const struct ovsdb_idl_column *column = nb_column(row->table->class_,
                                                      "external_ids");
    const struct ovsdb_datum *datum = (column ? ovsdb_idl_read(row, column)
                                       : NULL);

    for (size_t i = 0; datum && i < datum->n; i++) {
        if (!strcmp(json_string(datum->keys[i].s), key)) {
            return json_string(datum->values[i].s);
        }
    }
    return NULL;
}

static void
add_row(struct nb_index *index, size_t table, const struct ovsdb_idl_row *row)
{
    const char *mark = nb_id(row, NB_MARK_KEY);
    struct nb_row *node = xzalloc(sizeof *node);
    const char *id = nb_id(row, NB_ID_KEY);
    const char *name = nb_string(row, "name");

    node->row = row;
    node->ours = mark && !strcmp(mark, NB_MARK);
    hmap_insert(&index->rows, &node->node, uuid_hash(&row->uuid));
    if (node->ours && id) {
        shash_add_once(&index->ours[table], id, node);
    } else if (!node->ours && name) {
        shash_add_once(&index->foreign[table], name, node);
    }
}

void
nb_index_init(struct nb_index *index, const struct nb_database *db)
{
    hmap_init(&index->rows);
    for (size_t i = 0; i < NB_N_TABLES; i++) {
        const struct ovsdb_idl_row *row;

        shash_init(&index->ours[i]);
        shash_init(&index->foreign[i]);
        for (row = ovsdb_idl_first_row(db->idl, nb_tables[i]); row;
             row = ovsdb_idl_next_row(row)) {
            add_row(index, i, row);
        }
    }
}

void
nb_index_destroy(struct nb_index *index)
{
    struct nb_row *row;

    for (size_t i = 0; i < NB_N_TABLES; i++) {
        shash_destroy(&index->ours[i]);
        shash_destroy(&index->foreign[i]);
    }
    HMAP_FOR_EACH_POP (row, node, &index->rows) {
        free(row);
    }
    hmap_destroy(&index->rows);
}

struct nb_row *
nb_index_find(const struct nb_index *index, const struct uuid *uuid)
{
    struct nb_row *row;

    HMAP_FOR_EACH_WITH_HASH (row, node, uuid_hash(uuid), &index->rows) {
        if (uuid_equals(&row->row->uuid, uuid)) {
            return row;
        }
    }
    return NULL;
}
