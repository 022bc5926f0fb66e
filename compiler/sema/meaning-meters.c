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

/* The class whose part of what 'tenant' has pays, or NULL. */
static const struct policy_class *
paying_class(const struct meaning *m, const struct policy_endpoint *to,
             const struct policy_tenant *tenant, bool receive)
{
    const struct policy_part *part;
    uint8_t dscp = m->dscp;
    uint16_t queue = m->queue;

    for (size_t i = 0; m->many && i < m->n_copies; i++) {
        if (m->copies[i].to == to) {
            dscp = m->copies[i].dscp;
            queue = m->copies[i].queue;
        }
    }
    part = tenant_part(tenant, receive, dscp, queue);
    return part ? part->class : NULL;
}

size_t
meaning_meters(const struct meaning *m, const struct policy_endpoint *to,
               struct meaning_meter meters[MAX_MEANING_METERS])
{
    const struct policy_endpoint *from = m->charged ? m->from : NULL;
    size_t n = 0;

    if (from && from->intent->send.limit.at) {
        meters[n++] = (struct meaning_meter) {
            from->tenant, from, NULL, m->uplink, false,
        };
    }
    if (m->charged && !(from && has_share(from, false))) {
        meters[n++] = (struct meaning_meter) {
            m->charged, NULL, paying_class(m, to, m->charged, false),
            m->uplink, false,
        };
    }
    if (to && !m->node && to->intent->receive.limit.at) {
        meters[n++] = (struct meaning_meter) {
            to->tenant, to, NULL, NULL, true,
        };
    }
    if (to && !m->node && pays_for_getting(to) && !has_share(to, true)) {
        meters[n++] = (struct meaning_meter) {
            to->tenant, NULL, paying_class(m, to, to->tenant, true),
            network_uplink(to->network, to->node), true,
        };
    }
    return n;
}
