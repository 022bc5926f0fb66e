/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include "packets.h"
#include "sema/meaning-reach.h"
#include "util.h"

/* DHCP, COPY, ROUTE, GATEWAY, OUTPUT and DELIVER: who receives a packet. */

static bool
has_tenant(const tenant_vec *tenants, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < tenants->n; i++) {
        if (tenants->v[i] == tenant) {
            return true;
        }
    }
    return false;
}

bool
contract_joins(const struct contract *c, const struct policy_tenant *tenant,
               const struct policy_endpoint *e)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; tenant != e->tenant && i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind == RULE_PEERING
            && ((has_tenant(&rule->from_tenants, tenant)
                 && endpoint_is_in(e, &rule->to))
                || (has_tenant(&rule->to_tenants, tenant)
                    && endpoint_is_in(e, &rule->from)))) {
            return true;
        }
    }
    return tenant == e->tenant;
}

const struct policy_network *
network_of(const struct contract *c, u128 vni)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t k = 0; k < tenant->networks.n; k++) {
            if (tenant->networks.v[k]->intent->vni == vni) {
                return tenant->networks.v[k];
            }
        }
    }
    return NULL;
}

bool
addresses_hold(const address_vec *addresses, const struct flow_address *a)
{
    for (size_t i = 0; i < addresses->n; i++) {
        if (address_is(a, &addresses->v[i].ip)) {
            return true;
        }
    }
    return false;
}

struct address
address_prefix(const struct flow_address *a)
{
    struct address prefix = { .at = NULL };
    u128 value = a->value;

    prefix.plen = a->ip6 ? 0 : 96;
    for (u128 bit = (u128) 1 << (a->ip6 ? 127 : 31); bit && a->mask & bit;
         bit >>= 1) {
        prefix.plen++;
    }
    if (!a->ip6) {
        prefix.ip = in6_addr_mapped_ipv4(htonl(value));
        return prefix;
    }
    for (int i = 15; i >= 0; i--, value >>= 8) {
        prefix.ip.s6_addr[i] = value;
    }
    return prefix;
}

bool
external_holds(const struct contract *c, const struct policy_external *x,
               const struct flow_address *a)
{
    struct address prefix = address_prefix(a);

    return external_of(c->task->policy, &prefix) == x;
}

/* The network that the flow matches; NULL after saying that it should. */
static const struct policy_network *
matched_network(struct contract *c)
{
    const struct policy_network *network = NULL;
    u128 vni;

    if (flow_matches(c->flow, F_REG2, &vni)) {
        network = network_of(c, vni);
    }
    if (!network) {
        contract_wrong(c, "it passes what is in no network of the node",
                       "dropped as unreachable", NULL);
    }
    return network;
}

/* The same; NULL, too, while learning. */
static const struct policy_network *
asked_network(struct contract *c)
{
    return c->learning ? NULL : matched_network(c);
}

/* The endpoint here whose number the deed notes as the receiver's. */
static const struct policy_endpoint *
noted_receiver(const struct contract *c, const struct deed *d)
{
    const struct policy_attachment *at;
    u128 value;

    return (deed_sets(d, F_REG3, &value) ? note_endpoint(c, value, &at)
            : NULL);
}

static bool
is_in_network(const struct contract *c, const struct deed *d,
              const struct policy_network *network, enum contract_table next)
{
    const struct policy_endpoint *e = noted_receiver(c, d);

    return (e && e->network == network && endpoint_is_at(c, e)
            && deed_leads_to(d, next));
}

/* Requests go to the server, answers to clients, within the network. */
void
ask_dhcp(struct contract *c)
{
    const struct policy_network *network = asked_network(c);
    bool ok;

    if (!network) {
        return;
    }
    ok = (network->dhcp_server && deed_sets_only(&c->deed, FIELD_BIT(F_REG3))
          && flow_has(c->flow, F_NW_PROTO, IPPROTO_UDP));
    if (c->deed.copies.n) {
        ok &= !c->deed.next;
    } else {
        ok &= is_in_network(c, &c->deed, network, TABLE_CLASS);
    }
    for (size_t i = 0; i < c->deed.copies.n; i++) {
        ok &= (is_in_network(c, &c->deed.copies.v[i], network, TABLE_CLASS)
               && deed_sets_only(&c->deed.copies.v[i], FIELD_BIT(F_REG3)));
    }
    if (!ok) {
        contract_wrong(c, "DHCP leaves its network", arena_printf(
            c->arena, "to the server of %s/%s, or to its clients",
            network->tenant->name, network->intent->name.s),
            network->intent->name.at);
    }
}

