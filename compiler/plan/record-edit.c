/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record-edit.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/hmap.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "plan/record-lists.h"
#include "svec.h"
#include "util.h"

/* Adds the texts of the structures of a list to 'items'. */
static void
add_items(const any_vec *list, const struct shape *shape, struct svec *items)
{
    for (size_t i = 0; i < list->n; i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        shape_put(list->v + i * shape->size, shape, &ds);
        svec_add_nocopy(items, ds_steal_cstr(&ds));
    }
}

/* The same of what pointers point at. */
static void
add_items_at(const any_vec *list, const struct shape *shape,
             struct svec *items)
{
    const void *const *v = (const void *) list->v;

    for (size_t i = 0; i < list->n; i++) {
        const any_vec one = { (void *) v[i], 1, 1 };

        add_items(&one, shape, items);
    }
}

/* Appends to 'ds' the items of 'a' that 'b' lacks, as a member.  Both are
 * sorted. */
static void
put_lacking(const char *name, const struct svec *a, const struct svec *b,
            struct ds *ds)
{
    size_t i = 0, j = 0, n = 0;

    while (i < a->n) {
        int cmp = j == b->n ? -1 : strcmp(a->names[i], b->names[j]);

        if (cmp < 0) {
            if (!n++) {
                ds_put_format(ds, "%s\"%s\":[",
                              ds_last(ds) == '{' ? "" : ",", name);
            } else {
                ds_put_char(ds, ',');
            }
            ds_put_cstr(ds, a->names[i]);
        }
        i += cmp <= 0;
        j += cmp >= 0;
    }
    if (n) {
        ds_put_char(ds, ']');
    }
}

/* Takes away what two lists begin and end with alike: that is most of them,
 * and only the rest need be written to be compared. */
static void
trim(any_vec *a, any_vec *b, const struct shape *shape)
{
    while (a->n && b->n && shape_same(a->v, b->v, shape)) {
        a->v += shape->size;
        b->v += shape->size;
        a->n--;
        b->n--;
    }
    while (a->n && b->n && shape_same(a->v + (a->n - 1) * shape->size,
                                      b->v + (b->n - 1) * shape->size,
                                      shape)) {
        a->n--;
        b->n--;
    }
}

/* Adds the items of the list 'i' that an edit takes, and gives. */
static void
add_edit_items(const struct plan_edit *edit, size_t i, struct svec *gone,
               struct svec *come)
{
    const char *name = record_lists[i].name;
    const struct shape *shape = record_lists[i].shape;

    if (!strcmp(name, "flows")) {
        add_items_at((const void *) &edit->flows_gone, shape, gone);
        add_items_at((const void *) &edit->flows_come, shape, come);
    } else if (!strcmp(name, "meters")) {
        add_items_at((const void *) &edit->meters_gone, shape, gone);
        add_items_at((const void *) &edit->meters_come, shape, come);
    } else if (edit->notes_gone && edit->notes_come) {
        any_vec before = *record_list_of(edit->notes_gone, i);
        any_vec after = *record_list_of(edit->notes_come, i);

        trim(&before, &after, shape);
        add_items(&before, shape, gone);
        add_items(&after, shape, come);
    }
    svec_sort(gone);
    svec_sort(come);
}

/* Does the edit say nothing of what a plan has once? */
static bool
is_of_lists(const struct plan_edit *edit)
{
    return (!edit->notes_gone || !edit->notes_come
            || shape_same(edit->notes_gone, edit->notes_come, &plan_shape));
}

/* Appends two members: what leaves and what joins the lists.  Returns false,
 * and may have appended to 'ds', if nothing does. */
static bool
put_lists(const struct plan_edit *edit, struct ds *ds)
{
    struct ds come = DS_EMPTY_INITIALIZER;
    size_t empty;
    bool any;

    ds_put_char(&come, '{');
    ds_put_cstr(ds, ",\"gone\":{");
    empty = ds->length;
    for (size_t i = 0; i < N_RECORD_LISTS; i++) {
        struct svec before = SVEC_EMPTY_INITIALIZER;
        struct svec after = SVEC_EMPTY_INITIALIZER;

        add_edit_items(edit, i, &before, &after);
        put_lacking(record_lists[i].name, &before, &after, ds);
        put_lacking(record_lists[i].name, &after, &before, &come);
        svec_destroy(&before);
        svec_destroy(&after);
    }
    any = ds->length > empty || come.length > 1;
    ds_put_format(ds, "},\"come\":%s}", ds_cstr(&come));
    ds_destroy(&come);
    return any;
}

bool
plan_edit_format(const struct plan_edit *edit, struct ds *ds)
{
    struct plan_record said = { .time = edit->time,
                                .partial = edit->partial };
    size_t start = ds->length;

    if (!is_of_lists(edit)) {
        return false;
    }
    ds_put_cstr(ds, "{\"record\":");
    shape_put(&said, &edit_shape, ds);
    if (put_lists(edit, ds) || edit->partial != edit->was_partial) {
        ds_put_char(ds, '}');
    } else {
        ds_truncate(ds, start);
    }
    return true;
}

