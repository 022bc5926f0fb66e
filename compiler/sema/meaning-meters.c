/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-meters.h"

#include "sema/meaning.h"
#include "sema/tree.h"

bool
pays_for_getting(const struct policy_endpoint *to)
{
    return tree_receives(to->tenant, to->node,
                         network_uplink(to->network, to->node));
}

size_t
meaning_meters(const struct meaning *m, const struct policy_endpoint *to,
               struct meaning_meter meters[MAX_MEANING_METERS])
{
    const struct policy_endpoint *from = m->charged ? m->from : NULL;
    size_t n = 0;

    if (from && from->intent->send.limit.at) {
        meters[n++] = (struct meaning_meter) {
            from->tenant, from, m->uplink, false,
        };
    }
    if (m->charged) {
        meters[n++] = (struct meaning_meter) {
            m->charged, NULL, m->uplink, false,
        };
    }
    if (to && !m->node && to->intent->receive.limit.at) {
        meters[n++] = (struct meaning_meter) { to->tenant, to, NULL, true };
    }
    if (to && !m->node && pays_for_getting(to)) {
        meters[n++] = (struct meaning_meter) {
            to->tenant, NULL, network_uplink(to->network, to->node), true,
        };
    }
    return n;
}
