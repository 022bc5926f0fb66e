/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/asap2/asap2.h"

#include "backend/asap2/nic.h"
#include "backend/asap2/rates.h"
#include "backend/kernel/meters.h"
#include "backend/kernel/neighbors.h"
#include "backend/kernel/ports.h"
#include "backend/openflow/openflow.h"
#include "backend/refuse.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "pass/pass.h"
#include "sema/ident.h"
#include "util.h"

/* What is not kept of a meter's share; NULL: all is. */
static const char *
share_loss(const struct ir_meter *meter)
{
    return (meter->receive && (meter->guarantee_kbps || meter->weight)
            && !meter->no_borrow
            ? "the NIC's rates are of what is sent: of what is received, "
              "nothing keeps a guarantee or a weight"
            : !meter->receive && meter->weight
            ? "the NIC has no weights: what is left over goes to who asks, in "
              "proportion to the guarantees" : NULL);
}

/* The NIC's rates are of VFs, and the kernel's meters do not borrow. */
static bool
check_parts(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->class) {
            refuse(diags, &meter->place, "..", "remove the tenant's "
                   "\"classes\", or choose another target", "neither the NIC "
                   "nor the kernel's meters can share out among classes what "
                   "a tenant has");
            return false;
        }
    }
    return true;
}

static bool
asap2_check(const struct ir_prog *prog, const struct backend_caps *caps,
            struct diags *diags)
{
    bool fits = openflow_check(prog, caps, diags);

    fits &= check_parts(prog, diags);
    /* VFs have rates, whoever pays for what they send. */
    fits &= kernel_check_charges(prog, diags);
    fits &= kernel_check_upcalls(prog, diags);
    fits &= kernel_check_ports(prog, diags);
    fits &= asap2_check_classes(prog, diags);
    fits &= kernel_check_uplinks(prog, diags);
    if (prog->telemetry) {
        warn_of(diags, &prog->place, "telemetry",
                "a NIC does not tag packets: what tenants send is not "
                "counted by tenant, whatever \"telemetry\" says");
    }
    kernel_warn_meters(prog, diags, share_loss);
    fits &= asap2_check_rates(prog, diags);
    kernel_warn_neighbors(prog, diags);
    return fits;
}

/* The guarantees are the NIC's to keep. */
static void
asap2_lower(struct ir_prog *prog, struct arena *arena)
{
    prog->telemetry = false;
    prog->tags.n = 0;
    pass_group(prog, arena);
    kernel_lower_meters(prog);
}

static void
asap2_emit(const struct ir_prog *prog, const struct backend_caps *caps,
           struct plan *plan, struct diags *diags)
{
    openflow_emit(prog, caps, plan, diags);
    asap2_set_nic(prog, plan);
}

/* As for the target userspace; the kernel's meters have no parents. */
static const struct backend_caps asap2_caps = {
    .n_tables = 255,
    .n_flows = 1000000,
    .n_ports = 0xfeff,
    .n_zones = UINT16_MAX + 1 - IDENT_RESERVED,
    .n_meters = 262144 / 2,
    .meter_kbps = TC_MAX_KBPS,
    .n_members = SIZE_MAX,
    .n_conjunctions = UINT32_MAX - IDENT_RESERVED,
    .action_bytes = 64000,
    .whole_packets = true,
    .kernel = true,
};

const struct backend asap2_backend = {
    .name = "asap2",
    .caps = &asap2_caps,
    .check = asap2_check,
    .note = asap2_note_rates,
    .lower = asap2_lower,
    .emit = asap2_emit,
};
