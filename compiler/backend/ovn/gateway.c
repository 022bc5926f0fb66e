/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <string.h>

#include "packets.h"
#include "util.h"

/* The routers of tenants, and their ways to endpoints.
 *
 * A router finds a port by the port's networks, and northd tells it the MACs
 * of those endpoints only that are in them.  So a gateway has the shortest
 * prefix there that its network needs: that of its own subnet, or one that
 * takes in all subnets of its family which have no gateway.  Of ports whose
 * prefixes hold an address the longest would win, so where that is not its
 * network's, the endpoint has a route. */

/* A gateway, as a port of the router has it. */
struct way {
    const struct ir_network *network;
    const char *port;
    struct ir_prefix prefix;
};

struct router {
    const struct ir_tenant *tenant;
    const ir_endpoint_vec *endpoints;   /* Of the tenant. */
    struct plan_row *row;       /* NULL: no network has a gateway yet. */
    VEC(struct way) ways;
};

static bool
same_family(const struct in6_addr *a, const struct in6_addr *b)
{
    return !IN6_IS_ADDR_V4MAPPED(a) == !IN6_IS_ADDR_V4MAPPED(b);
}

/* The subnet of the network that holds the gateway, or itself. */
static struct ir_prefix
own_subnet(const struct ir_network *network, const struct in6_addr *ip)
{
    for (size_t i = 0; i < network->subnets.n; i++) {
        if (ovn_subnet_holds(&network->subnets.v[i], ip)) {
            return network->subnets.v[i];
        }
    }
    return (struct ir_prefix) { *ip, 128 };
}

const struct in6_addr *
ovn_find_gateway(const struct ir_network *network,
                 const struct ir_prefix *subnet)
{
    for (size_t i = 0; i < network->gateways.n; i++) {
        if (ovn_subnet_holds(subnet, &network->gateways.v[i])) {
            return &network->gateways.v[i];
        }
    }
    return NULL;
}

static bool
has_endpoint(const struct router *r, const struct ir_network *network,
             const struct ir_prefix *subnet)
{
    for (size_t i = 0; i < r->endpoints->n; i++) {
        const struct ir_endpoint *endpoint = r->endpoints->v[i];

        for (size_t j = 0; j < endpoint->addresses.n; j++) {
            if (endpoint->network == network
                && ovn_subnet_holds(subnet, &endpoint->addresses.v[j])) {
                return true;
            }
        }
    }
    return false;
}

static void
shorten(struct ir_prefix *p)
{
    struct in6_addr mask = ipv6_create_mask(--p->plen);

    p->ip = ipv6_addr_bitand(&p->ip, &mask);
}

/* Is the prefix's last address that of an endpoint that the tenant reaches?
 * Routers take it for that of broadcast, and nothing from it. */
static bool
reaches_last(struct emitter *e, const struct router *r,
             const struct ir_prefix *p)
{
    struct in6_addr mask = ipv6_create_mask(p->plen);

    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = e->prog->endpoints.v[i];

        for (size_t j = 0; j < endpoint->addresses.n; j++) {
            struct in6_addr host
                = ipv6_addr_bitxor(&endpoint->addresses.v[j], &p->ip);
            struct in6_addr all = ipv6_addr_bitxor(&host, &mask);

            if (ipv6_addr_equals(&all, &in6addr_exact)
                && ovn_reaches(ovn_tenant(e, r->tenant),
                               ovn_group_of(e, endpoint))) {
                return true;
            }
        }
    }
    return false;
}

static bool
is_first_of_family(const struct ir_network *network, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (same_family(&network->gateways.v[i],
                        &network->gateways.v[index])) {
            return false;
        }
    }
    return true;
}

/* The prefix of a gateway.  The first one of a family is for the subnets that
 * have none. */
static struct ir_prefix
find_prefix(struct emitter *e, const struct router *r,
            const struct ir_network *network, size_t index)
{
    const struct in6_addr *ip = &network->gateways.v[index];
    struct ir_prefix p = own_subnet(network, ip);
    bool first = is_first_of_family(network, index);

    for (size_t i = 0; first && i < network->subnets.n; i++) {
        const struct ir_prefix *subnet = &network->subnets.v[i];

        if (same_family(&subnet->ip, ip) && !ovn_find_gateway(network, subnet)
            && has_endpoint(r, network, subnet)) {
            while (!ovn_subnet_holds(&p, &subnet->ip)
                   || p.plen > subnet->plen) {
                shorten(&p);
            }
        }
    }
    while (IN6_IS_ADDR_V4MAPPED(ip) && p.plen > 96
           && reaches_last(e, r, &p)) {
        shorten(&p);
    }
    return p;
}

