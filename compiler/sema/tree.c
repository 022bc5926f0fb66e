/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/tree.h"

#include "sema/check.h"
#include "util.h"

int
wire_overhead(const struct policy *policy, const struct intent_node *node)
{
    return WIRE_OVERHEAD + (node->tunnel.at ? encapsulation_bytes(policy) : 0);
}

uint64_t
wire_rate(uint64_t rate, int overhead)
{
    return 1000 * DIV_ROUND_UP(rate / 1000 * (GUARANTEED_FRAME + overhead),
                               GUARANTEED_FRAME);
}

const struct intent_bandwidth *
tenant_bandwidth(const struct policy_tenant *tenant, bool receive)
{
    return receive ? &tenant->intent->receive : &tenant->intent->send;
}

const struct intent_bandwidth *
endpoint_bandwidth(const struct policy_endpoint *e, bool receive)
{
    return receive ? &e->intent->receive : &e->intent->send;
}

bool
endpoint_takes(const struct policy_endpoint *e,
               const struct intent_node *node,
               const struct intent_uplink *uplink)
{
    return e->node == node && network_uplink(e->network, node) == uplink;
}

bool
tenant_is_split(const struct policy_tenant *tenant,
                const struct intent_node *node,
                const struct intent_uplink *uplink, bool receive)
{
    if (tenant->parts[receive].n && tenant_takes(tenant, node, uplink)) {
        return true;
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];
        const struct intent_bandwidth *b = endpoint_bandwidth(e, receive);

        if ((b->guarantee.at || b->weight_at)
            && endpoint_takes(e, node, uplink)) {
            return true;
        }
    }
    return false;
}

uint64_t
tenant_apart(const struct policy_tenant *tenant,
             const struct intent_node *node,
             const struct intent_uplink *uplink, bool receive)
{
    uint64_t apart = 0;

    for (size_t i = 0; i < tenant->parts[receive].n
         && tenant_takes(tenant, node, uplink); i++) {
        const struct intent_bandwidth *b
            = tenant->parts[receive].v[i].bandwidth;

        apart += b->no_borrow ? b->guarantee.n : 0;
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];
        const struct intent_bandwidth *b = endpoint_bandwidth(e, receive);

        if (b->no_borrow && endpoint_takes(e, node, uplink)) {
            apart += b->guarantee.n;
        }
    }
    return apart;
}

bool
tree_is_there(const struct policy *policy, const struct intent_node *node,
              const struct intent_uplink *uplink, bool receive)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct intent_bandwidth *b = tenant_bandwidth(tenant, receive);

        if ((b->guarantee.at || b->weight_at)
            && tenant_takes(tenant, node, uplink)) {
            return true;
        }
    }
    return false;
}

uint64_t
tree_rate(const struct policy *policy, const struct intent_node *node,
          const struct intent_uplink *uplink, bool receive)
{
    uint64_t kbps = (uplink->rate.n / 1000 * GUARANTEED_FRAME
                     / (GUARANTEED_FRAME + wire_overhead(policy, node)));
    uint64_t apart = 0;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct intent_bandwidth *b = tenant_bandwidth(tenant, receive);

        if (!b->no_borrow) {
            apart += tenant_apart(tenant, node, uplink, receive) / 1000;
        } else if (tenant_takes(tenant, node, uplink)) {
            apart += b->guarantee.n / 1000;
        }
    }
    return 1000 * (kbps > apart ? kbps - apart : 1);
}

bool
tree_receives(const struct policy_tenant *tenant,
              const struct intent_node *node,
              const struct intent_uplink *uplink)
{
    return (tenant->intent->receive.limit.at
            || tenant_is_split(tenant, node, uplink, true)
            || tree_is_there(tenant->policy, node, uplink, true));
}
