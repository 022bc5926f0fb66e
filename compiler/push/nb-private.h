/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_NB_PRIVATE_H
#define PUSH_NB_PRIVATE_H 1

/* The rooms behind push/nb.h. */

#include "openvswitch/hmap.h"
#include "openvswitch/shash.h"
#include "ovsdb-data.h"
#include "ovsdb-idl-provider.h"
#include "ovsdb-idl.h"
#include "plan/row.h"
#include "push/nb.h"

/* nb-database.c: a copy of the database that follows it. */

struct nb_database {
    const struct nb_target *target;
    struct arena *arena;
    long long int deadline;
    const char *place;          /* "OVN_Northbound at unix:..." */
    struct ovsdb_idl *idl;
    struct ovsdb_cs *writer;    /* NULL: it is only read. */
    const char *lack;           /* What may keep it from opening, with the
                                 * remedy; NULL: nothing that is known. */
    bool open;
};

/* Connects and reads all, if 'write' once it can be written to.  Returns NULL,
 * or why not. */
const char *nb_database_open(struct nb_database *, const struct nb_target *,
                             bool write, struct arena *);
void nb_database_close(struct nb_database *);

/* Waits for news.  Returns NULL, or why there will be none. */
const char *nb_database_wait(struct nb_database *);

/* Why a session with it gets no news any more: it is not 'alive', or the
 * deadline is over; 'error' is its last one, or 0.  NULL if it may. */
const char *nb_database_trouble(const struct nb_database *, bool alive,
                                int error);

/* "DATABASE: CAUSE" of a positive errno, or EOF, and as long as it is not open
 * the remedy. */
const char *nb_database_reason(const struct nb_database *, int error);

/* nb-writer.c: the session that writes. */

/* Connects and gets the database's lock: two runs at once would keep each
 * other's plans.  Returns NULL, or why not. */
const char *nb_writer_open(struct nb_database *);
void nb_writer_close(struct nb_database *);

/* Sends a transaction, which it takes, and waits for the answer.  Returns
 * NULL, or why there is none, or why it is a no; sets '*again' if the database
 * has changed, and the transaction changed nothing. */
const char *nb_writer_send(struct nb_database *, struct json *operations,
                           bool *again);

/* nb-server.c */

/* Asks the server for the schema, which the caller destroys, and of itself;
 * if 'write', also whether it takes changes.  Sets 'lack'.  Returns NULL, or
 * why the database cannot be had. */
const char *nb_server_ask(struct nb_database *, bool write,
                          struct json **schema);

/* A member of a JSON object, or NULL. */
const struct json *nb_member(const struct json *object, const char *name);

/* nb-schema.c */

/* Is the schema of the database one that Bulkhead can work with?  Returns
 * NULL, or why not. */
const char *nb_schema_check(const struct nb_database *,
                            const struct json *schema);

/* nb-index.c: what the database holds of ours. */

enum { NB_N_TABLES = 13 };
extern const struct ovsdb_idl_table_class *const nb_tables[NB_N_TABLES];

/* Where the table of this name is in 'nb_tables'; NB_N_TABLES: nowhere. */
size_t nb_table(const char *name);

/* Does northd write the column? */
bool nb_is_of_northd(const struct ovsdb_idl_column *);

/* The column of a table, and what it holds in a row. */
const struct ovsdb_idl_column *nb_column(const struct ovsdb_idl_table_class *,
                                         const char *name);
const char *nb_string(const struct ovsdb_idl_row *, const char *column);
const char *nb_id(const struct ovsdb_idl_row *, const char *key);

/* A row of one of the tables. */
struct nb_row {
    struct hmap_node node;      /* By UUID. */
    const struct ovsdb_idl_row *row;
    bool ours;
    const struct plan_row *wanted;      /* What it is of the plan, or NULL. */
};

