/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "base/nearest.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "packets.h"
#include "sema/policy.h"
#include "sset.h"
#include "util.h"

bool
tenant_consents(const struct policy_tenant *tenant,
                const struct policy_tenant *peer)
{
    for (size_t i = 0; i < tenant->intent->peers.n; i++) {
        const char *name = tenant->intent->peers.v[i].s;

        if (!strcmp(name, POLICY_EVERY_TENANT) || !strcmp(name, peer->name)) {
            return true;
        }
    }
    return false;
}

bool
tenant_consents_to_external(const struct policy_tenant *tenant,
                            const struct policy_external *e)
{
    for (size_t i = 0; i < tenant->intent->peers.n; i++) {
        const char *name = policy_external_name(
            tenant->intent->peers.v[i].s);

        if (name && !strcmp(name, e->name)) {
            return true;
        }
    }
    return false;
}

static void
report_unknown(const struct text *peer, const char *what, const char *name,
               const char *prefix, const char *nearest, struct diags *diags)
{
    struct diag *d = value_error(diags, peer->at, "there is no %s '%s'", what,
                                 name);

    if (nearest) {
        diag_remedy(diags, d, "did you mean '%s%s'?", prefix, nearest);
    } else {
        diag_remedy(diags, d, "remove it, or define the %s", what);
    }
}

void
report_no_tenant(const struct policy *policy, const struct text *name,
                 struct diags *diags)
{
    struct nearest nearest = nearest_init(name->s);

    for (size_t i = 0; i < policy->tenants.n
         && !diags_are_full(diags, DIAG_ERROR); i++) {
        nearest_try(&nearest, policy->tenants.v[i]->name);
    }
    report_unknown(name, "tenant", name->s, "", nearest.best, diags);
}

static void
check_outside_name(const struct policy *policy, const struct text *peer,
                   const char *name, struct diags *diags)
{
    struct nearest nearest = nearest_init(name);

    if (policy_find_external(policy, name)) {
        return;
    }
    for (size_t i = 0; i < policy->externals.n
         && !diags_are_full(diags, DIAG_ERROR); i++) {
        nearest_try(&nearest, policy->externals.v[i]->name);
    }
    report_unknown(peer, "external", name, POLICY_EXTERNAL, nearest.best,
                   diags);
}

static void
check_peer_name(const struct policy *policy, const struct policy_tenant *own,
                const struct text *peer, struct diags *diags)
{
    bool found = (!strcmp(peer->s, POLICY_EVERY_TENANT)
                  || policy_find_tenant(policy, peer->s));

    if (!found && policy_find_external(policy, peer->s)) {
        report_unknown(peer, "tenant", peer->s, POLICY_EXTERNAL, peer->s,
                       diags);
    } else if (!found) {
        report_no_tenant(policy, peer, diags);
    } else if (!strcmp(peer->s, own->name)) {
        struct diag *d = value_error(diags, peer->at,
                                     "a tenant is not its own peer");
        diag_remedy(diags, d, "remove it");
    }
}

static void
check_peer_names(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const text_vec *peers = &tenant->intent->peers;

        for (size_t j = 0; j < peers->n; j++) {
            const char *outside = policy_external_name(peers->v[j].s);

            if (outside) {
                check_outside_name(policy, &peers->v[j], outside, diags);
            } else {
                check_peer_name(policy, tenant, &peers->v[j], diags);
            }
        }
    }
}

static void
report_no_consent(const struct policy_rule *rule,
                  const struct policy_tenant *tenant, const char *prefix,
                  const char *peer, struct diags *diags)
{
    const struct value *at = tenant->intent->name.at;
    struct diag *d = value_key_error(diags, rule->at,
                                     "tenant '%s' does not consent to this "
                                     "peering with '%s%s'", tenant->name,
                                     prefix, peer);

    diag_remedy(diags, d, "\"peers\" of tenant '%s' must list \"%s%s\"",
                tenant->name, prefix, peer);
    diag_see(diags, d, at->key_span, "the tenant is defined here");
}

static void
check_consent(const struct policy_rule *rule,
              const struct policy_tenant *tenant,
              const struct policy_tenant *peer, struct diags *diags)
{
    if (!rule->imposed && !tenant_consents(tenant, peer)) {
        report_no_consent(rule, tenant, "", peer->name, diags);
    }
}

/* Of each of the tenants, to the peering with what the other side selects
 * outside. */
static void
check_outside_consent(const struct policy_rule *rule,
                      const tenant_vec *tenants, const range_vec *ranges,
                      struct diags *diags)
{
    for (size_t i = 0; i < tenants->n && !rule->imposed; i++) {
        for (size_t j = 0; j < ranges->n; j++) {
            const struct policy_external *e = ranges->v[j].external;
            bool again = j && ranges->v[j - 1].external == e;

            if (!again && !tenant_consents_to_external(tenants->v[i], e)) {
                report_no_consent(rule, tenants->v[i], POLICY_EXTERNAL,
                                  e->name, diags);
            }
        }
    }
}

/* An address that a tenant can send to, and whose it is. */
struct route {
    struct hmap_node node;
    const struct policy_tenant *from;
    const struct in6_addr *ip;
    const char *to;             /* Name of the endpoint or gateway. */
    const struct value *at;
};

struct router {
    struct arena *arena;
    struct diags *diags;
    struct hmap routes;         /* Contains "struct route"s. */
    struct sset reported;       /* Pairs of names that share an address. */
};

