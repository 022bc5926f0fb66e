/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_ORIGIN_H
#define VERIFY_ORIGIN_H 1

/* Which packets can meet a flow, by what it matches alone.
 *
 * What a packet has as it came, it has in all tables, if no flow changes that
 * field.  A register holds what a flow puts there: so who matches it meets no
 * other packets than those that meet such a flow, or have what that flow
 * copies.  Each register is followed by itself, wherever and in whatever order
 * flows are met: so this is cheap, and says too much, never too little. */

#include "verify/tables.h"

struct origins;

/* Of the flows that are there. */
struct origins *origins_create(const struct table_set *);
void origins_destroy(struct origins *);         /* Accepts NULL. */
void origins_add(struct origins *, const struct table_flow *);
void origins_remove(struct origins *, const struct table_flow *);

/* Packets of a set, by a port, or by any. */
struct comers {
    VEC(struct comer {
        ofp_port_t port;
        dd_t set;
    }) by_port;
    dd_t any;
};
VEC_TYPEDEF(comers_vec, struct comers);

/* Adds, in the arena, what packets must be all of to meet 'flow', which may
 * have gone. */
void origins_find(const struct origins *, const struct table_flow *,
                  struct space *, struct arena *, comers_vec *);

/* May a flow have changed the field before a packet comes to 'table'? */
bool origin_is_changed(const struct origins *, enum field, uint8_t table);

/* The packets by 'port' that are in all of them. */
dd_t origin_by_port(const comers_vec *, ofp_port_t port, struct space *);

#endif /* verify/origin.h */
