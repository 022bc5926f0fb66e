/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

/* A tenant's packets a second.  They are counted as they come in, before
 * connection tracking and before anything is answered, so that what a flood
 * costs the node is the flooding tenant's trouble alone.  Bits are counted at
 * the end (emit-qos.c), for what is delivered. */

static uint32_t
limit_meter(const struct ir_tenant *tenant)
{
    /* The zone is the tenant's on this node, and so unique too. */
    return PLAN_METER_ID(true, tenant->zone);
}

const char *
limit_call(struct emitter *e, const struct ir_tenant *tenant)
{
    return (tenant->packet_rate
            ? FORMAT(e, "meter:%"PRIu32",", limit_meter(tenant)) : "");
}

void
emit_limits(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        const struct ir_tenant *tenant = e->prog->tenants.v[i];

        if (tenant->here && tenant->packet_rate) {
            *vec_push(e->arena, &e->plan->meters) = (struct plan_meter) {
                .id = limit_meter(tenant), .name = tenant->name,
                .packets = true, .rate = tenant->packet_rate,
                .burst = tenant->packet_burst,
            };
        }
    }
}
