/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/kernel/kernel.h"

#include <string.h>

#include "backend/kernel/meters.h"
#include "backend/openflow/openflow.h"
#include "backend/refuse.h"
#include "base/diag.h"
#include "hmapx.h"
#include "ir/ir.h"
#include "packets.h"
#include "plan/htb.h"
#include "plan/plan.h"
#include "sema/policy.h"
#include "sema/tree.h"
#include "util.h"

/* Queues of a node's ports.
 *
 * By an uplink, tunnels leave the node, and each tenant that takes it has a
 * queue of its own there, with its guarantee and its limit.  linux-htb counts
 * the outer frames, so rates are larger by a tunnel's headers, as if all
 * frames were full (sema/tree.h).
 *
 * To an endpoint, what its limit lets through goes by the queues of classes,
 * which share it alike: so what meters let pass in a millisecond does not come
 * in one burst. */

enum { N_CLASS_QUEUES = OPENFLOW_FIRST_QUEUE };

/* What of the uplink the queue of all that is no tenant's is owed, if
 * guarantees leave it. */
enum { REST_PERCENT = 1 };

/* A full frame of a tenant, as it leaves by tunnel. */
static uint64_t
outer_frame(const struct ir_prog *prog)
{
    bool ip4 = IN6_IS_ADDR_V4MAPPED(&prog->tunnel_address);

    return GUARANTEED_FRAME + tunnel_bytes(ip4);
}

static uint64_t
outer_kbps(const struct ir_prog *prog, uint64_t kbps)
{
    return DIV_ROUND_UP(kbps * outer_frame(prog), GUARANTEED_FRAME);
}

/* What the port can send, less what its wire takes around frames. */
static uint64_t
port_kbps(const struct ir_prog *prog, const struct ir_uplink *uplink)
{
    uint64_t frame = outer_frame(prog);

    return uplink->rate_kbps * frame / (frame + WIRE_OVERHEAD);
}

static bool
has_queues(const struct ir_prog *prog, const struct ir_uplink *uplink)
{
    return prog->encapsulation && port_kbps(prog, uplink) <= TC_MAX_KBPS;
}

void
kernel_warn_uplinks(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->uplinks.n; i++) {
        const struct ir_uplink *uplink = prog->uplinks.v[i];

        if (prog->encapsulation && !has_queues(prog, uplink)) {
            diag_warning(diags, uplink->place.span, uplink->place.pointer,
                         "linux-htb of Open vSwitch counts to %d Mbps: this "
                         "uplink has no queues, and nothing keeps guarantees "
                         "by it", TC_MAX_KBPS / 1000);
        }
    }
    for (size_t i = 0; !prog->encapsulation && i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (openflow_has_queue(meter) && meter->guarantee_kbps) {
            diag_warning(diags, meter->place.span, meter->place.pointer,
                         "the node has no tunnels: nothing that has a queue "
                         "goes out by the uplink, and nothing keeps the "
                         "guarantee");
        }
    }
}

/* At which a meter that is lowered drops. */
static uint64_t
limit_kbps(const struct ir_meter *meter)
{
    return meter->no_borrow ? meter->guarantee_kbps : meter->rate_kbps;
}

static struct plan_htb_port *
add_port(struct plan *plan, const char *interface, const char *place,
         uint64_t max_kbps)
{
    struct plan_htb_port *port = vec_push(plan->arena, &plan->htb->ports);

    port->interface = interface;
    port->place = place;
    port->max_kbps = max_kbps;
    return port;
}

static void
add_queue(struct plan *plan, struct plan_htb_port *port,
          struct plan_queue queue)
{
    queue.max_kbps = MIN(queue.max_kbps, port->max_kbps);
    queue.min_kbps = MIN(queue.min_kbps, queue.max_kbps);
    *vec_push(plan->arena, &port->queues) = queue;
}

static void
add_tenant(const struct ir_prog *prog, const struct ir_meter *meter,
           struct plan_htb_port *port, struct plan *plan)
{
    uint64_t limit = outer_kbps(prog, limit_kbps(meter));

