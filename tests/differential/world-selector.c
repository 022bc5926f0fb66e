/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Selectors of worlds: drawn, written, and what they select by a computation
 * of its own. */

/* Some of 'candidates', at least one; 0, which is any, if there are none. */
static unsigned int
some_of(struct rng *rng, unsigned int candidates, unsigned int percent)
{
    unsigned int set = 0;

    if (!candidates || !rng_chance(rng, percent)) {
        return 0;
    }
    while (!set) {
        set = candidates & rng_next(rng) & (rng_chance(rng, 50) ? rng_next(rng)
                                            : UINT32_MAX);
    }
    return set;
}

/* 1-bits: the networks, or endpoints, that 'tenant' has. */
static unsigned int
networks_of(const struct world *w, int tenant)
{
    unsigned int set = 0;

    for (int i = 0; i < w->n_networks; i++) {
        set |= (unsigned int) (tenant == EVERY_TENANT
                               || w->networks[i].tenant == tenant) << i;
    }
    return set;
}

static unsigned int
endpoints_of(const struct world *w, int tenant)
{
    unsigned int set = 0;

    for (int i = 0; i < w->n_endpoints; i++) {
        set |= (networks_of(w, tenant) >> w->endpoints[i].network & 1) << i;
    }
    return set;
}

static void
init_choice(struct world *w, struct rng *rng, int tenant,
            struct world_choice *c)
{
    int e = rng_below(rng, w->n_endpoints);

    c->networks = some_of(rng, networks_of(w, tenant), 15);
    c->endpoints = some_of(rng, endpoints_of(w, tenant), 15);
    c->roles = some_of(rng, 7, 40);
    c->tiers = some_of(rng, 3, 20);
    c->cidr = rng_chance(rng, 10);
    c->cidr6 = rng_chance(rng, 50);
    c->subnet = w->networks[w->endpoints[e].network].subnet;
    c->block = (10 + w->endpoints[e].host) / (c->cidr6 ? 10 : 16);
}

void
world_init_selector(struct world *w, struct rng *rng, int own, bool named,
                    struct world_selector *s)
{
    s->n = rng_chance(rng, 80) ? 1 : MAX_CHOICES;
    for (int i = 0; i < s->n; i++) {
        bool every = named && own != PEERING && rng_chance(rng, 50);
        int tenant = (every ? EVERY_TENANT
                      : named ? (int) rng_below(rng, w->n_tenants) : own);

        if (!every || rng_chance(rng, 40)) {
            init_choice(w, rng, tenant, &s->choices[i].in);
            s->choices[i].has_except = rng_chance(rng, 15);
        }
        s->choices[i].in.tenant = named ? tenant : -1;
        s->choices[i].except.tenant = -1;
        init_choice(w, rng, tenant, &s->choices[i].except);
        s->choices[i].external = s->choices[i].range = -1;
        if (!named && w->n_externals && rng_chance(rng, 35)) {
            s->choices[i].external = rng_below(rng, w->n_externals);
            s->choices[i].range = (rng_chance(rng, 50) ? -1
                                   : (int) rng_below(rng, N_CIDRS));
        }
    }
}

/* A name, or a list of them, of those in 'set'. */
static void
put_names(struct ds *ds, const char *key, char letter, unsigned int set)
{
    const char *open = set & (set - 1) ? "[" : "";

    if (set) {
        world_put_comma(ds);
        ds_put_format(ds, "\"%s\": %s", key, open);
        for (int i = 0; set >> i; i++) {
            if (set >> i & 1) {
                if (open[0]) {
                    world_put_comma(ds);
                }
                ds_put_format(ds, "\"%c%d\"", letter, i);
            }
        }
        ds_put_cstr(ds, open[0] ? "]" : "");
    }
}

