/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "intent/exceed.h"

/* Whose packets are that pass no meter of what anybody sends here: what comes
 * by tunnel has paid on the sender's node, and what comes from outside pays
 * where it is got.  With telemetry, a meter that lets all pass gives them the
 * tag. */

void
add_tag_meters(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->tags.n; i++) {
        const struct ir_tag *tag = e->prog->tags.v[i];

        *vec_push(e->arena, &e->plan->meters) = (struct plan_meter) {
            .id = PLAN_METER_NUMBER(tag->number), .name = tag->tenant->name,
            .tags = true, .microburst = true, .rate = UINT32_MAX,
            .burst = UINT32_MAX, .exceed = EXCEED_PASS,
            .tag = tag->tenant->number,
        };
    }
}

static const struct ir_tag *
find_tag(const struct emitter *e, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < e->prog->tags.n; i++) {
        if (e->prog->tags.v[i]->tenant == tenant) {
            return e->prog->tags.v[i];
        }
    }
    return NULL;
}

void
emit_tagged(struct emitter *e, enum of_priority priority, const char *match,
            const struct ir_tenant *tenant)
{
    const struct ir_tag *tag = find_tag(e, tenant);

    emit_flow(e, TABLE_METER, priority, REASON_PIPELINE, match,
              FORMAT(e, "%sgoto_table:%d", tag
                     ? FORMAT(e, "meter:%"PRIu32",",
                              PLAN_METER_NUMBER(tag->number)) : "",
                     TABLE_OUTPUT));
}

/* Stronger than the meters that senders and payers may have here. */
void
emit_arrived(struct emitter *e)
{
    static const char tunnel[] = "in_port=\""PLAN_TUNNEL"\"";

    if (!e->prog->telemetry) {
        emit_flow(e, TABLE_METER, PRIORITY_DENY, REASON_PIPELINE, tunnel,
                  FORMAT(e, "goto_table:%d", TABLE_OUTPUT));
        return;
    }
    for (size_t i = 0; i < e->prog->tags.n; i++) {
        const struct ir_tag *tag = e->prog->tags.v[i];
        uint32_t number = tag->tenant->number;

        if (tag->arrives) {
            emit_tagged(e, PRIORITY_DENY,
                        FORMAT(e, "%s,"REG_TENANT"=%#"PRIx32, tunnel, number),
                        tag->tenant);
        }
        if (tag->pays) {
            emit_tagged(e, PRIORITY_ARRIVED_PAYER,
                        FORMAT(e, "%s,"REG_PAYER"=%#"PRIx32, tunnel, number),
                        tag->tenant);
        }
    }
}