/* Notes that 'a' and 'b' share an address.  Returns false if that is known:
 * each side of a peering would find it. */
static bool
report_once(struct router *r, const char *a, const char *b)
{
    bool swap = strcmp(a, b) > 0;

    return sset_add(&r->reported, arena_printf(r->arena, "%s %s",
                                               swap ? b : a, swap ? a : b));
}

/* Notes that 'from' reaches 'to' by 'address'; an error if that is somebody
 * else's address too, because packets could only go to one of them. */
static void
add_route(struct router *r, const struct policy_tenant *from,
          const struct address *address, const char *to)
{
    uint32_t hash = hash_bytes(&address->ip, sizeof address->ip,
                               hash_pointer(from, 0));
    struct route *route;

    HMAP_FOR_EACH_WITH_HASH (route, node, hash, &r->routes) {
        if (route->from == from && ipv6_addr_equals(route->ip, &address->ip)) {
            if (strcmp(route->to, to) && report_once(r, route->to, to)) {
                struct diag *d = value_error(
                    r->diags, address->at,
                    "tenant '%s' cannot route to '%s': '%s' has this address "
                    "too", from->name, to, route->to);
                diag_remedy(r->diags, d, "give all that a tenant reaches, its "
                            "own endpoints and its peers', different "
                            "addresses");
                diag_see(r->diags, d, route->at->span, "the other one");
            }
            return;
        }
    }
    route = arena_zalloc(r->arena, sizeof *route);
    *route = (struct route) { .from = from, .ip = &address->ip, .to = to,
                              .at = address->at };
    hmap_insert(&r->routes, &route->node, hash);
}

/* Adds what 'tenant' reaches without a peering.  Addresses that it has twice
 * were reported before. */
static void
add_own_routes(struct router *r, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < tenant->networks.n; i++) {
        const struct intent_network *n = tenant->networks.v[i]->intent;

        for (size_t j = 0; j < n->gateways.n; j++) {
            add_route(r, tenant, &n->gateways.v[j],
                      arena_printf(r->arena, "the gateway of %s/%s",
                                   tenant->name, n->name.s));
        }
    }
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        for (size_t j = 0; j < e->intent->addresses.n; j++) {
            add_route(r, tenant, &e->intent->addresses.v[j], e->name);
        }
    }
}

/* Adds the routes from the tenants of one side to the endpoints of the
 * other. */
static void
add_peer_routes(struct router *r, const tenant_vec *from,
                const endpoint_vec *to)
{
    for (size_t i = 0; i < from->n; i++) {
        for (size_t j = 0; j < to->n; j++) {
            const struct policy_endpoint *e = to->v[j];

            for (size_t k = 0; k < e->intent->addresses.n; k++) {
                if (e->tenant != from->v[i]) {
                    add_route(r, from->v[i], &e->intent->addresses.v[k],
                              e->name);
                }
            }
        }
    }
}

/* Checks the tenants that the two sides of a peering name. */
static void
check_peer_tenants(const struct policy_rule *rule, struct diags *diags)
{
    for (size_t i = 0; i < rule->from_tenants.n; i++) {
        for (size_t j = 0; j < rule->to_tenants.n; j++) {
            const struct policy_tenant *from = rule->from_tenants.v[i];
            const struct policy_tenant *to = rule->to_tenants.v[j];

            if (from == to) {
                struct diag *d = value_key_error(diags, rule->at,
                                                 "a peering joins two "
                                                 "tenants, this one only '%s'",
                                                 from->name);
                diag_remedy(diags, d, "write a rule of that tenant");
            } else {
                check_consent(rule, from, to, diags);
                check_consent(rule, to, from, diags);
            }
        }
    }
}

/* Peers reach each other through gateways only. */
static void
check_peer_gateways(const struct policy_rule *rule, const endpoint_vec *side,
                    struct diags *diags)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct policy_network *network = side->v[i]->network;
        const struct value *at = network->intent->name.at;
        bool known = network->intent->gateways.n > 0;

        for (size_t j = 0; j < i && !known; j++) {
            known = side->v[j]->network == network;
        }
        if (!known) {
            struct diag *d = value_key_error(diags, rule->at,
                                             "'%s' cannot take part in this "
                                             "peering: its network '%s' has "
                                             "no gateway", side->v[i]->name,
                                             network->intent->name.s);
            diag_remedy(diags, d, "give the network a \"gateway\"");
            diag_see(diags, d, at->key_span, "the network");
        }
    }
}

void
check_peerings(const struct policy *policy, struct arena *arena,
               struct diags *diags)
{
    struct router r = { arena, diags, HMAP_INITIALIZER(&r.routes),
                        SSET_INITIALIZER(&r.reported) };

    check_peer_names(policy, diags);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        add_own_routes(&r, policy->tenants.v[i]);
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind == RULE_PEERING) {
            check_peer_tenants(rule, diags);
            check_outside_consent(rule, &rule->from_tenants, &rule->to_ranges,
                                  diags);
            check_outside_consent(rule, &rule->to_tenants, &rule->from_ranges,
                                  diags);
            check_peer_gateways(rule, &rule->from, diags);
            check_peer_gateways(rule, &rule->to, diags);
            add_peer_routes(&r, &rule->from_tenants, &rule->to);
            add_peer_routes(&r, &rule->to_tenants, &rule->from);
        }
    }
    hmap_destroy(&r.routes);
    sset_destroy(&r.reported);
}
