/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <string.h>

#include "backend/lost.h"
#include "intent/exceed.h"
#include "util.h"

/* The meters of the program as those of the plan.
 *
 * What a meter is owed passes whatever its parent holds, so a parent keeps
 * what is borrowed within its rate, and nothing else.  A tenant that is split
 * and below an uplink so lends twice: its limit, in a tree of its own, and
 * then what it has of the uplink.  Both limits are hard, and what is owed to
 * one of its endpoints waits in neither for what others borrow. */

/* Does it take several uplinks?  Then their names are in those of its meters.
 */
static bool
takes_several(const struct ir_prog *prog, const struct ir_tenant *tenant)
{
    const char *uplink = NULL;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant == tenant) {
            if (uplink && strcmp(meter->uplink, uplink)) {
                return true;
            }
            uplink = meter->uplink;
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

/* Has the target a meter for it? */
static bool
is_there(const struct emitter *e, const struct ir_meter *meter)
{
    return (!e->caps->meter_kbps
            || lost_drop_kbps(meter) <= e->caps->meter_kbps);
}

static void
put_ids(const struct emitter *e, struct meter_path *path,
        const struct ir_meter *meter)
{
    if (!is_there(e, meter)) {
        return;
    }
    if (meter->limit_number) {
        path->ids[path->n++] = PLAN_METER_NUMBER(meter->limit_number);
    }
    path->ids[path->n++] = meter_id(meter);
}

struct meter_path
meter_path(const struct emitter *e, struct ir_account account,
           const struct ir_endpoint *ep, const struct ir_class *class,
           bool receive)
{
    const struct ir_prog *prog = e->prog;
    const struct ir_meter *own
        = (class ? ir_class_meter(prog, account, class, receive)
           : ep ? ir_own_meter(prog, ep, receive) : NULL);
    const struct ir_meter *all = ir_find_meter(prog, account, receive);
    struct meter_path path = { .n = 0 };

    if (own) {
        put_ids(e, &path, own);
    }
    if (all && !(own && ir_meter_is_alone(own))) {
        put_ids(e, &path, all);
    }
    return path;
}

bool
has_long_paths(const struct ir_prog *prog)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        if (prog->meters.v[i]->endpoint || prog->meters.v[i]->limit_number) {
            return true;
        }
    }
    return false;
}

/* How deep the queue of what conforms can be; depths that are marked or
 * recorded must fit it. */
static uint32_t
deepest(const struct ir_meter *ir)
{
    uint64_t bytes = MAX(ir->burst_bytes, MAX(ir->mark_bytes,
                                              ir->depth_bytes));

    return MIN(bytes, UINT32_MAX);
}

/* How much the phantom queue of a meter that borrows may hold: what is above
 * the limit and burst drops there. */
static uint32_t
cap_bytes(const struct ir_meter *ir)
{
    return (ir->unlimited || ir->exceed != EXCEED_DROP ? ir->limit_bytes
            : ir->limit_bytes ? MIN(deepest(ir), ir->limit_bytes)
            : deepest(ir));
}

/* The same of a meter that does not.  What its share drops is not to wait in
 * the queue, so the queue drops it first. */
static uint32_t
own_cap_bytes(const struct ir_meter *ir)
{
    return (ir->limit_bytes || !ir->microburst || ir->exceed != EXCEED_DROP
            ? ir->limit_bytes : deepest(ir));
}

static void
set_microburst(struct plan_meter *meter, const struct ir_meter *ir)
{
    meter->microburst = true;
    meter->burst = MIN(ir->burst_bytes, UINT32_MAX);
    meter->peak = ir->microburst ? meter->rate : 0;
    meter->mark = ir->mark_bytes;
    meter->depth = ir->depth_bytes;
    meter->limit = own_cap_bytes(ir);
    meter->exceed = ir->exceed;
    /* A packet has the tag of the last meter with one, and stays that of the
     * tenant that pays for sending it. */
    meter->tag = ir->tenant && !ir->receive ? ir->tenant->number : 0;
}

/* A meter that only drops, with a tag: only those that lend have no queue. */
static void
set_tagged(struct plan_meter *meter, const struct ir_meter *ir)
{
    set_microburst(meter, ir);
    meter->peak = meter->rate;
    meter->limit = meter->burst;
}

/* What a meter is owed, below its parent or as one.  Nothing is as good as
 * that: a rate that no frame fits. */
static void
set_owed(struct plan_meter *meter, const struct ir_meter *ir)
{
    uint64_t owed = ir->guarantee_kbps - ir->apart_kbps;

    meter->rate = MAX(owed, 1);
    meter->burst = owed ? MIN(ir->burst_bytes, UINT32_MAX) : 1;
}

/* Below 'parent'.  Of the two times that a meter may be in the plan, the first
 * is to keep its limit. */
static void
set_shared(struct plan_meter *meter, const struct ir_meter *ir,
           uint32_t parent, bool capped)
{
    meter->parent = parent;
    meter->weight = MAX(ir->weight, 1);
    set_owed(meter, ir);
    if (capped && (!ir->unlimited || ir->microburst)) {
        meter->peak = ir->rate_kbps;
        meter->limit = cap_bytes(ir);
    }
}

static struct plan_meter *
add_meter(struct emitter *e, const struct ir_meter *ir)
{
    struct plan_meter *meter = vec_push(e->arena, &e->plan->meters);

    meter->id = meter_id(ir);
    meter->name = ir->tenant ? ir->tenant->name : ir->uplink;
    meter->lends = !ir->tenant;
    meter->split = ir->split;
    meter->rest = ir_meter_is_rest(ir);
    meter->endpoint = ir->endpoint ? ir->endpoint->name : NULL;
    meter->class = ir->class ? ir->class->name : NULL;
    meter->receive = ir->receive;
    meter->uplink = (ir->tenant && !ir->endpoint
                     && takes_several(e->prog, ir->tenant)
                     ? ir->uplink : NULL);
    meter->rate = lost_drop_kbps(ir);
    if (ir->microburst || ir->parent || !ir->tenant || ir->split) {
        set_microburst(meter, ir);
        meter->place = (ir->tenant && ir->place.pointer
                        ? ir_place_text(e->prog, &ir->place, e->arena) : NULL);
        meter->rate = MAX(meter->rate, 1);
    } else if (e->prog->telemetry && !ir->receive) {
        set_tagged(meter, ir);
    } else {
        /* A kbit is 1000 bits.  Rounded up: less than 125 bytes too many. */
        meter->burst = DIV_ROUND_UP(ir->burst_bytes * 8, 1000);
    }
    return meter;
}

void
add_meters(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->meters.n; i++) {
        const struct ir_meter *ir = e->prog->meters.v[i];
        const struct ir_meter *parent = ir->parent;
        struct plan_meter *meter;

        if (!is_there(e, ir)) {
            continue;
        }
        if (ir->limit_number) {
            meter = add_meter(e, ir);
            meter->id = PLAN_METER_NUMBER(ir->limit_number);
            meter->limits = true;
            if (!ir->split) {
                set_shared(meter, ir, PLAN_METER_NUMBER(parent->limit_number),
                           true);
            }
        }
        meter = add_meter(e, ir);
        if (parent) {
            set_shared(meter, ir, meter_id(parent),
                       !ir->limit_number && !ir->split);
        }
    }
}
