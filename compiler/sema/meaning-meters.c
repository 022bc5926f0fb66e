/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-meters.h"

#include "sema/meaning.h"
#include "sema/tree.h"

/* Has 'tenant' a meter of what is got by the uplink of 'to'? */
static bool
gets_metered(const struct policy_tenant *tenant,
             const struct policy_endpoint *to)
{
    return tree_receives(tenant, to->node,
                         network_uplink(to->network, to->node));
}

bool
pays_for_getting(const struct policy_endpoint *to)
{
    return gets_metered(to->tenant, to);
}

/* Who pays for what 'to' gets, if somebody does. */
static const struct policy_tenant *
getting_payer(const struct meaning *m, const struct policy_endpoint *to)
{
    return m->payer && gets_metered(m->payer, to) ? m->payer : to->tenant;
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
    const struct policy_endpoint *here = to && !m->node ? to : NULL;
    const struct policy_tenant *getting = here ? getting_payer(m, here) : NULL;
    const struct policy_class *kept = mark_of(m, to).kept;
    size_t n = 0;

    if (from && kept) {
        meters[n++] = (struct meaning_meter) {
            .tenant = from->tenant, .class = kept, .dscp_in = true,
        };
    }
    from = from && from->tenant == m->charged ? from : NULL;
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
    if (here && getting == here->tenant && here->intent->receive.limit.at) {
        meters[n++] = (struct meaning_meter) {
            getting, here, NULL, NULL, true, false,
        };
    }
    if (here && gets_metered(getting, here)
        && !(getting == here->tenant && has_share(here, true))) {
        meters[n++] = (struct meaning_meter) {
            getting, NULL, paying_class(m, here, getting, true),
            network_uplink(here->network, here->node), true, false,
        };
    }
    return n;
}

const struct policy_tenant *
meaning_tag(const struct meaning *m, const struct policy_endpoint *to)
{
    return (!to || m->node || m->charged || !to->node->telemetry ? NULL
            : m->payer ? m->payer
            : m->from ? m->from->tenant : to->tenant);
}
