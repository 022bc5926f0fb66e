/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_BUILD_H
#define IR_BUILD_H 1

/* The rooms behind ir_build(). */

#include "ir/ir.h"
#include "sema/ident.h"
#include "sema/policy.h"

void ir_copy_addresses(struct arena *, const address_vec *from,
                       ir_addresses *to);

/* For each endpoint, by its index, the first by name that all rules treat as
 * they do it, which may be itself. */
const struct policy_endpoint **ir_find_twins(const struct policy *,
                                             struct arena *);

/* Adds the externals that are attached to 'node', and their parts, to a
 * program that has its tenants and endpoints. */
void ir_add_externals(struct ir_prog *, const struct policy *,
                      const struct intent_node *, struct arena *,
                      struct ident_set *tenant_numbers,
                      struct ident_set *endpoint_numbers);

/* The same for the program of the fabric: each attachment of an external that
 * a tenant uses. */
void ir_add_attachments(struct ir_prog *, const struct policy *,
                        struct arena *, struct ident_set *tenant_numbers,
                        struct ident_set *endpoint_numbers);

/* Adds the meters of a tenant on all nodes to the program of the fabric, which
 * has the tenant's endpoints.  'nodes' are the intent's, or NULL. */
void ir_add_fabric_meters(struct ir_prog *, const struct policy *,
                          struct ir_node *const nodes[],
                          const struct policy_tenant *,
                          const struct ir_tenant *, struct arena *);

/* Adds the uplinks of 'node' that the networks of the program take. */
void ir_add_uplinks(struct ir_prog *, const struct intent_node *node,
                    struct arena *);

/* Notes whether the places of what is in the program are in several files. */
void ir_find_files(struct ir_prog *);

/* Adds the VFs of 'node' that are in legacy mode. */
void ir_add_vfs(struct ir_prog *, const struct policy *,
                const struct intent_node *node, struct arena *);

/* Adds what DPDK is to do on 'node', if it has that. */
void ir_add_dpdk(struct ir_prog *, const struct policy *,
                 const struct intent_node *node, struct arena *);

/* Adds the parts of the program that 'ranges' hold to 'side'. */
void ir_add_ranges(const struct ir_prog *, const range_vec *ranges,
                   struct ir_side *side, struct arena *);

#endif /* ir/build.h */
