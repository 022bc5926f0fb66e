/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdarg.h>
#include <string.h>

#include "import/text.h"
#include "sema/northbound.h"
#include "util.h"

/* Tables as "ovsdb-client -f json dump" prints them, one text each:
 *
 *     {"caption": "ACL table", "headings": ["_uuid", ...],
 *      "data": [[["uuid", "..."], ...], ...]}
 *
 * Values are those of RFC 7047, section 5.1, but that a column of strings that
 * has one may stand as that. */

/* Without these and their columns nobody knows what passes, and what is left
 * out.  OVN has them from 22.03 on; Mirror came later, and so did "tier" of
 * ACL, which is 0 without. */
static const struct {
    const char *table;
    const char *columns[12];
} required[] = {
    { "Logical_Switch", { "name", "ports", "acls", "qos_rules",
                          "other_config", "external_ids" } },
    { "Logical_Switch_Port", { "name", "type", "addresses", "port_security",
                               "options", "external_ids", "enabled",
                               "parent_name", "dynamic_addresses" } },
    { "Logical_Router", { "name", "ports", "static_routes", "policies",
                          "enabled" } },
    { "Logical_Router_Port", { "name", "mac", "networks", "peer",
                               "enabled" } },
    { "Logical_Router_Static_Route", { "ip_prefix", "nexthop", "output_port",
                                       "policy", "route_table" } },
    { "Logical_Router_Policy", { "action" } },
    { "Port_Group", { "name", "ports", "acls" } },
    { "Address_Set", { "name", "addresses" } },
    { "ACL", { "name", "direction", "priority", "match", "action", "log",
               "options", "external_ids" } },
    { "QoS", { "direction", "priority", "match", "action", "bandwidth",
               "external_ids" } },
    { "NB_Global", { "options" } },
    { "Copp", { "meters", "external_ids" } },
    { "DHCP_Options", { "external_ids" } },
    { "DNS", { "external_ids" } },
    { "Forwarding_Group", { "external_ids" } },
    { "Gateway_Chassis", { "external_ids" } },
    { "HA_Chassis_Group", { "external_ids" } },
    { "Load_Balancer", { "external_ids" } },
    { "Meter", { "name", "unit", "bands", "external_ids" } },
    { "Meter_Band", { "rate", "burst_size" } },
    { "NAT", { "external_ids" } },
};

static struct diag *
add_diag(struct ovn *m, enum diag_severity severity,
         const struct ovn_row *row, const char *cause, va_list args)
{
    const char *text = arena_vprintf(m->arena, cause, args);
    const char *name = "", *space = "";

    for (size_t i = 0; i < row->table->headings->n; i++) {
        if (!strcmp(row->table->headings->elems[i].string, "name")
            && row->cells->elems[i].type == VALUE_STRING
            && row->cells->elems[i].string[0]) {
            name = row->cells->elems[i].string;
            space = " ";
        }
    }
    return (severity == DIAG_ERROR
            ? value_error(m->diags, row->cells, "%s%s%s: %s",
                          row->table->name, space, name, text)
            : value_warning(m->diags, row->cells, "%s%s%s: %s",
                            row->table->name, space, name, text));
}

void
ovn_error(struct ovn *m, const struct ovn_row *row, const char *remedy,
          const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    diag_remedy(m->diags, add_diag(m, DIAG_ERROR, row, cause, args), "%s",
                remedy);
    va_end(args);
}

void
ovn_warn(struct ovn *m, const struct ovn_row *row, const char *remedy,
         const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    diag_remedy(m->diags, add_diag(m, DIAG_WARNING, row, cause, args), "%s",
                remedy);
    va_end(args);
}

static void
wrong(struct ovn *m, const struct value *v, const char *cause)
{
    diag_remedy(m->diags, value_error(m->diags, v, "%s", cause),
                "give what 'ovsdb-client -f json dump DATABASE "
                "OVN_Northbound' prints");
}

static const struct value *
list_member(const struct value *v, const char *key)
{
    const struct value *list = value_member(v, key);

    return list && list->type == VALUE_ARRAY ? list : NULL;
}

/* The string of a pair ["uuid", ...], or NULL. */
static const char *
uuid_of(const struct value *v)
{
    return (v->type == VALUE_ARRAY && v->n == 2
            && v->elems[0].type == VALUE_STRING
            && !strcmp(v->elems[0].string, "uuid")
            && v->elems[1].type == VALUE_STRING
            ? v->elems[1].string : NULL);
}

static void
read_row(struct ovn *m, struct ovn_table *table, const struct value *v)
{
    struct ovn_row *row = vec_push(m->arena, &table->rows);

    row->table = table;
    row->cells = v;
    if (v->type != VALUE_ARRAY || v->n != table->headings->n) {
        wrong(m, v, "a row has a value for each of the headings");
    }
}

