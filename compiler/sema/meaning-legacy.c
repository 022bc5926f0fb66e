/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-legacy.h"

#include <string.h>

#include "flow.h"
#include "packets.h"
#include "sema/check.h"

bool
legacy_sends(const struct meaning_question *q)
{
    return (q->from && legacy_uplink(q->from)
            && (!q->node || !strcmp(q->node, q->from->node->name.s)));
}

static const struct policy_endpoint *
find_receiver(const struct meaning_question *q)
{
    const struct policy_tenant *tenant = q->from->tenant;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e != q->from && e->network == q->from->network && legacy_uplink(e)
            && eth_addr_equals(e->intent->mac, q->packet->dl_dst)) {
            return e;
        }
    }
    return NULL;
}

struct meaning
legacy_judge(const struct meaning_question *q)
{
    const struct flow *packet = q->packet;
    struct meaning m = { .from = q->from, .untracked = true };

    if (packet->vlans[0].tci & htons(VLAN_CFI)) {
        m.reason = REASON_UNBOUND;
    } else if (!eth_addr_equals(packet->dl_src, q->from->intent->mac)) {
        m.reason = REASON_SPOOF;
    } else {
        m.many = eth_addr_is_multicast(packet->dl_dst);
        m.to = m.many ? NULL : find_receiver(q);
        m.allow = m.many || m.to;
        m.reason = m.allow ? 0 : REASON_UNREACHABLE;
    }
    return m;
}
