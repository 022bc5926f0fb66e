/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include "openvswitch/dynamic-string.h"

/* Who consents to peerings, with whom, and peerings with externals. */

bool
world_consents(const struct world *w, int a, int b)
{
    const struct world_tenant *from = &w->tenants[a], *to = &w->tenants[b];

    return ((from->peers_all || from->peers & 1u << b)
            && (to->peers_all || to->peers & 1u << a));
}

bool
world_lists(const struct world *w, int external, int tenant)
{
    unsigned int listed = w->externals[external].tenants;

    return listed >> tenant & 1 || listed >> EVERY_TENANT & 1;
}

bool
world_consents_to(const struct world *w, int tenant, int external)
{
    return w->tenants[tenant].outside >> external & 1;
}

bool
world_names_external(const struct world_selector *s, int external)
{
    for (int i = 0; i < s->n; i++) {
        if (s->choices[i].external >= 0
            && (external < 0 || s->choices[i].external == external)) {
            return true;
        }
    }
    return false;
}

static bool
is_consented(const struct world *w, const struct world_selector *from, int i,
             const struct world_selector *to, int j)
{
    int a = from->choices[i].in.tenant, b = to->choices[j].in.tenant;

    if (from->choices[i].external >= 0) {
        return (b == EVERY_TENANT
                || world_consents_to(w, b, from->choices[i].external));
    } else if (to->choices[j].external >= 0) {
        return (a == EVERY_TENANT
                || world_consents_to(w, a, to->choices[j].external));
    }
    return a == EVERY_TENANT || b == EVERY_TENANT || world_consents(w, a, b);
}

bool
world_is_consented(const struct world *w, const struct world_rule *rule)
{
    for (int i = 0; rule->tenant == PEERING && i < rule->from.n; i++) {
        for (int j = 0; j < rule->to.n && !rule->imposed; j++) {
            if (!is_consented(w, &rule->from, i, &rule->to, j)) {
                return false;
            }
        }
    }
    return true;
}

static bool
is_outside(const struct world_rule *rule)
{
    return (rule->tenant == PEERING && (world_names_external(&rule->from, -1)
                                        || world_names_external(&rule->to,
                                                                -1)));
}

bool
world_are_beside(const struct world_rule *a, const struct world_rule *b)
{
    return a->tenant == b->tenant || is_outside(a) || is_outside(b);
}

struct world_rule
world_said_of(const struct world_rule *rule, int tenant)
{
    struct world_rule own = *rule;
    struct world_selector *const sides[] = { &own.from, &own.to };

    own.tenant = tenant;
    for (int i = 0; rule->tenant == PEERING && i < 2; i++) {
        int n = 0;

        for (int j = 0; j < sides[i]->n; j++) {
            int whose = sides[i]->choices[j].in.tenant;

            if (sides[i]->choices[j].external >= 0 || whose == tenant
                || whose == EVERY_TENANT) {
                sides[i]->choices[n] = sides[i]->choices[j];
                sides[i]->choices[n++].in.tenant = -1;
            }
        }
        sides[i]->n = n;
    }
    return own;
}

void
world_put_outside(struct ds *ds, const struct world *w, int tenant)
{
    for (int i = 0; i < w->n_externals; i++) {
        if (world_consents_to(w, tenant, i) && !w->externals[i].left_out) {
            world_put_comma(ds);
            ds_put_format(ds, "\"external:x%d\"", i);
        }
    }
}

/* Makes it a peering with an external, which no tenant can be charged for
 * and which is seldom untracked. */
