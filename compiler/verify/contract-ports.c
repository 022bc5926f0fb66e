/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>

#include "flow.h"
#include "packets.h"
#include "util.h"

/* ADMIT, TUNNEL, SPOOF and NEIGHBOR: who sends a packet. */

/* Once a port has let it in, a packet has the numbers of the endpoint of that
 * port, and no others. */
static void
ask_admit_endpoint(struct contract *c, const struct policy_endpoint *e)
{
    const struct deed *d = &c->deed;
    u128 vni;
    bool tenant = note_is_set(c, d, F_REG0, NOTE_TENANT, e->tenant);
    bool endpoint = note_is_set(c, d, F_REG1, NOTE_ENDPOINT, e);
    bool zone = note_is_set(c, d, F_REG6, NOTE_ZONE, e->tenant);
    bool group = note_is_set(c, d, F_REG12, NOTE_GROUP, e);

    if (!tenant || !endpoint || !zone || !group
        || !deed_sets(d, F_REG2, &vni)
        || vni != e->network->intent->vni
        || !deed_sets_only(d, FIELD_BIT(F_REG0) | FIELD_BIT(F_REG1)
                           | FIELD_BIT(F_REG2) | FIELD_BIT(F_REG6)
                           | FIELD_BIT(F_REG12))
        || !deed_leads_to(d, TABLE_SPOOF)) {
        contract_wrong(c, "it notes another sender, or more than the sender",
                       arena_printf(c->arena, "tenant, number, network, zone "
                                    "and group of %s, for SPOOF", e->name),
                       e->intent->name.at);
    }
}

static const struct policy_attachment *
attachment_of_port(const struct contract *c, ofp_port_t port)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_attachment *at
            = external_at(policy->externals.v[i], c->node);

        if (at && port == table_set_port(c->task->tables,
                                         at->intent->interface.s)) {
            return at;
        }
    }
    return NULL;
}

static void
ask_admit_external(struct contract *c, const struct policy_attachment *at)
{
    const struct deed *d = &c->deed;
    bool tenant = note_is_set(c, d, F_REG0, NOTE_TENANT, at->external);
    bool endpoint = note_is_set(c, d, F_REG1, NOTE_ENDPOINT, at);

    if (!tenant || !endpoint
        || !deed_sets_only(d, FIELD_BIT(F_REG0) | FIELD_BIT(F_REG1))
        || !deed_leads_to(d, TABLE_TUNNEL)) {
        contract_wrong(c, "it notes another sender, or more than the sender",
                       arena_printf(c->arena, "the numbers of external %s, "
                                    "for TUNNEL", at->external->name),
                       at->external->intent->name.at);
    }
}

/* Does the flow match that address of the outer header? */
static bool
has_outer(const struct table_flow *flow, const struct address *a,
          enum field field4, enum field field6)
{
    bool ip6 = !IN6_IS_ADDR_V4MAPPED(&a->ip);

    return flow_has(flow, ip6 ? field6 : field4, field_from_ip(&a->ip)
                    & field_ones(ip6 ? 128 : 32));
}

static const struct intent_node *
sender_of_tunnel(const struct contract *c)
{
    const struct intent *intent = c->task->policy->intent;

    for (size_t i = 0; i < intent->nodes.n; i++) {
        const struct intent_node *node = &intent->nodes.v[i];

        if (node != c->node && node->tunnel.at
            && has_outer(c->flow, &node->tunnel, F_TUN_SRC,
                         F_TUN_IPV6_SRC)) {
            return node;
        }
    }
    return NULL;
}

