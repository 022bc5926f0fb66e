/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/value.h"

#include <jansson.h>
#include <string.h>

#include "intent/syntax.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* The scan of the text that runs in step with jansson's tree.  jansson has
 * accepted the text already, so the scan need not check it. */
struct scan {
    const struct source *source;
    size_t at;
    struct arena *arena;
};

static void scan_value(struct scan *, const json_t *, struct value *);

static bool
is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void
skip_space(struct scan *scan)
{
    const char *text = scan->source->text;

    while (is_space(text[scan->at])) {
        scan->at++;
    }
}

/* Skips white space, then the one character that must follow. */
static void
skip_punctuation(struct scan *scan)
{
    skip_space(scan);
    scan->at++;
}

static void
skip_string(struct scan *scan)
{
    const char *text = scan->source->text;

    for (scan->at++; text[scan->at] != '"'; scan->at++) {
        scan->at += text[scan->at] == '\\';
    }
    scan->at++;
}

static void
skip_literal(struct scan *scan)
{
    const char *text = scan->source->text;
    char c = text[scan->at];

    while (c && c != ',' && c != ']' && c != '}' && !is_space(c)) {
        c = text[++scan->at];
    }
}

/* To JSON 101.0 and 1e6 are whole numbers, as to the schema. */
static void
scan_real(double real, struct value *value)
{
    bool whole = (real >= INT32_MIN && real <= INT32_MAX
                  && real == (int32_t) real);

    value->type = whole ? VALUE_INTEGER : VALUE_REAL;
    value->integer = whole ? (int32_t) real : 0;
}

static void
scan_array(struct scan *scan, const json_t *json, struct value *value)
{
    value->type = VALUE_ARRAY;
    value->n = json_array_size(json);
    value->elems = arena_zalloc(scan->arena, value->n * sizeof *value->elems);

    scan->at++;
    for (size_t i = 0; i < value->n; i++) {
        if (i) {
            skip_punctuation(scan);
        }
        value->elems[i].parent = value;
        scan_value(scan, json_array_get(json, i), &value->elems[i]);
    }
    skip_punctuation(scan);
}

static void
scan_object(struct scan *scan, const json_t *json, struct value *value)
{
    const char *key;
    json_t *member;
    size_t i = 0;

    value->type = VALUE_OBJECT;
    value->n = json_object_size(json);
    value->elems = arena_zalloc(scan->arena, value->n * sizeof *value->elems);

    scan->at++;
    /* jansson keeps the order of the text. */
    json_object_foreach ((json_t *) json, key, member) {
        struct value *v = &value->elems[i++];

        if (i > 1) {
            skip_punctuation(scan);
        }
        skip_space(scan);
        v->key_span = (struct span) { scan->source, scan->at, 0 };
        skip_string(scan);
        v->key_span.end = scan->at;
        v->key = arena_strdup(scan->arena, key);
        v->parent = value;
        skip_punctuation(scan);
        scan_value(scan, member, v);
    }
    skip_punctuation(scan);
}

static void
scan_value(struct scan *scan, const json_t *json, struct value *value)
{
    skip_space(scan);
    value->span = (struct span) { scan->source, scan->at, 0 };

    switch (json_typeof(json)) {
    case JSON_OBJECT:
        scan_object(scan, json, value);
        break;
    case JSON_ARRAY:
        scan_array(scan, json, value);
        break;
    case JSON_STRING:
        value->type = VALUE_STRING;
        value->string = arena_strdup(scan->arena, json_string_value(json));
        skip_string(scan);
        break;
    case JSON_INTEGER:
        value->type = VALUE_INTEGER;
        value->integer = json_integer_value(json);
        skip_literal(scan);
        break;
    case JSON_REAL:
        scan_real(json_real_value(json), value);
        skip_literal(scan);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        value->type = VALUE_BOOLEAN;
        value->boolean = json_is_true(json);
        skip_literal(scan);
        break;
    case JSON_NULL:
    default:
        value->type = VALUE_NULL;
        skip_literal(scan);
        break;
    }
    value->span.end = scan->at;
}

/* jansson's tree is needed for a moment only, and then all of it is freed at
 * once: to free its pieces one by one took longer than to make them. */
static struct arena *json_arena;

static void *
json_alloc(size_t size)
{
    return arena_zalloc(json_arena, size);
}