static void
take_outside(struct world *w, struct rng *rng, struct world_rule *rule)
{
    struct world_selector *s = rng_chance(rng, 50) ? &rule->from : &rule->to;

    s->n = rng_chance(rng, 85) ? 1 : MAX_CHOICES;
    for (int i = 0; i < s->n; i++) {
        s->choices[i].external = rng_below(rng, w->n_externals);
        s->choices[i].range = (rng_chance(rng, 50) ? -1
                               : (int) rng_below(rng, N_CIDRS));
    }
    rule->charge = CHARGE_SENDER;
    rule->stateless = rng_chance(rng, 3) && rule->reply_class == -2;
    rule->imposed = rng_chance(rng, 30);
    if (rng_chance(rng, 80)) {
        rule->service = N_BUILTIN_LINES + rng_below(rng, MAX_SERVICES);
    }
}

/* Adds a peering that says what the tenant's rule about one external says, of
 * it or of every tenant, with another class: a little less, or more.  Returns
 * false if it says too much for that. */
static bool
add_beside(struct world *w, struct rng *rng, const struct world_rule *rule)
{
    bool inward = rule->from.choices[0].external >= 0;
    struct world_rule *peering = &w->rules[w->n_rules];
    struct world_selector *outside, *inside;

    if (world_names_external(inward ? &rule->to : &rule->from, -1)) {
        return false;
    }
    *peering = *rule;
    peering->tenant = PEERING;
    peering->imposed = rng_chance(rng, 50);
    peering->class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;
    outside = inward ? &peering->from : &peering->to;
    inside = inward ? &peering->to : &peering->from;
    outside->n = 1;
    if (rng_chance(rng, 50)) {
        outside->choices[0].range = (rng_chance(rng, 50) ? -1
                                     : (int) rng_below(rng, N_CIDRS));
    }
    for (int i = 0; i < inside->n; i++) {
        struct world_choice *in = &inside->choices[i].in;

        in->tenant = rng_chance(rng, 50) ? EVERY_TENANT : rule->tenant;
        if (rng_chance(rng, 40)) {
            in->roles = rng_chance(rng, 50) ? 1u << rng_below(rng, 3) : 0;
        }
    }
    if (inside->n < MAX_CHOICES && rng_chance(rng, 30)) {
        inside->choices[inside->n] = inside->choices[0];
        inside->choices[inside->n].has_except = false;
        inside->choices[inside->n++].in = (struct world_choice) {
            .tenant = rng_below(rng, w->n_tenants),
        };
    }
    if (peering->service < 0 || rng_chance(rng, 20)) {
        peering->service = N_BUILTIN_LINES + rng_below(rng, MAX_SERVICES);
    }
    w->n_rules++;
    return true;
}

/* Adds a rule of the tenant that says less than the last peering. */
static void
add_below(struct world *w, struct rng *rng, int tenant)
{
    struct world_rule *rule = &w->rules[w->n_rules];
    struct world_selector *inside;

    *rule = rule[-1];
    rule->tenant = tenant;
    rule->imposed = false;
    rule->class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;
    inside = (rule->from.choices[0].external >= 0 ? &rule->to : &rule->from);
    inside->n = 1;
    inside->choices[0].in.tenant = -1;
    inside->choices[0].in.tiers = 1u << rng_below(rng, 2);
    w->n_rules++;
}

/* Some peerings are with externals. */
void
world_init_outside(struct world *w, struct rng *rng)
{
    int n = w->n_rules;

    for (int i = 0; i < w->n_tenants; i++) {
        w->tenants[i].outside = (rng_below(rng, 1u << MAX_EXTERNALS)
                                 | rng_below(rng, 1u << MAX_EXTERNALS));
    }
    for (int i = 0; i < n && w->n_externals; i++) {
        struct world_rule *rule = &w->rules[i];

        if (rule->tenant == PEERING && rng_chance(rng, 30)) {
            take_outside(w, rng, rule);
        } else if (rule->tenant >= 0 && !rule->deny && w->n_rules < MAX_RULES
                   && (rule->from.choices[0].external >= 0
                       || rule->to.choices[0].external >= 0)
                   && rng_chance(rng, 60)) {
            if (add_beside(w, rng, rule) && w->n_rules < MAX_RULES) {
                add_below(w, rng, rule->tenant);
            }
        }
    }
}
