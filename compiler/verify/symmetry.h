/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_SYMMETRY_H
#define VERIFY_SYMMETRY_H 1

/* Names that change places in flow tables.
 *
 * If tables stay as they are when two endpoints change all of their names
 * (port, MAC, addresses, and what tables note of them), they do with a packet
 * of one what they do with that packet, names changed, of the other.  So one
 * need be proved only.  (Plotkin et al., "Scaling Network Verification using
 * Symmetry and Surgery", POPL 2016, section 4.)
 *
 * Of each field it is said apart which values change places, and it is looked
 * at that no flow brings a value to where others change places. */

#include "verify/tables.h"

/* In the place of a field: the ids of meters. */
#define SYMMETRY_METER N_FIELDS

struct symmetry_swap {
    enum field field;
    u128 a, b;                  /* Not the same. */
};

/* An involution: '{ 0 }' and an arena is that nothing changes places. */
struct symmetry {
    struct arena *arena;
    VEC(struct symmetry_swap) swaps;
    field_set fields;           /* Of the swaps; not of those of meters. */
};

/* The swap of which the value is one side; NULL if there is none. */
const struct symmetry_swap *symmetry_find(const struct symmetry *,
                                          enum field, u128 value);

/* Adds a swap, unless the values are the same.  Returns false if that, or
 * another of one of them, is there already; or if it is of a register and 0,
 * which all packets come with. */
bool symmetry_add(struct symmetry *, enum field, u128 a, u128 b);

/* The same for all fields that hold addresses of that kind: MACs, and IP
 * addresses of the family of 'a', of which 'b' is too. */
bool symmetry_add_mac(struct symmetry *, struct eth_addr a, struct eth_addr b);
bool symmetry_add_ip(struct symmetry *, const struct in6_addr *a,
                     const struct in6_addr *b);

/* Is 'to' what becomes of 'flow'?  Or, with 'learn', could it be: as long as
 * its match is, registers that are set and meters that are passed may have
 * values of which nothing is said yet, that are added. */
bool symmetry_takes(struct symmetry *, const struct table_flow *flow,
                    const struct table_flow *to, bool learn);

/* Does the flow stay as it is? */
bool symmetry_keeps(struct symmetry *, const struct table_flow *);

/* Is the flow one of those that together match wherever two fields differ:
 * does it ask for a bit that is 0 in one of them and 1 in the other? */
bool symmetry_is_unequal(const struct table_flow *);

/* Of such flows of the tables, each once: adds one to 'unequal' for all that
 * match where the same two fields differ and do the same, if all of these are
 * in the tables; and the rest to 'others'. */
void symmetry_sort_unequal(const struct table_set *, const flow_vec *flows,
                           struct arena *, flow_vec *unequal,
                           flow_vec *others);

/* Do all for which that flow is stay, together, as they are? */
bool symmetry_keeps_unequal(struct symmetry *, const struct table_flow *);

#endif /* verify/symmetry.h */
