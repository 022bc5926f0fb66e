/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <string.h>

#include "packets.h"
#include "sema/check.h"

/* Where a static route leads, as northd finds it in
 * find_static_route_outport(): by its output_port, or else by the port of its
 * router that has the nexthop in one of its networks.  Each port has the
 * link-local network as well, and one without a MAC does not exist.  What is
 * sent to the port gets to the router behind it if the nexthop is an address
 * of that; nobody answers for another. */

/* Has a port the nexthop in one of its networks, or, if 'own', as one of its
 * addresses? */
static bool
port_has(struct ovn *m, const struct ovn_row *port,
         const struct address *nexthop, bool own)
{
    value_vec atoms = ovn_atoms(m, port, "networks");
    struct in6_addr ip = nexthop->ip, lla;
    struct eth_addr mac;
    bool found;

    if (!eth_addr_from_string(ovn_string(m, port, "mac"), &mac)) {
        return false;
    }
    in6_generate_lla(mac, &lla);
    found = own ? ipv6_addr_equals(&lla, &ip) : in6_is_lla(&ip);
    for (size_t i = 0; i < atoms.n && !found; i++) {
        const char *s = (atoms.v[i]->type == VALUE_STRING
                         ? atoms.v[i]->string : "");
        struct address a;

        found = (own ? ovn_parse_cidr(s, &a) && ipv6_addr_equals(&a.ip, &ip)
                 : ovn_parse_prefix(s, &a) && subnet_holds(&a, &ip));
    }
    return found;
}

/* The port of the router that has the nexthop; NULL after a warning. */
static const struct ovn_row *
find_by_nexthop(struct ovn *m, const struct ovn_router *router,
                const struct ovn_row *route, const struct address *nexthop)
{
    const char *text = ovn_string(m, route, "nexthop");
    const struct ovn_row *found = NULL;

    m->work += router->ports.n;
    for (size_t i = 0; i < router->ports.n; i++) {
        const struct ovn_row *port = router->ports.v[i];

        if (!port_has(m, port, nexthop, false)) {
            continue;
        } else if (found) {
            ovn_warn(m, route, "give its output_port, and import again",
                     "left out: several ports of the router have the nexthop "
                     "'%s' in their networks, as %s and %s", text,
                     ovn_string(m, found, "name"),
                     ovn_string(m, port, "name"));
            return NULL;
        }
        found = port;
    }
    if (!found) {
        ovn_warn(m, route, "give its output_port, and import again",
                 "left out: no port of the router has the nexthop '%s' in "
                 "its networks", text);
    }
    return found;
}

/* The port that the route names; NULL after a warning, or an error: northd may
 * give the route to the router that has the port. */
static const struct ovn_row *
find_by_name(struct ovn *m, const struct ovn_router *router,
             const struct ovn_row *route, const char *name)
{
    const struct ovn_row *port = ovn_find(m, "Logical_Router_Port", name);
    const struct ovn_router *owner = (port ? shash_find_data(
        &m->routers, ovn_uuid(m, port)) : NULL);

    if (!port) {
        ovn_warn(m, route, "give a port of the router, and import again",
                 "left out: there is no output_port '%s'", name);
    } else if (owner && owner != router) {
        ovn_error(m, route, "give a port of the same router",
                  "the output_port '%s' is another router's, so what goes "
                  "elsewhere is not known", name);
        return NULL;
    }
    return port;
}

/* The router that is joined to the port, and answers for the nexthop. */
static const struct ovn_router *
find_peer(struct ovn *m, const struct ovn_row *port,
          const struct ovn_row *route, const struct address *nexthop)
{
    const char *peer = ovn_string(m, port, "peer");
    const struct ovn_row *far = ovn_find(m, "Logical_Router_Port", peer);

    if (!far || strcmp(ovn_string(m, far, "peer"),
                       ovn_string(m, port, "name"))) {
        return NULL;
    } else if (!port_has(m, far, nexthop, true)) {
        ovn_warn(m, route, "give an address of that port, and import again",
                 "left out: its nexthop '%s' is no address of %s, which is "
                 "behind its port", ovn_string(m, route, "nexthop"), peer);
        return NULL;
    }
    return (shash_find_data(&m->routers, ovn_uuid(m, port))
            ? shash_find_data(&m->routers, ovn_uuid(m, far)) : NULL);
}

const struct ovn_router *
ovn_next_router(struct ovn *m, const struct ovn_router *router,
                const struct ovn_row *route, const struct address *to)
{
    const char *text = ovn_string(m, route, "nexthop");
    const char *name = ovn_string(m, route, "output_port");
    const struct ovn_row *port;
    struct address nexthop;

    if (!strcmp(text, "discard")) {
        return NULL;
    } else if (!ovn_parse_cidr(text, &nexthop) || nexthop.plen != 128
               || address_is_ip6(&nexthop) != address_is_ip6(to)) {
        ovn_warn(m, route, "give the address of the next router, and import "
                 "again", "left out: its nexthop '%s' is no address of the "
                 "family of its range", text);
        return NULL;
    }
    port = (name[0] ? find_by_name(m, router, route, name)
            : find_by_nexthop(m, router, route, &nexthop));
    return port ? find_peer(m, port, route, &nexthop) : NULL;
}
