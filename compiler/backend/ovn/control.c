/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include "backend/lost.h"
#include "sema/northbound.h"
#include "util.h"

/* What ovn-controller takes of the packets of tenants: logs of those that are
 * dropped, and what it answers itself. */

/* Of the log of each ACL, on each node. */
enum { LOG_RATE = 10, LOG_BURST = 20 };

/* A meter of packets, of this name and id. */
static struct plan_row *
add_meter(struct emitter *e, const char *id, const char *name, uint32_t rate,
          uint32_t burst)
{
    struct plan_row *meter = plan_add_row(e->plan, "Meter", id);
    struct plan_row *band = plan_add_row(e->plan, "Meter_Band", id);

    plan_row_string(e->plan, meter, "name", name);
    plan_row_string(e->plan, meter, "unit", "pktps");
    plan_row_string(e->plan, band, "action", "drop");
    plan_row_integer(e->plan, band, "rate", rate);
    plan_row_integer(e->plan, band, "burst_size", burst);
    plan_row_ref(e->plan, meter, "bands", band);
    return meter;
}

void
ovn_log(struct emitter *e, struct plan_row *acl, const char *severity)
{
    static const char name[] = "bulkhead.log";

    if (!e->logs) {
        e->logs = true;
        plan_row_boolean(e->plan, add_meter(e, "log", name, LOG_RATE,
                                            LOG_BURST), "fair", true);
    }
    plan_row_boolean(e->plan, acl, "log", true);
    plan_row_string(e->plan, acl, "severity", severity);
    plan_row_string(e->plan, acl, "meter", name);
}

/* One meter for all kinds, at the tenant's switches and its router; each node
 * has its own. */
static void
add_control(struct emitter *e, const struct ir_tenant *tenant)
{
    const char *id = FORMAT(e, NB_CONTROL_ID"%s", tenant->name);
    const char *name = ovn_mangle(e, "control", tenant->name);
    struct plan_row *copp = plan_add_row(e->plan, "Copp", id);
    struct plan_row *router = shash_find_data(&e->routers, tenant->name);
    uint32_t burst = MAX(tenant->upcall_burst,
                         lost_least_packets(tenant->upcall_rate));
    struct plan_row *meter;

    plan_row_string(e->plan, copp, "name", name);
    for (size_t i = 0; i < NB_N_CONTROL_KINDS; i++) {
        plan_row_map(e->plan, copp, "meters", nb_control_kinds[i], name);
    }
    meter = add_meter(e, id, name, tenant->upcall_rate, burst);
    if (burst != tenant->upcall_burst) {
        plan_row_map(e->plan, meter, "external_ids", NB_BURST_KEY,
                     nb_burst_string(e->plan->arena, tenant->upcall_burst,
                                     burst));
    }
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];

        if (network->tenant == tenant) {
            plan_row_ref(e->plan, shash_find_data(&e->switches,
                                                  network->name),
                         "copp", copp);
        }
    }
    if (router) {
        plan_row_ref(e->plan, router, "copp", copp);
    }
}

void
emit_control(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        if (e->prog->tenants.v[i]->upcall_rate) {
            add_control(e, e->prog->tenants.v[i]);
        }
    }
}
