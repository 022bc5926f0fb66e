/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/ovn.h"

#include "backend/lost.h"
#include "backend/ovn/emit.h"
#include "pass/pass.h"

static void
ovn_emit(const struct ir_prog *prog, const struct backend_caps *caps
         OVS_UNUSED, struct plan *plan, struct diags *diags OVS_UNUSED)
{
    struct emitter e = {
        .prog = prog, .plan = plan,
        .by_origin = HMAP_INITIALIZER(&e.by_origin),
        .switches = SHASH_INITIALIZER(&e.switches),
        .routers = SHASH_INITIALIZER(&e.routers),
        .address_sets = SHASH_INITIALIZER(&e.address_sets),
    };

    plan->northbound = true;
    for (size_t i = 0; i < prog->unbound.n; i++) {
        *vec_push(plan->arena, &plan->unbound) = prog->unbound.v[i];
    }
    ovn_find_groups(&e);
    e.symmetric = ovn_symmetric_ports(&e);
    emit_topology(&e);
    emit_acls(&e);
    emit_dhcp_options(&e);
    emit_qos_rows(&e);
    emit_control(&e);
    hmap_destroy(&e.by_origin);
    shash_destroy(&e.switches);
    shash_destroy(&e.routers);
    shash_destroy(&e.address_sets);
}

const struct lost_meters ovn_meters = { .whose = "OVN's", .kbit_bytes = 125 };

static void
ovn_note(const struct ir_prog *prog, struct plan *plan)
{
    lost_note(prog, plan, &ovn_meters);
}

static const struct backend_caps northbound_caps = { .n_tables = 0 };

const struct backend ovn_backend = {
    .name = "ovn",
    .fabric = true,
    .caps = &northbound_caps,
    .check = ovn_check,
    .note = ovn_note,
    .lower = pass_group,
    .emit = ovn_emit,
};
