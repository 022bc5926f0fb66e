/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include "openvswitch/dynamic-string.h"

/* Peerings by which one side pays for both. */

/* The class of the last part of what the tenant sends, or -1. */
static int
class_of_part(const struct world_tenant *t)
{
    int class = MAX_CLASSES - 1;

    while (class >= 0 && !t->parts[false][class].mbps) {
        class--;
    }
    return class;
}

/* Often in a class of which who pays has a part. */
void
world_init_charges(struct world *w, struct rng *rng)
{
    for (int i = 0; i < w->n_rules; i++) {
        struct world_rule *rule = &w->rules[i];
        int payer, class;

        if (rule->tenant != PEERING || rng_chance(rng, 30)) {
            continue;
        }
        rule->charge = rng_chance(rng, 50) ? CHARGE_FROM : CHARGE_TO;
        payer = (rule->charge == CHARGE_FROM ? &rule->from
                 : &rule->to)->choices[0].in.tenant;
        class = payer < w->n_tenants ? class_of_part(&w->tenants[payer]) : -1;
        if (class >= 0 && rng_chance(rng, 70)) {
            rule->class = class;
        }
    }
}

void
world_put_peering(struct ds *ds, const struct world_rule *rule)
{
    if (rule->imposed) {
        ds_put_cstr(ds, ", \"imposed\": true");
    }
    if (rule->charge) {
        ds_put_format(ds, ", \"charge\": \"%s\"",
                      rule->charge == CHARGE_FROM ? "from" : "to");
    }
}

/* Is one of 'set' here, or so that a tunnel reaches it, of the tenant? */
static bool
is_reached(const struct world *w, unsigned int set, int tenant)
{
    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];

        if (set >> i & 1 && e->bound
            && w->networks[e->network].tenant == tenant
            && (!e->node || (w->encapsulation && w->tunnels & 1
                             && w->tunnels >> e->node & 1))) {
            return true;
        }
    }
    return false;
}

/* 1-bits: the uplinks that those of 'set' that are here take. */
static unsigned int
uplinks_of(const struct world *w, unsigned int set)
{
    unsigned int uplinks = 0;

    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];

        if (set >> i & 1 && e->bound && !e->node) {
            uplinks |= 1u << w->networks[e->network].uplink;
        }
    }
    return uplinks;
}

unsigned int
world_uplinks_paid(const struct world *w, int tenant)
{
    unsigned int uplinks = 0;

    for (int i = 0; i < w->n_rules; i++) {
        const struct world_rule *rule = &w->rules[i];
        bool from = rule->charge == CHARGE_FROM;

        if (rule->charge && !rule->left_out
            && is_reached(w, world_selected(w, rule, from), tenant)) {
            uplinks |= uplinks_of(w, world_selected(w, rule, !from));
        }
    }
    return uplinks;
}
