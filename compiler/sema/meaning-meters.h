/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_METERS_H
#define SEMA_MEANING_METERS_H 1

/* Which meters a packet passes that is allowed and forwarded.
 *
 * On the node that it comes from, that of what its tenant sends by the uplink
 * of its network; on the node of its receiver, that of what the receiver's
 * tenant gets by the uplink of the receiver's network, if it has one, or, for
 * what comes from outside, that of what it sends.  Where another tenant pays,
 * that one's are meant, by the same uplinks; if it has none of what it gets,
 * the receiver's.  Those of an endpoint
 * itself, if it has some, come before its tenant's; or take their place, where
 * endpoints of the tenant share what it has.  Where classes share it, that of
 * the packet's class is meant, if it has a part.  Before all of these, what
 * keeps its DSCP passes the one of its tenant for that, on the node that it
 * comes from.  What is for many passes all once for each copy. */

#include <stdbool.h>
#include <stddef.h>

#include "sema/policy.h"

struct meaning;

struct meaning_meter {
    const struct policy_tenant *tenant;
    const struct policy_endpoint *endpoint;     /* NULL: all of the tenant, */
    const struct policy_class *class;           /* in this class, or any. */
    const struct intent_uplink *uplink; /* NULL: by whichever. */
    bool receive;
    bool dscp_in;               /* Of what keeps the DSCP it came with. */
};

enum { MAX_MEANING_METERS = 5 };

/* Stores them in the order in which the packet passes them, which is for 'to'
 * or the copy of it that is; NULL: for outside.  Returns how many. */
size_t meaning_meters(const struct meaning *, const struct policy_endpoint *to,
                      struct meaning_meter meters[MAX_MEANING_METERS]);

/* Whose tag a packet for 'to' gets on the node of that, if it counts by tenant
 * ("telemetry") and the packet passes no meter of what anybody sends there: of
 * who sent it by tunnel, or of the receiver if it comes from outside; but of
 * who pays, if a peering says who does.  NULL: nobody's. */
const struct policy_tenant *meaning_tag(const struct meaning *,
                                        const struct policy_endpoint *to);

/* Has the tenant of an endpoint a meter of what such endpoints get? */
bool pays_for_getting(const struct policy_endpoint *);

#endif /* sema/meaning-meters.h */