static void
ask_admit_tunnel(struct contract *c)
{
    const struct intent_node *node = sender_of_tunnel(c);

    if (!node || !c->node->tunnel.at
        || !has_outer(c->flow, &c->node->tunnel, F_TUN_DST, F_TUN_IPV6_DST)
        || !note_is_set(c, &c->deed, F_METADATA, NOTE_NODE, node)
        || !deed_sets_only(&c->deed, FIELD_BIT(F_METADATA))
        || !deed_leads_to(&c->deed, TABLE_TUNNEL)) {
        contract_wrong(c, "it takes a tunnel for that of another node",
                       "the number of the node whose address the tunnel "
                       "comes from, to this node's, for TUNNEL",
                       node ? node->name.at : c->node->name.at);
    }
}

void
ask_admit(struct contract *c)
{
    const struct policy_attachment *at;
    const struct policy_endpoint *e;
    ofp_port_t port;
    u128 value;

    if (!flow_matches(c->flow, F_IN_PORT, &value)
        || !flow_has_bits(c->flow, F_VLAN_TCI, 0, 0x1fff)) {
        contract_wrong(c, "it lets in more than untagged frames of one port",
                       "dropped as unbound", NULL);
        return;
    }
    port = u16_to_ofp(value);
    e = endpoint_of_port(c, port);
    at = e ? NULL : attachment_of_port(c, port);
    if (e) {
        ask_admit_endpoint(c, e);
    } else if (at) {
        ask_admit_external(c, at);
    } else if (port == c->tunnel) {
        ask_admit_tunnel(c);
    } else {
        contract_wrong(c, "it lets in what comes by a port that is nobody's",
                       "dropped as unbound", NULL);
    }
}

static void
ask_tunnel_network(struct contract *c, const struct policy_network *network)
{
    const struct deed *d = &c->deed;
    bool routed = (network && flow_has(c->flow, F_ETH_SRC,
                                       mac_value(network->gateway_mac)));
    u128 vni;

    if (!network || !deed_sets(d, F_REG2, &vni)
        || vni != network->intent->vni
        || !note_is_set(c, d, F_REG6, NOTE_ZONE, network->tenant)
        || (routed && !note_is_set(c, d, F_REG13, NOTE_TENANT,
                                   network->tenant))
        || !deed_sets_only(d, FIELD_BIT(F_REG2) | FIELD_BIT(F_REG6)
                           | (routed ? FIELD_BIT(F_REG13) : 0))) {
        contract_wrong(c, "it takes a VNI for that of another network",
                       "the network of the VNI, the zone of its tenant and, "
                       "by its gateway's MAC only, that tenant",
                       network ? network->intent->name.at : NULL);
    }
}

/* What an external sends is in the zone of who could get it. */
static void
ask_tunnel_external(struct contract *c, const struct policy_attachment *at)
{
    struct flow_address a;
    const struct place *place;

    if (deed_sets_only(&c->deed, 0)) {
        return;
    }
    if (flow_destination(c->flow, &a) && deed_sets_only(
            &c->deed, FIELD_BIT(F_REG6))
        && flow_has(c->flow, F_ETH_DST, mac_value(at->gateway_mac))) {
        for (place = place_first(c, &a); place;
             place = place_next(place, &a)) {
            if (endpoint_is_at(c, place->endpoint)
                && external_is_used_by(at->external,
                                       place->endpoint->tenant)
                && note_is_set(c, &c->deed, F_REG6, NOTE_ZONE,
                               place->endpoint->tenant)) {
                return;
            }
        }
    }
    contract_wrong(c, "it puts what comes from outside into a zone that is "
                   "not the receiver's", "the zone of the tenant that has the "
                   "destination address here and uses the external",
                   at->external->intent->name.at);
}

void
ask_tunnel(struct contract *c)
{
    const struct policy_attachment *at = NULL;
    u128 value;

    if (flow_matches(c->flow, F_TUN_ID, &value)) {
        ask_tunnel_network(c, network_of(c, value));
    } else if (c->learning) {
        return;
    } else if (flow_matches(c->flow, F_REG1, &value)
               && !note_endpoint(c, value, &at) && at) {
        ask_tunnel_external(c, at);
    } else {
        contract_wrong(c, "it passes what has no VNI and is of no external",
                       "dropped as unknown-peer", NULL);
    }
}

