/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/kernel/kernel.h"

#include "backend/kernel/meters.h"
#include "backend/kernel/neighbors.h"
#include "backend/kernel/ports.h"
#include "backend/lost.h"
#include "backend/openflow/openflow.h"
#include "backend/refuse.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "pass/pass.h"
#include "sema/ident.h"
#include "util.h"

static const struct lost_meters meters = {
    .whose = "the kernel's", .kbit_bytes = 125,
};

/* What is not kept of a meter's share; NULL: all is. */
static const char *
share_loss(const struct ir_meter *meter)
{
    return (meter->receive && (meter->guarantee_kbps || meter->weight)
            && !meter->no_borrow
            ? "the kernel's queues are of what is sent: of what is received, "
              "nothing keeps a guarantee or a weight"
            : !meter->receive && meter->tenant && meter->weight
            ? "linux-htb has no weights: what is left over is shared by those "
              "who ask, almost alike" : NULL);
}

/* Is it of a part of what a tenant sends, which another meter limits? */
static bool
is_part(const struct ir_meter *meter)
{
    return (meter->class
            || (meter->endpoint && !meter->receive
                && (meter->guarantee_kbps || meter->weight)));
}

/* The meter of a tenant's limit drops whoever's packets come first, and
 * Open vSwitch has one level of queues below that of a port. */
static bool
check_parts(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (is_part(meter)) {
            refuse(diags, &meter->place, meter->class ? ".." : NULL,
                   meter->class ? "remove the tenant's \"classes\", or choose "
                                  "another target"
                   : "give its tenant's endpoints a \"limit\" only, or choose "
                     "another target", "neither linux-htb nor the kernel's "
                   "meters can share out what a tenant has");
            return false;
        }
    }
    return true;
}

static bool
check_queues(const struct ir_prog *prog, const struct backend_caps *caps,
             struct diags *diags)
{
    size_t n = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (openflow_has_queue(meter) && ++n > caps->n_queues) {
            refuse(diags, &meter->place, NULL, "bind endpoints of fewer "
                   "tenants to this node", "the target has room for %"PRIuSIZE
                   " queues of tenants", caps->n_queues);
            return false;
        }
    }
    return true;
}

static bool
kernel_check(const struct ir_prog *prog, const struct backend_caps *caps,
             struct diags *diags)
{
    bool fits = openflow_check(prog, caps, diags);

    fits &= check_parts(prog, diags);
    fits &= check_queues(prog, caps, diags);
    fits &= kernel_check_charges(prog, diags);
    fits &= kernel_check_upcalls(prog, diags);
    fits &= kernel_check_ports(prog, diags);
    if (kernel_check_uplinks(prog, diags)) {
        kernel_warn_uplinks(prog, diags);
    } else {
        fits = false;
    }
    if (prog->telemetry) {
        warn_of(diags, &prog->place, "telemetry",
                "the kernel does not tag packets: what tenants send is "
                "not counted by tenant, whatever \"telemetry\" says");
    }
    kernel_warn_endpoints(prog, diags);
    kernel_warn_meters(prog, diags, share_loss);
    kernel_warn_bursts(prog, diags, &meters);
    kernel_warn_neighbors(prog, diags);
    return fits;
}

static void
kernel_note(const struct ir_prog *prog, struct plan *plan)
{
    lost_note(prog, plan, &meters);
}

static void
kernel_lower(struct ir_prog *prog, struct arena *arena)
{
    prog->telemetry = false;
    prog->tags.n = 0;
    pass_group(prog, arena);
    kernel_lower_meters(prog);
}

static void
kernel_emit(const struct ir_prog *prog, const struct backend_caps *caps,
            struct plan *plan, struct diags *diags)
{
    openflow_emit(prog, caps, plan, diags);
    kernel_set_htb(prog, plan);
}

/* As for the target userspace, but for meters (Linux 6.1: DP_METER_NUM_MAX),
 * which have no parents.  Open vSwitch has 0xf000 queues a port
 * (HTB_N_QUEUES); what takes one command of ovs-vsctl is less. */
static const struct backend_caps kernel_caps = {
    .n_tables = 255,
    .n_flows = 1000000,
    .n_ports = 0xfeff,
    .n_zones = UINT16_MAX + 1 - IDENT_RESERVED,
    .n_meters = 200000 / 2,
    .n_members = SIZE_MAX,
    .n_queues = 4096,
    .n_conjunctions = UINT32_MAX - IDENT_RESERVED,
    .action_bytes = 64000,
    .queues = true,
    .whole_packets = true,
    .kernel = true,
};

const struct backend kernel_backend = {
    .name = "kernel",
    .caps = &kernel_caps,
    .check = kernel_check,
    .note = kernel_note,
    .lower = kernel_lower,
    .emit = kernel_emit,
};
