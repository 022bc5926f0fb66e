/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_BASE_SYMMETRY_H
#define VERIFY_BASE_SYMMETRY_H 1

/* Between base-symmetry.c, which finds who is like an endpoint, and
 * base-own.c, which looks at what is its own. */

#include "verify/base-private.h"
#include "verify/symmetry.h"

/* Those of an endpoint. */
struct names {
    ofp_port_t port;
    struct eth_addr mac;
    const struct in6_addr *addresses;
    size_t n;
};

struct likeness {
    const struct verify_base *b;
    const struct verify_task *task;
    const struct policy_tenant *tenant;
    const struct verify_endpoint *news;
    struct names own;
    struct arena *arena;
    flow_vec flows;             /* That packets of the tenant can meet, but for
                                 * those that came, ... */
    flow_vec unequal;           /* ...and those that match where two fields
                                 * differ: one for all of them. */
    struct table_flow *const *changed;
    size_t n_changed;
    field_set mixed;            /* Into which flows, these too, write more than
                                 * constants. */
    size_t n_places;            /* That a packet has for names. */
};

/* In what follows, what the endpoint has is the first of each swap. */

/* Does the flow ask for a name of the endpoint, in a place that counts and
 * that no flow has changed? */
bool own_asks_for_name(const struct likeness *, const struct symmetry *,
                       const struct table_flow *);

/* Do only packets with a name of the endpoint meet what changed? */
bool own_packets(const struct likeness *, const struct symmetry *);

/* Is the condition whether a register, as a whole, has a number that is
 * not 0? */
bool own_is_number(const struct condition *);

/* Has, where packets pass a meter of 'other', the endpoint one that is its
 * own, and does it pass all others that 'other' does? */
bool own_meters(const struct likeness *, const struct symmetry *,
                const struct policy_endpoint *other);

/* Did no meter come or go but those of the swaps? */
bool own_meters_only(const struct likeness *, const struct symmetry *);

/* Can others call a meter that came or went, or one that is named as it is
 * only because that was there? */
bool own_meters_are_missed(const struct likeness *);

#endif /* verify/base-symmetry.h */