static void
json_free(void *p)
{
    (void) p;
}

/* Parses the value that begins at '*at', and stores where it ends. */
static const struct value *
parse_at(const struct source *source, size_t *at, int flags,
         struct arena *arena, struct diags *diags)
{
    struct value *value = NULL;
    json_error_t error;
    json_t *json;

    json_arena = arena_create();
    json_set_alloc_funcs(json_alloc, json_free);
    json = json_loadb(source->text + *at, source->len - *at,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags,
                      &error);
    if (json) {
        struct scan scan = { .source = source, .at = *at, .arena = arena };

        value = arena_zalloc(arena, sizeof *value);
        scan_value(&scan, json, value);
        *at = scan.at;
    } else {
        report_syntax(source, *at, &error, diags);
    }
    arena_destroy(json_arena);
    json_arena = NULL;
    return value;
}

const struct value *
value_parse(const struct source *source, struct arena *arena,
            struct diags *diags)
{
    size_t at = 0;

    return (report_nul(source, diags) ? NULL
            : parse_at(source, &at, 0, arena, diags));
}

bool
value_parse_all(const struct source *source, struct arena *arena,
                struct diags *diags, value_vec *values)
{
    if (report_nul(source, diags)) {
        return false;
    }
    for (size_t at = 0; !values->n || at < source->len; ) {
        const struct value *value = parse_at(source, &at,
                                             JSON_DISABLE_EOF_CHECK, arena,
                                             diags);

        if (!value) {
            return false;
        }
        *vec_push(arena, values) = value;
        at += strspn(source->text + at, " \t\r\n");
    }
    return true;
}

void
pointer_put_key(struct ds *ds, const char *key)
{
    ds_put_char(ds, '/');
    for (const char *p = key; *p; p++) {
        if (*p == '~' || *p == '/') {
            ds_put_cstr(ds, *p == '~' ? "~0" : "~1");
        } else {
            ds_put_char(ds, *p);
        }
    }
}

/* As deep as jansson lets the text nest. */
static void
put_pointer(struct ds *ds, const struct value *v)
{
    if (v->parent) {
        put_pointer(ds, v->parent);
        if (v->key) {
            pointer_put_key(ds, v->key);
        } else {
            ds_put_format(ds, "/%"PRIuSIZE, (size_t) (v - v->parent->elems));
        }
    }
}

const char *
value_pointer(const struct value *v, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *pointer;

    put_pointer(&ds, v);
    pointer = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return pointer;
}

static struct diag *
value_diag(struct diags *diags, enum diag_severity severity,
           const struct value *v, struct span span, const char *cause,
           va_list args)
{
    struct diag *d = diag_count(diags, severity);

    return d ? d : diag_add(diags, severity, span,
                            value_pointer(v, diags->arena), cause, args);
}

struct diag *
value_error(struct diags *diags, const struct value *v,
            const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = value_diag(diags, DIAG_ERROR, v, v->span, cause, args);
    va_end(args);
    return d;
}

struct diag *
value_key_error(struct diags *diags, const struct value *v,
                const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = value_diag(diags, DIAG_ERROR, v, v->key_span, cause,
                                args);
    va_end(args);
    return d;
}

struct diag *
value_warning(struct diags *diags, const struct value *v,
              const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = value_diag(diags, DIAG_WARNING, v, v->span, cause, args);
    va_end(args);
    return d;
}

const struct value *
value_member(const struct value *object, const char *key)
{
    if (object->type == VALUE_OBJECT) {
        for (size_t i = 0; i < object->n; i++) {
            if (object->elems[i].key[0] == key[0]
                && !strcmp(object->elems[i].key, key)) {
                return &object->elems[i];
            }
        }
    }
    return NULL;
}

bool
value_is_comment(const struct value *member)
{
    return (!strcmp(member->key, "description")
            || !strcmp(member->key, "$schema"));
}

const char *
value_type_name(enum value_type type)
{
    switch (type) {
    case VALUE_NULL: return "null";
    case VALUE_BOOLEAN: return "true or false";
    case VALUE_INTEGER: return "a whole number";
    case VALUE_REAL: return "a number with a fraction";
    case VALUE_STRING: return "a string";
    case VALUE_ARRAY: return "a list";
    case VALUE_OBJECT: return "an object";
    }
    return "a value";
}