/* Joins the network's switch and the tenant's router.  All ports of OVN share
 * one space of names. */
static void
add_gateway(struct emitter *e, struct router *r,
            const struct ir_network *network)
{
    const char *inner = FORMAT(e, "%s/router", network->name);
    const char *outer = FORMAT(e, "%s/gateway", network->name);
    struct plan_row *in = plan_add_row(e->plan, "Logical_Router_Port", inner);
    struct plan_row *out = plan_add_row(e->plan, "Logical_Switch_Port",
                                        outer);

    plan_row_string(e->plan, in, "name", inner);
    plan_row_string(e->plan, in, "mac",
                    ovn_mac_string(e, network->gateway_mac));
    for (size_t i = 0; i < network->gateways.n; i++) {
        const struct in6_addr *ip = &network->gateways.v[i];
        struct ir_prefix p = find_prefix(e, r, network, i);

        plan_row_set(e->plan, in, "networks",
                     FORMAT(e, "%s/%d", ovn_address_string(e, ip),
                            p.plen - (IN6_IS_ADDR_V4MAPPED(ip) ? 96 : 0)));
        *vec_push(e->plan->arena, &r->ways) = (struct way) {
            network, inner, p,
        };
    }
    plan_row_ref(e->plan, r->row, "ports", in);

    plan_row_string(e->plan, out, "name", outer);
    plan_row_string(e->plan, out, "type", "router");
    plan_row_set(e->plan, out, "addresses", "router");
    plan_row_map(e->plan, out, "options", "router-port", inner);
    plan_row_ref(e->plan, shash_find_data(&e->switches, network->name),
                 "ports", out);
}

/* The address's route, if by the ports alone it would go elsewhere; if its
 * network has no gateways, to nowhere. */
static void
add_own_route(struct emitter *e, const struct router *r,
              const struct ir_network *network, const struct in6_addr *ip)
{
    const struct way *own = NULL, *rival = NULL;

    for (size_t i = 0; i < r->ways.n; i++) {
        const struct way *way = &r->ways.v[i];
        const struct way **best = way->network == network ? &own : &rival;

        if (ovn_subnet_holds(&way->prefix, ip)
            && (!*best || way->prefix.plen > (*best)->prefix.plen)) {
            *best = way;
        }
    }
    if (rival && !own) {
        ovn_add_route(e, r->row, rival->port, ip, "discard");
    } else if (rival && rival->prefix.plen >= own->prefix.plen) {
        ovn_add_route(e, r->row, own->port, ip, ovn_address_string(e, ip));
    }
}

static void
add_own_routes(struct emitter *e, const struct router *r)
{
    for (size_t i = 0; i < r->endpoints->n; i++) {
        const struct ir_endpoint *endpoint = r->endpoints->v[i];

        for (size_t j = 0; j < endpoint->addresses.n; j++) {
            add_own_route(e, r, endpoint->network, &endpoint->addresses.v[j]);
        }
    }
}

static void
add_router(struct emitter *e, struct router *r)
{
    const char *name = r->tenant->name;

    r->row = plan_add_row(e->plan, "Logical_Router", name);
    plan_row_string(e->plan, r->row, "name", name);
    /* Who has which address is known. */
    plan_row_map(e->plan, r->row, "options", "always_learn_from_arp_request",
                 "false");
    shash_add(&e->routers, name, r->row);
}

void
ovn_add_routers(struct emitter *e)
{
    size_t i = 0;

    /* The networks of a tenant stand together, as its endpoints do. */
    while (i < e->prog->networks.n) {
        const struct ir_tenant *tenant = e->prog->networks.v[i]->tenant;
        struct router r = {
            .tenant = tenant,
            .endpoints = &ovn_tenant(e, tenant)->all->endpoints,
        };

        for (; i < e->prog->networks.n
             && e->prog->networks.v[i]->tenant == tenant; i++) {
            if (e->prog->networks.v[i]->gateways.n) {
                if (!r.row) {
                    add_router(e, &r);
                }
                add_gateway(e, &r, e->prog->networks.v[i]);
            }
        }
        add_own_routes(e, &r);
    }
}
