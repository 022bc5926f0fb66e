/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include "backend/refuse.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/northbound.h"
#include "util.h"

/* OVN's own DHCP server, in networks whose DHCP is native.  ovn-controller
 * answers each port with the port's own address, whatever is in the request;
 * for that, the request must pass the ACLs.  What it does not answer OVN would
 * hand on, so nothing else of that kind may. */

enum {
    LEASE_TIME = 3600,          /* Seconds. */
    OVN_OPTION = 8,             /* Bytes of OVN's own in a Geneve header. */
};

/* A network, and what is made for it. */
struct native {
    struct emitter *e;
    const struct ir_network *network;
    struct ovn_group group;     /* All its endpoints. */
    struct plan_row *leases;    /* Address_Set; NULL: none of IPv4. */
    struct plan_row **options;  /* By subnet; NULL: nobody is in it. */
    bool ip6;
};

/* What it is given: the first address of the family, or NULL. */
static const struct in6_addr *
find_lease(const struct ir_endpoint *endpoint, bool ip4)
{
    for (size_t i = 0; i < endpoint->addresses.n; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&endpoint->addresses.v[i]) == ip4) {
            return &endpoint->addresses.v[i];
        }
    }
    return NULL;
}

/* The subnet that holds 'ip'; those of a network do not overlap. */
static size_t
find_subnet(const struct ir_network *network, const struct in6_addr *ip)
{
    for (size_t i = 0; i < network->subnets.n; i++) {
        if (ovn_subnet_holds(&network->subnets.v[i], ip)) {
            return i;
        }
    }
    OVS_NOT_REACHED();
}

static const char *
gateway_mac(const struct native *n)
{
    return ovn_mac_string(n->e, n->network->gateway_mac);
}

static const char *
make_id(const struct native *n, const char *what)
{
    return FORMAT(n->e, NB_DHCP_ID"%s %s", n->network->name, what);
}

static void
add_option(const struct native *n, struct plan_row *row, const char *name,
           const char *value)
{
    plan_row_map(n->e->plan, row, "options", name, value);
}

/* What OVN says in an answer to IPv4, by its own names (ovn-nb(5)). */
static void
add_options4(const struct native *n, struct plan_row *row,
             const struct ir_prefix *subnet)
{
    const char *gateway = ovn_address_string(
        n->e, ovn_find_gateway(n->network, subnet));
    int room = n->e->prog->peers.n > 1 ? OVN_OPTION : 0;

    add_option(n, row, "lease_time", FORMAT(n->e, "%d", LEASE_TIME));
    add_option(n, row, "mtu", FORMAT(n->e, "%d", n->network->mtu - room));
    add_option(n, row, "router", gateway);
    add_option(n, row, "server_id", gateway);
    add_option(n, row, "server_mac", gateway_mac(n));
}

/* The options of the subnet that the port's address is in. */
static void
add_port(struct native *n, struct plan_row *port, const struct in6_addr *ip)
{
    bool ip4 = IN6_IS_ADDR_V4MAPPED(ip);
    size_t i = find_subnet(n->network, ip);
    const struct ir_prefix *subnet = &n->network->subnets.v[i];

    if (!n->options[i]) {
        const char *cidr = FORMAT(n->e, "%s/%d",
                                  ovn_address_string(n->e, &subnet->ip),
                                  subnet->plen - (ip4 ? 96 : 0));
        struct plan_row *row = plan_add_row(n->e->plan, "DHCP_Options",
                                            make_id(n, cidr));

        plan_row_string(n->e->plan, row, "cidr", cidr);
        if (ip4) {
            add_options4(n, row, subnet);
        } else {
            add_option(n, row, "server_id", gateway_mac(n));
        }
        n->options[i] = row;
    }
    plan_row_ref(n->e->plan, port, ip4 ? "dhcpv4_options" : "dhcpv6_options",
                 n->options[i]);
}

