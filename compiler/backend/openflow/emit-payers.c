/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "util.h"

/* What a tenant pays for others' endpoints here, by peerings that say so: at
 * the cost of its own meters by the uplink of their network, stronger than
 * those of sender and receiver.  What it sends and gets itself it pays
 * anyway. */

/* What 'other' sends and gets. */
static void
emit_payer(struct emitter *e, const struct ir_tenant *payer,
           const struct ir_endpoint *other)
{
    struct charged charged = {
        { payer, other->network->uplink },
        FORMAT(e, REG_PAYER"=%#"PRIx32","REG_NETWORK"=%#"PRIx32,
               payer->number, other->network->vni),
        PRIORITY_PAYER, PRIORITY_PAYER_CLASS,
    };

    emit_charged(e, &charged);
    if (ir_find_meter(e->prog, charged.account, true)) {
        charged.match = FORMAT(e, REG_PAYER"=%#"PRIx32","REG_DEST"=%#"PRIx32,
                               payer->number, other->number);
        emit_charged_delivery(e, other, &charged);
    }
}

void
emit_payers(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        struct ir_charge charge = ir_charge_of(e->prog->rules.v[i]);

        for (size_t j = 0; charge.payers && j < charge.payers->n; ) {
            struct ir_run run = ir_run_at(charge.payers, j);

            for (size_t k = 0; k < charge.others->n; k++) {
                if (!charge.others->v[k]->node) {
                    emit_payer(e, run.v[0]->tenant, charge.others->v[k]);
                }
            }
            j += run.n;
        }
    }
}
