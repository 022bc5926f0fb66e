/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "backend/openflow/openflow.h"

/* Queues of tenants, for targets whose ports have them: what goes by tunnel
 * leaves in that of who sends it, for its uplink owes the tenants, and not
 * their classes.  What came by tunnel goes to ports only. */

bool
openflow_has_queue(const struct ir_meter *meter)
{
    return meter->tenant && !meter->endpoint && !meter->class
        && !meter->receive;
}

uint16_t
openflow_queue(const struct ir_prog *prog, const struct ir_meter *meter)
{
    uint16_t queue = OPENFLOW_FIRST_QUEUE;

    for (size_t i = 0; prog->meters.v[i] != meter; i++) {
        queue += openflow_has_queue(prog->meters.v[i]);
    }
    return queue;
}

bool
has_tenant_queues(const struct emitter *e)
{
    return e->caps->n_queues && e->prog->encapsulation;
}

void
emit_tunnel_queues(struct emitter *e)
{
    for (size_t i = 0; has_tenant_queues(e) && i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];
        const struct ir_meter *meter
            = (network->here ? ir_find_meter(e->prog, ir_account_of(network),
                                             false) : NULL);

        if (meter) {
            emit_flow(e, TABLE_DELIVER, PRIORITY_DEFAULT, REASON_PIPELINE,
                      match_sender(e, network, meter),
                      FORMAT(e, "set_queue:%u,output:\""PLAN_TUNNEL"\"",
                             openflow_queue(e->prog, meter)));
        }
    }
}
