/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "outcome.h"

#include <string.h>

#include "sema/meaning-meters.h"
#include "sema/meaning.h"
#include "util.h"

void
outcome_call_meter(struct outcome *o, uint32_t id, struct meters *meters)
{
    if (!plan_meter_counts_packets(id) && meters->n >= MAX_METERS) {
        o->broken = "it passes too many meters";
    } else if (!plan_meter_counts_packets(id)) {
        meters->v[meters->n++] = id;
    } else if (o->counter) {
        o->broken = "it is counted twice";
    } else if (o->tracked.n || o->committed.n || o->n_out) {
        o->broken = "it is counted after it was tracked or answered";
    } else {
        o->counter = id;
    }
}

static const struct plan_meter *
find_meter(const struct compiled *c, const struct outcome *o, uint32_t meter)
{
    for (size_t i = 0; i < c->plan.meters.n; i++) {
        uint32_t id = c->plan.meters.v[i].id;

        /* The push engine gives a meter that changes its other id. */
        if (meter == id
            || (o->headers_only && meter == plan_meter_other(id))) {
            return &c->plan.meters.v[i];
        }
    }
    return NULL;
}

const char *
outcome_meter_owner(const struct compiled *c, const struct outcome *o,
                    uint32_t meter)
{
    const struct plan_meter *found = find_meter(c, o, meter);

    return found ? found->name : "";
}

/* Is it the meter of plan that is meant?  Its uplink is named if it could be
 * another. */
static bool
is_meant(const struct plan_meter *meter, const struct meaning_meter *meant)
{
    return (meter && !strcmp(meter->name, meant->tenant->name)
            && meter->receive == meant->receive
            && !meter->endpoint == !meant->endpoint
            && (!meter->endpoint
                || !strcmp(meter->endpoint, meant->endpoint->name))
            && (!meter->uplink
                || !strcmp(meter->uplink, meant->uplink->name.s)));
}

const char *
outcome_compare_meters(const struct compiled *c, const struct outcome *o,
                       const struct delivery *out, const struct meaning *m,
                       const struct policy_endpoint *to, struct arena *arena)
{
    struct meaning_meter meant[MAX_MEANING_METERS];
    size_t n = meaning_meters(m, to, meant);

    for (size_t i = 0; i < n && i < out->meters.n; i++) {
        const struct plan_meter *meter = find_meter(c, o, out->meters.v[i]);

        if (!is_meant(meter, &meant[i])) {
            return arena_printf(arena, "it pays with meter %u of '%s'",
                                out->meters.v[i], meter ? meter->name : "");
        }
    }
    return (n == out->meters.n ? NULL
            : arena_printf(arena, "it passes %"PRIuSIZE" meters, not "
                           "%"PRIuSIZE, out->meters.n, n));
}
