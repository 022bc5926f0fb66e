/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "import/text.h"
#include "intent/decode.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "sema/check.h"
#include "util.h"

/* Objects of Kubernetes to namespaces and pods. */

static struct diag *
add_diag(struct k8s *k, enum diag_severity severity, const struct value *v,
         const char *cause, va_list args)
{
    const char *text = arena_vprintf(k->arena, cause, args);
    const char *object = k->object ? k->object : "";
    const char *colon = k->object ? ": " : "";

    return (severity == DIAG_ERROR
            ? value_error(k->diags, v, "%s%s%s", object, colon, text)
            : value_warning(k->diags, v, "%s%s%s", object, colon, text));
}

void
k8s_error(struct k8s *k, const struct value *v, const char *remedy,
          const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    diag_remedy(k->diags, add_diag(k, DIAG_ERROR, v, cause, args), "%s",
                remedy);
    va_end(args);
}

void
k8s_warn(struct k8s *k, const struct value *v, const char *remedy,
         const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    diag_remedy(k->diags, add_diag(k, DIAG_WARNING, v, cause, args), "%s",
                remedy);
    va_end(args);
}

/* The API takes null for what is absent. */
const struct value *
k8s_member(const struct value *v, const char *key)
{
    const struct value *m = v ? value_member(v, key) : NULL;

    return m && m->type != VALUE_NULL ? m : NULL;
}

static const struct value *
member_of(struct k8s *k, const struct value *v, const char *key,
          enum value_type type)
{
    const struct value *m = k8s_member(v, key);

    if (m && m->type != type) {
        k8s_error(k, m, "give what kubectl prints", "this must be %s, not %s",
                  value_type_name(type), value_type_name(m->type));
        return NULL;
    }
    return m;
}

const struct value *
k8s_object_member(struct k8s *k, const struct value *v, const char *key)
{
    return member_of(k, v, key, VALUE_OBJECT);
}

const struct value *
k8s_list(struct k8s *k, const struct value *v, const char *key)
{
    return member_of(k, v, key, VALUE_ARRAY);
}

const char *
k8s_string(struct k8s *k, const struct value *v, const char *key)
{
    const struct value *m = member_of(k, v, key, VALUE_STRING);

    return m ? m->string : NULL;
}

bool
k8s_has_only(struct k8s *k, const struct value *v,
             const char *const members[], size_t n)
{
    if (v->type != VALUE_OBJECT) {
        k8s_error(k, v, "give what kubectl prints", "this must be an object, "
                  "not %s", value_type_name(v->type));
        return false;
    }
    for (size_t i = 0; i < v->n; i++) {
        bool found = v->elems[i].type == VALUE_NULL;

        for (size_t j = 0; j < n && !found; j++) {
            found = !strcmp(v->elems[i].key, members[j]);
        }
        if (!found) {
            k8s_error(k, &v->elems[i], "what it means is not known here, so "
                      "nothing is imported; remove it if you can do without",
                      "there is no member '%s' in networking.k8s.io/v1",
                      v->elems[i].key);
            return false;
        }
    }
    return true;
}

/* Sorts an object of the API by its kind. */
static void
read_object(struct k8s *k, const struct value *v)
{
    const char *kind = k8s_string(k, v, "kind");
    const char *version = k8s_string(k, v, "apiVersion");

    kind = kind ? kind : "";
    version = version ? version : "";
    if (!strcmp(kind, "Namespace") && !strcmp(version, "v1")) {
        *vec_push(k->arena, &k->namespace_objects) = v;
    } else if (!strcmp(kind, "Pod") && !strcmp(version, "v1")) {
        *vec_push(k->arena, &k->pod_objects) = v;
    } else if (!strcmp(kind, "NetworkPolicy")
               && !strcmp(version, "networking.k8s.io/v1")) {
        *vec_push(k->arena, &k->policy_objects) = v;
    } else {
        k8s_error(k, v, "give what 'kubectl get networkpolicies,pods -A -o "
                  "json' and 'kubectl get namespaces -o json' print",
                  "this is no NetworkPolicy of networking.k8s.io/v1 and no "
                  "Namespace or Pod of v1, but '%s' of '%s'", kind, version);
    }
}

void
k8s_read(struct k8s *k, const struct source *source)
{
    const struct value *root, *items;
    const char *kind;

    root = (import_is_json(source, k->diags, "give what 'kubectl get "
                           "networkpolicies,pods -A -o json' and 'kubectl get "
                           "namespaces -o json' print")
            ? value_parse(source, k->arena, k->diags) : NULL);
    if (!root) {
        return;
    }
    kind = k8s_string(k, root, "kind");
    if (!kind || strcmp(kind, "List")) {
        read_object(k, root);
        return;
    }
    items = k8s_list(k, root, "items");
    for (size_t i = 0; items && i < items->n; i++) {
        read_object(k, &items->elems[i]);
    }
}

