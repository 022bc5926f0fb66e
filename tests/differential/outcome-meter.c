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
    return (meter && !meter->lends && !meter->split && !meter->tags
            && !strcmp(meter->name, meant->tenant->name)
            && meter->receive == meant->receive
            && meter->dscp_in == meant->dscp_in
            && !meter->endpoint == !meant->endpoint
            && (!meter->endpoint
                || !strcmp(meter->endpoint, meant->endpoint->name))
            && !meter->class == !meant->class
            && (!meter->class || !strcmp(meter->class, meant->class->name))
            && (!meter->uplink
                || !strcmp(meter->uplink, meant->uplink->name.s)));
}

/* Is it in two trees, that of its tenant's limit and that of the uplink? */
static bool
is_twice(const struct compiled *c, const struct plan_meter *meter)
{
    for (size_t i = 0; i < c->plan.meters.n; i++) {
        const struct plan_meter *other = &c->plan.meters.v[i];

        if (other->limits != meter->limits && !other->split
            && other->rest == meter->rest && other->receive == meter->receive
            && !other->dscp_in && !meter->dscp_in
            && !strcmp(other->name, meter->name)
            && !other->endpoint == !meter->endpoint
            && (!meter->endpoint
                || !strcmp(other->endpoint, meter->endpoint))
            && !other->class == !meter->class
            && (!meter->class || !strcmp(other->class, meter->class))
            && !other->uplink == !meter->uplink
            && (!meter->uplink || !strcmp(other->uplink, meter->uplink))) {
            return true;
        }
    }
    return false;
}

const char *
outcome_compare_meters(const struct compiled *c, const struct outcome *o,
                       const struct delivery *out, const struct meaning *m,
                       const struct policy_endpoint *to, struct arena *arena)
{
    struct meaning_meter meant[MAX_MEANING_METERS];
    const struct policy_tenant *tag = meaning_tag(m, to);
    size_t n = meaning_meters(m, to, meant), i = 0, j = 0;

    if (tag && c->plan.telemetry) {
        const struct plan_meter *first
            = out->meters.n ? find_meter(c, o, out->meters.v[j++]) : NULL;

        if (!first || !first->tags || strcmp(first->name, tag->name)) {
            return arena_printf(arena, "it has not the tag of '%s'",
                                tag->name);
        }
    }
    for (; i < n && j < out->meters.n; i++, j++) {
        const struct plan_meter *meter = find_meter(c, o, out->meters.v[j]);

        if (is_meant(meter, &meant[i]) && is_twice(c, meter)) {
            /* That of the limit comes first. */
            meter = (!meter->limits || ++j == out->meters.n ? NULL
                     : find_meter(c, o, out->meters.v[j]));
            meter = meter && !meter->limits ? meter : NULL;
        }
        if (!is_meant(meter, &meant[i])) {
            return arena_printf(arena, "it pays with meter %u of '%s'",
                                j < out->meters.n ? out->meters.v[j] : 0,
                                meter ? meter->name : "");
        }
    }
    return (i == n && j == out->meters.n ? NULL
            : arena_printf(arena, "it passes %"PRIuSIZE" meters, not those of "
                           "%"PRIuSIZE, out->meters.n, n));
}
