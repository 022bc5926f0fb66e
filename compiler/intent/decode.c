/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "intent/units.h"
#include "util.h"

enum {
    MAX_NAME = 63,              /* As a DNS label. */
    MAX_INTERFACE = 15,         /* IFNAMSIZ less the null byte. */
};

void
decode_error(struct decoder *d, const struct value *v, const char *cause,
             const char *remedy)
{
    struct diag *diag = value_error(d->diags, v, "%s", cause);
    if (remedy) {
        diag_remedy(d->diags, diag, "%s", remedy);
    }
}

static void
wrong_type(struct decoder *d, const struct value *v, const char *wanted)
{
    struct diag *diag = value_error(d->diags, v, "this must be %s, not %s",
                                    wanted, value_type_name(v->type));

    diag_remedy(d->diags, diag, "write %s here", wanted);
}

/* Is what stands in 's' before 'end' a name? */
static bool
is_name_before(const char *s, char end, size_t max)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return n && n <= max && s[n] == end && isalnum((unsigned char) s[0]);
}

static bool
is_name(const char *s, size_t max)
{
    return is_name_before(s, '\0', max);
}

static void
bad_name(struct decoder *d, struct span span, const struct value *v,
         size_t max)
{
    struct diag *diag = diag_error(d->diags, span, value_pointer(v, d->arena),
                                   "this is not a valid name");
    diag_remedy(d->diags, diag, "use 1 to %"PRIuSIZE" letters, digits, '.', "
                "'_' and '-', a letter or digit first", max);
}

static bool
is_member(const struct member *m, const struct value *v)
{
    for (; m->name; m++) {
        if (!strcmp(m->name, v->key)) {
            return true;
        }
    }
    return value_is_comment(v);
}

static void
unknown_member(struct decoder *d, const struct value *v, const char *what,
               const struct member *members)
{
    struct nearest nearest = nearest_init(v->key);
    struct diag *diag;
    size_t n = 0;

    if (diag_count(d->diags, DIAG_ERROR)) {
        return;
    }
    diag = value_key_error(d->diags, v, "%s has no member '%s'", what, v->key);
    while (members[n].name) {
        nearest_try(&nearest, members[n++].name);
    }
    if (nearest.best) {
        diag_remedy(d->diags, diag, "did you mean '%s'?", nearest.best);
    } else {
        const char *list = "";

        for (size_t i = 0; i < n; i++) {
            list = arena_printf(d->arena, "%s%s%s", list, i ? ", " : "",
                                members[i].name);
        }
        diag_remedy(d->diags, diag, "remove it; the members are: %s", list);
    }
}

bool
decode_object(struct decoder *d, const struct value *v, const char *what,
              const struct member *members)
{
    if (v->type != VALUE_OBJECT) {
        wrong_type(d, v, "an object");
        return false;
    }
    CONST_CAST(struct value *, v)->members = members;
    for (size_t i = 0; i < v->n; i++) {
        const struct value *e = &v->elems[i];

        if (!is_member(members, e)) {
            unknown_member(d, e, what, members);
        } else if (value_is_comment(e) && e->type != VALUE_STRING) {
            wrong_type(d, e, "a string");
        }
    }
    for (const struct member *m = members; m->name; m++) {
        if (m->required && !value_member(v, m->name)) {
            struct span start = { v->span.source, v->span.start,
                                  v->span.start + 1 };
            struct diag *diag = diag_error(d->diags, start,
                                           value_pointer(v, d->arena),
                                           "%s needs a member '%s'",
                                           what, m->name);
            diag_remedy(d->diags, diag, "add \"%s\": ...", m->name);
        }
    }
    return true;
}

static bool
is_object(struct decoder *d, const struct value *v, const char *what)
{
    if (v && v->type != VALUE_OBJECT) {
        wrong_type(d, v, what);
    }
    return v && v->type == VALUE_OBJECT;
}

bool
decode_endpoint_map(struct decoder *d, const struct value *v,
                    const char *what)
{
    if (!is_object(d, v, what)) {
        return false;
    }
    for (size_t i = 0; i < v->n; i++) {
        const char *key = v->elems[i].key;
        const char *slash = strchr(key, '/');

        if (!slash || !is_name_before(key, '/', MAX_NAME)
            || !is_name(slash + 1, MAX_NAME)) {
            struct diag *diag = value_key_error(d->diags, &v->elems[i],
                                                "this is not the name of an "
                                                "endpoint");
            diag_remedy(d->diags, diag, "write TENANT/ENDPOINT, as in "
                        "\"inference/frontend0\"");
        }
    }
    return true;
}

bool
decode_map(struct decoder *d, const struct value *v, const char *what)
{
    if (!is_object(d, v, what)) {
        return false;
    }
    for (size_t i = 0; i < v->n; i++) {
        if (!is_name(v->elems[i].key, MAX_NAME)) {
            bad_name(d, v->elems[i].key_span, &v->elems[i], MAX_NAME);
        }
    }
    return true;
}

bool
decode_list(struct decoder *d, const struct value *v, const char *what)
{
    if (!v) {
        return false;
    } else if (v->type != VALUE_ARRAY) {
        wrong_type(d, v, what);
        return false;
    }
    return true;
}

struct text
decode_key(const struct value *member)
{
    return (struct text) { member->key, member };
}

struct text
decode_string(struct decoder *d, const struct value *v)
{
    if (v->type != VALUE_STRING) {
        wrong_type(d, v, "a string");
        return (struct text) { NULL, NULL };
    }
    return (struct text) { v->string, v };
}

struct text
decode_text(struct decoder *d, const struct value *v, const char *key)
{
    const struct value *m = value_member(v, key);

    return m ? decode_string(d, m) : (struct text) { NULL, NULL };
}

