/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <stdio.h>
#include <string.h>

#include "openvswitch/json.h"
#include "push/nb-idl.h"
#include "util.h"

/* The schema, which the copy of the database does not tell. */

/* Is version 'a', "7.0.0", before 'b'? */
static bool
is_older(const char *a, const char *b)
{
    unsigned int x[3] = { 0, 0, 0 }, y[3] = { 0, 0, 0 };

    sscanf(a, "%u.%u.%u", &x[0], &x[1], &x[2]);
    sscanf(b, "%u.%u.%u", &y[0], &y[1], &y[2]);
    for (size_t i = 0; i < ARRAY_SIZE(x); i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i];
        }
    }
    return false;
}

/* Names the table or column if it is not there, or returns NULL. */
static const char *
find_column_lack(const struct nb_database *db, const struct json *tables,
                 const struct ovsdb_idl_table_class *class,
                 const struct ovsdb_idl_column *column)
{
    const struct json *table = nb_member(tables, class->name);

    return (!table ? arena_printf(db->arena, "table %s", class->name)
            : !nb_member(nb_member(table, "columns"), column->name)
            ? arena_printf(db->arena, "column %s in table %s", column->name,
                           class->name) : NULL);
}

/* Names what is not there of all that is looked at, or returns NULL. */
static const char *
find_lack(const struct nb_database *db, const struct json *schema)
{
    const struct json *tables = nb_member(schema, "tables");
    const char *lack = NULL;

    for (size_t i = 0; i < NB_N_TABLES; i++) {
        const struct ovsdb_idl_table_class *class = nb_tables[i];

        for (size_t j = 0; j < class->n_columns && !lack; j++) {
            lack = find_column_lack(db, tables, class, &class->columns[j]);
        }
    }
    for (size_t i = 0; i < NB_N_NAMINGS && !lack; i++) {
        lack = find_column_lack(db, tables, nb_namings[i].table,
                                nb_namings[i].column);
    }
    return lack;
}

const char *
nb_schema_check(const struct nb_database *db, const struct json *schema)
{
    const struct json *json = nb_member(schema, "version");
    const char *version = (json && json->type == JSON_STRING
                           ? json_string(json) : "0");
    const char *built = nbrec_get_db_version(), *lack;

    if (is_older(version, built)) {
        return arena_printf(
            db->arena, "%s has schema %s, older than %s, with which Bulkhead "
            "was built; upgrade OVN, or build Bulkhead with its schema "
            "(configure --with-ovn-nb-schema)", db->place, version, built);
    }
    lack = find_lack(db, schema);
    return (!lack ? NULL
            : arena_printf(
                db->arena, "%s has schema %s, without the %s that %s has, "
                "with which Bulkhead was built; build Bulkhead with its "
                "schema (configure --with-ovn-nb-schema)", db->place, version,
                lack, built));
}
