/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PLAN_ROW_H
#define PLAN_ROW_H 1

/* Rows of an OVSDB database (RFC 7047) that a plan holds.
 *
 * Each row is marked as Bulkhead's (sema/northbound.h), with an id that is
 * unique in its table and follows from the intent, so that a row is found
 * again however often the intent changes. */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/vec.h"

struct ds;
struct json;
struct plan;

enum plan_kind {
    PLAN_STRING,                /* One atom, ... */
    PLAN_INTEGER,               /* ... a number in decimal. */
    PLAN_SET,                   /* Of strings. */
    PLAN_REFS,                  /* To rows. */
    PLAN_MAP,                   /* From string to string, ... */
    PLAN_NUMBERS,               /* ... or to integer. */
    PLAN_BOOLEAN,               /* One atom, "true" or "false". */
};

/* Has a column of the kind one atom? */
static inline bool
plan_kind_is_one(enum plan_kind kind)
{
    return (kind == PLAN_STRING || kind == PLAN_INTEGER
            || kind == PLAN_BOOLEAN);
}

struct plan_atom {
    const char *key;            /* Of a map, else NULL. */
    const char *value;          /* NULL: a row. */
    const struct plan_row *row;
};

struct plan_column {
    const char *name;
    enum plan_kind kind;
    VEC(struct plan_atom) atoms;
};

struct plan_row {
    const char *table, *id;
    size_t index;               /* In the plan's rows. */
    VEC(struct plan_column) columns;    /* "external_ids" is the first. */
};

/* Adds a row.  It and all that is added to it lives in the plan's arena; the
 * strings must live as long. */
struct plan_row *plan_add_row(struct plan *, const char *table,
                              const char *id);

/* Add an atom to a column, which begins empty. */
void plan_row_string(struct plan *, struct plan_row *, const char *column,
                     const char *value);
void plan_row_integer(struct plan *, struct plan_row *, const char *column,
                      long long int);
void plan_row_boolean(struct plan *, struct plan_row *, const char *column,
                      bool);
void plan_row_set(struct plan *, struct plan_row *, const char *column,
                  const char *value);
void plan_row_ref(struct plan *, struct plan_row *, const char *column,
                  const struct plan_row *);
void plan_row_map(struct plan *, struct plan_row *, const char *column,
                  const char *key, const char *value);
void plan_row_number(struct plan *, struct plan_row *, const char *column,
                     const char *key, long long int);

/* The column of the row, or NULL. */
const struct plan_column *plan_row_column(const struct plan_row *,
                                          const char *name);

/* Does a column of the row refer to 'to'? */
bool plan_row_refers(const struct plan_row *, const char *column,
                     const struct plan_row *to);

/* Hold both plans the same rows, in the same order? */
bool plan_same_rows(const struct plan *, const struct plan *);

/* An operation of a transaction (RFC 7047, section 5.2). */
struct json *plan_operation(const char *name, const char *table);

/* A name that nobody else's row of the table may have beside a row: switches
 * and routers may be called alike, ports of both share one space of names, and
 * an Address_Set goes before that of a Port_Group. */
struct plan_claim {
    const char *table, *name;
    bool indexed;               /* The schema itself lets one row have it. */
};
VEC_TYPEDEF(plan_claims, struct plan_claim);
plan_claims plan_row_claims(struct arena *, const struct plan_row *);

/* Appends operations that refuse the row if others have such a name and the
 * schema does not refuse it. */
void plan_add_waits(struct arena *, const struct plan_row *,
                    struct json *operations);

/* Tables whose rows stand by themselves; all others go with the last row that
 * refers to them. */
extern const char *const plan_roots[];
extern const size_t plan_n_roots;

/* The rows as one request to a northbound database of OVN: it replaces all
 * that are marked as Bulkhead's, or nothing if others have a name of theirs.
 */
void plan_format_transaction(const struct plan *, struct ds *);

/* The same as a shell script of one ovn-nbctl command, which refuses too if
 * others have put rows into such rows. */
void plan_format_nbctl(const struct plan *, struct ds *);

/* Do the rows fit in that command?  If not, the script only says so. */
bool plan_fits_nbctl(const struct plan *);

#endif /* plan/row.h */
