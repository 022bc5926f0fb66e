/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_REACH_H
#define SEMA_MEANING_REACH_H 1

/* The room behind meaning_judge() for who is where: on the question's node, on
 * one that a tunnel reaches, or behind the tunnel that a packet came by. */

#include <stdbool.h>

#include "sema/policy.h"

struct meaning_question;

bool endpoint_is_in(const struct policy_endpoint *, const endpoint_vec *);

/* On the question's node? */
bool endpoint_is_here(const struct meaning_question *,
                      const struct policy_endpoint *);

/* Here, or on another node, and both nodes have tunnels?  What came by tunnel
 * goes into none. */
bool endpoint_is_reached(const struct policy *,
                         const struct meaning_question *,
                         const struct policy_endpoint *);

/* Do gateways know the way between 'tenant' on the question's node and 'e'?
 * To the tenant's own endpoints whose network has a gateway, and to those that
 * a peering joins with an endpoint that it has on the node. */
bool gateways_join(const struct policy *, const struct meaning_question *,
                   const struct policy_tenant *,
                   const struct policy_endpoint *e);

/* Of a packet that came by tunnel. */

/* Has the question's node tunnels? */
bool tunnel_is_there(const struct policy *, const struct meaning_question *);

/* Is it for this node, from another one that has an endpoint whose tenant has
 * one here too, or that a peering joins with one here? */
bool tunnel_is_known(const struct policy *, const struct meaning_question *);

/* The network of its VNI, if that has an endpoint here; else NULL. */
const struct policy_network *tunnel_network(const struct policy *,
                                            const struct meaning_question *);

/* The endpoint on the node that it came from whose addresses it has: its own
 * MAC in its own network, or the gateway's MAC of a network that its gateway
 * knows the way to.  NULL if there is none. */
const struct policy_endpoint *tunnel_sender(const struct policy *,
                                            const struct meaning_question *);

#endif /* sema/meaning-reach.h */
