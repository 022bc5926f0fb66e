/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "packets.h"
#include "sema/interface.h"
#include "sema/policy.h"
#include "util.h"

struct checker {
    const struct policy *policy;
    struct arena *arena;
    struct diags *diags;
    struct hmap seen;           /* Contains "struct seen"s. */
};

/* Something that may be there once: a VNI, a MAC in a network, ... */
struct seen {
    struct hmap_node node;
    const char *what;           /* Namespace of 'key'. */
    const void *scope;          /* Once in here; in the policy, it is a
                                 * claim (sema/claim.h). */
    const char *key;
    const struct value *at;
};

/* Notes that 'what' 'key' stands at 'at' in 'scope'; an error if it stood
 * somewhere else before. */
static void
once(struct checker *c, const char *what, const void *scope, const char *key,
     const struct value *at, const char *remedy)
{
    uint32_t hash = hash_string(key, hash_pointer(scope,
                                                  hash_string(what, 0)));
    struct seen *seen;

    if (scope == c->policy) {
        claim_key(c->policy->claims, what, key, at);
    }
    HMAP_FOR_EACH_WITH_HASH (seen, node, hash, &c->seen) {
        if (!strcmp(seen->what, what) && seen->scope == scope
            && !strcmp(seen->key, key)) {
            /* Tenants come by name; the reader goes by place. */
            bool later = at->span.start > seen->at->span.start;
            const struct value *first = later ? seen->at : at;
            const struct value *second = later ? at : seen->at;
            struct diag *d = value_error(c->diags, second,
                                         "%s %s is used twice", what, key);
            diag_remedy(c->diags, d, "%s", remedy);
            diag_see(c->diags, d, first->span, "first used here");
            return;
        }
    }
    seen = arena_zalloc(c->arena, sizeof *seen);
    *seen = (struct seen) { .what = what, .scope = scope, .key = key,
                            .at = at };
    hmap_insert(&c->seen, &seen->node, hash);
}

static const char *
address_string(struct checker *c, const struct in6_addr *ip)
{
    char s[INET6_ADDRSTRLEN + 1];

    ipv6_string_mapped(s, ip);
    return arena_strdup(c->arena, s);
}

bool
subnet_holds(const struct address *subnet, const struct in6_addr *ip)
{
    struct in6_addr mask = ipv6_create_mask(subnet->plen);
    struct in6_addr masked = ipv6_addr_bitand(ip, &mask);

    /* "::/0" holds no IPv4 address, mapped or not. */
    return (ipv6_addr_equals(&masked, &subnet->ip)
            && (!IN6_IS_ADDR_V4MAPPED(ip)
                == !IN6_IS_ADDR_V4MAPPED(&subnet->ip)));
}

bool
address_is_ip6(const struct address *address)
{
    return !IN6_IS_ADDR_V4MAPPED(&address->ip);
}

bool
holds_family(const address_vec *addresses, bool ip6)
{
    for (size_t i = 0; i < addresses->n; i++) {
        if (address_is_ip6(&addresses->v[i]) == ip6) {
            return true;
        }
    }
    return false;
}

/* The subnet of 'network' that 'ip' is in, or NULL. */
static const struct address *
find_subnet(const struct intent_network *network, const struct in6_addr *ip)
{
    for (size_t i = 0; i < network->subnets.n; i++) {
        if (subnet_holds(&network->subnets.v[i], ip)) {
            return &network->subnets.v[i];
        }
    }
    return NULL;
}

/* Is 'ip' the IPv4 network or broadcast address of 'subnet' (RFC 1122 section
 * 3.2.1.3)?  Of 31 bits or more it has neither (RFC 3021). */
static const char *
special_address(const struct address *subnet, const struct in6_addr *ip)
{
    if (!IN6_IS_ADDR_V4MAPPED(ip) || subnet->plen > 96 + 30) {
        return NULL;
    }

    ovs_be32 host = (in6_addr_get_mapped_ipv4(ip)
                     & ~be32_prefix_mask(subnet->plen - 96));
    return (!host ? "network"
            : host == ~be32_prefix_mask(subnet->plen - 96) ? "broadcast"
            : NULL);
}

static bool
subnets_overlap(const struct address *a, const struct address *b)
{
    return a->plen <= b->plen ? subnet_holds(a, &b->ip)
                              : subnet_holds(b, &a->ip);
}

