/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "world-parts.h"

const char *
edit_name(enum edit edit)
{
    static const char *const names[N_EDITS] = {
        "rule", "no rule", "deny", "selector", "service", "stateful",
        "class", "default",
        "bandwidth", "limits", "labels", "binding", "move", "address",
        "endpoint", "network", "gateway", "dhcp", "groups", "consent",
        "no peers", "tenant", "same vni", "same interface",
    };

    return names[edit];
}

/* Draws one of the 'n' elements for which 'IS_OWN', of 'i', holds; -1 if there
 * is none. */
#define DRAW(RNG, N, IS_OWN)                                            \
    ({                                                                  \
        int drawn__ = -1, n_own__ = 0;                                  \
                                                                        \
        for (int i = 0; i < (N); i++) {                                 \
            if ((IS_OWN) && !rng_below(RNG, ++n_own__)) {               \
                drawn__ = i;                                            \
            }                                                           \
        }                                                               \
        drawn__;                                                        \
    })

static int
draw_rule(const struct world *w, struct rng *rng, int tenant)
{
    return DRAW(rng, w->n_rules, w->rules[i].tenant == tenant);
}

static int
draw_network(const struct world *w, struct rng *rng, int tenant)
{
    return DRAW(rng, w->n_networks, w->networks[i].tenant == tenant);
}

static int
draw_endpoint(const struct world *w, struct rng *rng, int tenant)
{
    return DRAW(rng, w->n_endpoints,
                w->networks[w->endpoints[i].network].tenant == tenant);
}

static void
edit_rule(struct world *w, struct rng *rng, enum edit edit, int tenant)
{
    int i = draw_rule(w, rng, tenant);
    struct world_rule *rule = &w->rules[MAX(i, 0)];

    if (i < 0) {
        return;
    } else if (edit == EDIT_RULE) {
        rule->left_out = false;
    } else if (edit == EDIT_NO_RULE) {
        rule->left_out = true;
    } else if (edit == EDIT_DENY) {
        rule->deny = !rule->deny;
        rule->class = rule->deny ? -1 : rule->class;
    } else if (edit == EDIT_SELECTOR) {
        world_init_selector(w, rng, tenant, false,
                            rng_chance(rng, 50) ? &rule->from : &rule->to);
    } else if (edit == EDIT_SERVICE) {
        rule->service = (int) rng_below(rng, N_BUILTIN_LINES + MAX_SERVICES
                                        + 1) - 1;
    } else if (edit == EDIT_STATEFUL) {
        rule->stateless = !rule->stateless && rule->reply_class == -2;
    } else if (!rule->deny) {
        rule->class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;
    }
}

static void
edit_endpoint(struct world *w, struct rng *rng, enum edit edit, int tenant)
{
    int i = draw_endpoint(w, rng, tenant);
    struct world_endpoint *e = &w->endpoints[MAX(i, 0)];

    if (i < 0) {
        return;
    } else if (edit == EDIT_LABELS) {
        e->role = rng_below(rng, 3);
        e->tier = rng_below(rng, 2);
    } else if (edit == EDIT_BINDING) {
        e->bound = !e->bound;
    } else if (edit == EDIT_MOVE) {
        e->node = rng_below(rng, MAX_NODES);
        if (rng_chance(rng, 30)) {
            e->network = draw_network(w, rng, tenant);
            e->host = 50 + i;
        }
    } else if (edit == EDIT_ADDRESS) {
        e->ip6 = !e->ip6;
        e->ip4 = !e->ip6 || e->ip4;
        e->second = rng_chance(rng, 20);
        e->host = rng_chance(rng, 80) ? 50 + i : e->host;
    } else {
        e->left_out = !e->left_out;
    }
}

static void
edit_network(struct world *w, struct rng *rng, enum edit edit, int tenant)
{
    int i = draw_network(w, rng, tenant);
    int endpoint = draw_endpoint(w, rng, tenant);
    struct world_network *n = &w->networks[MAX(i, 0)];

    if (i < 0) {
        return;
    } else if (edit == EDIT_NETWORK) {
        n->left_out = !n->left_out;
    } else if (edit == EDIT_GATEWAY) {
        n->gateway4 = rng_chance(rng, 80);
        n->gateway6 = rng_chance(rng, 80);
    } else if (edit == EDIT_DHCP) {
        n->dhcp_server = (endpoint >= 0 && w->endpoints[endpoint].network == i
                          ? endpoint : -1);
    } else {
        n->groups = rng_below(rng, 1u << N_GROUPS);
    }
}

