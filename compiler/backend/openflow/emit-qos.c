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
        const struct ir_class *classes[] = {
            e->prog->rules.v[i]->class, e->prog->rules.v[i]->reply_class,
        };

        for (size_t j = 0; j < ARRAY_SIZE(classes); j++) {
            const struct ir_class *c = classes[j];

            if (c) {
                emit_class_value(e, CLASS_VALUE(c->dscp, c->queue), c->dscp,
                                 c->queue);
            }
        }
    }
}

/* Does it send by several uplinks?  Then its meters to send have numbers. */
static bool
takes_several(const struct ir_prog *prog, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant == tenant && !meter->receive && !meter->endpoint) {
            return meter->number;
        }
    }
    return false;
}

static uint32_t
meter_id(const struct ir_meter *meter)
{
    /* The zone is the tenant's on this node, and so unique too. */
    return (meter->number ? PLAN_METER_NUMBER(meter->number)
            : PLAN_METER_ID(false, meter->tenant->zone));
}

/* How much the phantom queue of a meter that borrows may hold: what is above
 * the limit and burst drops there.  The depths must fit it. */
static uint32_t
cap_bytes(const struct ir_meter *ir)
{
    uint64_t deepest = MAX(ir->burst_bytes, MAX(ir->mark_bytes,
                                                ir->depth_bytes));

    return (ir->unlimited || ir->exceed_ecn ? ir->limit_bytes
            : MIN(deepest, ir->limit_bytes ? ir->limit_bytes : UINT32_MAX));
}

/* Below its parent, a meter is owed its guarantee.  Without one it is owed as
 * good as nothing: a rate that no frame fits. */
static void
set_shared(struct plan_meter *meter, const struct ir_meter *ir)
{
    meter->parent = meter_id(ir->parent);
    meter->weight = MAX(ir->weight, 1);
    meter->rate = MAX(ir->guarantee_kbps, 1);
    meter->burst = ir->guarantee_kbps ? MIN(ir->burst_bytes, UINT32_MAX) : 1;
    if (!ir->unlimited || ir->microburst) {
        meter->peak = ir->rate_kbps;
        meter->limit = cap_bytes(ir);
    }
}

static void
set_microburst(struct plan_meter *meter, const struct ir_meter *ir)
{
    meter->microburst = true;
    meter->burst = MIN(ir->burst_bytes, UINT32_MAX);
    meter->peak = ir->microburst ? meter->rate : 0;
    meter->mark = ir->mark_bytes;
    meter->depth = ir->depth_bytes;
    meter->limit = ir->limit_bytes;
    meter->ecn = ir->exceed_ecn;
    meter->tag = ir->tenant ? ir->tenant->number : 0;
}

static const char *
place_string(struct emitter *e, const struct ir_place *place)
{
    return (place->pointer ? FORMAT(e, "line %"PRIu32", %s", place->line,
                                    place->pointer) : NULL);
}

static void
add_meter(struct emitter *e, const struct ir_meter *ir)
{
    struct plan_meter *meter = vec_push(e->arena, &e->plan->meters);

    meter->id = meter_id(ir);
    meter->name = ir->tenant ? ir->tenant->name : ir->uplink;
    meter->lends = !ir->tenant;
    meter->endpoint = ir->endpoint ? ir->endpoint->name : NULL;
    meter->receive = ir->receive;
    meter->uplink = (ir->tenant && !ir->endpoint
                     && takes_several(e->prog, ir->tenant)
                     ? ir->uplink : NULL);
    meter->rate = ir->no_borrow ? ir->guarantee_kbps : ir->rate_kbps;
    if (ir->microburst || ir->parent || !ir->tenant) {
        set_microburst(meter, ir);
        if (ir->parent) {
            set_shared(meter, ir);
            meter->place = place_string(e, &ir->place);
        }
    } else {
        /* A kbit is 1000 bits.  Rounded up: less than 125 bytes too many. */
        meter->burst = DIV_ROUND_UP(ir->burst_bytes * 8, 1000);
    }
}