bool
is_station(const struct in6_addr *ip)
{
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);

        return !(ip_is_multicast(ip4) || ip4 == htonl(INADDR_BROADCAST)
                 || !(ip4 & htonl(0xff000000))
                 || (ip4 & htonl(0xff000000)) == htonl(0x7f000000));
    }
    return !(ipv6_addr_is_multicast(ip) || IN6_IS_ADDR_LOOPBACK(ip)
             || ipv6_is_zero(ip) || IN6_IS_ADDR_LINKLOCAL(ip));
}

static void
check_address(struct checker *c, const struct address *address,
              const struct intent_network *network)
{
    const struct value *at = address->at;
    const struct address *subnet = find_subnet(network, &address->ip);
    const char *special = subnet ? special_address(subnet, &address->ip)
                          : NULL;

    if (!is_station(&address->ip)) {
        struct diag *d = value_error(c->diags, at,
                                     "this is not the address of a station");
        diag_remedy(c->diags, d, "write a unicast address; link-local ones "
                    "follow from the MAC address");
    } else if (special) {
        struct diag *d = value_error(c->diags, at, "this is the %s address of "
                                     "its subnet", special);
        diag_remedy(c->diags, d, "write an address between the first and the "
                    "last of the subnet");
        diag_see(c->diags, d, subnet->at->span, "the subnet");
    } else if (network->subnets.n && !subnet) {
        struct diag *d = value_error(c->diags, at,
                                     "this address is in no subnet of network "
                                     "'%s'", network->name.s);
        diag_remedy(c->diags, d, "correct it, or add its subnet");
        diag_see(c->diags, d, network->name.at->key_span,
                 "the network is defined here");
    }
}

static void
check_network(struct checker *c, const struct policy *policy,
              const struct policy_network *network)
{
    const struct intent_network *intent = network->intent;

    once(c, "VNI", policy, arena_printf(c->arena, "%"PRIu32, intent->vni),
         intent->vni_at, "give each network a VNI of its own");
    if (!intent->subnets.n) {
        const struct value *at = intent->name.at;
        struct diag *d = value_key_error(c->diags, at,
                                         "a network without subnets has no "
                                         "addresses");
        diag_remedy(c->diags, d, "list its subnets");
    }
    for (size_t i = 0; i < intent->gateways.n; i++) {
        const struct address *gateway = &intent->gateways.v[i];

        check_address(c, gateway, intent);
        once(c, "address", network->tenant,
             address_string(c, &gateway->ip), gateway->at,
             "give each gateway and endpoint of a tenant its own address");
    }
}

/* The subnets of one tenant must not overlap: it routes between them. */
static void
check_overlap(struct checker *c, const struct policy_tenant *tenant)
{
    VEC(const struct address *) all = VEC_INIT;

    for (size_t i = 0; i < tenant->networks.n; i++) {
        const struct intent_network *n = tenant->networks.v[i]->intent;

        for (size_t j = 0; j < n->subnets.n; j++) {
            const struct address *new = &n->subnets.v[j];

            for (size_t k = 0; k < all.n; k++) {
                if (subnets_overlap(all.v[k], new)) {
                    struct diag *d = value_error(c->diags, new->at,
                                                 "this subnet overlaps "
                                                 "another one of the tenant");
                    diag_remedy(c->diags, d, "give each network of a tenant "
                                "its own addresses; tenants may overlap");
                    diag_see(c->diags, d, all.v[k]->at->span,
                             "the other one");
                    break;      /* Of many that are the same, one each. */
                }
            }
            *vec_push(c->arena, &all) = new;
        }
    }
}

/* An interface of 'node', which has it once; of an unknown node if that is
 * NULL. */
static void
check_interface(struct checker *c, const struct policy *policy,
                const char *node, const struct text *interface,
                const char *remedy)
{
    const char *reserved = interface_reserved(interface->s);

    if (reserved) {
        struct diag *d = value_error(c->diags, interface->at, "%s", reserved);
        diag_remedy(c->diags, d, "name another interface, or give this one "
                    "another name");
    } else if (node) {
        once(c, "interface", policy,
             arena_printf(c->arena, "%s on node %s", interface->s, node),
             interface->at, remedy);
    }
}

/* A VF of the device of an uplink is one endpoint's. */
static void
check_vf(struct checker *c, const struct policy *policy,
         const struct policy_endpoint *e)
{
    const struct number *vf = &e->intent->vf;
    const struct intent_uplink *uplink = e->node
        ? network_uplink(e->network, e->node) : NULL;

    if (vf->at && uplink && uplink->device.s) {
        once(c, "VF", policy,
             arena_printf(c->arena, "%"PRIu16" of %s on node %s", vf->n,
                          uplink->device.s, e->node->name.s),
             vf->at, "give each endpoint a VF of its own");
    }
}

