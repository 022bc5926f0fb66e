/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H 1

/* What operators have already, as an intent.
 *
 * What an intent cannot say is a warning at its place, and never passes more
 * than it did; what would have to pass more is an error. */

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct diags;
struct source;

/* The intent of the NetworkPolicy, Namespace and Pod objects of Kubernetes in
 * 'n' texts, each an object or a List of them as "kubectl get -o json" prints
 * it: one tenant for the cluster, or one for each namespace.  Its endpoints
 * are bound to no node.
 *
 * Returns JSON in the arena, not laid out, or NULL after adding an error. */
const char *import_k8s(const struct source *const sources[], size_t n,
                       bool tenant_per_namespace, struct arena *,
                       struct diags *);

/* The intent of a northbound database of OVN, as 'n' texts that hold its
 * tables, one JSON object each, as "ovsdb-client -f json dump" prints them;
 * and perhaps a file of an intent, whose "fabric" has the nodes to which its
 * ports are bound.
 *
 * Returns JSON in the arena, not laid out, or NULL after adding an error. */
const char *import_ovn(const struct source *const sources[], size_t n,
                       struct arena *, struct diags *);

#endif /* import/import.h */
