/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/intent.h"

#include <stdlib.h>
#include <string.h>

#include "intent/decode.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "util.h"

/* Knows no member of the language: the decoder has noted in each object what
 * members it may have, in the order in which they are printed. */

enum {
    INDENTATION = 2,
    MAX_COLUMN = 78,            /* A comma may follow. */
};

struct printer {
    struct ds *ds;
    size_t line;                /* Where the last line begins in 'ds'. */
    int indentation;
};

/* A member of an object and its place among the others. */
struct ranked {
    size_t rank;
    const struct value *v;
};

static int
compare_ranked(const void *a_, const void *b_)
{
    const struct ranked *a = a_;
    const struct ranked *b = b_;

    return (a->rank != b->rank ? (a->rank < b->rank ? -1 : 1)
            : strcmp(a->v->key, b->v->key));
}

/* Comments come first, then what the object may have; names are alike. */
static size_t
rank_of(const struct value *object, const struct value *v)
{
    const struct member *m = object->members;

    if (!m || !strcmp(v->key, "$schema")) {
        return 0;
    } else if (!strcmp(v->key, "description")) {
        return 1;
    }
    while (m->name && strcmp(m->name, v->key)) {
        m++;
    }
    return 2 + (m - object->members);
}

/* Returns the elements of a list in their order, or the members of an object
 * in that of the language.  The caller frees them. */
static struct ranked *
sort_elements(const struct value *v)
{
    struct ranked *sorted = xmalloc(MAX(1, v->n) * sizeof *sorted);
    bool in_order = true;

    for (size_t i = 0; i < v->n; i++) {
        sorted[i] = (struct ranked) {
            v->type == VALUE_OBJECT ? rank_of(v, &v->elems[i]) : i,
            &v->elems[i],
        };
        in_order = (in_order
                    && (!i || compare_ranked(&sorted[i - 1], &sorted[i]) < 0));
    }
    if (!in_order) {
        qsort(sorted, v->n, sizeof *sorted, compare_ranked);
    }
    return sorted;
}

static void
put_key(struct printer *p, const struct value *v)
{
    if (v->key) {
        json_string_escape(v->key, p->ds);
        ds_put_cstr(p->ds, ": ");
    }
}

/* What is neither a list nor an object.  Numbers stay as they are written. */
static void
put_scalar(struct printer *p, const struct value *v)
{
    if (v->type == VALUE_STRING) {
        json_string_escape(v->string, p->ds);
    } else {
        ds_put_buffer(p->ds, v->span.source->text + v->span.start,
                      v->span.end - v->span.start);
    }
}

static bool
is_container(const struct value *v)
{
    return v->type == VALUE_ARRAY || v->type == VALUE_OBJECT;
}

/* A map of names to more than words has a line, at least, for each. */
static bool
is_tall(const struct value *v)
{
    if (v->type == VALUE_OBJECT && !v->members) {
        for (size_t i = 0; i < v->n; i++) {
            if (is_container(&v->elems[i])) {
                return true;
            }
        }
    }
    return !v->parent;
}

/* Appends 'v' to the line.  False if it has no room there: then something of
 * it has been appended. */
static bool
put_in_line(struct printer *p, const struct value *v)
{
    const char *brackets = v->type == VALUE_ARRAY ? "[]" : "{}";
    bool fits = !is_tall(v);

    if (!is_container(v)) {
        put_scalar(p, v);
    } else if (fits) {
        const char *space = v->type == VALUE_OBJECT && v->n ? " " : "";
        struct ranked *sorted = sort_elements(v);

        ds_put_char(p->ds, brackets[0]);
        ds_put_cstr(p->ds, space);
        for (size_t i = 0; i < v->n && fits; i++) {
            ds_put_cstr(p->ds, i ? ", " : "");
            put_key(p, sorted[i].v);
            fits = put_in_line(p, sorted[i].v);
        }
        ds_put_cstr(p->ds, space);
        ds_put_char(p->ds, brackets[1]);
        free(sorted);
    }
    return fits && p->ds->length - p->line <= MAX_COLUMN;
}

static void
begin_line(struct printer *p)
{
    ds_put_char(p->ds, '\n');
    p->line = p->ds->length;
    ds_put_char_multiple(p->ds, ' ', p->indentation);
}

