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

/* Once the tenants of the task are proved: can no packet of others meet a flow
 * that uses a zone, a mark or a meter that is theirs? */
bool scope_is_apart(const struct verify_task *, const struct slices *,
                    const struct comparison *);

#endif /* verify/scope.h */