static void
put_choice(struct ds *ds, const struct world_choice *c)
{
    if (c->tenant == EVERY_TENANT) {
        ds_put_cstr(ds, "\"tenant\": \"*\"");
    } else if (c->tenant >= 0) {
        ds_put_format(ds, "\"tenant\": \"t%d\"", c->tenant);
    }
    put_names(ds, "network", 'n', c->networks);
    put_names(ds, "endpoint", 'e', c->endpoints);
    if (c->roles || c->tiers) {
        world_put_comma(ds);
        ds_put_cstr(ds, "\"labels\": {");
        put_names(ds, "role", 'r', c->roles);
        put_names(ds, "tier", 't', c->tiers);
        ds_put_char(ds, '}');
    }
    if (c->cidr) {
        world_put_comma(ds);
        if (c->cidr6) {
            ds_put_format(ds, "\"cidr\": [\"fd00:%d::%d0/124\"]", c->subnet,
                          c->block);
        } else {
            ds_put_format(ds, "\"cidr\": \"10.%d.0.%d/28\"", c->subnet,
                          16 * c->block);
        }
    }
}

void
world_put_selector(struct ds *ds, const char *key,
                   const struct world_selector *s)
{
    ds_put_format(ds, ", \"%s\": [", key);
    for (int i = 0; i < s->n; i++) {
        world_put_comma(ds);
        ds_put_char(ds, '{');
        if (s->choices[i].external >= 0) {
            world_put_range(ds, s->choices[i].external, s->choices[i].range);
            ds_put_char(ds, '}');
            continue;
        }
        put_choice(ds, &s->choices[i].in);
        if (s->choices[i].has_except) {
            world_put_comma(ds);
            ds_put_cstr(ds, "\"except\": {");
            put_choice(ds, &s->choices[i].except);
            ds_put_char(ds, '}');
        }
        ds_put_char(ds, '}');
    }
    ds_put_char(ds, ']');
}

/* Host H has 10.N.0.H and fd00:N::H in decimal digits. */
static bool
is_in_block(const struct world *w, const struct world_choice *c,
            const struct world_endpoint *e)
{
    for (int i = 0; i <= e->second; i++) {
        int host = 10 + e->host + 100 * i;

        if (w->networks[e->network].subnet == c->subnet
            && (c->cidr6 ? e->ip6 && host / 10 == c->block
                : e->ip4 && host / 16 == c->block)) {
            return true;
        }
    }
    return false;
}

static bool
choice_fits(const struct world *w, int tenant, const struct world_choice *c,
            int endpoint)
{
    const struct world_endpoint *e = &w->endpoints[endpoint];

    return ((tenant == EVERY_TENANT
             || w->networks[e->network].tenant == tenant)
            && (!c->networks || c->networks >> e->network & 1)
            && (!c->endpoints || c->endpoints >> endpoint & 1)
            && (!c->roles || c->roles >> e->role & 1)
            && (!c->tiers || c->tiers >> e->tier & 1)
            && (!c->cidr || is_in_block(w, c, e)));
}

/* Is the endpoint one of every tenant's that the peering joins with those of
 * 'other'? */
static bool
is_joined(const struct world *w, const struct world_rule *rule,
          const struct world_selector *other, int endpoint)
{
    const struct world_network *n
        = &w->networks[w->endpoints[endpoint].network];

    for (int i = 0; i < other->n; i++) {
        int tenant = other->choices[i].in.tenant;
        int external = other->choices[i].external;

        if (external >= 0) {
            if (!world_lists(w, external, n->tenant)
                || !(rule->imposed
                     || world_consents_to(w, n->tenant, external))) {
                return false;
            }
            continue;
        } else if (tenant == n->tenant
            || !(rule->imposed || world_consents(w, tenant, n->tenant))) {
            return false;
        }
    }
    return n->gateway4 || n->gateway6;
}

unsigned int
world_selected(const struct world *w, const struct world_rule *rule, bool from)
{
    const struct world_selector *s = from ? &rule->from : &rule->to;
    unsigned int set = 0;

    for (int i = 0; i < w->n_endpoints; i++) {
        for (int j = 0; j < s->n && world_is_there(w, i); j++) {
            int tenant = s->choices[j].in.tenant;

            tenant = tenant < 0 ? rule->tenant : tenant;
            if (rule->tenant == PEERING && tenant == EVERY_TENANT
                && !is_joined(w, rule, from ? &rule->to : &rule->from, i)) {
                continue;
            }
            if (s->choices[j].external < 0
                && choice_fits(w, tenant, &s->choices[j].in, i)
                && !(s->choices[j].has_except
                     && choice_fits(w, tenant, &s->choices[j].except, i))) {
                set |= 1u << i;
            }
        }
    }
    return set;
}
