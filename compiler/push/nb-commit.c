/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "push/nb-idl.h"
#include "sema/northbound.h"
#include "util.h"

/* One transaction. */

/* Changes single elements of a set, so that what others do to it meanwhile
 * stays, and large sets cost little. */
static void
write_elements(const struct ovsdb_idl_row *row,
               const struct ovsdb_idl_column *column,
               const struct ovsdb_datum *elements, bool add)
{
    for (size_t i = 0; i < elements->n; i++) {
        struct ovsdb_datum *one = xmalloc(sizeof *one);

        ovsdb_datum_init_empty(one);
        ovsdb_datum_add_from_index_unsafe(one, elements, i, &column->type);
        if (add) {
            ovsdb_idl_txn_write_partial_set(row, column, one);
        } else {
            ovsdb_idl_txn_delete_partial_set(row, column, one);
        }
    }
}

static void
write_set(const struct ovsdb_idl_row *row, const struct nb_cell *cell)
{
    const struct ovsdb_type *type = &cell->column->type;
    struct ovsdb_datum added, removed;

    ovsdb_datum_added_removed(&added, &removed,
                              ovsdb_idl_read(row, cell->column),
                              &cell->wanted, type);
    write_elements(row, cell->column, &added, true);
    write_elements(row, cell->column, &removed, false);
    ovsdb_datum_destroy(&added, type);
    ovsdb_datum_destroy(&removed, type);
}

/* Writes what external_ids are to be, and by which generation. */
static void
write_ids(const struct ovsdb_idl_row *row,
          const struct ovsdb_idl_column *column,
          const struct ovsdb_datum *wanted, uint64_t generation, bool verify)
{
    union ovsdb_atom key, value;
    struct ovsdb_datum ids;
    unsigned int i;

    if (verify) {
        ovsdb_idl_txn_verify(row, column);
    }
    key.s = ovsdb_atom_string_create(NB_VERSION_KEY);
    value.s = ovsdb_atom_string_create_nocopy(xasprintf("%"PRIu64,
                                                        generation));
    ovsdb_datum_clone(&ids, wanted);
    ovsdb_datum_unshare(&ids, &column->type);
    if (ovsdb_datum_find_key(&ids, &key, OVSDB_TYPE_STRING, &i)) {
        ovsdb_datum_remove_unsafe(&ids, i, &column->type);
    }
    ovsdb_datum_add_unsafe(&ids, &key, &value, &column->type, NULL);
    ovsdb_datum_sort_unique(&ids, &column->type);
    ovsdb_idl_txn_write(row, column, &ids);
    ovsdb_atom_destroy(&key, OVSDB_TYPE_STRING);
    ovsdb_atom_destroy(&value, OVSDB_TYPE_STRING);
}

static void
write_row(const struct ovsdb_idl_row *row, const struct nb_item *item,
          uint64_t generation)
{
    const struct ovsdb_idl_column *ids = nb_column(item->class,
                                                   "external_ids");
    const struct ovsdb_datum *wanted_ids = NULL;

    for (size_t i = 0; i < item->cells.n; i++) {
        const struct nb_cell *cell = &item->cells.v[i];

        if (cell->column == ids) {
            wanted_ids = &cell->wanted;
        } else if (item->row && cell->column->type.n_max == UINT_MAX
                   && !ovsdb_type_is_map(&cell->column->type)) {
            write_set(row, cell);
        } else {
            ovsdb_idl_txn_write_clone(row, cell->column, &cell->wanted);
        }
    }
    write_ids(row, ids, wanted_ids ? wanted_ids : ovsdb_idl_read(row, ids),
              generation, item->row != NULL);
}

/* What others put into the row meanwhile would go with it. */
static void
delete_row(const struct nb_item *item)
{
    for (size_t i = 0; i < item->class->n_columns; i++) {
        const struct ovsdb_idl_column *column = &item->class->columns[i];

        if (column->type.key.type == OVSDB_TYPE_UUID
            && nb_holds_rows(column)) {
            ovsdb_idl_txn_verify(item->row, column);
        }
    }
    ovsdb_idl_txn_delete(item->row);
}

