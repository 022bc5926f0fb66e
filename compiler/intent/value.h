/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_VALUE_H
#define INTENT_VALUE_H 1

/* JSON values that know where they stand.
 *
 * jansson checks and decodes the text but keeps no positions; a scan of the
 * same text, in step with jansson's tree, adds them.  Nothing outside intent/
 * sees jansson, whose names clash with libopenvswitch's. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "base/vec.h"

enum value_type {
    VALUE_NULL,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT,
};

struct ds;
struct member;

struct value {
    enum value_type type;
    struct span span;
    const struct value *parent; /* NULL for the outermost. */
    union {
        bool boolean;
        int64_t integer;
        const char *string;     /* UTF-8 without null bytes. */
        struct {
            struct value *elems;    /* In the order of the text. */
            size_t n;
            const struct member *members;   /* That the object may have, as
                                             * decode_object() notes; NULL:
                                             * a map of names, or a list. */
        };
    };

    /* Members of an object only. */
    const char *key;
    struct span key_span;
};

/* Parses 'source'.  Returns NULL after adding an error to 'diags' if it is
 * not JSON (RFC 8259), has a duplicate key, or is nested too deep. */
const struct value *value_parse(const struct source *, struct arena *,
                                struct diags *);

/* The same for one or more texts that follow each other in 'source'.  Returns
 * false after adding an error. */
VEC_TYPEDEF(value_vec, const struct value *);
bool value_parse_all(const struct source *, struct arena *, struct diags *,
                     value_vec *);

/* The JSON pointer (RFC 6901) of a value.  Built when it is asked for: kept
 * with every value, long names around many values would take a multiple of
 * the file's size. */
const char *value_pointer(const struct value *, struct arena *);

/* Appends "/" and a key as pointers have it. */
void pointer_put_key(struct ds *, const char *key);

/* As diag_error() and diag_warning(), with the place and pointer of a value,
 * or with the place of its name. */
struct diag *value_error(struct diags *, const struct value *,
                         const char *cause, ...) OVS_PRINTF_FORMAT(3, 4);
struct diag *value_key_error(struct diags *, const struct value *,
                             const char *cause, ...) OVS_PRINTF_FORMAT(3, 4);
struct diag *value_warning(struct diags *, const struct value *,
                           const char *cause, ...) OVS_PRINTF_FORMAT(3, 4);

/* The member called 'key' of an object, or NULL. */
const struct value *value_member(const struct value *, const char *key);

/* Is it a member that may stand in every object and means nothing? */
bool value_is_comment(const struct value *);

/* "an object", "a number", ... */
const char *value_type_name(enum value_type);

#endif /* intent/value.h */