/* The labels of an object, all of them strings. */
static const struct value *
read_labels(struct k8s *k, const struct value *metadata)
{
    const struct value *labels = k8s_object_member(k, metadata, "labels");

    for (size_t i = 0; labels && i < labels->n; i++) {
        if (labels->elems[i].type != VALUE_STRING) {
            k8s_error(k, &labels->elems[i], "give what kubectl prints",
                      "the value of a label must be a string");
            return NULL;
        }
    }
    return labels;
}

/* The name of an object is a DNS subdomain (RFC 1123), and that of a namespace
 * a label of one. */
static const char *
read_name(struct k8s *k, const struct value *metadata, const char *key,
          bool dots)
{
    const char *name = k8s_string(k, metadata, key);
    const char *letters = (dots ? "abcdefghijklmnopqrstuvwxyz0123456789-."
                           : "abcdefghijklmnopqrstuvwxyz0123456789-");
    size_t n = name ? strlen(name) : 0;

    if (!n || n > (dots ? 253 : 63) || strspn(name, letters) != n
        || name[0] == '-' || name[0] == '.') {
        k8s_error(k, k8s_member(metadata, key) ? k8s_member(metadata, key)
                  : metadata, "give what kubectl prints",
                  "\"%s\" is not there, or is not a name", key);
        return NULL;
    }
    return name;
}

static int
compare_namespaces(const void *a_, const void *b_)
{
    const struct k8s_namespace *a = a_, *b = b_;

    return strcmp(a->name, b->name);
}

size_t
k8s_find_namespace(struct k8s *k, const struct value *metadata)
{
    struct k8s_namespace key = {
        .name = read_name(k, metadata, "namespace", false),
    };
    const struct k8s_namespace *found;

    if (!key.name) {
        return SIZE_MAX;
    }
    found = (k->namespaces.n
             ? bsearch(&key, k->namespaces.v, k->namespaces.n, sizeof key,
                       compare_namespaces) : NULL);
    if (!found) {
        k8s_error(k, k8s_member(metadata, "namespace"), "give what 'kubectl "
                  "get namespaces -o json' prints too",
                  "its namespace '%s' is not there, and so not its labels",
                  key.name);
        return SIZE_MAX;
    }
    return found - k->namespaces.v;
}

const struct value *
k8s_enter(struct k8s *k, const struct value *object, struct shash *seen)
{
    const struct value *metadata = k8s_object_member(k, object, "metadata");
    const char *name, *ns;

    k->object = NULL;
    if (!metadata) {
        k8s_error(k, object, "give what kubectl prints",
                  "\"metadata\" is missing");
        return NULL;
    }
    name = read_name(k, metadata, "name", true);
    ns = k8s_string(k, metadata, "namespace");
    if (!name) {
        return NULL;
    }
    k->object = arena_printf(k->arena, "%s %s%s%s",
                             k8s_string(k, object, "kind"), ns ? ns : "",
                             ns ? "/" : "", name);
    if (!shash_add_once(seen, k->object, NULL)) {
        k8s_error(k, metadata, "give each object once", "it is there twice");
        return NULL;
    }
    return metadata;
}

static void
read_namespace(struct k8s *k, const struct value *metadata)
{
    const char *name = read_name(k, metadata, "name", false);

    if (name) {
        *vec_push(k->arena, &k->namespaces) = (struct k8s_namespace) {
            .name = name, .labels = read_labels(k, metadata),
        };
    }
}

static void
read_container_ports(struct k8s *k, const struct value *containers,
                     bool restartable, struct k8s_pod *pod)
{
    for (size_t i = 0; containers && i < containers->n; i++) {
        const struct value *c = &containers->elems[i];
        const char *restart = k8s_string(k, c, "restartPolicy");
        const struct value *ports = k8s_list(k, c, "ports");

        for (size_t j = 0; ports && j < ports->n; j++) {
            const struct value *p = &ports->elems[j];
            const char *name = k8s_string(k, p, "name");
            const char *protocol = k8s_string(k, p, "protocol");
            const struct value *number = k8s_member(p, "containerPort");

            if (name && number && number->type == VALUE_INTEGER
                && number->integer >= 1 && number->integer <= UINT16_MAX
                && (!restartable || (restart && !strcmp(restart, "Always")))
                && (!protocol || !strcmp(protocol, "TCP")
                    || !strcmp(protocol, "UDP"))) {
                *vec_push(k->arena, &pod->ports) = (struct k8s_port) {
                    name, protocol && !strcmp(protocol, "UDP") ? IPPROTO_UDP
                    : IPPROTO_TCP, number->integer,
                };
            }
        }
    }
}

