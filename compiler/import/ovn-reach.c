/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Whom routers that are joined directly, port to port, reach by static routes
 * that name the port. */

struct route {
    struct address to;
    const struct ovn_router *via;       /* NULL: elsewhere. */
};
VEC_TYPEDEF(routes, struct route);

static int
compare_routes(const void *a_, const void *b_)
{
    const struct route *a = a_, *b = b_;

    return a->to.plen - b->to.plen;
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

static void
add_route(struct ovn *m, routes *all, const struct ovn_row *row,
          const char *prefix, const struct ovn_router *via)
{
    struct address to;

    if (!ovn_parse_prefix(prefix, &to)) {
        ovn_warn(m, row, "what it is for does not pass",
                 "'%s' is no range of addresses", prefix);
        return;
    }
    *vec_push(m->arena, all) = (struct route) { to, via };
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
        const char *port = ovn_string(m, rows.v[i], "output_port");
        const char *policy = ovn_string(m, rows.v[i], "policy");
        bool by_source = !strcmp(policy, "src-ip");

        /* By source, it may be for any destination. */
        add_route(m, &all, rows.v[i], by_source ? "0.0.0.0/0"
                  : ovn_string(m, rows.v[i], "ip_prefix"),
                  port[0] && !by_source ? peer_of(m, port) : NULL);
    }
    for (size_t i = 0; i < ports.n; i++) {
        value_vec atoms = ovn_atoms(m, ports.v[i], "networks");

        for (size_t j = 0; j < atoms.n; j++) {
            if (atoms.v[j]->type == VALUE_STRING) {
                add_route(m, &all, ports.v[i], atoms.v[j]->string, NULL);
            }
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

/* The longest prefix decides, so the shortest comes first. */
static void
apply_routes(struct ovn *m, struct ovn_tenant *tenant)
{
    routes all = read_routes(m, tenant->router);

    for (size_t i = 0; i < all.n; i++) {
        struct route *r = &all.v[i];
        ovn_set within = ovn_within(m, &r->to);

        tenant->reach = ovn_without(m, tenant->reach, within);
        if (r->via && r->via != tenant->router) {
            ovn_add(m, tenant->reach,
                    ovn_and(m, within, behind(m, r->via)));
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
