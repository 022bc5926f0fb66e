/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_TREE_H
#define SEMA_TREE_H 1

/* Trees of meters: the uplink over its tenants, and those over their
 * endpoints.
 *
 * What tenants send by an uplink of a node is a tree once one of them has a
 * guarantee or a weight there, and so is what they get: all of them are in it
 * then, those without "bandwidth" with a guarantee of 0, but not those that do
 * not borrow, whose guarantees are set apart.  So it is with the endpoints of
 * a tenant there, which is split then; those that say nothing are in it
 * together, as one.  Or it is split among classes, if it says any.
 *
 * Rates are in bits a second, of frames without FCS, preamble and gap.  On the
 * wire a frame takes WIRE_OVERHEAD bytes more (IEEE 802.3 clauses 3 and 4),
 * and what a tunnel adds.  What fits an uplink is computed for frames of
 * GUARANTEED_FRAME bytes. */

#include <stdbool.h>
#include <stdint.h>

#include "packets.h"
#include "sema/policy.h"

enum {
    WIRE_OVERHEAD = 24,
    GUARANTEED_FRAME = ETH_HEADER_LEN + ETH_PAYLOAD_MAX,
};

/* What a frame of the node takes on the wire beyond itself, in bytes. */
int wire_overhead(const struct policy *, const struct intent_node *);

/* 'rate' with so many bytes around each frame, rounded up to whole kbps. */
uint64_t wire_rate(uint64_t rate, int overhead);

/* What of 'tenant' is for one direction. */
const struct intent_bandwidth *tenant_bandwidth(const struct policy_tenant *,
                                                bool receive);

/* The same of an endpoint's own. */
const struct intent_bandwidth *endpoint_bandwidth(
    const struct policy_endpoint *, bool receive);

/* The part of a tenant's classes that packets with such marks are of, or
 * NULL: they are of the rest. */
const struct policy_part *tenant_part(const struct policy_tenant *,
                                      bool receive, uint8_t dscp,
                                      uint16_t queue);

/* Is 'e' on 'node', and does its network take 'uplink' there? */
bool endpoint_takes(const struct policy_endpoint *e,
                    const struct intent_node *node,
                    const struct intent_uplink *uplink);

/* Is what 'tenant' sends by the uplink, or receives, shared out among its
 * endpoints or classes? */
bool tenant_is_split(const struct policy_tenant *tenant,
                     const struct intent_node *,
                     const struct intent_uplink *, bool receive);

/* What is guaranteed there to endpoints and classes that do not borrow. */
uint64_t tenant_apart(const struct policy_tenant *,
                      const struct intent_node *,
                      const struct intent_uplink *, bool receive);

/* Finds the trees of a policy whose payers are known. */
void find_trees(struct policy *, struct arena *);

/* Is what tenants send by the uplink, or receive, a tree? */
bool tree_is_there(const struct policy *, const struct intent_node *,
                   const struct intent_uplink *, bool receive);

/* What the tree has for all: the largest rate that the wire holds, less what
 * is guaranteed to tenants and endpoints that do not borrow; at least 1
 * kbps. */
uint64_t tree_rate(const struct policy *, const struct intent_node *,
                   const struct intent_uplink *, bool receive);

/* Has 'tenant' a meter of what it gets by this uplink? */
bool tree_receives(const struct policy_tenant *tenant,
                   const struct intent_node *, const struct intent_uplink *);

#endif /* sema/tree.h */