static void
index_rows(struct ovn *m, struct ovn_table *table)
{
    size_t column = 0;

    while (column < table->headings->n
           && strcmp(table->headings->elems[column].string, "_uuid")) {
        column++;
    }
    for (size_t i = 0; i < table->rows.n; i++) {
        const struct value *cells = table->rows.v[i].cells;
        const char *uuid = (column < cells->n
                            ? uuid_of(&cells->elems[column]) : NULL);

        if (!uuid || !shash_add_once(&table->by_uuid, uuid,
                                     &table->rows.v[i])) {
            wrong(m, cells, uuid ? "another row has the same UUID"
                  : "the row has no UUID");
        }
        for (size_t j = 0; j < cells->n; j++) {
            if (!strcmp(table->headings->elems[j].string, "name")
                && cells->elems[j].type == VALUE_STRING) {
                shash_add_once(&table->by_name, cells->elems[j].string,
                               &table->rows.v[i]);
            }
        }
    }
}

static void
read_table(struct ovn *m, const struct value *v)
{
    const struct value *caption = value_member(v, "caption");
    const struct value *headings = list_member(v, "headings");
    const struct value *data = list_member(v, "data");
    size_t n_errors = m->diags->n_errors;
    struct ovn_table *table;
    size_t len;

    if (!caption || caption->type != VALUE_STRING || !headings || !data
        || (len = strlen(caption->string)) < 7
        || strcmp(caption->string + len - 6, " table")) {
        wrong(m, v, "this is no table of a database");
        return;
    }
    for (size_t i = 0; i < headings->n; i++) {
        if (headings->elems[i].type != VALUE_STRING) {
            wrong(m, &headings->elems[i], "this must be a string");
            return;
        }
    }
    table = arena_zalloc(m->arena, sizeof *table);
    table->name = arena_strndup(m->arena, caption->string, len - 6);
    table->headings = headings;
    shash_init(&table->by_uuid);
    shash_init(&table->by_name);
    if (!shash_add_once(&m->tables, table->name, table)) {
        wrong(m, caption, "the table stands twice");
        return;
    }
    for (size_t i = 0; i < data->n; i++) {
        read_row(m, table, &data->elems[i]);
    }
    if (m->diags->n_errors == n_errors) {
        index_rows(m, table);
    }
}

bool
ovn_read_tables(struct ovn *m, const struct source *source)
{
    value_vec values = VEC_INIT;

    if (!import_is_json(source, m->diags, "give what 'ovsdb-client -f json "
                        "dump unix:/run/ovn/ovnnb_db.sock OVN_Northbound' "
                        "prints")
        || !value_parse_all(source, m->arena, m->diags, &values)) {
        return false;
    }
    for (size_t i = 0; i < values.n; i++) {
        const struct value *fabric = value_member(values.v[i], "fabric");

        if (fabric && !value_member(values.v[i], "caption")) {
            if (m->fabric) {
                diag_remedy(m->diags, value_error(m->diags, fabric,
                                                  "a fabric stands twice"),
                            "give one file that has a fabric");
            }
            m->fabric = fabric;
        } else {
            read_table(m, values.v[i]);
        }
    }
    return !m->diags->n_errors;
}

static bool
has_column(const struct ovn_table *table, const char *column)
{
    for (size_t i = 0; i < table->headings->n; i++) {
        if (!strcmp(table->headings->elems[i].string, column)) {
            return true;
        }
    }
    return false;
}

static void
warn_of_mirrors(struct ovn *m)
{
    if (!shash_find(&m->tables, "Mirror")) {
        struct diag *d = diag_warning(m->diags, (struct span) { NULL, 0, 0 },
                                      NULL, "the table Mirror is missing: "
                                      "what it would hold is not looked for");

        diag_remedy(m->diags, d, "before OVN 22.12 there are none; else give "
                    "all that 'ovsdb-client -f json dump DATABASE "
                    "OVN_Northbound' prints");
    }
}

bool
ovn_check_tables(struct ovn *m)
{
    for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
        const struct ovn_table *table = shash_find_data(&m->tables,
                                                        required[i].table);
        struct diag *d;

        if (!table) {
            d = diag_error(m->diags, (struct span) { NULL, 0, 0 }, NULL,
                           "the table %s is missing", required[i].table);
            diag_remedy(m->diags, d, "give all that 'ovsdb-client -f json "
                        "dump DATABASE OVN_Northbound' prints");
            continue;
        }
        for (size_t j = 0; required[i].columns[j]; j++) {
            if (!has_column(table, required[i].columns[j])) {
                wrong(m, table->headings,
                      arena_printf(m->arena, "%s has no column \"%s\"",
                                   table->name, required[i].columns[j]));
            }
        }
    }
    warn_of_mirrors(m);
    return !m->diags->n_errors;
}

