/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <string.h>

#include "bitmap.h"

/* Sets of pods. */

static unsigned long *
new_bitmap(struct k8s *k, size_t n)
{
    return arena_zalloc(k->arena, bitmap_n_bytes(n));
}

static unsigned long *
copy_bitmap(struct k8s *k, const unsigned long *from, size_t n)
{
    unsigned long *copy = new_bitmap(k, n);

    memcpy(copy, from, bitmap_n_bytes(n));
    return copy;
}

struct k8s_set
k8s_everyone(struct k8s *k)
{
    struct k8s_set set = { .namespaces = new_bitmap(k, k->namespaces.n) };

    bitmap_set_multiple(set.namespaces, 0, k->namespaces.n, true);
    return set;
}

bool
k8s_is_empty(const struct k8s *k, const struct k8s_set *set)
{
    return (bitmap_is_all_zeros(set->namespaces, k->namespaces.n)
            || (set->pods && bitmap_is_all_zeros(set->pods, k->pods.n)));
}

static bool
is_one_of(const k8s_strings *strings, const char *s)
{
    for (size_t i = 0; i < strings->n; i++) {
        if (!strcmp(strings->v[i], s)) {
            return true;
        }
    }
    return false;
}

static struct k8s_term *
find_term(const struct k8s_set *set, const char *key)
{
    for (size_t i = 0; i < set->terms.n; i++) {
        if (!strcmp(set->terms.v[i].key, key)) {
            return &set->terms.v[i];
        }
    }
    return NULL;
}

void
k8s_narrow(struct k8s *k, struct k8s_set *set, const char *key,
           const k8s_strings *values)
{
    struct k8s_term *term = find_term(set, key);
    k8s_strings both = VEC_INIT;

    for (size_t i = 0; i < values->n; i++) {
        if ((!term || is_one_of(&term->values, values->v[i]))
            && !is_one_of(&both, values->v[i])) {
            *vec_push(k->arena, &both) = values->v[i];
        }
    }
    if (!both.n) {
        set->namespaces = new_bitmap(k, k->namespaces.n);
    }
    if (!term) {
        term = vec_push(k->arena, &set->terms);
    }
    *term = (struct k8s_term) { key, both };
}

/* Do 'a' and 'b' have a namespace in common? */
static bool
share_namespace(const struct k8s *k, const struct k8s_set *a,
                const struct k8s_set *b)
{
    for (size_t i = 0; i < bitmap_n_longs(k->namespaces.n); i++) {
        if (a->namespaces[i] & b->namespaces[i]) {
            return true;
        }
    }
    return false;
}

/* Can no pod be in both? */
static bool
are_apart(struct k8s *k, const struct k8s_set *a, const struct k8s_set *b)
{
    if (!share_namespace(k, a, b)) {
        return true;
    }
    for (size_t i = 0; i < a->terms.n; i++) {
        const struct k8s_term *term = find_term(b, a->terms.v[i].key);
        bool common = !term;

        for (size_t j = 0; term && j < term->values.n && !common; j++) {
            common = is_one_of(&a->terms.v[i].values, term->values.v[j]);
        }
        if (!common) {
            return true;
        }
    }
    return false;
}

void
k8s_take_away(struct k8s *k, struct k8s_set *set,
              const struct k8s_set *except)
{
    size_t i;

    if (are_apart(k, set, except)) {
        return;
    } else if (except->terms.n || except->pods || except->except.n) {
        *vec_push(k->arena, &set->except) = *except;
        return;
    }
    /* All pods of some namespaces. */
    set->namespaces = copy_bitmap(k, set->namespaces, k->namespaces.n);
    BITMAP_FOR_EACH_1 (i, k->namespaces.n, except->namespaces) {
        bitmap_set0(set->namespaces, i);
    }
}

bool
k8s_intersect(struct k8s *k, const struct k8s_set *a, const struct k8s_set *b,
              struct k8s_set *out)
{
    struct k8s_set set = { .namespaces = NULL };

