/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/asap2/asap2.h"

#include "backend/asap2/nic.h"
#include "backend/lost.h"
#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "intent/exceed.h"
#include "ir/ir.h"
#include "pass/pass.h"
#include "sema/ident.h"
#include "util.h"

/* What is not kept of a meter's share, or of what it says of bursts; NULL:
 * all is. */
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

static const char *
burst_loss(const struct ir_meter *meter)
{
    return (!meter->microburst ? NULL
            : meter->exceed != EXCEED_DROP
            ? "the kernel's meters only drop what is above the limit, "
              "whatever \"exceed\" says: bursts are neither marked nor "
              "recorded"
            : "the kernel's meters only drop what is above the limit: bursts "
              "are neither marked nor recorded");
}

/* Adds a warning for each place that asks for what is not kept. */
static void
warn_meters(const struct ir_prog *prog, struct diags *diags,
            const char *(*loss_of)(const struct ir_meter *))
{
    const char *last = NULL;
    size_t start = SIZE_MAX;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];
        const char *loss = loss_of(meter);

        /* One place may be for several meters. */
        if (loss && (loss != last || meter->place.span.start != start)) {
            diag_warning(diags, meter->place.span, meter->place.pointer,
                         "%s", loss);
            last = loss;
            start = meter->place.span.start;
        }
    }
}

/* The NIC's rates are of VFs, and the kernel's meters do not borrow. */
static bool
check_parts(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->class) {
            struct diag *d = diag_error(
                diags, meter->place.span, meter->place.pointer, "neither the "
                "NIC nor the kernel's meters can share out among classes what "
                "a tenant has");

            diag_remedy(diags, d, "remove the tenant's \"classes\", or choose "
                        "another target");
            return false;
        }
    }
    return true;
}

/* VFs have rates, whoever pays for what they send. */
static bool
check_charges(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (rule->charge_from || rule->charge_to) {
            struct diag *d = diag_error(
                diags, rule->place.span, rule->place.pointer, "the NIC "
                "charges what a VF sends to the tenant of its endpoint, and "
                "to no other");

            diag_remedy(diags, d, "remove \"charge\", or choose another "
                        "target");
            return false;
        }
    }
    return true;
}

/* The kernel's queues of upcalls are of ports, and have no rate. */
static bool
check_upcalls(const struct ir_prog *prog, struct diags *diags)
{
    bool fits = true;

    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];

        if (tenant->here && tenant->upcall_rate) {
            struct diag *d = diag_error(
                diags, tenant->place.span, tenant->place.pointer, "the kernel "
                "datapath cannot limit the upcalls of a tenant");

            diag_remedy(diags, d, "remove \"upcalls\" of its \"limits\", or "
                        "choose another target");
            fits = false;
        }
    }
    return fits;
}

/* Only a program that was parsed may lack it. */
static bool
check_uplinks(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->networks.n; i++) {
        const struct ir_network *network = prog->networks.v[i];

        if (network->here && !ir_find_uplink(prog, network->uplink)) {
            diag_error(diags, network->place.span, network->place.pointer,
                       "the program has no uplink '%s'", network->uplink);
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
    fits &= check_charges(prog, diags);
    fits &= check_upcalls(prog, diags);
    fits &= asap2_check_classes(prog, diags);
    fits &= check_uplinks(prog, diags);
    if (prog->telemetry) {
        diag_warning(diags, prog->place.span, prog->place.pointer,
                     "a NIC does not tag packets: what tenants send is not "
                     "counted by tenant, whatever \"telemetry\" says");
    }
    warn_meters(prog, diags, share_loss);
    warn_meters(prog, diags, burst_loss);
    return fits;
}

/* Makes 'meter' one that drops.  What endpoints that do not borrow have is not
 * their tenant's to share. */
static void
lower_meter(struct ir_meter *meter)
{
    uint64_t apart = meter->apart_kbps;

    meter->rate_kbps = MAX(meter->rate_kbps, apart + 1) - apart;
    if (meter->guarantee_kbps) {
        meter->guarantee_kbps = MAX(meter->guarantee_kbps, apart + 1) - apart;
    }
    if (meter->receive && !meter->no_borrow) {
        meter->guarantee_kbps = 0;
    }
    meter->parent = NULL;
    meter->split = false;
    meter->limit_number = meter->weight = meter->apart_kbps = 0;
    meter->burst_bytes = lost_drop_burst(meter);
    meter->microburst = false;
    meter->exceed = EXCEED_DROP;
    meter->mark_bytes = meter->depth_bytes = meter->limit_bytes = 0;
}

/* Leaves the meters of tenants and of endpoints, which come before those of
 * their tenants: who borrows is kept to its limit, who does not to its
 * guarantee.  The guarantees are the NIC's to keep. */
static void
lower_meters(struct ir_prog *prog)
{
    size_t n = 0;

    /* What is the rest is known by its parent. */
    for (size_t i = 0; i < prog->meters.n; i++) {
        struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant && !ir_meter_is_rest(meter)) {
            prog->meters.v[n++] = meter;
        }
    }
    prog->meters.n = n;
    for (size_t i = 0; i < n; i++) {
        lower_meter(prog->meters.v[i]);
    }
}

static void
asap2_lower(struct ir_prog *prog, struct arena *arena)
{
    prog->telemetry = false;
    pass_group(prog, arena);
    lower_meters(prog);
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
    .n_members = SIZE_MAX,
    .n_conjunctions = UINT32_MAX - IDENT_RESERVED,
    .action_bytes = 64000,
    .whole_packets = true,
};

const struct backend asap2_backend = {
    .name = "asap2",
    .caps = &asap2_caps,
    .check = asap2_check,
    .note = lost_note,
    .lower = asap2_lower,
    .emit = asap2_emit,
};