/* Appends 'v' in as many lines as it takes. */
static void
put_value(struct printer *p, const struct value *v)
{
    const char *brackets = v->type == VALUE_ARRAY ? "[]" : "{}";
    size_t start = p->ds->length;

    if (put_in_line(p, v) || !is_container(v)) {
        return;
    }
    ds_truncate(p->ds, start);

    struct ranked *sorted = sort_elements(v);
    ds_put_char(p->ds, brackets[0]);
    p->indentation += INDENTATION;
    for (size_t i = 0; i < v->n; i++) {
        ds_put_cstr(p->ds, i ? "," : "");
        begin_line(p);
        put_key(p, sorted[i].v);
        put_value(p, sorted[i].v);
    }
    p->indentation -= INDENTATION;
    begin_line(p);
    ds_put_char(p->ds, brackets[1]);
    free(sorted);
}

static struct value *merge(struct arena *, const struct value *const parts[],
                           size_t n);

/* The members 'key' of the objects 'parts' as one, if they are objects; else
 * the first of them. */
static struct value *
merge_members(struct arena *arena, const struct value *const parts[],
              size_t n, const char *key)
{
    const struct value **members = arena_zalloc(arena, n * sizeof *members);
    size_t n_members = 0;

    for (size_t i = 0; i < n; i++) {
        const struct value *v = value_member(parts[i], key);

        if (v && (!n_members || v->type == VALUE_OBJECT)) {
            members[n_members++] = v;
        }
    }
    return merge(arena, members, n_members);
}

/* What several files say in an object, as one object.  What each of them may
 * say, such as "version" and comments, is that of the first. */
static struct value *
merge(struct arena *arena, const struct value *const parts[], size_t n)
{
    struct value *merged = arena_zalloc(arena, sizeof *merged);
    struct shash keys = SHASH_INITIALIZER(&keys);
    size_t n_elems = 0;

    *merged = *parts[0];
    if (n == 1 || merged->type != VALUE_OBJECT) {
        return merged;
    }
    for (size_t i = 0; i < n; i++) {
        n_elems += parts[i]->n;
    }
    merged->elems = arena_zalloc(arena, n_elems * sizeof *merged->elems);
    merged->n = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < parts[i]->n; j++) {
            const char *key = parts[i]->elems[j].key;

            if (shash_add_once(&keys, key, NULL)) {
                struct value *v = &merged->elems[merged->n++];

                *v = *merge_members(arena, parts + i, n - i, key);
                v->parent = merged;
            }
        }
    }
    shash_destroy(&keys);
    return merged;
}

void
intent_print(const struct intent *intent, struct ds *ds)
{
    struct printer p = { ds, ds->length, 0 };
    struct arena *arena = arena_create();

    put_value(&p, merge(arena, intent->roots.v, intent->roots.n));
    ds_put_char(ds, '\n');
    arena_destroy(arena);
}

/* Calls 'visit' with the text of each member of the map, if there is one. */
static void
print_members(const struct value *map, intent_visit_part *visit, void *aux)
{
    struct ranked *sorted = map ? sort_elements(map) : NULL;

    for (size_t i = 0; map && i < map->n; i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;
        struct printer p = { &ds, 0, 0 };

        put_value(&p, sorted[i].v);
        visit(aux, sorted[i].v->key, ds_cstr(&ds), ds.length);
        ds_destroy(&ds);
    }
    free(sorted);
}

void
intent_print_parts(const struct intent *intent, intent_visit_part *visit,
                   void *aux)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct printer p = { &ds, 0, 0 };
    struct arena *arena = arena_create();
    const struct value *all = merge(arena, intent->roots.v, intent->roots.n);
    struct value rest = *all;

    rest.elems = arena_zalloc(arena, all->n * sizeof *rest.elems);
    rest.n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct value *v = &all->elems[i];

        if (!strcmp(v->key, "tenants") || !strcmp(v->key, "bindings")) {
            print_members(v, visit, aux);
        } else {
            rest.elems[rest.n++] = *v;
        }
    }
    put_value(&p, &rest);
    visit(aux, NULL, ds_cstr(&ds), ds.length);
    ds_destroy(&ds);
    arena_destroy(arena);
}
