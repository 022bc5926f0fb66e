/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "util.h"

/* The DSCP that the class says, whatever the tenant wrote; ECN is kept. */
static void
emit_class_value(struct emitter *e, uint32_t value, uint8_t dscp,
                 uint16_t queue)
{
    static const char *const families[] = { "ip", "ipv6" };

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        emit_flow(e, TABLE_CLASS, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, "%s,"REG_CLASS"=%#"PRIx32, families[i], value),
                  FORMAT(e, "set_field:%u->ip_dscp,set_queue:%u,"
                         "goto_table:%d", dscp, queue, TABLE_METER));
    }
}

static void
emit_classes(struct emitter *e)
{
    emit_class_value(e, 0, 0, 0);
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        const struct ir_class *c = e->prog->rules.v[i]->class;

        if (c) {
            emit_class_value(e, CLASS_VALUE(c->dscp, c->queue), c->dscp,
                             c->queue);
        }
    }
}

static void
emit_meter(struct emitter *e, const struct ir_tenant *tenant)
{
    struct plan_meter *meter = vec_push(e->arena, &e->plan->meters);

    /* The zone is the tenant's on this node, and so unique too. */
    meter->id = PLAN_METER_ID(false, tenant->zone);
    meter->name = tenant->name;
    meter->rate = tenant->rate_kbps;
    if (tenant->microburst) {
        meter->microburst = true;
        meter->burst = MIN(tenant->burst_bytes, UINT32_MAX);
        meter->mark = tenant->mark_bytes;
        meter->depth = tenant->depth_bytes;
        meter->limit = tenant->limit_bytes;
        meter->ecn = tenant->exceed_ecn;
        meter->tag = tenant->number;
    } else {
        /* A kbit is 1000 bits.  Rounded up: less than 125 bytes too many. */
        meter->burst = DIV_ROUND_UP(tenant->burst_bytes * 8, 1000);
    }
    emit_flow(e, TABLE_METER, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, REG_TENANT"=%#"PRIx32, tenant->number),
              FORMAT(e, "meter:%"PRIu32",goto_table:%d", meter->id,
                     TABLE_OUTPUT));
}

void
emit_qos(struct emitter *e)
{
    emit_classes(e);
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        if (e->prog->tenants.v[i]->here) {
            emit_meter(e, e->prog->tenants.v[i]);
        }
    }
}
