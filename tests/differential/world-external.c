/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Externals of worlds: drawn, written, and held against the policy. */

static const char *const addresses[MAX_EXTERNALS][N_RANGES] = {
    { "0.0.0.0/0", "::/0", "198.51.100.0/25", "192.0.2.0/24" },
    { "198.51.100.0/24", "10.0.0.0/9", "2001:db8:51::/48", "fd00::/16" },
};
static const char *const excepts[MAX_EXTERNALS][N_RANGES] = {
    { "10.0.0.0/8", "fd00::/8", "203.0.113.0/24", "2001:db8:51:1::/64" },
    { "198.51.100.64/26", "10.64.0.0/10", "2001:db8:51:1::/64",
      "10.2.0.0/15" },
};
static const char *const cidrs[N_CIDRS] = {
    "198.51.100.0/26", "198.51.0.0/16", "0.0.0.0/1", "8.8.8.8/32",
    "10.32.0.0/11", "2001:db8::/32", "2001:db8:51:2::/64", "2000::/3",
};

void
world_init_externals(struct world *w, struct rng *rng)
{
    w->n_externals = rng_chance(rng, 80) ? 1 + rng_below(rng, MAX_EXTERNALS)
                     : 0;
    for (int i = 0; i < w->n_externals; i++) {
        struct world_external *e = &w->externals[i];

        e->own_mac = rng_chance(rng, 50);
        e->addresses = 1 + rng_below(rng, (1u << N_RANGES) - 1);
        e->excepts = (rng_below(rng, 1u << N_RANGES)
                      & rng_below(rng, 1u << N_RANGES));
        e->tenants = (rng_chance(rng, 50) ? 1u << EVERY_TENANT
                      : rng_below(rng, 1u << w->n_tenants));
        e->nodes = (rng_below(rng, 1u << MAX_NODES)
                    | (rng_chance(rng, 85) ? 1 : 0));
    }
}

static void
put_ranges(struct ds *ds, const char *key, const char *const *ranges,
           unsigned int set)
{
    ds_put_format(ds, "\"%s\": [", key);
    for (int i = 0; i < N_RANGES; i++) {
        if (set >> i & 1) {
            world_put_comma(ds);
            ds_put_format(ds, "\"%s\"", ranges[i]);
        }
    }
    ds_put_cstr(ds, "], ");
}

static void
put_attachment(struct ds *ds, const struct world_external *e, int i, int node)
{
    world_put_comma(ds);
    ds_put_format(ds, "\"%s\": {\"interface\": \"i%d\", \"mac\": "
                  "\"02:00:00:00:ee:%02x\", \"gateway\": "
                  "[\"100.64.%d.%d\", \"2600:%d::%d\"]",
                  world_node_name(node), MAX_ENDPOINTS + i, i, i, node + 1, i,
                  node + 1);
    if (e->own_mac) {
        ds_put_format(ds, ", \"gateway_mac\": \"02:00:00:00:ff:%x%x\"", i,
                      node);
    }
    ds_put_char(ds, '}');
}

static void
put_external(struct ds *ds, const struct world *w, int i)
{
    const struct world_external *e = &w->externals[i];

    world_put_comma(ds);
    ds_put_format(ds, "\n  \"x%d\": {", i);
    put_ranges(ds, "addresses", addresses[i], e->addresses);
    put_ranges(ds, "except", excepts[i], e->excepts);
    ds_put_cstr(ds, "\"tenants\": [");
    for (int j = 0; j < w->n_tenants; j++) {
        if (e->tenants >> j & 1 && !w->tenants[j].left_out) {
            world_put_comma(ds);
            ds_put_format(ds, "\"t%d\"", j);
        }
    }
    if (e->tenants >> EVERY_TENANT & 1) {
        world_put_comma(ds);
        ds_put_cstr(ds, "\"*\"");
    }
    ds_put_cstr(ds, "], \"nodes\": {");
    for (int j = 0; j < MAX_NODES; j++) {
        if (e->nodes >> j & 1) {
            put_attachment(ds, e, i, j);
        }
    }
    ds_put_cstr(ds, "}}");
}

void
world_put_externals(struct ds *ds, const struct world *w)
{
    if (w->n_externals) {
        ds_put_cstr(ds, ",\n \"externals\": {");
        for (int i = 0; i < w->n_externals; i++) {
            if (!w->externals[i].left_out) {
                put_external(ds, w, i);
            }
        }
        ds_put_char(ds, '}');
    }
}

