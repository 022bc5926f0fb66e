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

/* Adds the externals that are attached to 'node', and their parts, to a
 * program that has its tenants and endpoints. */
void ir_add_externals(struct ir_prog *, const struct policy *,
                      const struct intent_node *, struct arena *,
                      struct ident_set *tenant_numbers,
                      struct ident_set *endpoint_numbers);

/* Adds the parts of the program that 'ranges' hold to 'side'. */
void ir_add_ranges(const struct ir_prog *, const range_vec *ranges,
                   struct ir_side *side, struct arena *);

#endif /* ir/build.h */
