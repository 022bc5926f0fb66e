/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"

#include <inttypes.h>
#include <string.h>

#include "ir/meter.h"
#include "ir/validate.h"

enum { MIB = 1024 * 1024 };

static void
add_numbers(const number_vec *from, ir_numbers *to, struct arena *arena)
{
    for (size_t i = 0; i < from->n; i++) {
        *vec_push(arena, to) = from->v[i].n;
    }
}

/* Of NUMA nodes that are not named: none. */
static void
add_memory(const struct intent_dpdk *intent, ir_numbers *memory,
           struct arena *arena)
{
    for (size_t i = 0; i < intent->memory.n; i++) {
        const struct intent_memory *m = &intent->memory.v[i];

        while (memory->n <= m->numa) {
            *vec_push(arena, memory) = 0;
        }
        memory->v[m->numa] = m->size.n / MIB;
    }
}

static struct ir_dpdk_port *
add_port(struct ir_prog *prog, const char *name, const struct text *asks,
         const char *interface, uint16_t mtu, struct arena *arena)
{
    struct ir_dpdk_port *port = arena_zalloc(arena, sizeof *port);

    port->name = name;
    port->place = ir_place_of(arena, asks->at, false);
    port->interface = interface;
    port->mtu = mtu;
    *vec_push(arena, &prog->dpdk_ports) = port;
    return port;
}

static void
add_uplink(struct ir_prog *prog, const struct intent_uplink *uplink,
           struct arena *arena)
{
    struct ir_dpdk_port *port = add_port(
        prog, uplink->name.s, &uplink->device, uplink->interface.s,
        uplink_mtu(uplink), arena);

    port->device = uplink->device.s;
    port->queues = uplink->queues.at ? uplink->queues.n : 0;
    add_numbers(&uplink->pmd_cpus, &port->pmd_cpus, arena);
}

static void
add_endpoint(struct ir_prog *prog, const struct policy *policy,
             const struct policy_endpoint *e, struct arena *arena)
{
    const struct intent_endpoint *intent = e->intent;
    struct ir_dpdk_port *port = add_port(
        prog, e->name, &intent->port, intent->interface.s,
        network_mtu(policy, e->network), arena);

    if (!strcmp(intent->port.s, INTENT_VHOST)) {
        port->socket = endpoint_socket(e, arena);
    } else {
        port->device = network_uplink(e->network, e->node)->device.s;
        port->representor = true;
        port->vf = intent->vf.n;
    }
}

void
ir_add_dpdk(struct ir_prog *prog, const struct policy *policy,
            const struct intent_node *node, struct arena *arena)
{
    struct ir_dpdk *dpdk;

    if (!node->dpdk.at) {
        return;
    }
    dpdk = arena_zalloc(arena, sizeof *dpdk);
    dpdk->name = node->name.s;
    dpdk->place = ir_place_of(arena, node->dpdk.at, false);
    add_numbers(&node->dpdk.lcores, &dpdk->lcores, arena);
    add_numbers(&node->dpdk.pmd_cpus, &dpdk->pmd_cpus, arena);
    add_memory(&node->dpdk, &dpdk->memory, arena);
    *vec_push(arena, &prog->dpdk) = dpdk;

    for (size_t i = 0; i < node->uplinks.n; i++) {
        if (node->uplinks.v[i].device.s) {
            add_uplink(prog, &node->uplinks.v[i], arena);
        }
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];
            const struct text *port = &e->intent->port;

            if (e->node == node && e->bound && port->s
                && strcmp(port->s, INTENT_SYSTEM)) {
                add_endpoint(prog, policy, e, arena);
            }
        }
    }
}

void
ir_validate_dpdk(struct ir_validator *v, const struct ir_dpdk *dpdk)
{
    if (strcmp(dpdk->name, v->prog->node)) {
        ir_invalid(v, "it is not of node '%s'", v->prog->node);
    }
    for (size_t i = 0; i < dpdk->pmd_cpus.n; i++) {
        ir_once(v, "CPU %"PRIu32, dpdk->pmd_cpus.v[i]);
    }
    for (size_t i = 0; i < dpdk->lcores.n; i++) {
        ir_once(v, "CPU %"PRIu32, dpdk->lcores.v[i]);
    }
}

/* Is it one of the node's? */
static bool
is_pmd_cpu(const struct ir_prog *prog, uint32_t cpu)
{
    const ir_numbers *cpus = &prog->dpdk.v[0]->pmd_cpus;

    for (size_t i = 0; i < cpus->n; i++) {
        if (cpus->v[i] == cpu) {
            return true;
        }
    }
    return false;
}

void
ir_validate_dpdk_port(struct ir_validator *v, const struct ir_dpdk_port *port)
{
    bool uplink = !strchr(port->name, '/');

    if (!v->prog->dpdk.n) {
        ir_invalid(v, "the node has no DPDK");
        return;
    }
    ir_once(v, "port of DPDK %s", port->interface);
    if (!port->device == !port->socket
        || (port->representor && !port->device)
        || (port->vf && !port->representor)) {
        ir_invalid(v, "it is of a device, of a VF of that, or of a socket");
    } else if (uplink ? port->representor || port->socket
               : !port->representor && !port->socket) {
        ir_invalid(v, "an uplink is of a device, and an endpoint of a VF or "
                   "a socket");
    } else if ((port->queues || port->pmd_cpus.n) && !uplink) {
        ir_invalid(v, "only an uplink has queues and CPUs of its own");
    } else if (port->pmd_cpus.n > (port->queues ? port->queues : 1)) {
        ir_invalid(v, "it has more CPUs than queues");
    }
    for (size_t i = 0; i < port->pmd_cpus.n; i++) {
        ir_once(v, "CPU %"PRIu32" of a port", port->pmd_cpus.v[i]);
        if (!is_pmd_cpu(v->prog, port->pmd_cpus.v[i])) {
            ir_invalid(v, "CPU %"PRIu32" polls no ports",
                       port->pmd_cpus.v[i]);
        }
    }
}
