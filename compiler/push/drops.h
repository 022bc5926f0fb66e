/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_DROPS_H
#define PUSH_DROPS_H 1

/* What Bulkhead's flows, meters and limits of upcalls on a bridge have dropped
 * since each was put there.  Reads only.
 *
 * The counters of flows are as of the switch's last round of revalidation,
 * commonly half a second ago.  What the datapath drops by itself, such as
 * fragments that never become whole, is in none of them. */

#include <stdint.h>

#include "base/vec.h"
#include "push/push.h"

struct push_drop {
    uint64_t cookie;            /* Of all flows that drop for one reason, or
                                 * 0: a meter, or the upcalls of a tenant. */
    uint32_t meter;             /* Or 0. */
    uint32_t tenant;            /* The number, or 0. */
    uint64_t packets, bytes;    /* Frames without FCS.  Of upcalls, bytes are
                                 * not counted. */
};
VEC_TYPEDEF(push_drops_vec, struct push_drop);

/* Fills 'drops', each cookie, meter and tenant once, in no order.  Returns
 * NULL, or the reason why the switch or database could not be reached, in
 * 'arena'. */
const char *push_drops(const struct push_target *, struct arena *,
                       push_drops_vec *drops);

#endif /* push/drops.h */
