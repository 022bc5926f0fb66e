/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <string.h>

#include "backend/lost.h"
#include "backend/refuse.h"
#include "hmapx.h"
#include "packets.h"
#include "util.h"

/* What OVN cannot keep is refused at its place in the intent, and what it
 * cannot say is named. */

/* OVN joins all its chassis. */
static void
check_nodes(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->peers.n; i++) {
        const struct ir_node *node = prog->peers.v[i];

        if (node->telemetry) {
            warn_of(diags, &node->place, "telemetry", "OVN's meters do not "
                    "tag packets: what tenants send is not counted by tenant, "
                    "whatever \"telemetry\" says");
        }
    }
    for (size_t i = 0; prog->peers.n > 1 && i < prog->peers.n; i++) {
        const struct ir_node *node = prog->peers.v[i];

        if (!prog->encapsulation || ipv6_is_zero(&node->address)) {
            refuse(diags, &node->place, NULL, prog->encapsulation
                   ? "give it a \"tunnel_address\", or bind nothing to it"
                   : "give the fabric an \"encapsulation\", or compile for "
                     "one node",
                   "OVN joins all nodes by tunnels, and this one has none in "
                   "the intent");
        }
    }
    if (prog->peers.n > 1 && prog->encapsulation
        && strcmp(prog->encapsulation, "geneve")) {
        const struct ir_place *place = &prog->peers.v[0]->place;

        refuse(diags, place, "../../encapsulation", "say \"geneve\"", "OVN "
               "joins nodes by Geneve: VXLAN has no room for its ports");
    }
}

static void
check_tenants(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];

        if (tenant->packet_rate) {
            refuse(diags, &tenant->place, "limits/packets", "remove "
                   "\"packets\" of its \"limits\", or choose another target",
                   "OVN counts bytes, and cannot limit a "
                   "tenant's packets");
        }
        if (tenant->upcall_rate) {
            warn_of(diags, &tenant->place, "limits/upcalls",
                    "OVN limits what ovn-controller takes of the tenant's "
                    "packets, and no other \"upcalls\", such as those of new "
                    "connections");
        }
        if (tenant->connections) {
            refuse(diags, &tenant->place, "limits/connections", "remove "
                   "\"connections\" of its \"limits\", or choose another "
                   "target", "OVN cannot limit "
                   "how many connections a tenant has");
        }
    }
}

static bool
has_address(const struct ir_endpoint *endpoint, bool ip4)
{
    for (size_t i = 0; i < endpoint->addresses.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&endpoint->addresses.v[i]) == !ip4) {
            return true;
        }
    }
    return false;
}

/* Has the network gateways, and none of this family? */
static bool
lacks_gateway(const struct ir_network *network, bool ip4)
{
    for (size_t i = 0; i < network->gateways.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&network->gateways.v[i]) == !ip4) {
            return false;
        }
    }
    return network->gateways.n;
}

/* Has the side addresses of the family in the network, or in others that have
 * gateways? */
static bool
side_has(const struct ir_side *side, const struct ir_network *network,
         bool others, bool ip4)
{
    for (size_t i = 0; i < side->endpoints.n; i++) {
        const struct ir_endpoint *e = side->endpoints.v[i];

        if ((e->network != network) == others && e->network->gateways.n
            && has_address(e, ip4)) {
            return true;
        }
    }
    return false;
}

/* A rule that allows packets of the family between the network and others;
 * NULL if there is none. */
static const struct ir_rule *
find_rule_across(const struct ir_prog *prog, const struct ir_network *network,
                 bool ip4)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (!rule_kind_denies(rule->kind)
            && ((side_has(&rule->from, network, false, ip4)
                 && side_has(&rule->to, network, true, ip4))
                || (side_has(&rule->from, network, true, ip4)
                    && side_has(&rule->to, network, false, ip4)))) {
            return rule;
        }
    }
    return NULL;
}

/* A port of a router of OVN has no way to addresses of a family of which it
 * has none itself. */
static void
check_families(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->networks.n; i++) {
        const struct ir_network *network = prog->networks.v[i];

        for (int ip4 = 0; ip4 < 2; ip4++) {
            const struct ir_rule *rule
                = (lacks_gateway(network, ip4)
                   ? find_rule_across(prog, network, ip4) : NULL);
            const char *family = ip4 ? "IPv4" : "IPv6";

            if (rule) {
                refuse(diags, &network->place, "gateway",
                       ip4 ? "list an IPv4 gateway, too"
                       : "list an IPv6 gateway, too",
                       "OVN has no way to %s addresses of a network without "
                       "an %s gateway, and '%s' is about such and those of "
                       "other networks", family, family, rule->name);
            }
        }
    }
}