const struct ovn_table *
ovn_table(const struct ovn *m, const char *name)
{
    return shash_find_data(&m->tables, name);
}

static const struct value *
cell(const struct ovn_row *row, const char *column)
{
    const struct value *headings = row->table->headings;

    for (size_t i = 0; i < headings->n; i++) {
        if (!strcmp(headings->elems[i].string, column)) {
            return &row->cells->elems[i];
        }
    }
    return NULL;
}

/* The list of ["set", [...]] or ["map", [...]], or NULL. */
static const struct value *
contents(const struct value *v, const char *kind)
{
    return (v->type == VALUE_ARRAY && v->n == 2
            && v->elems[0].type == VALUE_STRING
            && !strcmp(v->elems[0].string, kind)
            && v->elems[1].type == VALUE_ARRAY ? &v->elems[1] : NULL);
}

value_vec
ovn_atoms(struct ovn *m, const struct ovn_row *row, const char *column)
{
    const struct value *v = cell(row, column);
    const struct value *set = v ? contents(v, "set") : NULL;
    value_vec atoms = VEC_INIT;

    for (size_t i = 0; set && i < set->n; i++) {
        *vec_push(m->arena, &atoms) = &set->elems[i];
    }
    if (v && !set) {
        *vec_push(m->arena, &atoms) = v;
    }
    return atoms;
}

const char *
ovn_string(struct ovn *m, const struct ovn_row *row, const char *column)
{
    value_vec atoms = ovn_atoms(m, row, column);

    if (atoms.n == 1 && atoms.v[0]->type == VALUE_STRING) {
        return atoms.v[0]->string;
    } else if (atoms.n) {
        wrong(m, atoms.v[0], arena_printf(m->arena,
                                          "\"%s\" must be a string", column));
    }
    return "";
}

/* The value of 'key' in a map, or NULL. */
static const struct value *
find_key(struct ovn *m, const struct ovn_row *row, const char *column,
         const char *key)
{
    const struct value *v = cell(row, column);
    const struct value *map = v ? contents(v, "map") : NULL;

    if (v && !map) {
        wrong(m, v, arena_printf(m->arena, "\"%s\" must be a map", column));
    }
    for (size_t i = 0; map && i < map->n; i++) {
        const struct value *pair = &map->elems[i];

        if (pair->type != VALUE_ARRAY || pair->n != 2
            || pair->elems[0].type != VALUE_STRING) {
            wrong(m, pair, "this must be a key and its value");
        } else if (!strcmp(pair->elems[0].string, key)) {
            return &pair->elems[1];
        }
    }
    return NULL;
}

const char *
ovn_key(struct ovn *m, const struct ovn_row *row, const char *column,
        const char *key)
{
    const struct value *v = find_key(m, row, column, key);

    if (v && v->type != VALUE_STRING) {
        wrong(m, v, "this must be a string");
        return NULL;
    }
    return v ? v->string : NULL;
}

int64_t
ovn_number(struct ovn *m, const struct ovn_row *row, const char *column,
           const char *key, int64_t otherwise)
{
    const struct value *v = (key ? find_key(m, row, column, key)
                             : cell(row, column));

    if (v && v->type != VALUE_INTEGER) {
        wrong(m, v, "this must be a number");
        return otherwise;
    }
    return v ? v->integer : otherwise;
}

ovn_row_vec
ovn_refs(struct ovn *m, const struct ovn_row *row, const char *column,
         const char *name)
{
    const struct ovn_table *table = ovn_table(m, name);
    value_vec atoms = ovn_atoms(m, row, column);
    ovn_row_vec rows = VEC_INIT;

    for (size_t i = 0; i < atoms.n; i++) {
        const char *uuid = uuid_of(atoms.v[i]);
        const struct ovn_row *to = uuid ? shash_find_data(&table->by_uuid,
                                                          uuid) : NULL;

        if (to) {
            *vec_push(m->arena, &rows) = to;
        } else {
            wrong(m, atoms.v[i],
                  arena_printf(m->arena, "no row of %s is this", name));
        }
    }
    return rows;
}

const struct ovn_row *
ovn_find(struct ovn *m, const char *name, const char *wanted)
{
    return shash_find_data(&ovn_table(m, name)->by_name, wanted);
}

const char *
ovn_uuid(struct ovn *m OVS_UNUSED, const struct ovn_row *row)
{
    return uuid_of(cell(row, "_uuid"));
}

bool
ovn_is_ours(struct ovn *m, const struct ovn_row *row)
{
    const char *mark = ovn_key(m, row, "external_ids", NB_MARK_KEY);

    return mark && !strcmp(mark, NB_MARK);
}