struct item {
    struct hmap_node node;
    struct json *json;          /* Owned. */
};

/* A list that is edited. */
struct list {
    struct json *array;         /* Which is empty meanwhile. */
    struct hmap items;          /* Contains "struct item"s. */
    bool keyed;                 /* Are items the same whose first members are?
                                 * Cookies are: many tenants have the same,
                                 * and one that nobody has is one too many. */
};

struct edited {
    const struct json *record;
    struct shash lists;         /* Contains "struct list *"s. */
};

/* Of 'item', what tells it from others. */
static const struct json *
key(const struct list *list, const struct json *item)
{
    return (list->keyed && item->type == JSON_ARRAY && item->array.n
            ? item->array.elems[0] : item);
}

static void
insert(struct list *list, struct json *json)
{
    struct item *item = xmalloc(sizeof *item);

    item->json = json;
    hmap_insert(&list->items, &item->node, json_hash(key(list, json), 0));
}

static struct item *
find(const struct list *list, const struct json *json)
{
    const struct json *wanted = key(list, json);
    struct item *item;

    HMAP_FOR_EACH_WITH_HASH (item, node, json_hash(wanted, 0),
                             &list->items) {
        if (json_equal(key(list, item->json), wanted)) {
            return item;
        }
    }
    return NULL;
}

static void
delete(struct list *list, struct item *item)
{
    hmap_remove(&list->items, &item->node);
    json_destroy(item->json);
    free(item);
}

/* NULL if the record has no such list. */
static struct list *
find_list(struct edited *e, const char *name)
{
    struct list *list = shash_find_data(&e->lists, name);
    struct json *array;

    if (list) {
        return list;
    }
    array = shash_find_data(e->record->object, name);
    if (!array || array->type != JSON_ARRAY) {
        return NULL;
    }
    list = xzalloc(sizeof *list);
    list->array = array;
    list->keyed = !strcmp(name, "cookies");
    hmap_init(&list->items);
    for (size_t i = 0; i < array->array.n; i++) {
        insert(list, array->array.elems[i]);
    }
    array->array.n = 0;
    shash_add(&e->lists, name, list);
    return list;
}

/* Gives the lists back to the record. */
static void
finish(struct edited *e)
{
    struct shash_node *node, *next;
    struct item *item;

    SHASH_FOR_EACH_SAFE (node, next, &e->lists) {
        struct list *list = node->data;

        HMAP_FOR_EACH_POP (item, node, &list->items) {
            json_array_add(list->array, item->json);
            free(item);
        }
        hmap_destroy(&list->items);
        free(list);
        shash_delete(&e->lists, node);
    }
    shash_destroy(&e->lists);
}

static bool
edit_list(struct list *list, const struct json *items, bool come)
{
    if (items->type != JSON_ARRAY) {
        return false;
    }
    for (size_t i = 0; i < items->array.n; i++) {
        struct json *json = items->array.elems[i];
        struct item *item = find(list, json);

        if (!come && !list->keyed && !item) {
            return false;
        }
        if (item && (come ? list->keyed : !list->keyed)) {
            delete(list, item);
        }
        if (come) {
            insert(list, json_clone(json));
        }
    }
    return true;
}

static bool
edit_lists(struct edited *e, const struct json *edit, const char *member)
{
    const struct json *lists = shash_find_data(edit->object, member);
    const struct shash_node *node;

    if (!lists || lists->type != JSON_OBJECT) {
        return false;
    }
    SHASH_FOR_EACH (node, lists->object) {
        struct list *list = find_list(e, node->name);

        if (!list || !edit_list(list, node->data, !strcmp(member, "come"))) {
            return false;
        }
    }
    return true;
}

/* Carries out a list of edits, the last of which it stores. */
static bool
edit_all(struct edited *e, const struct json *edits, struct json **last)
{
    bool ok = edits->type == JSON_ARRAY && edits->array.n;

    for (size_t i = 0; ok && i < edits->array.n; i++) {
        const struct json *edit = edits->array.elems[i];

        ok = (edit->type == JSON_OBJECT && edit_lists(e, edit, "gone")
              && edit_lists(e, edit, "come"));
    }
    if (ok) {
        json_destroy(*last);
        *last = json_clone(edits->array.elems[edits->array.n - 1]);
    }
    return ok;
}

bool
record_edit(struct json *record, const plan_names *edits, struct json **last)
{
    struct edited e = { .record = record };
    bool ok = record->type == JSON_OBJECT;

    shash_init(&e.lists);
    *last = NULL;
    for (size_t i = 0; ok && i < edits->n; i++) {
        struct json *all = json_from_string(edits->v[i]);

        ok = edit_all(&e, all, last);
        json_destroy(all);
    }
    finish(&e);
    return ok;
}