void
ask_copy(struct contract *c)
{
    const struct policy_network *network = asked_network(c);
    bool ok;

    if (!network) {
        return;
    }
    ok = !c->deed.next && !c->deed.n_writes && network->intent->groups.n;
    for (size_t i = 0; i < c->deed.copies.n; i++) {
        const struct deed *copy = &c->deed.copies.v[i];

        ok &= (is_in_network(c, copy, network, TABLE_SELF)
               && notes_receiver(c, copy, noted_receiver(c, copy)));
    }
    if (!ok) {
        contract_wrong(c, "a copy is not for an endpoint of the network, or "
                       "has the numbers of another", arena_printf(
                           c->arena, "a copy for each endpoint of %s/%s",
                           network->tenant->name, network->intent->name.s),
                       network->intent->name.at);
    }
}

#define RECEIVER (FIELD_BIT(F_REG3) | FIELD_BIT(F_REG9)                 \
                  | FIELD_BIT(F_REG13) | FIELD_BIT(F_REG14))

/* Within a network MAC and address are one endpoint's, and what came by tunnel
 * goes into none. */
static bool
is_neighbor(struct contract *c, const struct policy_endpoint *e,
            const struct policy_network *network)
{
    return (e->network == network
            && flow_has(c->flow, F_ETH_DST, mac_value(e->intent->mac))
            && (endpoint_is_at(c, e) || flow_has(c->flow, F_METADATA, 0))
            && deed_leads_to(&c->deed, TABLE_SELF)
            && deed_sets_only(&c->deed, RECEIVER)
            && notes_receiver(c, &c->deed, e));
}

static void
ask_route_network(struct contract *c)
{
    const struct policy_network *network = matched_network(c);
    struct flow_address a;

    if (!network) {
        return;
    } else if (flow_has(c->flow, F_ETH_DST, mac_value(network->gateway_mac))
               && flow_has(c->flow, F_METADATA, 0)
               && deed_leads_to(&c->deed, TABLE_GATEWAY)
               && deed_sets_only(&c->deed, 0)) {
        return;
    }
    if (flow_destination(c->flow, &a)) {
        for (const struct place *place = place_first(c, &a); place;
             place = place_next(place, &a)) {
            if (is_neighbor(c, place->endpoint, network)) {
                return;
            }
        }
    }
    contract_wrong(c, "it notes a receiver that has not both MAC and address "
                   "in the network", arena_printf(
                       c->arena, "an endpoint of %s/%s, or its gateway",
                       network->tenant->name, network->intent->name.s),
                   network->intent->name.at);
}

void
ask_route(struct contract *c)
{
    const struct policy_attachment *at = NULL;
    u128 value;

    if (!c->learning && flow_matches(c->flow, F_REG1, &value)
        && !note_endpoint(c, value, &at) && at) {
        if (!deed_leads_to(&c->deed, TABLE_GATEWAY)
            || !deed_sets_only(&c->deed, FIELD_BIT(F_REG12))) {
            contract_wrong(c, "it notes a receiver of what comes from "
                           "outside", "what GATEWAY finds",
                           at->external->intent->name.at);
        }
    } else if (!c->learning
               || (flow_matches(c->flow, F_REG2, &value)
                   && deed_leads_to(&c->deed, TABLE_SELF))) {
        ask_route_network(c);
    }
}

/* Does the deed rewrite the MACs as a router does? */
static bool
sets_macs(const struct deed *d, struct eth_addr src, struct eth_addr dst)
{
    u128 value;

    return (deed_sets(d, F_ETH_SRC, &value) && value == mac_value(src)
            && deed_sets(d, F_ETH_DST, &value) && value == mac_value(dst)
            && d->acts & ACT_TTL);
}

static bool
is_crossing(const struct deed *d, enum noted_crossing crossing)
{
    u128 value;

    return (deed_sets(d, F_REG10, &value) ? value == crossing
            : crossing == CROSSING_NO && deed_sets_only(d, ~FIELD_BIT(
                F_REG10)));
}

/* A router of 'tenant', or of the external, leads to 'e'. */
static bool
is_routed(struct contract *c, const struct policy_tenant *tenant,
          const struct policy_external *external,
          const struct policy_endpoint *e)
{
    const struct deed *d = &c->deed;
    bool here = endpoint_is_at(c, e);
    u128 vni;

    if (!sets_macs(d, e->network->gateway_mac, e->intent->mac)
        || !e->network->intent->gateways.n
        || !deed_leads_to(d, TABLE_SELF) || !notes_receiver(c, d, e)) {
        return false;
    } else if (c->learning) {
        return true;
    } else if (external) {
        return (external_is_used_by(external, e->tenant) && here
                && deed_sets(d, F_REG2, &vni)
                && vni == e->network->intent->vni
                && is_crossing(d, CROSSING_EXTERNAL));
    }
    return (tenant && contract_joins(c, tenant, e)
            && deed_sets_only(d, ~FIELD_BIT(F_REG2))
            && is_crossing(d, here && tenant != e->tenant ? CROSSING_YES
                           : CROSSING_NO));
}