static void
check_endpoint(struct checker *c, const struct policy *policy,
               const struct policy_endpoint *e)
{
    const struct intent_endpoint *intent = e->intent;

    check_vf(c, policy, e);
    for (size_t i = 0; i < intent->addresses.n; i++) {
        const struct address *address = &intent->addresses.v[i];

        check_address(c, address, e->network->intent);
        once(c, "address", e->tenant, address_string(c, &address->ip),
             address->at,
             "give each gateway and endpoint of a tenant its own address");
    }
    if (intent->mac_text.s) {
        const struct value *at = intent->mac_text.at;

        once(c, "MAC address", e->network,
             arena_printf(c->arena, ETH_ADDR_FMT, ETH_ADDR_ARGS(intent->mac)),
             at, "give each endpoint of a network its own");
        if (eth_addr_equals(intent->mac, e->network->gateway_mac)) {
            struct diag *d = value_error(c->diags, at,
                                         "this is the MAC address of the "
                                         "network's gateway");
            diag_remedy(c->diags, d, "choose another; 0a:b1:7d:... are "
                        "Bulkhead's");
        }
    }
    if (intent->interface.s) {
        check_interface(c, policy, intent->node.s, &intent->interface,
                        "bind each endpoint to its own interface");
    }
}

static void
check_node(struct checker *c, const struct policy *policy,
           const struct intent_node *node)
{
    const struct address *tunnel = &node->tunnel;

    for (size_t i = 0; i < node->uplinks.n; i++) {
        check_interface(c, policy, node->name.s,
                        &node->uplinks.v[i].interface,
                        "an uplink is nobody else's interface");
    }
    if (tunnel->at && !is_station(&tunnel->ip)) {
        struct diag *d = value_error(c->diags, tunnel->at,
                                     "this is not the address of a station");
        diag_remedy(c->diags, d, "write the unicast address that the node "
                    "has on the underlay");
    } else if (tunnel->at) {
        once(c, "tunnel address", policy, address_string(c, &tunnel->ip),
             tunnel->at, "give each node its own");
    }
}

static void
check_attachment(struct checker *c, const struct policy *policy,
                 const struct policy_attachment *a)
{
    const struct intent_attachment *intent = a->intent;
    struct diag *d;

    check_interface(c, policy, a->node->name.s, &intent->interface,
                    "give each attachment an interface of its own");
    for (size_t i = 0; i < intent->gateways.n; i++) {
        if (!is_station(&intent->gateways.v[i].ip)) {
            d = value_error(c->diags, intent->gateways.v[i].at,
                            "this is not the address of a station");
            diag_remedy(c->diags, d, "write the address that the router sends "
                        "to tenants through");
        }
    }
    if (!intent->gateways.n) {
        d = value_key_error(c->diags, intent->node.at, "the router finds no "
                            "way in: there is no \"gateway\"");
        diag_remedy(c->diags, d, "list the addresses that it sends to tenants "
                    "through");
    }
    if (eth_addr_equals(intent->mac, a->gateway_mac)) {
        d = value_error(c->diags, intent->mac_text.at, "this is the MAC "
                        "address that the node answers with");
        diag_remedy(c->diags, d, "write the router's, or another "
                    "\"gateway_mac\"");
    }
    once(c, "gateway's MAC address", a->external,
         arena_printf(c->arena, ETH_ADDR_FMT, ETH_ADDR_ARGS(a->gateway_mac)),
         intent->gateway_mac_text.s ? intent->gateway_mac_text.at
         : intent->node.at, "give each node a \"gateway_mac\" of its own");
}

void
check_addressing(const struct policy *policy, struct arena *arena,
                 struct diags *diags)
{
    struct checker c = { policy, arena, diags, HMAP_INITIALIZER(&c.seen) };

    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        check_node(&c, policy, &policy->intent->nodes.v[i]);
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            check_network(&c, policy, tenant->networks.v[j]);
        }
        check_overlap(&c, tenant);
        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            check_endpoint(&c, policy, tenant->endpoints.v[j]);
        }
    }
    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *e = policy->externals.v[i];

        for (size_t j = 0; j < e->attachments.n; j++) {
            check_attachment(&c, policy, e->attachments.v[j]);
        }
    }
    hmap_destroy(&c.seen);
}
