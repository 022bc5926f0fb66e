/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <string.h>

#include "bitmap.h"
#include "openvswitch/shash.h"
#include "util.h"

/* LabelSelectors (meta/v1): all of their requirements must hold, and one that
 * has none selects everything. */

enum operator {
    OPERATOR_IN,
    OPERATOR_NOT_IN,
    OPERATOR_EXISTS,
    OPERATOR_DOES_NOT_EXIST,
    N_OPERATORS,
};

struct requirement {
    const struct value *at;
    const char *key;
    enum operator operator;
    k8s_strings values;
};

typedef VEC(struct requirement) requirement_vec;

static bool
parse_operator(const char *s, enum operator *operator)
{
    static const char *const names[N_OPERATORS] = {
        [OPERATOR_IN] = "In", [OPERATOR_NOT_IN] = "NotIn",
        [OPERATOR_EXISTS] = "Exists",
        [OPERATOR_DOES_NOT_EXIST] = "DoesNotExist",
    };

    for (*operator = 0; *operator < N_OPERATORS; ++*operator) {
        if (!strcmp(s, names[*operator])) {
            return true;
        }
    }
    return false;
}

static void
read_values(struct k8s *k, const struct value *v, struct requirement *r)
{
    const struct value *values = k8s_list(k, v, "values");
    bool wanted = (r->operator == OPERATOR_IN
                   || r->operator == OPERATOR_NOT_IN);

    for (size_t i = 0; values && i < values->n; i++) {
        if (values->elems[i].type != VALUE_STRING) {
            k8s_error(k, &values->elems[i], "give what kubectl prints",
                      "the value of a label must be a string");
            return;
        }
        *vec_push(k->arena, &r->values) = values->elems[i].string;
    }
    if (r->values.n > K8S_MAX_VALUES) {
        k8s_error(k, values, "select by another label", "this lists more "
                  "than %d values", K8S_MAX_VALUES);
        r->values.n = 0;
    } else if (wanted != (r->values.n > 0)) {
        k8s_error(k, v, "the API takes values for In and NotIn, and for "
                  "nothing else",
                  wanted ? "values are missing" : "values have no place here");
    }
}

static void
read_expression(struct k8s *k, const struct value *v, requirement_vec *all)
{
    static const char *const members[] = { "key", "operator", "values" };
    struct requirement r = { .at = v };
    const char *operator;

    if (!k8s_has_only(k, v, members, ARRAY_SIZE(members))) {
        return;
    }
    r.key = k8s_string(k, v, "key");
    operator = k8s_string(k, v, "operator");
    if (!r.key || !operator) {
        k8s_error(k, v, "write a key, and In, NotIn, Exists or DoesNotExist",
                  "\"%s\" is not there", r.key ? "operator" : "key");
        return;
    } else if (!parse_operator(operator, &r.operator)) {
        k8s_error(k, k8s_member(v, "operator"), "write In, NotIn, Exists or "
                  "DoesNotExist", "the operator '%s' is not known", operator);
        return;
    }
    read_values(k, v, &r);
    *vec_push(k->arena, all) = r;
}

static requirement_vec
read_selector(struct k8s *k, const struct value *v)
{
    static const char *const members[] = { "matchLabels", "matchExpressions" };
    requirement_vec all = VEC_INIT;
    const struct value *labels, *expressions;

    if (!v || !k8s_has_only(k, v, members, ARRAY_SIZE(members))) {
        return all;
    }
    labels = k8s_object_member(k, v, "matchLabels");
    for (size_t i = 0; labels && i < labels->n; i++) {
        struct requirement *r = vec_push(k->arena, &all);

        *r = (struct requirement) { .at = &labels->elems[i],
                                    .key = labels->elems[i].key };
        if (labels->elems[i].type != VALUE_STRING) {
            k8s_error(k, &labels->elems[i], "give what kubectl prints",
                      "the value of a label must be a string");
        } else {
            *vec_push(k->arena, &r->values) = labels->elems[i].string;
        }
    }
    expressions = k8s_list(k, v, "matchExpressions");
    for (size_t i = 0; expressions && i < expressions->n; i++) {
        read_expression(k, &expressions->elems[i], &all);
    }
    return all;
}

