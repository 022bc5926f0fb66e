/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "util.h"

/* Whom routers that are joined directly, port to port, reach by static routes
 * that name the port. */

struct route {
    struct address to;
    const struct ovn_router *via;       /* NULL: elsewhere. */
};
VEC_TYPEDEF(routes, struct route);

static bool
same_range(const struct route *a, const struct route *b)
{
    return (a->to.plen == b->to.plen
            && ipv6_addr_equals(&a->to.ip, &b->to.ip));
}

/* The longest prefix decides, so the shortest comes first; then those of the
 * same range are together. */
static int
compare_routes(const void *a_, const void *b_)
{
    const struct route *a = a_, *b = b_;

    return (a->to.plen != b->to.plen ? a->to.plen - b->to.plen
            : memcmp(&a->to.ip, &b->to.ip, sizeof a->to.ip));
}

/* The router behind a port of another; NULL: none. */
static const struct ovn_router *
peer_of(struct ovn *m, const char *port)
{
    const struct ovn_row *row = ovn_find(m, "Logical_Router_Port", port);
    const char *peer = row ? ovn_string(m, row, "peer") : "";
    const struct ovn_row *other = peer[0] ? ovn_find(m, "Logical_Router_Port",
                                                     peer) : NULL;

    return (other && !strcmp(ovn_string(m, other, "peer"), port)
            ? shash_find_data(&m->routers, ovn_uuid(m, other)) : NULL);
}

/* A route that is not understood could be the one that leads elsewhere. */
static void
add_route(struct ovn *m, routes *all, const struct ovn_row *row,
          const char *prefix, const struct ovn_router *via)
{
    struct address to;

    if (!ovn_parse_prefix(prefix, &to)) {
        ovn_error(m, row, "give it as ADDRESS/LENGTH, or leave the row out",
                  "'%s' is no range of addresses, so what goes elsewhere is "
                  "not known", prefix);
        return;
    }
    *vec_push(m->arena, all) = (struct route) { to, via };
}

static void
add_static_route(struct ovn *m, routes *all, const struct ovn_row *row)
{
    const char *port = ovn_string(m, row, "output_port");

    if (!strcmp(ovn_string(m, row, "policy"), "src-ip")
        || ovn_string(m, row, "route_table")[0]) {
        ovn_error(m, row, "leave the row out, if what it is for may go where "
                  "other routes lead", "a route by source, or of another "
                  "route_table, is not understood, so what goes elsewhere is "
                  "not known");
        return;
    }
    add_route(m, all, row, ovn_string(m, row, "ip_prefix"),
              port[0] && strcmp(ovn_string(m, row, "nexthop"), "discard")
              ? peer_of(m, port) : NULL);
}

static routes
read_routes(struct ovn *m, const struct ovn_router *router)
{
    ovn_row_vec rows = ovn_refs(m, router->row, "static_routes",
                                "Logical_Router_Static_Route");
    ovn_row_vec ports = ovn_refs(m, router->row, "ports",
                                 "Logical_Router_Port");
    routes all = VEC_INIT;

    for (size_t i = 0; i < rows.n; i++) {
        add_static_route(m, &all, rows.v[i]);
    }
    for (size_t i = 0; i < ports.n; i++) {
        value_vec atoms = ovn_atoms(m, ports.v[i], "networks");

        for (size_t j = 0; j < atoms.n; j++) {
            add_route(m, &all, ports.v[i],
                      atoms.v[j]->type == VALUE_STRING ? atoms.v[j]->string
                      : "", NULL);
        }
    }
    if (all.n) {
        qsort(all.v, all.n, sizeof *all.v, compare_routes);
    }
    return all;
}

/* The addresses behind a router. */
static ovn_set
behind(struct ovn *m, const struct ovn_router *router)
{
    ovn_set set = ovn_empty(m);

    for (size_t i = 0; i < m->switches.n; i++) {
        if (m->switches.v[i]->router == router) {
            ovn_add(m, set, m->switches.v[i]->own);
        }
    }
    return set;
}

/* The router that all routes to the range of all->v[i] lead to; NULL if some
 * lead elsewhere. */
static const struct ovn_router *
only_via(const routes *all, size_t i)
{
    const struct route *r = &all->v[i];

    for (size_t j = i + 1; j < all->n && same_range(r, &all->v[j]); j++) {
        if (all->v[j].via != r->via) {
            return NULL;
        }
    }
    return r->via;
}

static void
apply_routes(struct ovn *m, struct ovn_tenant *tenant)
{
    routes all = read_routes(m, tenant->router);

    for (size_t i = 0; i < all.n; i++) {
        const struct ovn_router *via = only_via(&all, i);
        ovn_set within = ovn_within(m, &all.v[i].to);

        tenant->reach = ovn_without(m, tenant->reach, within);
        if (via && via != tenant->router) {
            ovn_add(m, tenant->reach, ovn_and(m, within, behind(m, via)));
        }
        while (i + 1 < all.n && same_range(&all.v[i], &all.v[i + 1])) {
            i++;
        }
    }
}

void
ovn_read_routes(struct ovn *m)
{
    for (size_t i = 0; i < m->tenants.n; i++) {
        struct ovn_tenant *tenant = m->tenants.v[i];

        tenant->reach = ovn_empty(m);
        if (tenant->router) {
            apply_routes(m, tenant);
        }
        ovn_add(m, tenant->reach, tenant->own);
    }
}
