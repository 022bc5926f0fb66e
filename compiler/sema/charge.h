/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_CHARGE_H
#define SEMA_CHARGE_H 1

/* Who pays for what a peering allows: the tenant of the side that "charge"
 * names, in both directions, by the bandwidth that it has by the uplink of the
 * other side's network, also on nodes where it has no endpoints. */

#include "sema/policy.h"

struct arena;
struct diag;
struct diags;

/* The tenant that pays for what the rule allows between 'a' and 'b', whoever
 * sends it; NULL: who sends, and who gets it. */
const struct policy_tenant *rule_payer(const struct policy_rule *,
                                       const struct policy_endpoint *a,
                                       const struct policy_endpoint *b);

/* Fills the payers of a policy whose names are all resolved. */
void find_payers(struct policy *, struct arena *);

/* Why 'tenant' pays there for others' endpoints; NULL if it does not. */
const struct policy_payer *find_payer(const struct policy_tenant *tenant,
                                      const struct intent_node *,
                                      const struct intent_uplink *);

/* Shows with 'd', which is about what 'tenant' has there, why it has it if it
 * is not for endpoints of its own. */
void see_payer(struct diags *, struct diag *d,
               const struct policy_tenant *tenant, const struct intent_node *,
               const struct intent_uplink *);

/* Peerings that allow the same packet, and let different tenants pay. */
void check_charges(const struct policy *, struct diags *);

#endif /* sema/charge.h */