    add_queue(plan, port, (struct plan_queue) {
        .number = openflow_queue(prog, meter),
        .tenant = meter->tenant->name,
        .min_kbps = outer_kbps(prog, meter->guarantee_kbps),
        .max_kbps = meter->unlimited ? port->max_kbps : limit,
    });
}

static void
add_uplink(const struct ir_prog *prog, const struct ir_uplink *uplink,
           struct plan *plan)
{
    struct plan_htb_port *port = add_port(
        plan, uplink->interface,
        ir_place_text(prog, &uplink->place, plan->arena),
        port_kbps(prog, uplink));
    uint64_t left = port->max_kbps;

    port->uplink = uplink->name;
    add_queue(plan, port, (struct plan_queue) { .max_kbps = left });
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (openflow_has_queue(meter)
            && !strcmp(meter->uplink, uplink->name)) {
            add_tenant(prog, meter, port, plan);
            left -= MIN(port->queues.v[port->queues.n - 1].min_kbps, left);
        }
    }
    port->queues.v[0].min_kbps = MIN(left,
                                     port->max_kbps * REST_PERCENT / 100);
}

/* The queues that flows say. */
static void
find_class_queues(const struct ir_prog *prog, bool used[N_CLASS_QUEUES])
{
    used[0] = true;
    for (size_t i = 0; i < prog->classes.n; i++) {
        const struct ir_class *class = prog->classes.v[i];

        if (ir_uses_class(prog, class)) {
            used[class->queue] = true;
            used[class->dscp_in ? class->queue_in : 0] = true;
        }
    }
}

/* 'meter' is of what the endpoint may get. */
static void
add_endpoint(const struct ir_prog *prog, const struct ir_endpoint *e,
             const struct ir_meter *meter, struct plan *plan)
{
    struct plan_htb_port *port = add_port(
        plan, e->interface, ir_place_text(prog, &meter->place, plan->arena),
        limit_kbps(meter));
    bool used[N_CLASS_QUEUES] = { false };
    int n = 0;

    port->endpoint = e->name;
    find_class_queues(prog, used);
    for (int i = 0; i < N_CLASS_QUEUES; i++) {
        n += used[i];
    }
    for (int i = 0; i < N_CLASS_QUEUES; i++) {
        if (used[i]) {
            add_queue(plan, port, (struct plan_queue) {
                .number = i, .min_kbps = port->max_kbps / n,
                .max_kbps = port->max_kbps,
            });
        }
    }
}

/* The meter of what the endpoint may get; NULL if it is not here, or has no
 * limit. */
static const struct ir_meter *
receive_limit(const struct ir_prog *prog, const struct ir_endpoint *e)
{
    const struct ir_meter *own = ir_own_meter(prog, e, true);
    const struct ir_meter *meter
        = (e->node ? NULL : own ? own
           : ir_find_meter(prog, ir_account_of(e->network), true));

    return meter && !meter->unlimited ? meter : NULL;
}

void
kernel_warn_endpoints(const struct ir_prog *prog, struct diags *diags)
{
    struct hmapx seen = HMAPX_INITIALIZER(&seen);

    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];
        const struct ir_meter *meter = receive_limit(prog, e);

        if (meter && limit_kbps(meter) > TC_MAX_KBPS
            && is_first_at(&seen, &meter->place)) {
            warn_of(diags, &meter->place, "../limit",
                    "linux-htb of Open vSwitch counts to %d Mbps: with this "
                    "limit, classes have no queues at '%s'",
                    TC_MAX_KBPS / 1000, e->interface);
        }
    }
    hmapx_destroy(&seen);
}

void
kernel_set_htb(const struct ir_prog *prog, struct plan *plan)
{
    plan->htb = arena_zalloc(plan->arena, sizeof *plan->htb);
    for (size_t i = 0; i < prog->uplinks.n; i++) {
        if (has_queues(prog, prog->uplinks.v[i])) {
            add_uplink(prog, prog->uplinks.v[i], plan);
        }
    }
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];
        const struct ir_meter *meter = receive_limit(prog, e);

        if (meter && limit_kbps(meter) <= TC_MAX_KBPS) {
            add_endpoint(prog, e, meter, plan);
        }
    }
}
