/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef EDITS_H
#define EDITS_H 1

/* Random changes of one tenant of a world. */

#include "world.h"

enum edit {
    EDIT_RULE, EDIT_NO_RULE, EDIT_DENY, EDIT_SELECTOR, EDIT_SERVICE,
    EDIT_STATEFUL, EDIT_CLASS, EDIT_DEFAULT, EDIT_BANDWIDTH, EDIT_LIMITS,
    EDIT_LABELS, EDIT_BINDING, EDIT_MOVE, EDIT_ADDRESS, EDIT_ENDPOINT,
    EDIT_NETWORK, EDIT_GATEWAY, EDIT_DHCP, EDIT_GROUPS, EDIT_CONSENT,
    EDIT_NO_PEERS, EDIT_TENANT,
    EDIT_SAME_VNI, EDIT_SAME_INTERFACE,     /* As another tenant's. */
    N_EDITS,
};

const char *edit_name(enum edit);

/* Changes something of 'tenant' in the world, for the last two in its text,
 * 'text', which is made anew; NULL: it is left out. */
void edit_tenant(struct world *, struct rng *, enum edit, int tenant,
                 const char **text, struct arena *);

/* Has tenants consent to fewer peerings, so that not all are joined. */
void edit_thin_out(struct world *, struct rng *);

#endif /* edits.h */
