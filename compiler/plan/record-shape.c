/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record-shape.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

static void
put_text(const char *text, struct ds *ds)
{
    if (text) {
        json_string_escape(text, ds);
    } else {
        ds_put_cstr(ds, "null");
    }
}

/* As "%"PRIu64, in a fraction of the time: there may be millions. */
static void
put_number(uint64_t number, struct ds *ds)
{
    char digits[sizeof "18446744073709551615"];
    char *p = digits + sizeof digits;

    do {
        *--p = '0' + number % 10;
        number /= 10;
    } while (number);
    ds_put_buffer(ds, p, digits + sizeof digits - p);
}

static void
put_member(const void *p, enum kind kind, struct ds *ds)
{
    switch (kind) {
    case TEXT:
    case TEXT_OR_NULL:
        put_text(*(const char *const *) p, ds);
        break;
    case FLAG:
        ds_put_cstr(ds, *(const bool *) p ? "true" : "false");
        break;
    case NUMBER_8:
        put_number(*(const uint8_t *) p, ds);
        break;
    case NUMBER_16:
        put_number(*(const uint16_t *) p, ds);
        break;
    case NUMBER_32:
        put_number(*(const uint32_t *) p, ds);
        break;
    case NUMBER_64:
        put_number(*(const uint64_t *) p, ds);
        break;
    case COOKIE:
        ds_put_format(ds, "\"%#"PRIx64"\"", *(const uint64_t *) p);
        break;
    }
}

void
shape_put(const void *p, const struct shape *shape, struct ds *ds)
{
    for (size_t i = 0; i < shape->n; i++) {
        ds_put_char(ds, i ? ',' : '[');
        put_member((const char *) p + shape->members[i].offset,
                   shape->members[i].kind, ds);
    }
    ds_put_char(ds, ']');
}

/* How many bytes what is no text has. */
static size_t
kind_size(enum kind kind)
{
    switch (kind) {
    case FLAG:
        return sizeof(bool);
    case NUMBER_8:
        return sizeof(uint8_t);
    case NUMBER_16:
        return sizeof(uint16_t);
    case NUMBER_32:
        return sizeof(uint32_t);
    case NUMBER_64:
    case COOKIE:
        return sizeof(uint64_t);
    case TEXT:
    case TEXT_OR_NULL:
        break;
    }
    OVS_NOT_REACHED();
}

bool
shape_same(const void *a_, const void *b_, const struct shape *shape)
{
    for (size_t i = 0; i < shape->n; i++) {
        const struct member *m = &shape->members[i];
        const void *a = (const char *) a_ + m->offset;
        const void *b = (const char *) b_ + m->offset;
        bool text = m->kind == TEXT || m->kind == TEXT_OR_NULL;

        if (text ? !nullable_string_is_equal(*(const char *const *) a,
                                             *(const char *const *) b)
            : memcmp(a, b, kind_size(m->kind))) {
            return false;
        }
    }
    return true;
}

void
shape_put_list(const char *name, const any_vec *list,
               const struct shape *shape, struct ds *ds)
{
    ds_put_format(ds, ",\"%s\":[", name);
    for (size_t i = 0; i < list->n; i++) {
        if (i) {
            ds_put_char(ds, ',');
        }
        shape_put(list->v + i * shape->size, shape, ds);
    }
    ds_put_char(ds, ']');
}

/* Each reads a member and returns false if it is none of its kind. */
static bool
read_number(const struct json *json, uint64_t max, uint64_t *number)
{
    if (json->type != JSON_INTEGER || json->integer < 0
        || (uint64_t) json->integer > max) {
        return false;
    }
    *number = json->integer;
    return true;
}

static bool
read_text(const struct json *json, bool or_null, struct arena *arena,
          const char **text)
{
    if (json->type != JSON_STRING) {
        return or_null && json->type == JSON_NULL;
    }
    *text = arena_strdup(arena, json_string(json));
    return true;
}

static bool
read_cookie(const struct json *json, uint64_t *cookie)
{
    unsigned long long int n = 0;
    bool ok = (json->type == JSON_STRING
               && str_to_ullong(json_string(json), 16, &n));

    *cookie = n;
    return ok;
}

static bool
read_member(const struct json *json, enum kind kind, struct arena *arena,
            void *p)
{
    uint64_t n = 0;
    bool ok = true;

    switch (kind) {
    case TEXT:
    case TEXT_OR_NULL:
        return read_text(json, kind == TEXT_OR_NULL, arena, p);
    case FLAG:
        *(bool *) p = json->type == JSON_TRUE;
        return json->type == JSON_TRUE || json->type == JSON_FALSE;
    case NUMBER_8:
        ok = read_number(json, UINT8_MAX, &n);
        *(uint8_t *) p = n;
        break;
    case NUMBER_16:
        ok = read_number(json, UINT16_MAX, &n);
        *(uint16_t *) p = n;
        break;
    case NUMBER_32:
        ok = read_number(json, UINT32_MAX, &n);
        *(uint32_t *) p = n;
        break;
    case NUMBER_64:
        ok = read_number(json, INT64_MAX, &n);
        *(uint64_t *) p = n;
        break;
    case COOKIE:
        return read_cookie(json, p);
    }
    return ok;
}

bool
shape_read(const struct json *json, const struct shape *shape,
           struct arena *arena, void *p)
{
    size_t least = shape->n_first ? shape->n_first : shape->n;

    if (!json || json->type != JSON_ARRAY || json->array.n < least
        || json->array.n > shape->n) {
        return false;
    }
    for (size_t i = 0; i < json->array.n; i++) {
        if (!read_member(json->array.elems[i], shape->members[i].kind, arena,
                         (char *) p + shape->members[i].offset)) {
            return false;
        }
    }
    return true;
}

bool
shape_read_list(const struct json *json, const struct shape *shape,
                struct arena *arena, any_vec *list)
{
    size_t n = json && json->type == JSON_ARRAY ? json->array.n : 0;

    list->v = arena_zalloc(arena, n * shape->size);
    list->n = list->allocated = n;
    for (size_t i = 0; i < n; i++) {
        if (!shape_read(json->array.elems[i], shape, arena,
                        list->v + i * shape->size)) {
            return false;
        }
    }
    return json && json->type == JSON_ARRAY;
}