static void
add_lease(struct native *n, const struct in6_addr *ip)
{
    if (!n->leases) {
        n->leases = plan_add_row(n->e->plan, "Address_Set",
                                 make_id(n, "leases"));
        plan_row_string(n->e->plan, n->leases, "name",
                        ovn_mangle(n->e, NB_LEASES, n->network->name));
    }
    plan_row_set(n->e->plan, n->leases, "addresses",
                 ovn_address_string(n->e, ip));
}

static void
add_endpoints(struct native *n)
{
    const struct ir_prog *prog = n->e->prog;

    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = prog->endpoints.v[i];
        const struct in6_addr *ip4 = find_lease(endpoint, true);
        const struct in6_addr *ip6 = find_lease(endpoint, false);

        if (endpoint->network != n->network) {
            continue;
        }
        *vec_push(n->e->plan->arena, &n->group.endpoints) = endpoint;
        if (ip4) {
            add_port(n, n->e->ports[i], ip4);
            add_lease(n, ip4);
        }
        if (ip6) {
            add_port(n, n->e->ports[i], ip6);
            n->ip6 = true;
        }
    }
}

/* The subnets of IPv4 in which somebody is. */
static const char *
renewals(const struct native *n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    for (size_t i = 0; i < n->network->subnets.n; i++) {
        const struct ir_prefix *subnet = &n->network->subnets.v[i];

        if (n->options[i] && IN6_IS_ADDR_V4MAPPED(&subnet->ip)) {
            nb_add_renewal(&ds, FORMAT(n->e, "%s/%d", ovn_address_string(
                               n->e, &subnet->ip), subnet->plen - 96),
                           ovn_address_string(
                               n->e, ovn_find_gateway(n->network, subnet)));
        }
    }
    s = arena_strdup(n->e->plan->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

static void
add_acls(struct native *n)
{
    struct nb_dhcp dhcp = {
        .network = n->network->name,
        .renewals = n->leases ? renewals(n) : NULL,
        .server_mac = gateway_mac(n),
        .ip6 = n->ip6,
    };
    nb_acls acls = nb_dhcp_acls(n->e->plan->arena, &dhcp);

    for (size_t i = 0; i < acls.n; i++) {
        const struct nb_acl *acl = &acls.v[i];
        enum ovn_direction direction = acl->to_lport ? OVN_TO : OVN_FROM;
        const char *id = FORMAT(n->e, "%s %s %d", acl->name,
                                ovn_direction_name(direction), acl->priority);
        struct plan_row *row = ovn_add_group_acl(
            n->e, make_id(n, id), acl->name, &n->group, direction,
            acl->priority, acl->match, acl->action);

        if (acl->priority == NB_PRIORITY_FORBIDDEN) {
            ovn_log(n->e, row, "info");
        }
    }
}

void
emit_dhcp_options(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];
        struct native n = {
            .e = e, .network = network,
            .group = { .tenant = network->tenant,
                       .name = ovn_mangle(e, NB_DHCP_GROUP, network->name) },
        };

        if (network->native_dhcp) {
            n.options = arena_zalloc(e->plan->arena, network->subnets.n
                                     * sizeof *n.options);
            add_endpoints(&n);
            add_acls(&n);
        }
    }
}

void
ovn_check_dhcp(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = prog->endpoints.v[i];
        const struct ir_network *network = endpoint->network;
        const struct in6_addr *ip = find_lease(endpoint, true);

        if (network->native_dhcp && ip
            && !ovn_find_gateway(network, &network->subnets.v[
                                 find_subnet(network, ip)])) {
            refuse(diags, &network->place, "dhcp", "give the network a "
                   "\"gateway\" in that subnet, or name an endpoint that "
                   "serves it and choose another target", "OVN answers DHCP "
                   "in the name of a gateway, and the subnet of '%s' has "
                   "none", endpoint->name);
            return;
        }
    }
}
