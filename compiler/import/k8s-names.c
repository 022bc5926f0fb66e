/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "import/name.h"
#include "sset.h"
#include "util.h"

/* Names of an intent for those of Kubernetes. */

/* The name of a label: "app.kubernetes.io/name" has no place in an intent. */
static const char *
label_name(struct k8s *k, const char *key, struct sset *taken)
{
    char *s = xstrdup(key);
    const char *name;

    for (char *slash = strchr(s, '/'); slash; slash = strchr(slash, '/')) {
        *slash = '_';
    }
    name = import_name(k->arena, s);
    for (int i = 2; !sset_add(taken, name); i++) {
        name = import_name(k->arena, arena_printf(k->arena, "%s.%d", s, i));
    }
    free(s);
    return name;
}

static int
compare_labels(const void *a_, const void *b_)
{
    const struct k8s_label *a = a_, *b = b_;

    return strcmp(a->key, b->key);
}

static void
add_label(struct k8s *k, const char *key, struct sset *keys)
{
    if (sset_add(keys, key)) {
        *vec_push(k->arena, &k->labels) = (struct k8s_label) { .key = key };
    }
}

/* Labels without a slash keep their names.  A key that no pod has needs one
 * too that nothing else has: it may stand in an "except". */
void
k8s_name_all(struct k8s *k)
{
    struct sset keys = SSET_INITIALIZER(&keys);
    struct sset taken = SSET_INITIALIZER(&taken);

    for (size_t i = 0; i < k->pods.n; i++) {
        struct k8s_pod *pod = &k->pods.v[i];

        pod->endpoint = import_name(k->arena, k->per_namespace ? pod->name
                                 : arena_printf(k->arena, "%s.%s",
                                                k->namespaces.v[pod->ns].name,
                                                pod->name));
        for (size_t j = 0; pod->labels && j < pod->labels->n; j++) {
            add_label(k, pod->labels->elems[j].key, &keys);
        }
    }
    for (size_t i = 0; i < k->selected.n; i++) {
        add_label(k, k->selected.v[i], &keys);
    }
    if (k->labels.n) {
        qsort(k->labels.v, k->labels.n, sizeof *k->labels.v, compare_labels);
    }
    for (int slash = 0; slash < 2; slash++) {
        for (size_t i = 0; i < k->labels.n; i++) {
            if (!strchr(k->labels.v[i].key, '/') == !slash) {
                k->labels.v[i].name = label_name(k, k->labels.v[i].key,
                                                 &taken);
            }
        }
    }
    k->namespace_label = label_name(k, "namespace", &taken);
    sset_destroy(&taken);
    sset_destroy(&keys);
}

const char *
k8s_label_name(struct k8s *k, const char *key)
{
    struct k8s_label wanted = { .key = key };
    const struct k8s_label *label = bsearch(&wanted, k->labels.v, k->labels.n,
                                            sizeof wanted, compare_labels);

    ovs_assert(label);
    return label->name;
}
