/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_SLICE_H
#define VERIFY_SLICE_H 1

/* Whose packets can meet a flow?
 *
 * A slice is of the packets that come by the ports of one tenant; the last is
 * of all that come otherwise.  A flow is in a slice unless no packet of it can
 * come to the flow's table with the port and the notes (registers, metadata,
 * zone) that the flow matches.  Which notes packets can have is found from
 * what flows set, for all packets at once and each field by itself: so this is
 * cheap, and says too much, never too little. */

#include "bitmap.h"
#include "verify/tables.h"

struct slices;
struct verify_task;

/* To be freed with slices_destroy().  NULL if a flow has an action of which it
 * is not known what it sets or where it leads. */
struct slices *slices_create(const struct verify_task *);
void slices_destroy(struct slices *);           /* Accepts NULL. */

/* 1-bits: the slices that the flow is in; as many bits as there are tenants
 * in the policy, and one more. */
const unsigned long *slices_of(const struct slices *,
                               const struct table_flow *);

/* The flows that are in the slice, '*n' of them in any order, until one comes
 * or goes. */
struct table_flow *const *slices_flows(const struct slices *, size_t slice,
                                       size_t *n);

/* Can packets of one of the slices 'who' come to have 'value' in 'field', or
 * note it in a connection?  Of metadata, registers, zones and marks. */
bool slices_hold(const struct slices *, enum field, uint64_t value,
                 const unsigned long who[]);

/* The same of calling a meter.  slices_add_calling() adds to 'who' those that
 * can. */
bool slices_call(const struct slices *, uint32_t meter,
                 const unsigned long who[]);
void slices_add_calling(const struct slices *, uint32_t meter,
                        unsigned long who[]);

/* After table_set_add(); after table_set_remove(), of flows of which 'last'
 * was the last; and for one more port of a slice.  What could be before can be
 * still: so that says too much too.  Adding returns false if it is not known
 * what can be then: they are of no use any more. */
bool slices_add(struct slices *, struct table_flow *);
void slices_remove(struct slices *, const struct table_flow *gone,
                   size_t last);
bool slices_add_port(struct slices *, size_t slice, ofp_port_t);

#endif /* verify/slice.h */
