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

/* Whom routers that are joined directly, port to port, reach by static
 * routes. */

struct route {
    struct address to;
    const struct ovn_router *via;       /* NULL: elsewhere. */
    const struct ovn_row *row;
    bool further;                       /* Not all is right behind 'via'. */
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

/* A route that is not understood could be the one that leads elsewhere. */
static bool
parse_range(struct ovn *m, const struct ovn_row *row, const char *prefix,
            struct address *to)
{
    if (!ovn_parse_prefix(prefix, to)) {
        ovn_error(m, row, "give it as ADDRESS/LENGTH, or leave the row out",
                  "'%s' is no range of addresses, so what goes elsewhere is "
                  "not known", prefix);
        return false;
    }
    return true;
}

static void
add_static_route(struct ovn *m, routes *all, const struct ovn_router *router,
                 const struct ovn_row *row)
{
    struct address to;

    if (!strcmp(ovn_string(m, row, "policy"), "src-ip")
        || ovn_string(m, row, "route_table")[0]) {
        ovn_error(m, row, "leave the row out, if what it is for may go where "
                  "other routes lead", "a route by source, or of another "
                  "route_table, is not understood, so what goes elsewhere is "
                  "not known");
    } else if (parse_range(m, row, ovn_string(m, row, "ip_prefix"), &to)) {
        *vec_push(m->arena, all) = (struct route) {
            to, ovn_next_router(m, router, row, &to), row, false,
        };
    }
}

/* What is at a port itself is behind a switch, or not at all. */
static void
add_connected(struct ovn *m, routes *all, const struct ovn_row *port)
{
    value_vec atoms = ovn_atoms(m, port, "networks");

    for (size_t i = 0; i < atoms.n; i++) {
        struct address to;

        if (parse_range(m, port, atoms.v[i]->type == VALUE_STRING
                        ? atoms.v[i]->string : "", &to)) {
            *vec_push(m->arena, all) = (struct route) {
                to, NULL, port, false,
            };
        }
    }
}

static routes
read_routes(struct ovn *m, const struct ovn_router *router)
{
    ovn_row_vec rows = ovn_refs(m, router->row, "static_routes",
                                "Logical_Router_Static_Route");
    routes all = VEC_INIT;

    for (size_t i = 0; i < rows.n; i++) {
        add_static_route(m, &all, router, rows.v[i]);
    }
    for (size_t i = 0; i < router->ports.n; i++) {
        add_connected(m, &all, router->ports.v[i]);
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

/* Warns of routes by which a packet goes on from the next router. */
static void
warn_of_further(struct ovn *m, const struct ovn_tenant *tenant,
                const routes *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct route *r = &all->v[i];
        ovn_set rest;

        if (!r->further || !ovn_atoms(m, r->via->row, "static_routes").n) {
            continue;
        }
        rest = ovn_without(m, ovn_within(m, &r->to), tenant->reach);
        rest = ovn_without(m, ovn_without(m, rest, tenant->own),
                           behind(m, r->via));
        if (!ovn_is_empty(m, rest)) {
            ovn_warn(m, r->row, "say it as peerings", "what is in its range "
                     "and behind a router after %s is not reached",
                     r->via->name);
        }
    }
}

/* A static route to what is behind another router. */
struct leading {
    const struct ovn_tenant *tenant;
    const struct ovn_row *row;
    const struct ovn_router *via;
};
VEC_TYPEDEF(leadings, struct leading);

/* Warns of routes by which packets go, and no answers come. */
static void
warn_of_one_way(struct ovn *m, const leadings *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct leading *l = &all->v[i];
        bool back = false;

        for (size_t j = 0; j < m->tenants.n; j++) {
            const struct ovn_tenant *other = m->tenants.v[j];

            back |= (other->router == l->via
                     && ovn_meet(m, other->reach, l->tenant->own));
        }
        if (!back) {
            ovn_warn(m, l->row, "say it as peerings", "nothing passes by it: "
                     "%s has no route back", l->via->name);
        }
    }
}

static void
apply_routes(struct ovn *m, struct ovn_tenant *tenant, leadings *leading)
{
    routes all = read_routes(m, tenant->router);

    for (size_t i = 0; i < all.n; i++) {
        const struct ovn_router *via = only_via(&all, i);
        ovn_set within = ovn_within(m, &all.v[i].to);

        tenant->reach = ovn_without(m, tenant->reach, within);
        if (via && via != tenant->router) {
            ovn_set near = ovn_and(m, within, behind(m, via));

            ovn_add(m, tenant->reach, near);
            if (all.v[i].row && !ovn_is_empty(m, near)) {
                *vec_push(m->arena, leading) = (struct leading) {
                    tenant, all.v[i].row, via,
                };
            }
            /* Of one address there may be more, of no concern to it. */
            all.v[i].further = (all.v[i].to.plen < 128
                                ? !ovn_has(m, near, within)
                                : ovn_is_empty(m, near));
        }
        while (i + 1 < all.n && same_range(&all.v[i], &all.v[i + 1])) {
            i++;
        }
    }
    warn_of_further(m, tenant, &all);
}

void
ovn_read_routes(struct ovn *m)
{
    leadings leading = VEC_INIT;

    for (size_t i = 0; i < m->tenants.n; i++) {
        struct ovn_tenant *tenant = m->tenants.v[i];

        tenant->reach = ovn_empty(m);
        if (tenant->router) {
            apply_routes(m, tenant, &leading);
        }
        ovn_add(m, tenant->reach, tenant->own);
    }
    warn_of_one_way(m, &leading);
}
