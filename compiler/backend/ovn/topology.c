/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <inttypes.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/ident.h"
#include "sema/northbound.h"
#include "util.h"

/* A switch a network, a router a tenant that has gateways (gateway.c), and a
 * link between the routers of tenants that peerings join. */

/* The ends of a link, which is all that is on it. */
static const struct eth_addr link_macs[] = {
    ETH_ADDR_C(0a,b1,7f,00,00,01), ETH_ADDR_C(0a,b1,7f,00,00,02),
};

const char *
ovn_address_string(struct emitter *e, const struct in6_addr *ip)
{
    char s[INET6_ADDRSTRLEN + 1];

    ipv6_string_mapped(s, ip);
    return arena_strdup(e->plan->arena, s);
}

const char *
ovn_mac_string(struct emitter *e, struct eth_addr mac)
{
    return FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(mac));
}

/* "10.1.0.0/16 fd00:1::/64" */
static const char *
subnets_string(struct emitter *e, const struct ir_network *network)
{
    const char *s = "";

    for (size_t i = 0; i < network->subnets.n; i++) {
        const struct ir_prefix *p = &network->subnets.v[i];
        int skip = IN6_IS_ADDR_V4MAPPED(&p->ip) ? 96 : 0;

        s = FORMAT(e, "%s%s%s/%d", s, i ? " " : "",
                   ovn_address_string(e, &p->ip), p->plen - skip);
    }
    return s;
}

static void
add_switches(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];
        struct plan_row *row = plan_add_row(e->plan, "Logical_Switch",
                                            network->name);

        plan_row_string(e->plan, row, "name", network->name);
        plan_row_map(e->plan, row, "other_config", "requested-tnl-key",
                     FORMAT(e, "%"PRIu32, network->vni));
        plan_row_map(e->plan, row, "external_ids", NB_SUBNETS_KEY,
                     subnets_string(e, network));
        if (network->fixed_mtu) {
            plan_row_map(e->plan, row, "external_ids", NB_MTU_KEY,
                         FORMAT(e, "%"PRIu16, network->mtu));
        }
        shash_add(&e->switches, network->name, row);
    }
}

/* The port's MAC and addresses, which are all that it may send from. */
static void
add_ports(struct emitter *e)
{
    e->ports = arena_zalloc(e->plan->arena,
                            (e->prog->endpoints.n + 1) * sizeof *e->ports);
    e->everybody = plan_add_row(e->plan, "Port_Group", NB_EVERYBODY);
    plan_row_string(e->plan, e->everybody, "name", "bulkhead");
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = e->prog->endpoints.v[i];
        struct plan_row *row = plan_add_row(e->plan, "Logical_Switch_Port",
                                            endpoint->name);
        const char *addresses = ovn_mac_string(e, endpoint->mac);

        for (size_t j = 0; j < endpoint->addresses.n; j++) {
            addresses = FORMAT(
                e, "%s %s", addresses,
                ovn_address_string(e, &endpoint->addresses.v[j]));
        }
        plan_row_string(e->plan, row, "name", endpoint->name);
        plan_row_set(e->plan, row, "addresses", addresses);
        plan_row_set(e->plan, row, "port_security", addresses);
        plan_row_map(e->plan, row, "options", "requested-chassis",
                     endpoint->node->name);
        plan_row_map(e->plan, row, "external_ids", NB_INTERFACE_KEY,
                     endpoint->interface);
        plan_row_map(e->plan, row, "external_ids", NB_UPLINK_KEY,
                     endpoint->uplink);
        plan_row_ref(e->plan, shash_find_data(&e->switches,
                                              endpoint->network->name),
                     "ports", row);
        plan_row_ref(e->plan, e->everybody, "ports", row);
        e->ports[i] = row;
    }
}

bool
ovn_subnet_holds(const struct ir_prefix *subnet, const struct in6_addr *ip)
{
    struct in6_addr mask = ipv6_create_mask(subnet->plen);
    struct in6_addr base = ipv6_addr_bitand(ip, &mask);

    return (subnet->plen >= (IN6_IS_ADDR_V4MAPPED(ip) ? 96 : 0)
            && ipv6_addr_equals(&base, &subnet->ip));
}

/* One end of a link, at the router of 'near'. */
struct link_end {
    const struct ovn_tenant *near, *far;
    const char *name, *peer;    /* Of the ports. */
    const char *ip;             /* Its own, and those of the other end. */
    const char *peer_ip, *peer_ip6;
    struct eth_addr mac;
};

