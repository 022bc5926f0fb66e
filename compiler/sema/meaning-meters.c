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

/* Has 'e' a part of its own of what its tenant shares out? */
static bool
has_share(const struct policy_endpoint *e, bool receive)
{
    return (endpoint_bandwidth(e, receive)->limit.at
            && tenant_is_split(e->tenant, e->node,
                               network_uplink(e->network, e->node), receive));
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
    if (m->charged && !(from && has_share(from, false))) {
        meters[n++] = (struct meaning_meter) {
            m->charged, NULL, m->uplink, false,
        };
    }
    if (to && !m->node && to->intent->receive.limit.at) {
        meters[n++] = (struct meaning_meter) { to->tenant, to, NULL, true };
    }
    if (to && !m->node && pays_for_getting(to) && !has_share(to, true)) {
        meters[n++] = (struct meaning_meter) {
            to->tenant, NULL, network_uplink(to->network, to->node), true,
        };
    }
    return n;
}
