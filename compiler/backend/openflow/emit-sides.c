/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "util.h"

/* No rule speaks of what an endpoint sends to itself, not even one from all to
 * all.  OpenFlow cannot compare two fields, but two numbers differ if and only
 * if they differ in a bit: two flows a bit, however many endpoints there are.
 */
static void
emit_self(struct emitter *e)
{
    const char *next = FORMAT(e, "goto_table:%d", TABLE_SIDES);

    for (int bit = 0; bit < 32; bit++) {
        uint32_t mask = UINT32_C(1) << bit;

        emit_flow(e, TABLE_SELF, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_SOURCE"=0/%#"PRIx32","
                         REG_DEST"=%#"PRIx32"/%#"PRIx32, mask, mask, mask),
                  next);
        emit_flow(e, TABLE_SELF, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_SOURCE"=%#"PRIx32"/%#"PRIx32","
                         REG_DEST"=0/%#"PRIx32, mask, mask, mask), next);
    }
}

void
emit_sides(struct emitter *e)
{
    static const enum of_direction as_sent[] = {
        DIRECTION_FORWARD, DIRECTION_STATELESS,
    };

    emit_self(e);
    for (size_t i = 0; i < ARRAY_SIZE(as_sent); i++) {
        emit_flow(e, TABLE_SIDES, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_DIRECTION"=%d", as_sent[i]),
                  FORMAT(e, "move:"REG_TENANT"->"REG_FROM_TENANT","
                         "goto_table:%d", TABLE_POLICY));
    }
    emit_flow(e, TABLE_SIDES, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, REG_DIRECTION"=%d", DIRECTION_REPLY),
              FORMAT(e, "move:"REG_TO_TENANT"->"REG_FROM_TENANT","
                     "move:"REG_TENANT"->"REG_TO_TENANT","
                     "move:"REG_FROM"->"REG_SCRATCH","
                     "move:"REG_TO"->"REG_FROM","
                     "move:"REG_SCRATCH"->"REG_TO",goto_table:%d",
                     TABLE_POLICY));
}
