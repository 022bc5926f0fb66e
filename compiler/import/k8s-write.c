/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "import/import.h"
#include "import/name.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "sset.h"
#include "util.h"

/* Tenants with their networks and endpoints, and the whole intent. */

#define NETWORK "pods"
#define TENANT "cluster"

enum {
    MAX_WARNINGS = 1000,
};

static struct json *
endpoint_to_json(struct k8s *k, const struct k8s_pod *pod)
{
    struct json *endpoint = json_object_create();
    struct json *labels = json_object_create();
    struct json *addresses = json_array_create_empty();

    for (size_t i = 0; pod->labels && i < pod->labels->n; i++) {
        const struct value *v = &pod->labels->elems[i];

        json_object_put_string(labels, k8s_label_name(k, v->key), v->string);
    }
    if (!k->per_namespace) {
        json_object_put_string(labels, k->namespace_label,
                               k->namespaces.v[pod->ns].name);
    }
    for (size_t i = 0; i < pod->addresses.n; i++) {
        import_add_address(addresses, &pod->addresses.v[i], false);
    }
    json_object_put_string(endpoint, "network", NETWORK);
    json_object_put(endpoint, "labels", labels);
    json_object_put(endpoint, "addresses", addresses);
    return endpoint;
}

/* The tenant of namespace 'ns', SIZE_MAX for all. */
static struct json *
tenant_to_json(struct k8s *k, size_t ns, int vni, struct json *rules)
{
    struct json *tenant = json_object_create();
    struct json *networks = json_object_create();
    struct json *endpoints = json_object_create();

    for (size_t i = 0; i < k->pods.n; i++) {
        const struct k8s_pod *pod = &k->pods.v[i];

        if (ns == SIZE_MAX || pod->ns == ns) {
            json_object_put(endpoints, pod->endpoint,
                            endpoint_to_json(k, pod));
        }
    }
    json_object_put(networks, NETWORK,
                    k8s_network(k, ns == SIZE_MAX ? 0 : ns, vni));
    json_object_put(tenant, "networks", networks);
    json_object_put(tenant, "endpoints", endpoints);
    json_object_put(tenant, "rules", rules);
    return tenant;
}

static struct json *
tenants_to_json(struct k8s *k)
{
    struct json *tenants = json_object_create();
    int vni = 0;

    if (!k->per_namespace) {
        json_object_put(tenants, TENANT,
                        tenant_to_json(k, SIZE_MAX, 1, k->rules[0]));
    }
    for (size_t i = 0; k->per_namespace && i < k->namespaces.n; i++) {
        if (k->subnets[i].n) {
            json_object_put(tenants, k->namespaces.v[i].name,
                            tenant_to_json(k, i, ++vni, k->rules[i]));
        } else {
            json_destroy(k->rules[i]);
        }
    }
    return tenants;
}

/* Nodes that reach what is outside are the operator's to say. */
static struct json *
externals_to_json(struct k8s *k)
{
    struct json *externals = json_object_create();
    struct json *outside = json_object_create();
    struct json *ranges = json_array_create_empty();
    struct json *tenants = json_array_create_empty();
    struct json *except = json_array_create_empty();
    struct sset seen = SSET_INITIALIZER(&seen);  /* Gateways are all's. */
    size_t i;

    if (k->ip4) {
        json_array_add(ranges, json_string_create("0.0.0.0/0"));
    }
    if (k->ip6) {
        json_array_add(ranges, json_string_create("::/0"));
    }
    BITMAP_FOR_EACH_1 (i, k->namespaces.n, k->users) {
        if (k->per_namespace || !tenants->array.n) {
            json_array_add(tenants, json_string_create(
                k->per_namespace ? k->namespaces.v[i].name : TENANT));
        }
    }
    json_object_put(outside, "addresses", ranges);
    for (i = 0; i < (k->per_namespace ? k->namespaces.n : 1); i++) {
        for (size_t j = 0; j < k->subnets[i].n; j++) {
            const struct address *a = &k->subnets[i].v[j];
            char s[INET6_ADDRSTRLEN + 1];

            ipv6_string_mapped(s, &a->ip);
            if (sset_add(&seen, arena_printf(k->arena, "%s/%d", s,
                                             a->plen))) {
                import_add_address(except, a, true);
            }
        }
    }
    sset_destroy(&seen);
    json_object_put(outside, "except", except);
    json_object_put(outside, "tenants", tenants);
    json_object_put(outside, "nodes", json_object_create());
    json_object_put(externals, K8S_OUTSIDE, outside);
    return externals;
}

const char *
k8s_write(struct k8s *k)
{
    struct json *intent = json_object_create();
    struct json *fabric = json_object_create();
    const char *text = NULL;

    json_object_put(intent, "version", json_integer_create(1));
    json_object_put(fabric, "nodes", json_object_create());
    json_object_put(intent, "fabric", fabric);
    json_object_put(intent, "services", k->services);
    json_object_put(intent, "tenants", tenants_to_json(k));
    json_object_put(intent, "peerings", k->peerings);
    if (!bitmap_is_all_zeros(k->users, k->namespaces.n)) {
        json_object_put(intent, "externals", externals_to_json(k));
    }
    if (!k->diags->n_errors) {  /* Else rules lack sides. */
        char *s = json_to_string(intent, JSSF_SORT);

        text = arena_strdup(k->arena, s);
        free(s);
    }
    json_destroy(intent);
    return text;
}

static bool
check_inventory(struct k8s *k)
{
    if (k->diags->n_errors) {
        return false;
    } else if (!k->pods.n) {
        struct diag *d = diag_error(k->diags, (struct span) { NULL, 0, 0 },
                                    NULL, "there are no pods that could be "
                                    "endpoints");

        diag_remedy(k->diags, d, "give what 'kubectl get pods -A -o json' "
                    "prints too");
        return false;
    }
    return true;
}

const char *
import_k8s(const struct source *const sources[], size_t n,
           bool tenant_per_namespace, struct arena *arena,
           struct diags *diags)
{
    struct sset names = SSET_INITIALIZER(&names);
    struct k8s k = {
        .arena = arena, .diags = diags, .names = &names,
        .per_namespace = tenant_per_namespace,
    };
    const char *text = NULL;
    size_t n_rules;

    diags->max = MAX_WARNINGS;
    for (size_t i = 0; i < n; i++) {
        k8s_read(&k, sources[i]);
    }
    k8s_read_inventory(&k);
    if (!check_inventory(&k)) {
        return NULL;
    }
    k8s_plan_networks(&k);
    k8s_read_policies(&k);
    if (diags->n_errors) {
        return NULL;
    }
    k8s_name_all(&k);
    k.peerings = json_object_create();
    k.services = json_object_create();
    n_rules = tenant_per_namespace ? k.namespaces.n : 1;
    k.rules = arena_zalloc(arena, n_rules * sizeof *k.rules);
    for (size_t i = 0; i < n_rules; i++) {
        k.rules[i] = json_array_create_empty();
    }
    k.users = arena_zalloc(arena, bitmap_n_bytes(k.namespaces.n));
    k8s_write_rules(&k);
    text = k8s_write(&k);
    sset_destroy(&names);
    return text;
}