struct nb_index {
    struct hmap rows;           /* nb_rows. */
    struct shash ours[NB_N_TABLES];     /* By id; of several, the first. */
    struct shash foreign[NB_N_TABLES];  /* By name. */
};
void nb_index_init(struct nb_index *, const struct nb_database *);
void nb_index_destroy(struct nb_index *);
struct nb_row *nb_index_find(const struct nb_index *, const struct uuid *);

/* nb-datum.c */

/* Returns what of the plan the schema of the build has no place for, or
 * NULL. */
const char *nb_find_unknown(const struct plan *, struct arena *);

/* What a column of the plan, or if that is NULL the default, is as a column of
 * that type.  'uuids' are those of the plan's rows. */
void nb_datum_from_plan(const struct plan_column *, const struct ovsdb_type *,
                        const struct uuid *uuids, struct ovsdb_datum *);

/* Adds to 'wanted', of 'column', what is in 'row' and not ours to remove. */
void nb_datum_keep(struct ovsdb_datum *wanted,
                   const struct ovsdb_idl_column *,
                   const struct ovsdb_idl_row *, const struct nb_index *);

/* Does the key of an entry of external_ids say that it is Bulkhead's? */
bool nb_is_our_key(const char *key);

/* Does a column refer to rows that go when nothing refers to them? */
bool nb_holds_rows(const struct ovsdb_idl_column *);

/* nb-compare.c */

/* What is to be written to a row. */
struct nb_cell {
    const struct ovsdb_idl_column *column;
    struct ovsdb_datum wanted;
};
struct nb_item {
    const struct ovsdb_idl_table_class *class;
    const struct ovsdb_idl_row *row;    /* NULL: to be added... */
    const struct plan_row *wanted;      /* ...and NULL: to be deleted. */
    struct uuid uuid;
    struct hmap_node node;      /* Of those to be added, as they are sent. */
    VEC(struct nb_cell) cells;
};

struct nb_comparison {
    const struct nb_database *db;
    const struct plan *plan;
    struct arena *arena;
    struct nb_index index;
    struct uuid *uuids;         /* Of the plan's rows. */
    VEC(struct nb_item) items;
    struct nb_diff *diff;
};

/* Compares the plan with the database, and fills 'diff' but for what is kept.
 */
void nb_compare(struct nb_comparison *, const struct nb_database *,
                const struct plan *, struct nb_diff *);
const char *nb_hash(const struct nb_comparison *);      /* For 'held'. */
void nb_comparison_destroy(struct nb_comparison *);

/* nb-others.c */

/* Notes in the diff what others' rows have to do with the plan's: what keeps
 * it from going there, and what stays. */
void nb_look_at_others(struct nb_comparison *);

/* A column by which rows take hold of ports of switches or routers, whose
 * names are all different. */
struct nb_naming {
    const struct ovsdb_idl_column *column;
    const struct ovsdb_idl_table_class *table;
    const char *key;            /* Of a map: its value is the names; NULL: all
                                 * values are. */
    char end;                   /* What ends a name in a text, or 0. */
    bool joins;                 /* Joins the port to another network. */
};
enum { NB_N_NAMINGS = 9 };
extern const struct nb_naming nb_namings[NB_N_NAMINGS];

/* nb-words.c */

/* Fills 'changes' and 'lines' of the diff. */
void nb_words(struct nb_comparison *);

/* "endpoint a/e0", or "Logical_Switch_Port 'x'" of what is not ours. */
const char *nb_title(struct arena *, const struct ovsdb_idl_row *);
const char *nb_plan_title(struct arena *, const struct plan_row *);

/* nb-operations.c */

/* What makes the database hold the plan, if it is as it was compared. */
struct json *nb_operations(struct nb_comparison *, uint64_t generation);

/* nb-commit.c */

/* Makes the database hold the plan, as 'generation'.  Compares again if it
 * changes meanwhile, and refuses as soon as it is unfit.  Returns NULL, or why
 * not. */
const char *nb_commit(struct nb_comparison *, struct nb_database *,
                      uint64_t generation);

#endif /* push/nb-private.h */