void
world_put_range(struct ds *ds, int external, int range)
{
    ds_put_format(ds, "\"external\": \"x%d\"", external);
    if (range >= 0) {
        ds_put_format(ds, ", \"cidr\": \"%s\"", cidrs[range]);
    }
}

bool
world_ranges_fit(const struct world_selector *s, const range_vec *ranges)
{
    size_t n = 0;

    for (int i = 0; i < s->n; i++) {
        const struct policy_range *range = &ranges->v[n];
        int cidr = s->choices[i].range;

        if (s->choices[i].external < 0) {
            continue;
        } else if (n++ >= ranges->n || atoi(range->external->name + 1)
                                       != s->choices[i].external
                   || !range->cidr != (cidr < 0)
                   || (range->cidr
                       && strcmp(range->cidr->at->string, cidrs[cidr]))) {
            return false;
        }
    }
    return n == ranges->n;
}

/* Has the tenant such a rule, or a peering? */
static bool
is_user(const struct world *w, int external, int tenant)
{
    for (int i = 0; i < w->n_rules; i++) {
        const struct world_rule *rule = &w->rules[i];
        unsigned int tenants
            = (rule->tenant == PEERING ? (world_tenants_of(w, rule, true)
                                          | world_tenants_of(w, rule, false))
               : rule->tenant >= 0 ? 1u << rule->tenant : 0);

        if (!rule->left_out && tenants >> tenant & 1
            && (world_names_external(&rule->from, external)
                || world_names_external(&rule->to, external))) {
            return world_lists(w, external, tenant);
        }
    }
    return false;
}

unsigned int
world_tenants_of(const struct world *w, const struct world_rule *rule,
                 bool from)
{
    const struct world_selector *s = from ? &rule->from : &rule->to;
    unsigned int selected = world_selected(w, rule, from), set = 0;

    for (int i = 0; i < s->n; i++) {
        if (s->choices[i].external < 0
            && s->choices[i].in.tenant != EVERY_TENANT) {
            set |= 1u << s->choices[i].in.tenant;
        }
    }
    for (int i = 0; i < w->n_endpoints; i++) {
        set |= (selected >> i & 1)
               << w->networks[w->endpoints[i].network].tenant;
    }
    return set;
}

/* Those whose subnets are inside: 'users' and whom peerings join them with. */
static unsigned int
near(const struct world *w, unsigned int users)
{
    unsigned int set = users;

    for (int i = 0; i < w->n_rules; i++) {
        const struct world_rule *rule = &w->rules[i];

        if (rule->tenant == PEERING && !rule->left_out) {
            unsigned int from = world_tenants_of(w, rule, true);
            unsigned int to = world_tenants_of(w, rule, false);

            set |= (from & users ? to : 0) | (to & users ? from : 0);
        }
    }
    return set;
}

static const char *
check_external(const struct world *w, const struct policy_external *e)
{
    int number = atoi(e->name + 1);
    unsigned int users = 0, found = 0;
    size_t inside = 0;

    for (int i = 0; i < w->n_tenants; i++) {
        if (!w->tenants[i].left_out && is_user(w, number, i)) {
            users |= 1u << i;
        }
    }
    for (size_t i = 0; i < e->users.n; i++) {
        found |= 1u << atoi(e->users.v[i]->name + 1);
    }
    for (int i = 0; i < w->n_networks; i++) {
        int tenant = w->networks[i].tenant;

        if (!w->networks[i].left_out && !w->tenants[tenant].left_out
            && near(w, users) >> tenant & 1) {
            inside += 2;        /* Subnets. */
        }
    }
    for (size_t i = 0; i < e->attachments.n; i++) {
        const struct policy_attachment *a = e->attachments.v[i];
        bool own = eth_addr_equals(a->gateway_mac, a->intent->gateway_mac);

        if (own != w->externals[number].own_mac) {
            return "an external has another gateway's MAC";
        }
    }
    return (found != users ? "an external has other users"
            : e->inside.n != inside ? "something else is inside" : NULL);
}

const char *
world_check_externals(const struct world *w, const struct compiled *c)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < c->policy->externals.n && !wrong; i++) {
        wrong = check_external(w, c->policy->externals.v[i]);
    }
    return wrong;
}
