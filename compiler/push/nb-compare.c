/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "plan/record.h"
#include "push/nb-idl.h"
#include "sema/northbound.h"
#include "util.h"

/* How the plan and the database differ. */

/* Finds the plan's rows in the database; those that are new get UUIDs. */
static void
match_rows(struct nb_comparison *c)
{
    c->uuids = xcalloc(c->plan->rows.n + 1, sizeof *c->uuids);
    for (size_t i = 0; i < c->plan->rows.n; i++) {
        const struct plan_row *wanted = c->plan->rows.v[i];
        struct nb_row *row = shash_find_data(
            &c->index.ours[nb_table(wanted->table)], wanted->id);

        if (row) {
            row->wanted = wanted;
            c->uuids[i] = row->row->uuid;
        } else {
            uuid_generate(&c->uuids[i]);
        }
    }
}

static int
compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* What was found by UUID comes in no order of use. */
static void
sort_names(plan_names *names)
{
    if (names->n) {
        qsort(names->v, names->n, sizeof *names->v, compare_strings);
    }
}

static struct nb_item *
add_item(struct nb_comparison *c, const struct ovsdb_idl_table_class *class,
         const struct ovsdb_idl_row *row, const struct plan_row *wanted)
{
    struct nb_item *item = vec_push(c->arena, &c->items);

    *item = (struct nb_item) { .class = class, .row = row, .wanted = wanted };
    return item;
}

/* Compares a column; what differs is added to 'cells'. */
static void
compare_column(struct nb_comparison *c, const struct plan_row *wanted,
               const struct ovsdb_idl_row *row,
               const struct ovsdb_idl_column *column, struct nb_item *item)
{
    struct ovsdb_datum datum;

    if (nb_is_of_northd(column)) {
        return;
    }
    nb_datum_from_plan(plan_row_column(wanted, column->name), &column->type,
                       c->uuids, &datum);
    if (row) {
        nb_datum_keep(&datum, column, row, &c->index);
    }
    if (row ? ovsdb_datum_equals(&datum, ovsdb_idl_read(row, column),
                                 &column->type)
        : ovsdb_datum_is_default(&datum, &column->type)) {
        ovsdb_datum_destroy(&datum, &column->type);
    } else {
        struct nb_cell *cell = vec_push(c->arena, &item->cells);

        cell->column = column;
        cell->wanted = datum;
    }
}

static void
compare_row(struct nb_comparison *c, const struct plan_row *wanted)
{
    size_t table = nb_table(wanted->table);
    const struct ovsdb_idl_table_class *class = nb_tables[table];
    const struct nb_row *found = shash_find_data(&c->index.ours[table],
                                                 wanted->id);
    const struct ovsdb_idl_row *row = found ? found->row : NULL;
    struct nb_item *item = add_item(c, class, row, wanted);

    item->uuid = c->uuids[wanted->index];
    for (size_t i = 0; i < class->n_columns; i++) {
        compare_column(c, wanted, row, &class->columns[i], item);
    }
    if (!row) {
        c->diff->added++;
    } else if (item->cells.n) {
        c->diff->changed++;
    } else {
        c->diff->same++;
        c->items.n--;
    }
}

const char *
nb_hash(const struct nb_comparison *c)
{
    plan_names texts = VEC_INIT;
    struct ds all = DS_EMPTY_INITIALIZER;
    const struct nb_row *row;
    const char *hash;

    HMAP_FOR_EACH (row, node, &c->index.rows) {
        const struct ovsdb_idl_table_class *class = row->row->table->class_;
        struct ds ds = DS_EMPTY_INITIALIZER;

        for (size_t i = 0; row->ours && i < class->n_columns; i++) {
            if (!nb_is_of_northd(&class->columns[i])) {
                ovsdb_datum_to_string(
                    ovsdb_idl_read(row->row, &class->columns[i]),
                    &class->columns[i].type, &ds);
                ds_put_char(&ds, '\n');
            }
        }
        *vec_push(c->arena, &texts) = arena_strdup(c->arena, ds_cstr(&ds));
        ds_destroy(&ds);
    }
    sort_names(&texts);
    for (size_t i = 0; i < texts.n; i++) {
        ds_put_cstr(&all, texts.v[i]);
    }
    hash = plan_hash(c->arena, ds_cstr(&all), all.length);
    ds_destroy(&all);
    return hash;
}

/* The generation that a row says; 0 if it says none that can be: records hold
 * them as JSON's integers, and there is always a next one. */
static uint64_t
read_generation(const char *version)
{
    unsigned long long int n;

    return (version && str_to_ullong(version, 10, &n) && n < INT64_MAX / 2
            ? n : 0);
}

/* The name and generation of the database. */
static void
note_database(struct nb_comparison *c)
{
    const struct nbrec_nb_global *global
        = nbrec_nb_global_first(c->db->idl);
    const struct nb_row *all = shash_find_data(
        &c->index.ours[nb_table("Port_Group")], NB_EVERYBODY);
    const char *version = all ? nb_id(all->row, NB_VERSION_KEY) : NULL;

    c->diff->place = c->db->place;
    c->diff->name = arena_printf(c->arena, "ovn-"UUID_FMT,
                                 UUID_ARGS(&global->header_.uuid));
    c->diff->generation = read_generation(version);
}

void
nb_compare(struct nb_comparison *c, const struct nb_database *db,
           const struct plan *plan, struct nb_diff *diff)
{
    struct nb_row *row;

    memset(c, 0, sizeof *c);
    memset(diff, 0, sizeof *diff);
    c->db = db;
    c->plan = plan;
    c->arena = db->arena;
    c->diff = diff;
    nb_index_init(&c->index, db);
    match_rows(c);
    note_database(c);
    for (size_t i = 0; i < plan->rows.n; i++) {
        compare_row(c, plan->rows.v[i]);
    }
    HMAP_FOR_EACH (row, node, &c->index.rows) {
        if (row->ours && !row->wanted) {
            add_item(c, row->row->table->class_, row->row, NULL);
            diff->deleted++;
        }
    }
    nb_look_at_others(c);
    sort_names(&diff->unfit);
    sort_names(&diff->foreign);
    nb_words(c);
}

void
nb_comparison_destroy(struct nb_comparison *c)
{
    for (size_t i = 0; i < c->items.n; i++) {
        struct nb_item *item = &c->items.v[i];

        for (size_t j = 0; j < item->cells.n; j++) {
            ovsdb_datum_destroy(&item->cells.v[j].wanted,
                                &item->cells.v[j].column->type);
        }
    }
    nb_index_destroy(&c->index);
    free(c->uuids);
}