static void
add_link_port(struct emitter *e, struct plan_row *router,
              const struct link_end *end)
{
    struct plan_row *row = plan_add_row(e->plan, "Logical_Router_Port",
                                        end->name);

    plan_row_string(e->plan, row, "name", end->name);
    plan_row_string(e->plan, row, "mac", ovn_mac_string(e, end->mac));
    plan_row_set(e->plan, row, "networks", FORMAT(e, "%s/32", end->ip));
    plan_row_string(e->plan, row, "peer", end->peer);
    plan_row_ref(e->plan, router, "ports", row);
}

void
ovn_add_route(struct emitter *e, struct plan_row *router, const char *port,
              const struct in6_addr *ip, const char *nexthop)
{
    const char *prefix = FORMAT(e, "%s/%d", ovn_address_string(e, ip),
                                IN6_IS_ADDR_V4MAPPED(ip) ? 32 : 128);
    struct plan_row *row = plan_add_row(e->plan,
                                        "Logical_Router_Static_Route",
                                        FORMAT(e, "%s %s", port, prefix));

    plan_row_string(e->plan, row, "ip_prefix", prefix);
    plan_row_string(e->plan, row, "nexthop", nexthop);
    plan_row_string(e->plan, row, "output_port", port);
    plan_row_ref(e->plan, router, "static_routes", row);
}

/* The way to an address at the far end. */
static void
add_link_route(struct emitter *e, struct plan_row *router,
               const struct link_end *end, const struct in6_addr *ip)
{
    ovn_add_route(e, router, end->name, ip, IN6_IS_ADDR_V4MAPPED(ip)
                  ? end->peer_ip : end->peer_ip6);
}

/* To each endpoint of the far tenant that the near one reaches, and to no
 * others: another peer may have a subnet that overlaps. */
static void
add_routes(struct emitter *e, struct plan_row *router,
           const struct link_end *end)
{
    for (size_t i = 0; i < end->far->all->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = end->far->all->endpoints.v[i];

        for (size_t j = 0; j < endpoint->addresses.n; j++) {
            if (endpoint->network->gateways.n
                && ovn_reaches(end->near, ovn_group_of(e, endpoint))) {
                add_link_route(e, router, end, &endpoint->addresses.v[j]);
            }
        }
    }
}

/* Link-local, and different at the two ends.  Two links of a router may have
 * the same: every route says its port. */
static const char *
link_address(struct emitter *e, const struct ovn_tenant *low,
             const struct ovn_tenant *high, int side)
{
    uint32_t n = ident("link", FORMAT(e, "%s/%s", low->tenant->name,
                                      high->tenant->name), 15);

    n = n * 2 + side;
    return FORMAT(e, "169.254.%"PRIu32".%"PRIu32, n >> 8, n & 0xff);
}

static const char *
link_local(struct emitter *e, struct eth_addr mac)
{
    struct in6_addr ip;

    in6_generate_lla(mac, &ip);
    return ovn_address_string(e, &ip);
}

static void
add_link(struct emitter *e, const struct ovn_tenant *low,
         const struct ovn_tenant *high)
{
    const struct ovn_tenant *tenants[] = { low, high };

    for (int i = 0; i < 2; i++) {
        const struct ovn_tenant *near = tenants[i], *far = tenants[!i];
        struct plan_row *router = shash_find_data(&e->routers,
                                                  near->tenant->name);
        struct link_end end = {
            .near = near, .far = far,
            .name = FORMAT(e, "%s/%s/link", near->tenant->name,
                           far->tenant->name),
            .peer = FORMAT(e, "%s/%s/link", far->tenant->name,
                           near->tenant->name),
            .ip = link_address(e, low, high, i),
            .peer_ip = link_address(e, low, high, !i),
            .peer_ip6 = link_local(e, link_macs[!i]),
            .mac = link_macs[i],
        };

        add_link_port(e, router, &end);
        add_routes(e, router, &end);
    }
}

static bool
are_joined(const struct ovn_tenant *a, const struct ovn_tenant *b)
{
    for (size_t i = 0; a->joined && i < b->n; i++) {
        if (a->joined[b->first + i]) {
            return true;
        }
    }
    return false;
}

static void
add_links(struct emitter *e)
{
    for (size_t i = 0; i < e->tenants.n; i++) {
        for (size_t j = i + 1; j < e->tenants.n; j++) {
            const struct ovn_tenant *a = &e->tenants.v[i];
            const struct ovn_tenant *b = &e->tenants.v[j];

            if (are_joined(a, b) && shash_find(&e->routers, a->tenant->name)
                && shash_find(&e->routers, b->tenant->name)) {
                add_link(e, a, b);
            }
        }
    }
}

void
emit_topology(struct emitter *e)
{
    add_switches(e);
    add_ports(e);
    ovn_add_routers(e);
    add_links(e);
}
