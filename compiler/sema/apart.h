/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_APART_H
#define SEMA_APART_H 1

/* Endpoints on different nodes that no tunnel joins. */

struct arena;
struct diags;
struct policy;
struct policy_endpoint;

/* Why nothing passes between the nodes of two bound endpoints, in the arena:
 * "n2 has no \"tunnel_address\""; NULL if it may. */
const char *apart_reason(const struct policy *,
                         const struct policy_endpoint *a,
                         const struct policy_endpoint *b, struct arena *);

/* Warns of rules and peerings that allow what cannot pass for that. */
void doubt_tunnels(const struct policy *, struct diags *);

#endif /* sema/apart.h */