static bool
has_ip6(const struct ir_prog *prog, const struct ir_network *network)
{
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        if (e->network == network && ir_has_ip6(e)) {
            return true;
        }
    }
    return false;
}

static void
check_networks(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->networks.n; i++) {
        const struct ir_network *network = prog->networks.v[i];

        if (network->dhcp) {
            refuse(diags, &network->place, "dhcp", "write \"dhcp\": "
                   "\"native\" for OVN's own server, or choose another "
                   "target", "the target ovn has no endpoints that serve "
                   "DHCP yet");
        }
        if (network->groups.n) {
            refuse(diags, &network->place, "multicast", "remove "
                   "\"multicast\", or choose another target", "OVN would "
                   "carry multicast groups beyond the node");
        }
        if (has_ip6(prog, network)) {
            warn_of(diags, &network->place, NULL, "OVN passes router "
                    "advertisements and MLD between the endpoints of a "
                    "network, whatever its ACLs say");
        }
    }
}

static void
check_externals(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->externals.n; i++) {
        refuse(diags, &prog->externals.v[i]->place, NULL, "remove the rules "
               "and peerings that name it, or choose another target",
               "the target ovn has no externals yet");
    }
}

static void
check_meters(const struct ir_prog *prog, struct diags *diags)
{
    struct hmapx seen = HMAPX_INITIALIZER(&seen);

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];
        const struct ir_place *place = &meter->place;

        if (!is_first_at(&seen, place)) {
            continue;
        }
        if (meter->guarantee_kbps || meter->weight || meter->no_borrow) {
            refuse(diags, place, NULL, "remove \"guarantee\", \"weight\" and "
                   "\"borrow\"; keep the sum of limits within the uplink's "
                   "rate", "OVN has limits only, and guarantees or lends "
                   "nothing");
        }
        if (meter->class) {
            refuse(diags, place, "..", "remove \"classes\", or choose another "
                   "target", "OVN has one meter for a packet, the tenant's, "
                   "and none for a class by itself");
        }
        if (meter->endpoint) {
            refuse(diags, place, "..", "remove it, or choose another target",
                   "OVN has one meter for a packet, the tenant's, and none "
                   "for an endpoint by itself");
        }
        if (meter->microburst) {
            warn_of(diags, &meter->tenant->place, "microburst", "OVN's meters "
                    "drop above rate and burst, and neither mark nor record "
                    "bursts: \"microburst\" says nothing to them");
        }
    }
    hmapx_destroy(&seen);
}

static void
check_classes(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];

        if (class->delay_bound_ns && ir_uses_class(prog, class)) {
            refuse(diags, &class->place, "delay_bound", "remove it", "OVN "
                   "does not keep the \"delay_bound\" of this class");
        }
        if (class->dscp_in && ir_uses_class(prog, class)) {
            refuse(diags, &class->place, "dscp_in", "remove it, or choose "
                   "another target", "OVN has no meter for what of this class "
                   "keeps its DSCP (\"dscp_in\")");
        }
        if (class->queue) {
            warn_of(diags, &class->place, "queue", "OVN writes the DSCP of a "
                    "class, and has no queues for classes");
        }
    }
}

static void
check_rules(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (rule->charge_from || rule->charge_to) {
            refuse(diags, &rule->place, "charge", "remove \"charge\", or "
                   "choose another target", "OVN meters each port for the "
                   "tenant of its endpoint, and cannot charge another");
        }
        if (rule->stateless) {
            refuse(diags, &rule->place, "stateful", "remove \"stateful\", or "
                   "choose another target", "the target ovn has no stateless "
                   "rules yet, but of symmetric services");
        }
    }
}

bool
ovn_check(const struct ir_prog *prog, const struct backend_caps *caps
          OVS_UNUSED, struct diags *diags)
{
    size_t n_errors = diags->n_errors;

    check_nodes(prog, diags);
    check_tenants(prog, diags);
    check_networks(prog, diags);
    check_families(prog, diags);
    ovn_check_dhcp(prog, diags);
    check_externals(prog, diags);
    check_meters(prog, diags);
    check_classes(prog, diags);
    check_rules(prog, diags);
    lost_warn_bursts(prog, diags, &ovn_meters);
    return diags->n_errors == n_errors;
}
