/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_NARROWER_H
#define SEMA_NARROWER_H 1

/* Which of two rules is the narrower, by what they say.
 *
 * What endpoints are there, and what labels they have, may change at any time:
 * that must not silently turn round which of two rules decides.  So members of
 * selectors are compared as they are written.  Only of an endpoint that is
 * named it is asked whether its network and labels are those that another
 * selector wants, and then the other rule is never the narrower one, whatever
 * the labels: it may only happen that neither is. */

#include <stdbool.h>

struct policy;
struct policy_rule;
struct policy_service;

/* Does 'all' (NULL: any) match all that 'some' (NULL: any) matches? */
bool service_holds(const struct policy_service *all,
                   const struct policy_service *some);

/* Is all that 'a' says inside of what 'b' says, and not the other way round?
 * Both allow, and are of one tenant, or peerings.  Of a peering beside a rule
 * of a tenant, what it says of that tenant counts. */
bool rule_is_narrower(const struct policy *, const struct policy_rule *a,
                      const struct policy_rule *b);

#endif /* sema/narrower.h */