/* To neighbor discovery and DHCP link-local addresses are its own, too. */
static bool
has_link_local(const struct policy_endpoint *e, const struct flow_address *a)
{
    struct in6_addr ip;

    in6_generate_lla(e->intent->mac, &ip);
    return address_is(a, &ip);
}

static bool
is_request(const struct table_flow *flow)
{
    return (flow_has(flow, F_ETH_TYPE, ETH_TYPE_ARP)
            ? flow_has(flow, F_NW_PROTO, ARP_OP_REQUEST)
            : flow_has(flow, F_ETH_TYPE, ETH_TYPE_IPV6)
              && flow_has(flow, F_NW_PROTO, IPPROTO_ICMPV6)
              && flow_has(flow, F_TP_SRC, ND_NEIGHBOR_SOLICIT)
              && flow_has(flow, F_TP_DST, 0));
}

/* Is what passes from one who tells the truth? */
static bool
is_own_source(const struct contract *c, const struct policy_endpoint *e)
{
    const struct in6_addr none = in6_addr_mapped_ipv4(0);
    u128 mac = mac_value(e->intent->mac);
    struct flow_address a;
    bool own;

    if (!flow_has(c->flow, F_ETH_SRC, mac) || !flow_source(c->flow, &a)) {
        return false;
    }
    own = endpoint_has(e, &a);
    return (deed_leads_to(&c->deed, TABLE_TRACK)
            ? own && !flow_has(c->flow, F_ETH_TYPE, ETH_TYPE_ARP)
            : deed_leads_to(&c->deed, TABLE_NEIGHBOR)
            ? (own || (a.ip6 && has_link_local(e, &a)))
              && is_request(c->flow)
              && flow_has(c->flow, F_ARP_SHA, mac)
            : deed_leads_to(&c->deed, TABLE_DHCP)
              && (own || has_link_local(e, &a) || address_is(&a, &none))
              && flow_has(c->flow, F_NW_PROTO, IPPROTO_UDP));
}

static bool
is_external_source(struct contract *c, const struct policy_attachment *at)
{
    struct flow_address a;

    if (!flow_has(c->flow, F_ETH_SRC, mac_value(at->intent->mac))) {
        return false;
    } else if (deed_leads_to(&c->deed, TABLE_NEIGHBOR)) {
        return (is_request(c->flow) && flow_has(
            c->flow, F_ARP_SHA, mac_value(at->intent->mac)));
    }
    return (deed_leads_to(&c->deed, TABLE_TRACK)
            && flow_source(c->flow, &a)
            && external_holds(c, at->external, &a));
}

/* Whoever is on a node, a tunnel's packets are from endpoints there: by their
 * own MAC, in their network, or as routed to a tenant that may have to do with
 * them. */
static bool
is_remote_source(struct contract *c, const struct policy_endpoint *e)
{
    const struct policy_tenant *to;
    const struct policy_external *external;
    const struct deed *d = &c->deed;
    bool tenant, endpoint, group;
    u128 value, node;

    flow_matches(c->flow, F_METADATA, &node);
    if (endpoint_is_at(c, e) || note_who(c, NOTE_NODE, node) != e->node) {
        return false;
    }
    if (flow_matches(c->flow, F_REG13, &value)) {
        to = note_tenant(c, value, &external);
        if (!to || !contract_joins(c, to, e)) {
            return false;
        }
    } else if (!flow_has(c->flow, F_REG2, e->network->intent->vni)
               || !flow_has(c->flow, F_ETH_SRC, mac_value(e->intent->mac))) {
        return false;
    }
    tenant = note_is_set(c, d, F_REG0, NOTE_TENANT, e->tenant);
    endpoint = note_is_set(c, d, F_REG1, NOTE_ENDPOINT, e);
    group = note_is_set(c, d, F_REG12, NOTE_GROUP, e);
    return (tenant && endpoint && group && deed_leads_to(d, TABLE_TRACK)
            && deed_sets_only(d, FIELD_BIT(F_REG0) | FIELD_BIT(F_REG1)
                              | FIELD_BIT(F_REG12)));
}