static void
emit_call(struct emitter *e, const char *match, const struct ir_meter *meter)
{
    emit_flow(e, TABLE_METER, PRIORITY_ALLOW, REASON_PIPELINE, match,
              FORMAT(e, "meter:%"PRIu32",goto_table:%d", meter_id(meter),
                     TABLE_OUTPUT));
}

/* What comes from outside is at the receiver's cost: of what it may get, if
 * that has a meter, which OUTPUT calls. */
static void
emit_inward_call(struct emitter *e, const struct ir_network *network,
                 const struct ir_meter *send)
{
    const char *match = FORMAT(e, REG_CROSSING"=%d,"REG_NETWORK"=%#"PRIx32,
                               CROSSING_EXTERNAL, network->vni);

    if (ir_find_meter(e->prog, network, true)) {
        emit_flow(e, TABLE_METER, PRIORITY_ALLOW, REASON_PIPELINE, match,
                  FORMAT(e, "goto_table:%d", TABLE_OUTPUT));
    } else {
        emit_call(e, match, send);
    }
}

static const char *
call_meter(struct emitter *e, const struct ir_meter *meter)
{
    return meter ? FORMAT(e, "meter:%"PRIu32",", meter_id(meter)) : "";
}

/* What an endpoint sends that has a meter of its own: that, and then its
 * tenant's. */
static void
emit_own_send(struct emitter *e, const struct ir_meter *meter)
{
    const struct ir_endpoint *ep = meter->endpoint;
    const char *match = FORMAT(e, REG_SOURCE"=%#"PRIx32, ep->number);

    emit_flow(e, TABLE_METER, PRIORITY_OWN, REASON_PIPELINE, match,
              FORMAT(e, "%sgoto_table:%d", call_meter(e, meter),
                     TABLE_SHARE));
    emit_flow(e, TABLE_SHARE, PRIORITY_ALLOW, REASON_PIPELINE, match,
              FORMAT(e, "%sresubmit(,%d)",
                     call_meter(e, ir_find_meter(e->prog, ep->network, false)),
                     TABLE_OUTPUT));
}

/* A tenant that takes several uplinks has a meter for each: the sender's
 * network says which. */
static void
emit_meters(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->meters.n; i++) {
        const struct ir_meter *meter = e->prog->meters.v[i];

        add_meter(e, meter);
        if (meter->endpoint && !meter->receive) {
            emit_own_send(e, meter);
        }
        if (!meter->number) {
            emit_call(e, FORMAT(e, REG_TENANT"=%#"PRIx32,
                                meter->tenant->number), meter);
        }
    }
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];
        const struct ir_meter *meter
            = network->here ? ir_find_meter(e->prog, network, false) : NULL;

        if (meter && e->prog->externals.n) {
            emit_inward_call(e, network, meter);
        }
        if (meter && meter->number) {
            emit_call(e, FORMAT(e, REG_TENANT"=%#"PRIx32","REG_NETWORK
                                "=%#"PRIx32, meter->tenant->number,
                                network->vni), meter);
        }
    }
}

void
emit_port_output(struct emitter *e, const struct ir_endpoint *ep)
{
    const struct ir_meter *own = ir_own_meter(e->prog, ep, true);
    const char *match = FORMAT(e, REG_DEST"=%#"PRIx32, ep->number);
    const char *output = FORMAT(
        e, "%soutput:\"%s\"",
        call_meter(e, ir_find_meter(e->prog, ep->network, true)),
        ep->interface);

    emit_flow(e, own ? TABLE_DELIVER : TABLE_OUTPUT, PRIORITY_ALLOW,
              REASON_PIPELINE, match, output);
    if (own) {
        emit_flow(e, TABLE_OUTPUT, PRIORITY_ALLOW, REASON_PIPELINE, match,
                  FORMAT(e, "%sgoto_table:%d", call_meter(e, own),
                         TABLE_DELIVER));
    }
}

bool
has_own_meters(const struct ir_prog *prog)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        if (prog->meters.v[i]->endpoint) {
            return true;
        }
    }
    return false;
}

void
emit_qos(struct emitter *e)
{
    emit_classes(e);
    emit_meters(e);
}
