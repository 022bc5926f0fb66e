/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-reach.h"

#include <string.h>

#include "flow.h"
#include "packets.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-packet.h"
#include "sema/meaning.h"
#include "util.h"

bool
endpoint_is_in(const struct policy_endpoint *e, const endpoint_vec *set)
{
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (set->v[middle] == e) {
            return true;
        } else if (set->v[middle]->index < e->index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static const char *
node_name(const struct meaning_question *q)
{
    return q->node ? q->node : q->from->intent->node.s;
}

bool
endpoint_is_here(const struct meaning_question *q,
                 const struct policy_endpoint *e)
{
    return e->bound && !strcmp(e->intent->node.s, node_name(q));
}

static const struct intent_node *
find_node(const struct policy *policy, const struct meaning_question *q)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        if (!strcmp(policy->intent->nodes.v[i].name.s, node_name(q))) {
            return &policy->intent->nodes.v[i];
        }
    }
    OVS_NOT_REACHED();
}

static bool
is_behind_tunnel(const struct meaning_question *q,
                 const struct policy_endpoint *e)
{
    return e->bound && !endpoint_is_here(q, e) && e->node->tunnel.at;
}

bool
endpoint_is_reached(const struct policy *policy,
                    const struct meaning_question *q,
                    const struct policy_endpoint *e)
{
    return (endpoint_is_here(q, e)
            || (!q->tunnel && is_behind_tunnel(q, e)
                && find_node(policy, q)->tunnel.at));
}

static bool
one_is_here(const struct meaning_question *q,
            const struct policy_tenant *tenant, const endpoint_vec *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if ((!tenant || set->v[i]->tenant == tenant)
            && endpoint_is_here(q, set->v[i])) {
            return true;
        }
    }
    return false;
}

/* Does a peering join 'e' with an endpoint here, of 'tenant' if that is not
 * NULL? */
static bool
peering_joins(const struct policy *policy, const struct meaning_question *q,
              const struct policy_tenant *tenant,
              const struct policy_endpoint *e)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind == RULE_PEERING
            && ((endpoint_is_in(e, &rule->to)
                 && one_is_here(q, tenant, &rule->from))
                || (endpoint_is_in(e, &rule->from)
                    && one_is_here(q, tenant, &rule->to)))) {
            return true;
        }
    }
    return false;
}

bool
gateways_join(const struct policy *policy, const struct meaning_question *q,
              const struct policy_tenant *tenant,
              const struct policy_endpoint *e)
{
    return (e->tenant == tenant ? e->network->intent->gateways.n > 0
            : peering_joins(policy, q, tenant, e));
}

bool
tunnel_is_there(const struct policy *policy, const struct meaning_question *q)
{
    return find_node(policy, q)->tunnel.at != NULL;
}

/* Is it from the node of 'e'? */
static bool
came_from_node(const struct meaning_question *q,
               const struct policy_endpoint *e)
{
    struct in6_addr source = flow_tnl_src(&q->packet->tunnel);

    return (is_behind_tunnel(q, e)
            && ipv6_addr_equals(&e->node->tunnel.ip, &source));
}

static bool
tenant_is_here(const struct meaning_question *q,
               const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        if (endpoint_is_here(q, tenant->endpoints.v[i])) {
            return true;
        }
    }
    return false;
}

bool
tunnel_is_known(const struct policy *policy, const struct meaning_question *q)
{
    struct in6_addr destination = flow_tnl_dst(&q->packet->tunnel);

    if (!ipv6_addr_equals(&find_node(policy, q)->tunnel.ip, &destination)) {
        return false;
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (came_from_node(q, e)
                && (tenant_is_here(q, tenant)
                    || peering_joins(policy, q, NULL, e))) {
                return true;
            }
        }
    }
    return false;
}

const struct policy_network *
tunnel_network(const struct policy *policy, const struct meaning_question *q)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (endpoint_is_here(q, e)
                && htonll(e->network->intent->vni)
                   == q->packet->tunnel.tun_id) {
                return e->network;
            }
        }
    }
    return NULL;
}

const struct policy_endpoint *
tunnel_sender(const struct policy *policy, const struct meaning_question *q)
{
    const struct policy_network *network = tunnel_network(policy, q);
    struct in6_addr ip = packet_source(q->packet);
    bool routed = (network->intent->gateways.n > 0
                   && eth_addr_equals(q->packet->dl_src,
                                      network->gateway_mac));

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (came_from_node(q, e) && endpoint_has_address(e, q->packet, &ip)
                && (routed ? gateways_join(policy, q, network->tenant, e)
                    : (e->network == network
                       && eth_addr_equals(e->intent->mac,
                                          q->packet->dl_src)))) {
                return e;
            }
        }
    }
    return NULL;
}