    if (!share_namespace(k, a, b)) {
        return false;
    }
    set.namespaces = copy_bitmap(k, a->namespaces, k->namespaces.n);
    bitmap_and(set.namespaces, b->namespaces, k->namespaces.n);
    for (size_t i = 0; i < a->terms.n; i++) {
        k8s_narrow(k, &set, a->terms.v[i].key, &a->terms.v[i].values);
    }
    for (size_t i = 0; i < b->terms.n; i++) {
        k8s_narrow(k, &set, b->terms.v[i].key, &b->terms.v[i].values);
    }
    if (a->pods || b->pods) {
        set.pods = copy_bitmap(k, a->pods ? a->pods : b->pods, k->pods.n);
        if (a->pods && b->pods) {
            bitmap_and(set.pods, b->pods, k->pods.n);
        }
    }
    for (size_t i = 0; i < a->except.n; i++) {
        k8s_take_away(k, &set, &a->except.v[i]);
    }
    for (size_t i = 0; i < b->except.n; i++) {
        k8s_take_away(k, &set, &b->except.v[i]);
    }
    *out = set;
    return !k8s_is_empty(k, out);
}

static bool
holds(struct k8s *k, const struct k8s_set *set, size_t i)
{
    const struct k8s_pod *pod = &k->pods.v[i];

    k->work++;
    if (!bitmap_is_set(set->namespaces, pod->ns)
        || (set->pods && !bitmap_is_set(set->pods, i))) {
        return false;
    }
    for (size_t j = 0; j < set->terms.n; j++) {
        const struct k8s_term *term = &set->terms.v[j];
        const struct value *v = (pod->labels
                                 ? value_member(pod->labels, term->key)
                                 : NULL);

        if (!v || !is_one_of(&term->values, v->string)) {
            return false;
        }
    }
    for (size_t j = 0; j < set->except.n; j++) {
        if (holds(k, &set->except.v[j], i)) {
            return false;
        }
    }
    return true;
}

unsigned long *
k8s_members(struct k8s *k, const k8s_sets *sets)
{
    unsigned long *members = new_bitmap(k, k->pods.n);

    for (size_t i = 0; i < k->pods.n && k->work <= K8S_MAX_WORK; i++) {
        for (size_t j = 0; j < sets->n; j++) {
            if (holds(k, &sets->v[j], i)) {
                bitmap_set1(members, i);
                break;
            }
        }
    }
    return members;
}

static bool
has_terms(const struct k8s_set *a, const struct k8s_set *b)
{
    for (size_t i = 0; i < a->terms.n; i++) {
        const struct k8s_term *term = find_term(b, a->terms.v[i].key);

        if (!term || term->values.n != a->terms.v[i].values.n) {
            return false;
        }
        for (size_t j = 0; j < term->values.n; j++) {
            if (!is_one_of(&a->terms.v[i].values, term->values.v[j])) {
                return false;
            }
        }
    }
    return a->terms.n == b->terms.n;
}

bool
k8s_are_same(const struct k8s *k, const k8s_sets *a, const k8s_sets *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        const struct k8s_set *x = &a->v[i], *y = &b->v[i];

        if (!bitmap_equal(x->namespaces, y->namespaces, k->namespaces.n)
            || !has_terms(x, y) || !x->pods != !y->pods
            || (x->pods && !bitmap_equal(x->pods, y->pods, k->pods.n))
            || !k8s_are_same(k, &x->except, &y->except)) {
            return false;
        }
    }
    return true;
}

bool
k8s_are_pairs(const struct k8s *k, const unsigned long *from,
              const unsigned long *to)
{
    size_t n_from = bitmap_count1(from, k->pods.n);
    size_t n_to = bitmap_count1(to, k->pods.n);

    return (n_from && n_to
            && (n_from > 1 || n_to > 1
                || !bitmap_equal(from, to, k->pods.n)));
}
