/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "outcome.h"

#include <string.h>

#include "sema/meaning.h"

void
outcome_call_meter(struct outcome *o, uint32_t id, uint32_t *meter)
{
    if (!plan_meter_counts_packets(id)) {
        *meter = id;
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

bool
outcome_is_charged(const struct compiled *c, const struct outcome *o,
                   const struct delivery *out, const struct meaning *m)
{
    const struct plan_meter *found = find_meter(c, o, out->meter);

    return (!m->charged ? !out->meter
            : found && !strcmp(found->name, m->charged->name)
              && (!found->uplink
                  || !strcmp(found->uplink, m->uplink->name.s)));
}