/* Adds the addresses that the node has given the pod. */
static void
read_addresses(struct k8s *k, const struct value *status,
               struct k8s_pod *pod)
{
    struct decoder d = { .arena = k->arena, .diags = k->diags };
    const struct value *ips = k8s_list(k, status, "podIPs");

    for (size_t i = 0; ips && i < ips->n; i++) {
        const struct value *ip = k8s_member(&ips->elems[i], "ip");

        if (ip) {
            decode_addresses(&d, ip, false, &pod->addresses);
        }
    }
    if (!ips && k8s_string(k, status, "podIP")) {
        decode_addresses(&d, k8s_member(status, "podIP"), false,
                         &pod->addresses);
    }
    for (size_t i = 0; i < pod->addresses.n; i++) {
        const struct address *a = &pod->addresses.v[i];

        if (!is_station(&a->ip)) {
            k8s_error(k, a->at, "give what kubectl prints",
                      "this is not the address of a pod");
        }
        k->ip4 |= IN6_IS_ADDR_V4MAPPED(&a->ip);
        k->ip6 |= !IN6_IS_ADDR_V4MAPPED(&a->ip);
    }
}

/* Why there is no endpoint for a pod, or NULL. */
static const char *
why_left_out(struct k8s *k, const struct value *spec,
             const struct value *status)
{
    const struct value *host = k8s_member(spec, "hostNetwork");
    const char *phase = k8s_string(k, status, "phase");

    if (host && host->type == VALUE_BOOLEAN && host->boolean) {
        return "it is in its node's network, where policies do not reach";
    } else if (phase && (!strcmp(phase, "Succeeded")
                         || !strcmp(phase, "Failed"))) {
        return "it has ended";
    }
    return NULL;
}

static void
read_pod(struct k8s *k, const struct value *object,
         const struct value *metadata)
{
    const struct value *spec = k8s_object_member(k, object, "spec");
    const struct value *status = k8s_object_member(k, object, "status");
    const char *why = why_left_out(k, spec, status);
    size_t n_errors = k->diags->n_errors;
    struct k8s_pod pod = {
        .name = k8s_string(k, metadata, "name"),
        .ns = k8s_find_namespace(k, metadata),
        .labels = read_labels(k, metadata),
    };

    if (!why) {
        read_addresses(k, status, &pod);
        why = (pod.addresses.n || k->diags->n_errors > n_errors ? NULL
               : "it has no address yet");
    }
    if (why) {
        k8s_warn(k, metadata, "nothing passes to or from it", "left out: %s",
                 why);
        return;
    }
    read_container_ports(k, k8s_list(k, spec, "containers"), false, &pod);
    read_container_ports(k, k8s_list(k, spec, "initContainers"), true, &pod);
    if (pod.ns != SIZE_MAX) {
        *vec_push(k->arena, &k->pods) = pod;
    }
}

static int
compare_pods(const void *a_, const void *b_)
{
    const struct k8s_pod *a = a_, *b = b_;

    return (a->ns != b->ns ? (a->ns < b->ns ? -1 : 1)
            : strcmp(a->name, b->name));
}

static void
check_addresses(struct k8s *k)
{
    struct shash seen = SHASH_INITIALIZER(&seen);

    for (size_t i = 0; i < k->pods.n; i++) {
        const struct k8s_pod *pod = &k->pods.v[i];

        for (size_t j = 0; j < pod->addresses.n; j++) {
            char s[INET6_ADDRSTRLEN + 1];

            ipv6_string_mapped(s, &pod->addresses.v[j].ip);
            if (!shash_add_once(&seen, s, NULL)) {
                k->object = arena_printf(k->arena, "Pod %s/%s",
                                         k->namespaces.v[pod->ns].name,
                                         pod->name);
                k8s_error(k, pod->addresses.v[j].at, "list the pods again",
                          "another pod has this address too");
            }
        }
    }
    shash_destroy(&seen);
}

void
k8s_read_inventory(struct k8s *k)
{
    struct shash seen = SHASH_INITIALIZER(&seen);
    const struct value *metadata;

    for (size_t i = 0; i < k->namespace_objects.n; i++) {
        metadata = k8s_enter(k, k->namespace_objects.v[i], &seen);
        if (metadata) {
            read_namespace(k, metadata);
        }
    }
    if (k->namespaces.n) {
        qsort(k->namespaces.v, k->namespaces.n, sizeof *k->namespaces.v,
              compare_namespaces);
    }
    for (size_t i = 0; i < k->pod_objects.n; i++) {
        metadata = k8s_enter(k, k->pod_objects.v[i], &seen);
        if (metadata) {
            read_pod(k, k->pod_objects.v[i], metadata);
        }
    }
    shash_destroy(&seen);
    if (k->pods.n) {
        qsort(k->pods.v, k->pods.n, sizeof *k->pods.v, compare_pods);
    }
    check_addresses(k);
    k->object = NULL;
}
