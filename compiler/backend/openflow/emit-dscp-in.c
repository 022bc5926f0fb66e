/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "util.h"

/* Packets that keep the DSCP that they come with: so much a tenant as its
 * meter here lets pass.  What comes by tunnel has passed one where it was
 * sent; what comes from outside keeps nothing. */

static void
emit_kept(struct emitter *e, enum of_priority priority, const char *where,
          const struct ir_class *class, const char *call)
{
    static const char *const families[] = { "ip", "ipv6" };

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        emit_flow(e, TABLE_CLASS, priority, REASON_PIPELINE,
                  FORMAT(e, "%s,%s,"REG_CLASS"=%#"PRIx32",ip_dscp=%u", where,
                         families[i], CLASS_VALUE(class->dscp, class->queue),
                         class->dscp_in),
                  FORMAT(e, "%s%sgoto_table:%d", call, e->caps->queues
                         ? FORMAT(e, "set_queue:%u,", class->queue_in) : "",
                         TABLE_METER));
    }
}

static void
emit_cap(struct emitter *e, const struct ir_cap *cap)
{
    const struct ir_class *class = cap->class;
    uint32_t id = PLAN_METER_NUMBER(cap->number);

    *vec_push(e->arena, &e->plan->meters) = (struct plan_meter) {
        .id = id, .name = cap->tenant->name, .class = class->name,
        .dscp_in = true, .rate = class->in_kbps,
        .burst = DIV_ROUND_UP(class->in_burst_bytes * 8, 1000),
    };
    emit_kept(e, PRIORITY_OWN, FORMAT(e, REG_TENANT"=%#"PRIx32,
                                      cap->tenant->number),
              class, FORMAT(e, "meter:%"PRIu32",", id));
}

void
emit_dscp_in(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->caps.n; i++) {
        emit_cap(e, e->prog->caps.v[i]);
    }
    for (size_t i = 0; e->prog->encapsulation && i < e->prog->classes.n;
         i++) {
        const struct ir_class *class = e->prog->classes.v[i];

        if (class->dscp_in && ir_uses_class(e->prog, class)) {
            emit_kept(e, PRIORITY_DENY, "in_port=\""PLAN_TUNNEL"\"", class,
                      "");
        }
    }
}
