/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include "util.h"

/* What is drawn last, so that worlds are otherwise those that they were. */

/* Some bindings stand apart, or a part of them. */
void
world_init_bindings(struct world *w, struct rng *rng)
{
    for (int i = 0; i < w->n_endpoints; i++) {
        w->endpoints[i].apart = (rng_chance(rng, 60) ? 0
                                 : rng_below(rng, APART_ALL + 1));
    }
}

/* The other way round, for something else: what one sees as a request may be
 * an answer to the other. */
static void
add_opposite(struct world *w, struct rng *rng, const struct world_rule *rule)
{
    struct world_rule *opposite = &w->rules[w->n_rules++];

    *opposite = *rule;
    opposite->from = rule->to;
    opposite->to = rule->from;
    opposite->service = N_BUILTIN_LINES + rng_below(rng, MAX_SERVICES);
    opposite->class = (int) rng_below(rng, MAX_CLASSES + 1) - 1;
}

/* Some rules that allow are not stateful. */
void
world_init_stateless(struct world *w, struct rng *rng)
{
    int n = w->n_rules;

    for (int i = 0; i < n; i++) {
        struct world_rule *rule = &w->rules[i];

        rule->stateless = (rng_chance(rng, 30) && !rule->deny
                           && rule->reply_class == -2);
        if (rule->stateless && rule->service >= 0 && w->n_rules < MAX_RULES
            && rng_chance(rng, 30)) {
            add_opposite(w, rng, rule);
        }
    }
}

/* Some tenants may have so many connections and no more. */
void
world_init_connections(struct world *w, struct rng *rng)
{
    for (int i = 0; i < w->n_tenants; i++) {
        w->tenants[i].connections = (rng_chance(rng, 40)
                                     ? 1 + rng_below(rng, 100000) : 0);
    }
}

/* Some services are of protocols without ports. */
void
world_init_protocols(struct world *w, struct rng *rng)
{
    static const int protocols[] = { 4, 47, 50, 132, 255 };

    for (int i = 0; i < MAX_SERVICES; i++) {
        w->services[i].protocol
            = (rng_chance(rng, 25)
               ? protocols[rng_below(rng, ARRAY_SIZE(protocols))] : 0);
    }
}

/* Some guardrails name externals, alone or beside tenants. */
void
world_init_guarded(struct world *w, struct rng *rng)
{
    for (int i = 0; i < w->n_rules && w->n_externals; i++) {
        struct world_rule *rule = &w->rules[i];
        bool from = rng_chance(rng, 50);
        struct world_selector *s = from ? &rule->from : &rule->to;
        struct world_selector *other = from ? &rule->to : &rule->from;

        if (rule->tenant != GUARDRAIL || !rng_chance(rng, 70)) {
            continue;
        }
        s->n = rng_chance(rng, 30) ? MAX_CHOICES : 1;
        s->choices[s->n - 1].external = rng_below(rng, w->n_externals);
        s->choices[s->n - 1].range = (rng_chance(rng, 60) ? -1
                                      : (int) rng_below(rng, N_CIDRS));
        if (rng_chance(rng, 60)) {
            other->n = 1;
            other->choices[0].in.tenant = EVERY_TENANT;
            rule->service = rng_chance(rng, 50) ? -1 : rule->service;
        }
    }
}

void
world_init_late(struct world *w, struct rng *rng)
{
    world_init_bindings(w, rng);
    world_init_stateless(w, rng);
    world_init_connections(w, rng);
    world_init_protocols(w, rng);
    world_init_charges(w, rng);
    world_init_nested(w, rng);
    world_init_guarded(w, rng);
    world_init_outside(w, rng);
}