static struct text
decode_short_name(struct decoder *d, const struct value *v, const char *key,
                  size_t max)
{
    struct text text = decode_text(d, v, key);

    if (text.s && !is_name(text.s, max)) {
        bad_name(d, text.at->span, text.at, max);
        text.s = NULL;
    }
    return text;
}

struct text
decode_name(struct decoder *d, const struct value *v, const char *key)
{
    return decode_short_name(d, v, key, MAX_NAME);
}

struct text
decode_interface(struct decoder *d, const struct value *v, const char *key)
{
    return decode_short_name(d, v, key, MAX_INTERFACE);
}

/* What to write in place of 'm', which is no quantity. */
static const char *
quantity_remedy(struct decoder *d, const struct value *m, const char *example,
                quantity_parser *parse)
{
    const char *meant = (m->type == VALUE_STRING
                         ? suggest_quantity(m->string, parse, d->arena)
                         : NULL);

    return (meant ? arena_printf(d->arena, "did you mean '%s'?", meant)
            : arena_printf(d->arena, "write it like \"%s\"", example));
}

static struct quantity
decode_quantity(struct decoder *d, const struct value *v, const char *key,
                const char *kind, const char *example,
                quantity_parser *parse)
{
    const struct value *m = value_member(v, key);
    struct quantity q = { 0, NULL };
    const char *error;

    if (!m) {
        return q;
    }
    error = (m->type == VALUE_STRING ? parse(m->string, &q.n)
             : m->type == VALUE_INTEGER ? "the unit must be written"
             : "it must be a string");
    if (error) {
        decode_error(d, m, arena_printf(d->arena, "this is not %s: %s",
                                        kind, error),
                     quantity_remedy(d, m, example, parse));
    } else if (!q.n) {
        decode_error(d, m, arena_printf(d->arena, "%s of zero is none",
                                        kind),
                     arena_printf(d->arena, "write one like \"%s\", or leave "
                                  "out what it belongs to", example));
    } else {
        q.at = m;
    }
    return q;
}

struct quantity
decode_rate(struct decoder *d, const struct value *v, const char *key)
{
    return decode_quantity(d, v, key, "a rate", "10Gbps", parse_rate);
}

struct quantity
decode_bytes(struct decoder *d, const struct value *v, const char *key)
{
    return decode_quantity(d, v, key, "a size", "64KiB", parse_bytes);
}

struct quantity
decode_packet_rate(struct decoder *d, const struct value *v, const char *key)
{
    return decode_quantity(d, v, key, "a rate of packets", "2Mpps",
                           parse_packet_rate);
}

struct quantity
decode_packets(struct decoder *d, const struct value *v, const char *key)
{
    return decode_quantity(d, v, key, "a number of packets", "2kpkt",
                           parse_packets);
}

struct quantity
decode_duration(struct decoder *d, const struct value *v, const char *key)
{
    return decode_quantity(d, v, key, "a duration", "10us", parse_duration);
}

int64_t
decode_number(struct decoder *d, const struct value *v, int64_t min,
              int64_t max)
{
    if (v->type != VALUE_INTEGER || v->integer < min || v->integer > max) {
        decode_error(d, v,
                     (min == max
                      ? arena_printf(d->arena, "this must be %"PRId64, min)
                      : arena_printf(d->arena, "this must be a whole number "
                                     "from %"PRId64" to %"PRId64, min, max)),
                     min == max ? "write it; bulkhead reads no other version"
                     : "write a number in that range, without quotes");
        return min;
    }
    return v->integer;
}

int64_t
decode_integer(struct decoder *d, const struct value *v, const char *key,
               int64_t min, int64_t max)
{
    const struct value *m = value_member(v, key);

    return m ? decode_number(d, m, min, max) : min;
}

bool
decode_choice(struct decoder *d, const struct value *v, const char *key,
              const char *no, const char *yes)
{
    struct text text = decode_text(d, v, key);

    if (text.s && strcmp(text.s, no) && strcmp(text.s, yes)) {
        decode_error(d, text.at, arena_printf(
            d->arena, "this must be \"%s\" or \"%s\"", no, yes),
            arena_printf(d->arena, "write one of the two; without it, \"%s\" "
                         "is meant", no));
    }
    return text.s && !strcmp(text.s, yes);
}

const struct value *
decode_flag(struct decoder *d, const struct value *v, const char *key,
            bool value)
{
    const struct value *m = value_member(v, key);

    if (m && m->type != VALUE_BOOLEAN) {
        wrong_type(d, m, "true or false");
        return NULL;
    }
    return m && m->boolean == value ? m : NULL;
}

void
decode_text_list(struct decoder *d, const struct value *v, text_vec *list)
{
    if (decode_list(d, v, "a list of names")) {
        for (size_t i = 0; i < v->n; i++) {
            struct text text = decode_string(d, &v->elems[i]);

            if (text.s) {
                *vec_push(d->arena, list) = text;
            }
        }
    }
}

void
decode_tenants(struct decoder *d, const struct value *v, text_vec *tenants)
{
    if (v && v->type == VALUE_STRING && !strcmp(v->string, "*")) {
        *vec_push(d->arena, tenants) = (struct text) { v->string, v };
    } else {
        decode_text_list(d, v, tenants);
    }
}

void
decode_labels(struct decoder *d, const struct value *v,
              text_vec *names, text_vec *values)
{
    if (decode_map(d, v, "a map of labels")) {
        for (size_t i = 0; i < v->n; i++) {
            struct text text = decode_string(d, &v->elems[i]);

            if (text.s) {
                *vec_push(d->arena, names) = decode_key(&v->elems[i]);
                *vec_push(d->arena, values) = text;
            }
        }
    }
}
