/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "packets.h"
#include "sema/apart.h"
#include "sema/policy.h"

/* An endpoint of 'network' on another node than 'node'; NULL if there is
 * none. */
static const struct policy_endpoint *
find_elsewhere(const struct policy_network *network,
               const struct intent_node *node)
{
    for (size_t i = 0; i < network->tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = network->tenant->endpoints.v[i];

        if (e->network == network && e->bound && e->node != node) {
            return e;
        }
    }
    return NULL;
}

static void
check_dhcp(const struct policy_network *network, struct diags *diags)
{
    const struct policy_endpoint *server = network->dhcp_server, *client;
    const struct value *at = network->intent->dhcp_server.at;
    struct diag *d;

    if (!server->bound) {
        d = value_warning(diags, at, "nobody answers DHCP: '%s' is unbound",
                          server->name);
        diag_remedy(diags, d, "bind it, or ignore this until it is there");
        return;
    }
    client = find_elsewhere(network, server->node);
    if (client) {
        d = value_warning(diags, at, "DHCP never leaves a node: '%s' is on "
                          "node '%s', so '%s' on '%s' does not reach it",
                          server->name, server->node->name.s, client->name,
                          client->node->name.s);
        diag_remedy(diags, d, "give each node a network with a server of its "
                    "own, or addresses to hosts by hand");
        diag_see(diags, d, client->intent->node.at->span, "the other node");
    }
}

static void
check_groups(const struct policy_network *network, struct diags *diags)
{
    const struct policy_endpoint *one = find_elsewhere(network, NULL);
    const struct policy_endpoint *other = one ? find_elsewhere(network,
                                                               one->node)
                                          : NULL;

    if (other) {
        struct diag *d = value_warning(
            diags, network->intent->groups.v[0].at, "multicast never leaves a "
            "node: the network has endpoints on '%s' and on '%s', which get "
            "nothing from each other", one->node->name.s,
            other->node->name.s);
        diag_remedy(diags, d, "bind who sends and who receives to one node, "
                    "or send to each receiver");
        diag_see(diags, d, other->intent->node.at->span, "the other node");
    }
}

static bool
is_of_side(const struct policy_network *network, const endpoint_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        if (side->v[i]->network == network) {
            return true;
        }
    }
    return false;
}

static bool
has_gateway(const endpoint_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        if (side->v[i]->network->intent->gateways.n) {
            return true;
        }
    }
    return false;
}

/* Does a rule of a tenant speak of endpoints that reach each other? */
static void
check_rule(const struct policy_rule *rule, struct diags *diags)
{
    const struct policy_tenant *tenant
        = rule->from.n ? rule->from.v[0]->tenant : NULL;
    const struct policy_network *lone;
    struct diag *d;

    if (!rule->from.n || !rule->to.n
        || (has_gateway(&rule->from) && has_gateway(&rule->to))) {
        return;
    }
    for (size_t i = 0; i < tenant->networks.n; i++) {
        if (is_of_side(tenant->networks.v[i], &rule->from)
            && is_of_side(tenant->networks.v[i], &rule->to)) {
            return;
        }
    }
    lone = (has_gateway(&rule->from) ? &rule->to
            : &rule->from)->v[0]->network;
    d = value_warning(diags, rule->at, "nothing passes by this rule: its "
                      "sides are in different networks, and '%s' has no "
                      "gateway", lone->intent->name.s);
    diag_remedy(diags, d, "give both networks a \"gateway\"");
    diag_see(diags, d, lone->intent->name.at->key_span, "the network");
}

/* An endpoint of the side that has addresses of the family; if 'lone', in a
 * network without a gateway of it.  NULL if there is none. */
static const struct policy_endpoint *
find_family(const endpoint_vec *side, bool ip6, bool lone)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct policy_endpoint *e = side->v[i];

        if (holds_family(&e->intent->addresses, ip6)
            && !(lone && holds_family(&e->network->intent->gateways, ip6))) {
            return e;
        }
    }
    return NULL;
}

/* Both sides have addresses of a family: have they gateways of it? */
static void
check_peering(const struct policy_rule *rule, const endpoint_vec *side,
              const endpoint_vec *other, struct diags *diags)
{
    for (int ip6 = 0; ip6 < 2; ip6++) {
        const struct policy_endpoint *e = find_family(side, ip6, true);

        if (e && find_family(other, ip6, false)) {
            const struct intent_network *network = e->network->intent;
            struct diag *d = value_warning(
                diags, network->gateways.v[0].at, "network '%s' has no %s "
                "gateway, which '%s' needs for the %s addresses of its peers",
                network->name.s, ip6 ? "IPv6" : "IPv4", e->name,
                ip6 ? "IPv6" : "IPv4");
            diag_remedy(diags, d, "list a gateway of each family");
            diag_see(diags, d, rule->at->key_span, "the peering");
        }
    }
}

void
check_doubts(const struct policy *policy, struct diags *diags)
{
    doubt_externals(policy, diags);
    check_lossless(policy, diags);
    doubt_dscp_in(policy, diags);
    check_delays(policy, diags);
    doubt_dpdk(policy, diags);
    doubt_legacy(policy, diags);
    doubt_shared(policy, diags);
    doubt_tunnels(policy, diags);
    doubt_unused(policy, diags);
    doubt_families(policy, diags);
    doubt_consent(policy, diags);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            const struct policy_network *network = tenant->networks.v[j];

            if (network->dhcp_server) {
                check_dhcp(network, diags);
            }
            if (network->intent->groups.n) {
                check_groups(network, diags);
            }
        }
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind == RULE_ALLOW) {
            check_rule(rule, diags);
        } else if (rule->kind == RULE_PEERING) {
            check_peering(rule, &rule->from, &rule->to, diags);
            check_peering(rule, &rule->to, &rule->from, diags);
        }
    }
}
