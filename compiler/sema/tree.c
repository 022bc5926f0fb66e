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

/* The number of the uplink, of all in the intent. */
static size_t
uplink_number(const struct policy *policy, const struct intent_node *node,
              const struct intent_uplink *uplink)
{
    const struct intent *intent = policy->intent;
    size_t number = uplink - node->uplinks.v;

    for (size_t i = 0; &intent->nodes.v[i] != node; i++) {
        number += intent->nodes.v[i].uplinks.n;
    }
    return number;
}

/* Where 'tenant' takes the uplink, it makes trees of what it has shares of. */
static void
note_trees(struct policy *policy, const struct policy_tenant *tenant,
           const struct intent_node *node,
           const struct intent_uplink *uplink)
{
    for (int receive = 0; receive < 2 && uplink; receive++) {
        const struct intent_bandwidth *b = tenant_bandwidth(tenant, receive);

        if (b->guarantee.at || b->weight_at) {
            policy->trees[receive][uplink_number(policy, node, uplink)] = true;
        }
    }
}

void
find_trees(struct policy *policy, struct arena *arena)
{
    const struct intent *intent = policy->intent;
    size_t n = 0;

    for (size_t i = 0; i < intent->nodes.n; i++) {
        n += intent->nodes.v[i].uplinks.n;
    }
    for (int receive = 0; receive < 2; receive++) {
        policy->trees[receive] = arena_zalloc(arena, n * sizeof(bool));
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (e->node) {
                note_trees(policy, tenant, e->node,
                           network_uplink(e->network, e->node));
            }
        }
    }
    for (size_t i = 0; i < policy->payers.n; i++) {
        note_trees(policy, policy->payers.v[i].tenant,
                   policy->payers.v[i].node, policy->payers.v[i].uplink);
    }
}

bool
tree_is_there(const struct policy *policy, const struct intent_node *node,
              const struct intent_uplink *uplink, bool receive)
{
    return policy->trees[receive][uplink_number(policy, node, uplink)];
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
