/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record-edit.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/hmap.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "util.h"

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

bool
record_edit(struct json *record, const plan_names *edits, struct json **last)
{
    struct edited e = { .record = record };
    bool ok = record->type == JSON_OBJECT;

    shash_init(&e.lists);
    *last = NULL;
    for (size_t i = 0; ok && i < edits->n; i++) {
        json_destroy(*last);
        *last = json_from_string(edits->v[i]);
        ok = ((*last)->type == JSON_OBJECT && edit_lists(&e, *last, "gone")
              && edit_lists(&e, *last, "come"));
    }
    finish(&e);
    return ok;
}