static void
ask_spoof_tunnel(struct contract *c)
{
    struct flow_address a;

    if (flow_source(c->flow, &a)) {
        for (const struct place *place = place_first(c, &a); place;
             place = place_next(place, &a)) {
            if (is_remote_source(c, place->endpoint)) {
                return;
            }
        }
    }
    contract_wrong(c, "it takes what comes by tunnel for another's",
                   "the numbers of the endpoint on that node that has the "
                   "address, in its network or routed", NULL);
}

void
ask_spoof(struct contract *c)
{
    const struct policy_attachment *at = NULL;
    const struct policy_endpoint *e;
    u128 value;

    if (flow_matches(c->flow, F_METADATA, &value) && value) {
        ask_spoof_tunnel(c);
        return;
    } else if (c->learning) {
        return;
    }
    e = (flow_matches(c->flow, F_REG1, &value)
         ? note_endpoint(c, value, &at) : NULL);
    if (!(at ? is_external_source(c, at)
             && deed_sets_only(&c->deed, FIELD_BIT(F_REG12))
          : e && is_own_source(c, e) && deed_sets_only(&c->deed, 0))) {
        contract_wrong(c, "it passes what is not of the sender's own "
                       "addresses", e ? arena_printf(
                           c->arena, "MAC and addresses of %s", e->name)
                       : "dropped as spoof", e ? e->intent->name.at : NULL);
    }
}

/* Answers are for who has the address that is asked for. */
static bool
is_answer(const struct contract *c, const struct policy_network *network,
          const struct flow_address *a, u128 mac)
{
    const struct place *place;

    for (place = place_first(c, a); place; place = place_next(place, a)) {
        if (place->endpoint->network == network
            && mac_value(place->endpoint->intent->mac) == mac) {
            return true;
        }
    }
    return (mac == mac_value(network->gateway_mac)
            && addresses_hold(&network->intent->gateways, a));
}

static bool
is_link_local_answer(const struct policy_network *network,
                     const struct flow_address *a, u128 mac)
{
    const struct policy_tenant *tenant = network->tenant;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->bound && e->network == network
            && mac_value(e->intent->mac) == mac && has_link_local(e, a)) {
            return true;
        }
    }
    return false;
}

static bool
get_target(const struct table_flow *flow, struct flow_address *a)
{
    a->ip6 = flow_has(flow, F_ETH_TYPE, ETH_TYPE_IPV6);
    a->mask = field_ones(a->ip6 ? 128 : 32);
    return flow_matches(flow, a->ip6 ? F_ND_TARGET : F_NW_DST, &a->value);
}

void
ask_neighbor(struct contract *c)
{
    const struct policy_network *network = NULL;
    const struct policy_attachment *at = NULL;
    struct flow_address a;
    u128 value, mac;

    if (c->learning) {
        return;
    }
    if (flow_matches(c->flow, F_REG2, &value)) {
        network = network_of(c, value);
    } else if (flow_matches(c->flow, F_REG1, &value)) {
        note_endpoint(c, value, &at);
    }
    if (!get_target(c->flow, &a) || !deed_sets(&c->deed, F_ETH_SRC, &mac)
        || !(network ? is_answer(c, network, &a, mac)
             || is_link_local_answer(network, &a, mac)
             : at && mac == mac_value(at->gateway_mac)
               && addresses_hold(&at->intent->gateways, &a))) {
        contract_wrong(c, "it answers for another's address, or with "
                       "another's MAC", "the MAC of who has the address in "
                       "the sender's network", NULL);
    }
}
