/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_REGION_H
#define VERIFY_REGION_H 1

/* A proof of the packets that can meet what has changed since all was proved,
 * and of no others.
 *
 * A packet that meets no flow which came or went does what it did: up to the
 * first of them that it meets, the tables before and after the change are the
 * same to it (origin.h).  Of a packet of which no rule speaks that came or
 * went, or is another now, the same is meant.  So all else is proved still.
 *
 * Zones, marks and meters must be those of all other packets.  What those are
 * tells a packet for each tenant that can meet nothing which has changed: what
 * it uses, it used when all was proved.  Whatever no such packet uses is not
 * known, and ends the proof. */

#include "sema/policy.h"
#include "verify/origin.h"

struct proof;

/* A rule, as it was or is. */
struct region_rule {
    uint64_t id;
    VEC(struct service_match) matches;  /* None: any service. */
    VEC(const char *) endpoints;        /* Of both sides, "TENANT/ENDPOINT",
                                         * sorted. */
};

/* What has changed. */
struct region {
    const struct origins *origins;      /* Of the flows that are there. */
    struct table_flow *const *flows;    /* That came or went. */
    size_t n_flows;
    const struct region_rule *rules;
    size_t n_rules;
};

/* Is the endpoint one of the rule's? */
bool region_rule_names(const struct region_rule *,
                       const struct policy_endpoint *);

/* Do all packets that are asked about come by ports of endpoints, and go to
 * one each? */
bool region_is_simple(const struct proof *);

/* Proves that all is as expected of these packets.  Returns false if it is
 * not, or not known. */
bool region_prove(struct proof *, const struct region *);

#endif /* verify/region.h */
