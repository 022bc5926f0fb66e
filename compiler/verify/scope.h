/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_SCOPE_H
#define VERIFY_SCOPE_H 1

/* A proof of some tenants: whom else it must ask, and what it may then say of
 * them.  Tenants are numbered as in the policy. */

#include "verify/slice.h"

struct comparison;
struct policy;
struct policy_tenant;
struct verify_result;
struct verify_task;

/* The number of the tenant of that name; if there is none, that of all. */
size_t scope_find(const struct policy *, const char *name);
size_t scope_number(const struct policy *, const struct policy_tenant *);

/* Who has to do with whom: of each tenant the set, as 1-bits, of all that a
 * rule or a peering names together with it, or its "peers", itself among them.
 * What is meant for packets of a tenant depends on no others. */
struct neighbors {
    unsigned long *v;
    size_t n, n_longs;          /* Tenants; longs of a set. */
};

void neighbors_init(struct neighbors *, const struct policy *);
void neighbors_destroy(struct neighbors *);
const unsigned long *neighbors_of(const struct neighbors *, size_t tenant);

/* What limits a proof. */
struct limits {
    const struct slices *slices;
    const unsigned long *others;        /* Those that are not asked about. */
    bool change;                /* Only the tenants of the task are asked
                                 * about, and of tables... */
    struct table_flow *const *flows;    /* ...these flows; */
    size_t n_flows;
    const struct region *region;        /* Of packets what can meet this; NULL:
                                         * all. */
    const struct seam *seam;    /* By which that is proved, if it suffices; or
                                 * NULL. */
    struct seam **made;         /* Not NULL: one is made (seam.h), and nothing
                                 * else is proved. */
    const ofp_port_t *nobodys;  /* and these ports, which are nobody's. */
    size_t n_nobodys;
};

/* Once it is made: can packets of others meet a flow that uses what was found
 * to be used? */
bool limits_are_crossed(const struct limits *, const struct comparison *);

/* As verify(), within limits, and no more than that.  Returns false if they
 * are crossed.  (verify.c) */
bool verify_limited(const struct verify_task *, const struct limits *,
                    struct arena *, struct verify_result *);

#endif /* verify/scope.h */