/* The values that pods have of label 'key'. */
static k8s_strings
known_values(struct k8s *k, const char *key)
{
    struct shash seen = SHASH_INITIALIZER(&seen);
    k8s_strings values = VEC_INIT;

    for (size_t i = 0; i < k->pods.n; i++) {
        const struct value *v = (k->pods.v[i].labels
                                 ? value_member(k->pods.v[i].labels, key)
                                 : NULL);

        k->work++;
        if (v && shash_add_once(&seen, v->string, NULL)) {
            *vec_push(k->arena, &values) = v->string;
        }
    }
    shash_destroy(&seen);
    return values;
}

/* Selectors of an intent name values, so "any" is those that there are. */
static k8s_strings
any_value(struct k8s *k, const struct requirement *r)
{
    k8s_strings values = known_values(k, r->key);

    if (values.n > K8S_MAX_VALUES) {
        k8s_error(k, r->at, "select by another label", "pods have more than "
                  "%d values of it, which an intent would have to list",
                  K8S_MAX_VALUES);
        values.n = 0;
    } else if (values.n) {
        k8s_warn(k, r->at, "import again when a pod gets another value",
                 "kept as the values that pods have now: an intent cannot say "
                 "that a label is there, whatever its value");
    }
    return values;
}

static void
require(struct k8s *k, const struct requirement *r, struct k8s_set *set)
{
    bool any = (r->operator == OPERATOR_EXISTS
                || r->operator == OPERATOR_DOES_NOT_EXIST);
    k8s_strings values = any ? any_value(k, r) : r->values;
    struct k8s_set without = k8s_everyone(k);

    *vec_push(k->arena, &k->selected) = r->key;
    if (r->operator == OPERATOR_IN || r->operator == OPERATOR_EXISTS) {
        k8s_narrow(k, set, r->key, &values);
    } else if (values.n) {
        k8s_narrow(k, &without, r->key, &values);
        k8s_take_away(k, set, &without);
    }
}

void
k8s_select_pods(struct k8s *k, const struct value *v, struct k8s_set *set)
{
    requirement_vec all = read_selector(k, v);

    for (size_t i = 0; i < all.n; i++) {
        require(k, &all.v[i], set);
    }
}

/* The value of a namespace's label: its name is one, whatever it says. */
static const char *
namespace_label(const struct k8s_namespace *ns, const char *key)
{
    const struct value *v = ns->labels ? value_member(ns->labels, key) : NULL;

    return (!strcmp(key, "kubernetes.io/metadata.name") ? ns->name
            : v ? v->string : NULL);
}

static bool
namespace_meets(const struct k8s_namespace *ns, const struct requirement *r)
{
    const char *value = namespace_label(ns, r->key);
    bool found = false;

    for (size_t i = 0; value && i < r->values.n; i++) {
        found = found || !strcmp(value, r->values.v[i]);
    }
    switch (r->operator) {
    case OPERATOR_IN: return found;
    case OPERATOR_NOT_IN: return !found;
    case OPERATOR_EXISTS: return value != NULL;
    case OPERATOR_DOES_NOT_EXIST: return value == NULL;
    case N_OPERATORS: default: OVS_NOT_REACHED();
    }
}

unsigned long *
k8s_select_namespaces(struct k8s *k, const struct value *v)
{
    requirement_vec all = read_selector(k, v);
    unsigned long *selected = k8s_everyone(k).namespaces;

    for (size_t i = 0; i < k->namespaces.n; i++) {
        for (size_t j = 0; j < all.n; j++) {
            k->work++;
            if (!namespace_meets(&k->namespaces.v[i], &all.v[j])) {
                bitmap_set0(selected, i);
            }
        }
    }
    return selected;
}