/* Gives the first number behind 'key' in the text the value of 'number'. */
static const char *
replace_number(const char *text, const char *key, int number,
               struct arena *arena)
{
    const char *at = text ? strstr(text, key) : NULL;

    if (!at) {
        return text;
    }
    at += strlen(key);
    return arena_printf(arena, "%.*s%d%s", (int) (at - text), text, number,
                        at + strspn(at, "0123456789"));
}

void
edit_tenant(struct world *w, struct rng *rng, enum edit edit, int tenant,
            const char **text, struct arena *arena)
{
    struct world_tenant *t = &w->tenants[tenant];

    if (edit <= EDIT_CLASS) {
        edit_rule(w, rng, edit, tenant);
    } else if (edit == EDIT_DEFAULT) {
        t->allow = !t->allow;
    } else if (edit == EDIT_BANDWIDTH) {
        t->limited = rng_chance(rng, 80);
        t->both = false;
        t->received_mbps = rng_chance(rng, 50) ? 2000 : 0;
        t->mbps = 1000 + rng_below(rng, UPLINK_MBPS(MAX_UPLINKS));
        t->mark_kib = t->limited && rng_chance(rng, 50) ? 100 : 0;
    } else if (edit == EDIT_LIMITS) {
        t->counted = !t->counted;
        t->upcalls = t->upcalls ? 0 : 1000;
        t->upcalls_burst = 32;
    } else if (edit <= EDIT_ENDPOINT) {
        edit_endpoint(w, rng, edit, tenant);
    } else if (edit <= EDIT_GROUPS) {
        edit_network(w, rng, edit, tenant);
    } else if (edit == EDIT_CONSENT) {
        t->peers ^= 1u << rng_below(rng, w->n_tenants);
        t->outside ^= rng_below(rng, 1u << MAX_EXTERNALS);
    } else if (edit == EDIT_NO_PEERS) {
        t->peers = 0;
    } else if (edit == EDIT_TENANT) {
        t->left_out = !t->left_out;
    }
    *text = t->left_out ? NULL : world_tenant_text(w, tenant, arena);
    if (edit == EDIT_SAME_VNI) {
        *text = replace_number(*text, "\"vni\": ",
                               WORLD_VNI(rng_below(rng, w->n_networks)),
                               arena);
    } else if (edit == EDIT_SAME_INTERFACE) {
        *text = replace_number(*text, "\"interface\": \"i",
                               rng_below(rng, w->n_endpoints), arena);
    }
}

/* Does a side name an external that is left out? */
static bool
is_cut_off(const struct world *w, const struct world_selector *s)
{
    for (int i = 0; i < s->n; i++) {
        int external = s->choices[i].external;

        if (external >= 0 && w->externals[external].left_out) {
            return true;
        }
    }
    return false;
}

/* The tenants that a side names. */
static unsigned int
named(const struct world_selector *s)
{
    unsigned int tenants = 0;

    for (int i = 0; i < s->n; i++) {
        int tenant = s->choices[i].in.tenant;

        tenants |= (tenant < 0 || s->choices[i].external >= 0 ? 0
                    : 1u << tenant);
    }
    return tenants;
}

void
edit_thin_out(struct world *w, struct rng *rng)
{
    for (int i = 0; i < w->n_externals; i++) {
        w->externals[i].left_out |= rng_chance(rng, 90);
    }
    for (int i = 0; i < w->n_tenants; i++) {
        w->tenants[i].peers = 0;
    }
    for (int i = 0; i < w->n_rules; i++) {
        struct world_rule *rule = &w->rules[i];
        unsigned int from = named(&rule->from), to = named(&rule->to);

        rule->left_out |= (is_cut_off(w, &rule->from)
                           || is_cut_off(w, &rule->to)
                           || rng_chance(rng, rule->tenant == GUARDRAIL ? 95
                                         : rule->tenant == PEERING ? 70 : 0)
                           || ((from | to) >> EVERY_TENANT
                               && rng_chance(rng, 90)));
        for (int j = 0; j < w->n_tenants && rule->tenant == PEERING
             && !rule->left_out; j++) {
            w->tenants[j].peers |= ((from >> j & 1 ? to : 0)
                                    | (to >> j & 1 ? from : 0));
            w->tenants[j].peers &= (1u << w->n_tenants) - 1;
        }
    }
}
