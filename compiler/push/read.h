/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_READ_H
#define PUSH_READ_H 1

/* What a bridge holds, as text: all flows, whoever's they are; and what of it
 * lets packets past them. */

#include "openvswitch/ofp-port.h"
#include "push/push.h"

struct push_port {
    const char *name;
    ofp_port_t number;
};

struct push_held {
    const char *flows;          /* As "ovs-ofctl dump-flows --names" without
                                 * counters, a line each, sorted. */
    VEC(uint32_t) meters;       /* Ids of those of Bulkhead's. */
    VEC(struct push_port) ports;
    plan_names unfit;           /* As in struct push_diff. */
};

/* Returns NULL, or why the bridge could not be read.  Of the plan, which has
 * the arena, counts what the bridge must have for its flows. */
const char *push_read(const struct push_target *, const struct plan *,
                      struct push_held *);

#endif /* push/read.h */