/* The generation of the database is that of this row. */
static void
write_generation(const struct nb_comparison *c, uint64_t generation)
{
    const struct nb_row *all = shash_find_data(
        &c->index.ours[nb_table("Port_Group")], NB_EVERYBODY);

    if (all && all->wanted) {
        const struct ovsdb_idl_column *ids
            = &nbrec_port_group_col_external_ids;

        write_ids(all->row, ids, ovsdb_idl_read(all->row, ids), generation,
                  true);
    }
}

static void
write_all(const struct nb_comparison *c, struct ovsdb_idl_txn *txn,
          uint64_t generation)
{
    write_generation(c, generation);
    for (size_t i = 0; i < c->items.n; i++) {
        const struct nb_item *item = &c->items.v[i];

        if (item->wanted) {
            write_row(item->row ? item->row
                      : ovsdb_idl_txn_insert(txn, item->class, &item->uuid),
                      item, generation);
        }
    }
    for (size_t i = 0; i < c->items.n; i++) {
        if (!c->items.v[i].wanted) {
            delete_row(&c->items.v[i]);
        }
    }
}

static const char *
doubt(const struct nb_database *db, const char *reason)
{
    return arena_printf(db->arena, "%s, before it answered: it has taken all "
                        "of the change or nothing; 'bulkhead status "
                        "--target=ovn' says which", reason);
}

/* Sends the transaction and waits for the answer.  Returns NULL, or why there
 * is none, or why it is a no; sets '*again' if the database has changed. */
static const char *
send_all(struct nb_database *db, struct ovsdb_idl_txn *txn, bool *again)
{
    enum ovsdb_idl_txn_status status;

    *again = false;
    while ((status = ovsdb_idl_txn_commit(txn)) == TXN_INCOMPLETE) {
        const char *reason = nb_database_wait(db, txn);

        if (reason) {
            return doubt(db, reason);
        }
    }
    if (status == TXN_TRY_AGAIN && !ovsdb_idl_is_alive(db->idl)) {
        return doubt(db, nb_database_wait(db, txn));
    } else if (status == TXN_SUCCESS || status == TXN_UNCHANGED) {
        return NULL;
    }
    *again = status == TXN_TRY_AGAIN;
    return (*again ? NULL
            : status == TXN_NOT_LOCKED
            ? arena_printf(db->arena, "%s: another has taken the lock; "
                           "nothing was changed", db->place)
            : arena_printf(db->arena, "%s refused the change, and holds what "
                           "it held: %s", db->place,
                           ovsdb_idl_txn_get_error(txn)));
}

/* Sends the comparison, of which the copy of the database has no trace
 * afterwards, unless it is what the database tells. */
static const char *
commit_once(struct nb_comparison *c, struct nb_database *db,
            uint64_t generation, bool *again)
{
    struct ovsdb_idl_txn *txn = ovsdb_idl_txn_create(db->idl);
    const char *reason;

    ovsdb_idl_txn_add_comment(txn, "bulkhead: generation %"PRIu64,
                              generation);
    write_all(c, txn, generation);
    reason = send_all(db, txn, again);
    ovsdb_idl_txn_destroy(txn);
    return reason;
}

const char *
nb_commit(struct nb_comparison *c, struct nb_database *db,
          uint64_t generation)
{
    for (;;) {
        unsigned int seqno = ovsdb_idl_get_seqno(db->idl);
        const char *reason;
        bool again;

        if (c->diff->unfit.n || !c->items.n) {
            return NULL;
        }
        reason = commit_once(c, db, generation, &again);
        while (!reason && again && seqno == ovsdb_idl_get_seqno(db->idl)) {
            reason = nb_database_wait(db, NULL);
        }
        if (reason || !again) {
            return reason;
        }
        nb_comparison_destroy(c);
        nb_compare(c, db, c->plan, c->diff);
    }
}
