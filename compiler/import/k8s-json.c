/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <string.h>

#include "bitmap.h"
#include "import/name.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "util.h"

/* Selectors as JSON. */

/* One string stands by itself. */
static struct json *
strings_to_json(const k8s_strings *strings)
{
    struct json *list;

    if (strings->n == 1) {
        return json_string_create(strings->v[0]);
    }
    list = json_array_create_empty();
    for (size_t i = 0; i < strings->n; i++) {
        json_array_add(list, json_string_create(strings->v[i]));
    }
    return list;
}

/* The labels that 'set' wants, and of what namespaces, where 'within' says
 * more. */
static struct json *
labels_to_json(struct k8s *k, const struct k8s_set *set,
               const unsigned long *within)
{
    struct json *labels = json_object_create();
    k8s_strings names = VEC_INIT;
    bool all = true;
    size_t i;

    for (i = 0; i < k->namespaces.n; i++) {
        if (bitmap_is_set(set->namespaces, i)) {
            *vec_push(k->arena, &names) = k->namespaces.v[i].name;
        } else {
            all = all && !bitmap_is_set(within, i);
        }
    }
    if (!all && !k->per_namespace) {
        json_object_put(labels, k->namespace_label, strings_to_json(&names));
    }
    for (i = 0; i < set->terms.n; i++) {
        json_object_put(labels, k8s_label_name(k, set->terms.v[i].key),
                        strings_to_json(&set->terms.v[i].values));
    }
    return labels;
}

static struct json *
set_to_json(struct k8s *k, const struct k8s_set *set,
            const unsigned long *within, const char *tenant)
{
    struct json *json = json_object_create();
    struct json *labels = labels_to_json(k, set, within);
    struct json *except = json_array_create_empty();
    size_t i;

    if (tenant) {
        json_object_put_string(json, "tenant", tenant);
    }
    if (shash_is_empty(json_object(labels))) {
        json_destroy(labels);
    } else {
        json_object_put(json, "labels", labels);
    }
    if (set->pods) {
        k8s_strings names = VEC_INIT;

        BITMAP_FOR_EACH_1 (i, k->pods.n, set->pods) {
            if (bitmap_is_set(set->namespaces, k->pods.v[i].ns)) {
                *vec_push(k->arena, &names) = k->pods.v[i].endpoint;
            }
        }
        json_object_put(json, "endpoint", strings_to_json(&names));
    }
    for (i = 0; i < set->except.n; i++) {
        json_array_add(except, set_to_json(k, &set->except.v[i],
                                           set->namespaces, NULL));
    }
    if (except->array.n) {
        json_object_put(json, "except", except);
    } else {
        json_destroy(except);
    }
    return json;
}

/* Has nobody in it that is there? */
static bool
has_nobody(struct k8s *k, const struct k8s_set *set)
{
    k8s_sets one = { (struct k8s_set *) set, 1, 1 };

    return bitmap_is_all_zeros(k8s_members(k, &one), k->pods.n);
}

struct json *
k8s_selector(struct k8s *k, const k8s_sets *sets,
             const unsigned long *namespaces, const char *tenant)
{
    struct k8s_set within = k8s_everyone(k);
    const unsigned long *all = k8s_everyone(k).namespaces;
    struct json *list = json_array_create_empty();
    struct json *first;

    bitmap_and(within.namespaces, namespaces, k->namespaces.n);
    for (size_t i = 0; i < sets->n; i++) {
        struct k8s_set set;

        if (k8s_intersect(k, &sets->v[i], &within, &set)
            && !has_nobody(k, &set)) {
            json_array_add(list, set_to_json(k, &set, all, tenant));
        }
    }
    if (list->array.n > 1) {
        return list;
    }
    first = list->array.n ? json_clone(list->array.elems[0]) : NULL;
    json_destroy(list);
    return first;
}

struct json *
k8s_outside(const struct k8s_side *side)
{
    struct json *json = json_object_create();
    struct json *ranges = json_array_create_empty();

    json_object_put_string(json, "external", K8S_OUTSIDE);
    for (size_t i = 0; i < side->outside.n && !side->all_outside; i++) {
        import_add_address(ranges, &side->outside.v[i], true);
    }
    if (ranges->array.n) {
        json_object_put(json, "cidr", ranges);
    } else {
        json_destroy(ranges);
    }
    return json;
}
