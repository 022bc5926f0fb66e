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

/* How the packet, or the copy that is for 'to', is marked. */
static struct meaning_copy
mark_of(const struct meaning *m, const struct policy_endpoint *to)
{
    for (size_t i = 0; m->many && i < m->n_copies; i++) {
        if (m->copies[i].to == to) {
            return m->copies[i];
        }
    }
    return (struct meaning_copy) { to, m->rule, m->kept, m->dscp, m->queue };
}

/* The class whose part of what 'tenant' has pays, or NULL. */
static const struct policy_class *
paying_class(const struct meaning *m, const struct policy_endpoint *to,
             const struct policy_tenant *tenant, bool receive)
{
    const struct meaning_copy mark = mark_of(m, to);
    const struct policy_part *part
        = (mark.kept
           ? tenant_part(tenant, receive, mark.kept->dscp, mark.kept->queue)
           : tenant_part(tenant, receive, mark.dscp, mark.queue));

    return part ? part->class : NULL;
}

size_t
meaning_meters(const struct meaning *m, const struct policy_endpoint *to,
               struct meaning_meter meters[MAX_MEANING_METERS])
{
    const struct policy_endpoint *from = m->charged ? m->from : NULL;
    const struct policy_class *kept = mark_of(m, to).kept;
    size_t n = 0;

    if (from && kept) {
        meters[n++] = (struct meaning_meter) {
            .tenant = from->tenant, .class = kept, .dscp_in = true,
        };
    }
    if (from && from->intent->send.limit.at) {
        meters[n++] = (struct meaning_meter) {
            from->tenant, from, NULL, m->uplink, false, false,
        };
    }
    if (m->charged && !(from && has_share(from, false))) {
        meters[n++] = (struct meaning_meter) {
            m->charged, NULL, paying_class(m, to, m->charged, false),
            m->uplink, false, false,
        };
    }
    if (to && !m->node && to->intent->receive.limit.at) {
        meters[n++] = (struct meaning_meter) {
            to->tenant, to, NULL, NULL, true, false,
        };
    }
    if (to && !m->node && pays_for_getting(to) && !has_share(to, true)) {
        meters[n++] = (struct meaning_meter) {
            to->tenant, NULL, paying_class(m, to, to->tenant, true),
            network_uplink(to->network, to->node), true, false,
        };
    }
    return n;
}
