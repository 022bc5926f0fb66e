/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/openflow.h"

#include <string.h>

#include "ir/ir.h"
#include "plan/dpdk.h"
#include "plan/plan.h"

static void
copy_numbers(const ir_numbers *from, plan_numbers *to, struct arena *arena)
{
    for (size_t i = 0; i < from->n; i++) {
        *vec_push(arena, to) = from->v[i];
    }
}

static void
add_port(const struct ir_prog *prog, const struct ir_dpdk_port *port,
         struct plan *plan)
{
    struct plan_dpdk_port *p = vec_push(plan->arena, &plan->dpdk->ports);

    p->name = port->name;
    p->uplink = !strchr(port->name, '/');
    p->interface = port->interface;
    p->place = ir_place_text(prog, &port->place, plan->arena);
    p->mtu = port->mtu;
    p->device = port->device;
    p->representor = port->representor;
    p->vf = port->vf;
    p->socket = port->socket;
    p->queues = port->queues;
    copy_numbers(&port->pmd_cpus, &p->pmd_cpus, plan->arena);
}

void
openflow_set_dpdk(const struct ir_prog *prog, struct plan *plan)
{
    if (prog->dpdk.n) {
        const struct ir_dpdk *dpdk = prog->dpdk.v[0];

        plan->dpdk = arena_zalloc(plan->arena, sizeof *plan->dpdk);
        plan->dpdk->place = ir_place_text(prog, &dpdk->place, plan->arena);
        copy_numbers(&dpdk->lcores, &plan->dpdk->lcores, plan->arena);
        copy_numbers(&dpdk->pmd_cpus, &plan->dpdk->pmd_cpus, plan->arena);
        copy_numbers(&dpdk->memory, &plan->dpdk->memory, plan->arena);
        for (size_t i = 0; i < prog->dpdk_ports.n; i++) {
            add_port(prog, prog->dpdk_ports.v[i], plan);
        }
    }
}
