/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "openvswitch/shash.h"
#include "util.h"

/* The members that bind an endpoint, which may stand with it or apart. */
static const struct member binding_members[] = {
    { "node", false }, { "interface", false }, { "port", false },
    { "vf", false }, { "mac", false }, { "addresses", false },
    { NULL, false },
};

void
decode_binding(struct decoder *d, const struct value *v,
               struct intent_endpoint *endpoint)
{
    endpoint->node = decode_text(d, v, "node");
    endpoint->interface = decode_interface(d, v, "interface");
    decode_port(d, v, endpoint);
    decode_mac(d, v, "mac", &endpoint->mac_text, &endpoint->mac);
    decode_addresses(d, value_member(v, "addresses"), false,
                     &endpoint->addresses);
}

void
decode_bindings(struct decoder *d, const struct value *v,
                struct intent *intent)
{
    if (!decode_endpoint_map(d, v, "a map of bindings")) {
        return;
    }
    for (size_t i = 0; i < v->n; i++) {
        struct intent_endpoint *binding = vec_push(d->arena,
                                                   &intent->bindings);

        binding->name = decode_key(&v->elems[i]);
        if (decode_object(d, &v->elems[i], "a binding", binding_members)) {
            decode_binding(d, &v->elems[i], binding);
        }
    }
}

/* Gives 'endpoint' what 'binding' says, which it may not say too. */
static void
join_binding(struct decoder *d, const struct intent_endpoint *binding,
             struct intent_endpoint *endpoint)
{
    for (const struct member *m = binding_members; m->name; m++) {
        const struct value *apart = value_member(binding->name.at, m->name);
        const struct value *within = value_member(endpoint->name.at, m->name);

        if (apart && within) {
            decode_twice(d, arena_printf(d->arena, "'%s' of endpoint '%s'",
                                         m->name, binding->name.s),
                         apart, apart->key_span, within->key_span);
        }
    }
    endpoint->node = binding->node.s ? binding->node : endpoint->node;
    endpoint->interface = (binding->interface.s ? binding->interface
                           : endpoint->interface);
    endpoint->port = binding->port.s ? binding->port : endpoint->port;
    endpoint->vf = binding->vf.at ? binding->vf : endpoint->vf;
    if (binding->mac_text.s) {
        endpoint->mac_text = binding->mac_text;
        endpoint->mac = binding->mac;
    }
    if (binding->addresses.n) {
        endpoint->addresses = binding->addresses;
    }
}

static void
report_unknown(struct decoder *d, const struct shash *endpoints,
               const struct intent_endpoint *binding)
{
    struct diag *diag = value_key_error(d->diags, binding->name.at,
                                        "the intent has no endpoint '%s'",
                                        binding->name.s);
    struct nearest nearest = nearest_init(binding->name.s);
    const struct shash_node **sorted;

    if (d->diags->n_errors > DIAG_MAX) {
        return;                 /* Nobody sees it. */
    }
    sorted = shash_sort(endpoints);
    for (size_t i = 0; i < shash_count(endpoints); i++) {
        nearest_try(&nearest, sorted[i]->name);
    }
    free(sorted);
    if (nearest.best) {
        diag_remedy(d->diags, diag, "did you mean '%s'?", nearest.best);
    } else {
        diag_remedy(d->diags, diag, "define it, or name one that is there");
    }
}

void
join_bindings(struct decoder *d, struct intent *intent)
{
    struct shash endpoints = SHASH_INITIALIZER(&endpoints);

    for (size_t i = 0; intent->bindings.n && i < intent->tenants.n; i++) {
        const struct intent_tenant *t = &intent->tenants.v[i];

        for (size_t j = 0; j < t->endpoints.n; j++) {
            char *name = xasprintf("%s/%s", t->name.s,
                                   t->endpoints.v[j].name.s);

            shash_add_nocopy(&endpoints, name, &t->endpoints.v[j]);
        }
    }
    for (size_t i = 0; i < intent->bindings.n; i++) {
        const struct intent_endpoint *binding = &intent->bindings.v[i];
        struct intent_endpoint *endpoint = shash_find_data(&endpoints,
                                                           binding->name.s);

        if (endpoint) {
            join_binding(d, binding, endpoint);
        } else {
            report_unknown(d, &endpoints, binding);
        }
    }
    shash_destroy(&endpoints);
}

static int
compare_names(const void *a_, const void *b_)
{
    const struct intent_endpoint *const *a = a_;
    const struct intent_endpoint *const *b = b_;

    return strcmp((*a)->name.s, (*b)->name.s);
}

void
sort_bindings(struct arena *arena, struct intent *intent)
{
    size_t n = intent->bindings.n;

    intent->bindings_by_name = arena_zalloc(
        arena, n * sizeof *intent->bindings_by_name);
    for (size_t i = 0; i < n; i++) {
        intent->bindings_by_name[i] = &intent->bindings.v[i];
    }
    if (n) {
        qsort(intent->bindings_by_name, n, sizeof *intent->bindings_by_name,
              compare_names);
    }
}

/* Compares the binding's name with all that begin with "TENANT/". */
static int
compare_tenant(const struct intent_endpoint *binding, const char *tenant,
               size_t len)
{
    int cmp = strncmp(binding->name.s, tenant, len);

    return cmp ? cmp : (unsigned char) binding->name.s[len] - '/';
}

const struct intent_endpoint *const *
intent_bindings_of(const struct intent *intent, const char *tenant, size_t *n)
{
    const struct intent_endpoint *const *v = intent->bindings_by_name;
    size_t low = 0, high = intent->bindings.n, len = strlen(tenant);

    ovs_assert(v);              /* Of the whole, not of a part. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_tenant(v[middle], tenant, len) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (*n = 0; low + *n < intent->bindings.n; ++*n) {
        if (compare_tenant(v[low + *n], tenant, len)) {
            break;
        }
    }
    return v + low;
}
