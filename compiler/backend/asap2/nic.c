/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/asap2/nic.h"

#include <inttypes.h>
#include <string.h>

#include "ir/ir.h"
#include "plan/nic.h"
#include "plan/plan.h"
#include "sema/rule-kind.h"
#include "util.h"

/* The driver mlx5 takes whole Mbps.  Rounded up: who is owed gets it, and what
 * is above a limit is the meter's to drop. */
static uint64_t
mbps(uint64_t kbps)
{
    return DIV_ROUND_UP(kbps, 1000);
}

static bool
is_of(const struct ir_meter *meter, const struct ir_uplink *uplink)
{
    return !meter->receive && !strcmp(meter->uplink, uplink->name);
}

/* What passes meters of endpoints only, and is not in that of all. */
static uint64_t
apart_kbps(const struct ir_prog *prog, const struct ir_meter *all,
           const struct ir_uplink *uplink)
{
    uint64_t kbps = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant == all->tenant && is_of(meter, uplink)
            && meter->endpoint && ir_meter_is_alone(meter)) {
            kbps += meter->guarantee_kbps;
        }
    }
    return kbps;
}

/* What asks for the share and the limit of the NIC's that the meter's are. */
static const char *
rates_place(const struct ir_prog *prog, const struct ir_meter *meter,
            struct arena *arena)
{
    struct ir_place limit = ir_place_member(arena, &meter->place, "../limit");
    struct ir_place owed = ir_place_member(arena, &meter->place,
                                           "../guarantee");

    if (meter->unlimited) {
        limit = meter->place;
    }
    if (!meter->guarantee_kbps) {
        owed = limit;
    } else if (meter->no_borrow) {
        limit = owed;
    }
    return ir_places_text(prog, &limit, &owed, arena);
}

static void
add_member(const struct ir_prog *prog, const struct ir_endpoint *e,
           struct plan_nic_port *port, struct arena *arena)
{
    const struct ir_meter *own = ir_own_meter(prog, e, false);
    *vec_push(arena, &port->rates) = (struct plan_rate) {
        .tenant = e->tenant->name,
        .endpoint = e->name,
        .interface = e->interface,
        .share_mbps = own ? mbps(own->guarantee_kbps) : 0,
        .max_mbps = (!own ? 0 : mbps(own->no_borrow ? own->guarantee_kbps
                                     : own->rate_kbps)),
        .place = (own ? rates_place(prog, own, arena)
                  : ir_place_text(prog, &e->place, arena)),
    };
}

/* The group of a tenant, and its VFs. */
static void
add_group(const struct ir_prog *prog, const struct ir_meter *all,
          const struct ir_uplink *uplink, struct plan_nic_port *port,
          struct arena *arena)
{
    uint64_t apart = apart_kbps(prog, all, uplink);
    uint64_t owed = all->guarantee_kbps ? all->guarantee_kbps + apart : 0;

    *vec_push(arena, &port->rates) = (struct plan_rate) {
        .tenant = all->tenant->name,
        .share_mbps = mbps(owed),
        .max_mbps = (all->unlimited ? 0
                     : mbps(all->no_borrow ? owed : all->rate_kbps + apart)),
        .place = rates_place(prog, all, arena),
    };
    for (size_t i = 0; i < prog->endpoints.n; i++) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        if (!e->node && e->tenant == all->tenant
            && !strcmp(e->network->uplink, uplink->name)) {
            add_member(prog, e, port, arena);
        }
    }
}

static struct plan_nic_port *
add_port(const struct ir_prog *prog, const struct ir_uplink *uplink,
         struct plan *plan)
{
    struct plan_nic_port *port = vec_push(plan->arena, &plan->nic->ports);

    port->name = uplink->name;
    port->interface = uplink->interface;
    port->place = ir_place_text(prog, &uplink->place, plan->arena);
    asap2_set_priorities(prog, uplink, plan->nic, port);
    asap2_set_places(prog, uplink, port, plan->arena);
    return port;
}

static void
add_rates(const struct ir_prog *prog, const struct ir_uplink *uplink,
          struct plan_nic_port *port, struct plan *plan)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (is_of(meter, uplink) && !meter->endpoint) {
            add_group(prog, meter, uplink, port, plan->arena);
        }
    }
}

/* The port of this name, or NULL. */
static struct plan_nic_port *
find_port(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->nic->ports.n; i++) {
        if (!strcmp(plan->nic->ports.v[i].name, name)) {
            return &plan->nic->ports.v[i];
        }
    }
    return NULL;
}

static void
add_vf(const struct ir_prog *prog, const struct ir_vf *vf, struct plan *plan)
{
    struct plan_nic_port *port = find_port(plan, vf->uplink);
    struct ir_uplink uplink = {
        .name = vf->uplink, .interface = vf->interface,
        .place = vf->uplink_place,
    };

    if (!port) {
        port = add_port(prog, &uplink, plan);
    }
    port->legacy = true;
}

void
asap2_set_nic(const struct ir_prog *prog, struct plan *plan)
{
    plan->nic = arena_zalloc(plan->arena, sizeof *plan->nic);
    for (size_t i = 0; i < prog->uplinks.n; i++) {
        const struct ir_uplink *uplink = prog->uplinks.v[i];

        add_rates(prog, uplink, add_port(prog, uplink, plan), plan);
    }
    for (size_t i = 0; i < prog->vfs.n; i++) {
        add_vf(prog, prog->vfs.v[i], plan);
    }
}
