/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_METER_H
#define IR_METER_H 1

/* The room behind ir_build() that makes the meters of a node. */

#include <stdbool.h>

#include "ir/ir.h"

struct arena;
struct ident_set;
struct intent_node;
struct intent_uplink;
struct policy;
struct policy_tenant;
struct value;

/* Adds the meters of uplinks that tenants share, before all others. */
void ir_add_pools(struct ir_prog *, const struct policy *,
                  const struct intent_node *, struct ident_set *numbers);

/* That of the uplink, or NULL if tenants do not share it. */
const struct ir_meter *ir_find_pool(const struct ir_prog *,
                                    const char *uplink, bool receive);

/* Adds 'meter', of a tenant's, that is split, to the program, and the rest
 * behind it. */
void ir_split_meter(struct ir_prog *, struct ir_meter *,
                    const struct policy_tenant *, const struct intent_node *,
                    const struct intent_uplink *, struct arena *);

/* Puts the meter of an endpoint below the one of its tenant that is split, if
 * there is one. */
void ir_join_split(const struct ir_prog *, struct ir_meter *);

/* Adds the meters that a tenant whose networks are in the program has on
 * 'node', the program's: what it sends first, in the order of their names.
 * Those that are not a tenant's only one take 'numbers', in whose arena all
 * are. */
void ir_add_meters(struct ir_prog *, const struct intent_node *node,
                   const struct policy_tenant *, const struct ir_tenant *,
                   struct ident_set *numbers);

/* Adds what may pass of tenants' packets that keep their DSCP, when all else
 * is in the program. */
void ir_add_caps(struct ir_prog *, struct ident_set *numbers);

/* Adds what tags packets that tenants have not sent here, then too. */
void ir_add_tags(struct ir_prog *, struct ident_set *numbers);

#endif /* ir/meter.h */