/* To what is outside. */
static bool
is_outward(struct contract *c, const struct policy_tenant *tenant,
           const struct flow_address *a)
{
    const struct deed *d = &c->deed;
    const struct policy_attachment *at = NULL;
    u128 value;

    if (!deed_sets(d, F_REG3, &value) || note_endpoint(c, value, &at) || !at
        || !tenant) {
        return false;
    }
    return (external_is_used_by(at->external, tenant)
            && external_holds(c, at->external, a)
            && sets_macs(d, at->gateway_mac, at->intent->mac)
            && note_is_set(c, d, F_REG13, NOTE_TENANT, at->external)
            && deed_sets_only(d, FIELD_BIT(F_ETH_SRC) | FIELD_BIT(F_ETH_DST)
                              | FIELD_BIT(F_REG3) | FIELD_BIT(F_REG13)
                              | FIELD_BIT(F_REG14))
            && deed_leads_to(d, TABLE_SELF));
}

void
ask_gateway(struct contract *c)
{
    const struct policy_external *external = NULL;
    const struct policy_tenant *tenant = NULL;
    struct flow_address a;
    u128 value;

    if (flow_matches(c->flow, F_REG0, &value)) {
        tenant = note_tenant(c, value, &external);
    }
    if (flow_destination(c->flow, &a)) {
        for (const struct place *place = place_first(c, &a); place;
             place = place_next(place, &a)) {
            if (is_routed(c, tenant, external, place->endpoint)) {
                return;
            }
        }
        if (!c->learning && is_outward(c, tenant, &a)) {
            return;
        }
    }
    contract_wrong(c, "it leads to one who has not the address, or with whom "
                   "the sender has nothing to do", arena_printf(
                       c->arena, "who has the address, of those that %s "
                       "reaches", tenant ? tenant->name : external
                       ? external->name : "nobody"),
                   tenant ? tenant->intent->name.at : external
                   ? external->intent->name.at : NULL);
}

static bool
leaves_by_tunnel(const struct contract *c, const struct policy_endpoint *e)
{
    const struct address *tunnel = &e->node->tunnel;
    bool ip6 = !IN6_IS_ADDR_V4MAPPED(&tunnel->ip);
    const struct deed *d = &c->deed;
    u128 vni, outer;

    return (tunnel->at && deed_sets(d, F_TUN_ID, &vni)
            && vni == e->network->intent->vni
            && deed_sets(d, ip6 ? F_TUN_IPV6_DST : F_TUN_DST, &outer)
            && outer == (field_from_ip(&tunnel->ip)
                         & field_ones(ip6 ? 128 : 32))
            && (deed_leads_to(d, TABLE_DELIVER) || d->port == c->tunnel));
}

/* A port is the receiver's, or the tunnel to its node. */
static bool
leaves_for(const struct contract *c, const struct policy_endpoint *e)
{
    const struct deed *d = &c->deed;

    return (!endpoint_is_at(c, e) ? leaves_by_tunnel(c, e)
            : deed_sets_only(d, 0)
              && (deed_leads_to(d, TABLE_DELIVER)
                  || d->port == compare_port(&c->proof->comparison,
                                             e->intent->interface.s)));
}

/* Endpoints of other nodes that nothing leads to have numbers that no table
 * notes. */
static bool
leaves_for_somebody(const struct contract *c)
{
    const struct policy_network *network = NULL;
    u128 vni;

    if (deed_sets(&c->deed, F_TUN_ID, &vni)) {
        network = network_of(c, vni);
    }
    for (size_t i = 0; network && i < network->tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = network->tenant->endpoints.v[i];

        if (e->bound && e->network == network && !endpoint_is_at(c, e)
            && leaves_by_tunnel(c, e)) {
            return true;
        }
    }
    return false;
}

void
ask_output(struct contract *c)
{
    const struct policy_attachment *at = NULL;
    const struct policy_endpoint *e = NULL;
    u128 value;
    bool ok;

    if (c->learning) {
        return;
    } else if (flow_matches(c->flow, F_REG3, &value)) {
        e = note_endpoint(c, value, &at);
        ok = (e ? leaves_for(c, e)
              : at ? deed_sets_only(&c->deed, 0) && c->deed.port
                     == compare_port(&c->proof->comparison,
                                     at->intent->interface.s)
              : leaves_for_somebody(c));
    } else {
        ok = c->flow->table == TABLE_DELIVER && c->deed.port == c->tunnel;
    }
    if (!ok) {
        contract_wrong(c, "it hands packets to another than their receiver",
                       e ? arena_printf(c->arena, "the port of %s, or the "
                                        "VNI and the node", e->name)
                       : at ? arena_printf(c->arena, "the port of external "
                                           "%s", at->external->name)
                       : "dropped as no-port",
                       e ? e->intent->name.at : at
                       ? at->external->intent->name.at : NULL);
    }
    ask_payer(c);
}
