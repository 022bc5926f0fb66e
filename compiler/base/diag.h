/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_DIAG_H
#define BASE_DIAG_H 1

/* Diagnostics: values, not output.
 *
 * Every stage adds records here; only cli/ prints them.  A record names the
 * place (file:line:column, with the text and a caret under it, and a JSON
 * pointer), the cause and the remedy.  The form follows nft's and clang's. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/source.h"
#include "base/vec.h"
#include "openvswitch/compiler.h"

struct ds;

enum diag_severity {
    DIAG_ERROR,
    DIAG_WARNING,
};

/* A secondary place: "first defined here". */
struct diag_note {
    struct span span;
    const char *text;
};

enum { DIAG_MAX_NOTES = 3 };

struct diag {
    enum diag_severity severity;
    struct span span;           /* source == NULL: no place. */
    const char *pointer;        /* JSON pointer (RFC 6901) or NULL. */
    const char *cause;
    const char *remedy;         /* Or NULL. */
    struct diag_note notes[DIAG_MAX_NOTES];
    size_t n_notes;
};

/* Longer texts are cut, in bytes: an intent may give anything a long name.  A
 * pointer that is longer is left out. */
enum { DIAG_MAX_TEXT = 1000 };

/* At most this many errors, and as many warnings, are kept unless 'max' says
 * otherwise; the others are only counted. */
enum { DIAG_MAX = 20 };

struct diags {
    struct arena *arena;
    VEC(struct diag) list;
    size_t n_errors, n_warnings;    /* Kept or not. */
    size_t max;                 /* How many of each are kept. */
    struct diag beyond;         /* Stands for those that are not. */
    const char *unchecked;      /* What errors kept from being checked, such
                                 * as "conflicts"; NULL: nothing. */
    bool colour;                /* Their text is for a terminal. */
};

void diags_init(struct diags *, struct arena *);

/* Would one more of that severity only be counted?  Whoever has to work for
 * its text need not. */
bool diags_are_full(const struct diags *, enum diag_severity);

/* Counts one more if so, and returns the scratch record that diag_error() and
 * diag_warning() would.  Returns NULL, and does nothing, otherwise. */
struct diag *diag_count(struct diags *, enum diag_severity);

/* Adds a record with the formatted cause.  Returns it, so that the caller can
 * add to it (see below), or a scratch record that takes nothing if it is only
 * counted; never NULL. */
struct diag *diag_error(struct diags *, struct span, const char *pointer,
                        const char *cause, ...) OVS_PRINTF_FORMAT(4, 5);
struct diag *diag_warning(struct diags *, struct span, const char *pointer,
                          const char *cause, ...) OVS_PRINTF_FORMAT(4, 5);

struct diag *diag_add(struct diags *, enum diag_severity, struct span,
                      const char *pointer, const char *cause, va_list)
    OVS_PRINTF_FORMAT(5, 0);

/* Adds the records of 'from', whose arena must live as long. */
void diags_append(struct diags *, const struct diags *from);

/* Say what to do, and what else to look at: up to DIAG_MAX_NOTES places. */
void diag_remedy(struct diags *, struct diag *, const char *, ...)
    OVS_PRINTF_FORMAT(3, 4);
void diag_see(struct diags *, struct diag *, struct span, const char *, ...)
    OVS_PRINTF_FORMAT(4, 5);

/* Puts the records into the order of their places. */
void diags_sort(struct diags *);

/* Sorts the records and appends them to 'ds' as text, and the rest. */
void diags_format(struct diags *, struct ds *);

/* Appends how many more there are and what is unchecked, a line each. */
void diags_format_rest(const struct diags *, struct ds *);

/* Appends "file:line:column", nothing for no place. */
void diag_put_place(struct ds *, const struct span *);

/* Appends the line of 'span', and below it 'mark' under the span. */
void diag_put_snippet(struct ds *, const struct span *, char mark);

#endif /* base/diag.h */
