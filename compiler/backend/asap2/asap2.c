/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/asap2/asap2.h"

#include "backend/openflow/openflow.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "pass/pass.h"
#include "sema/ident.h"
#include "util.h"

/* Adds a warning for what a meter of the kernel does not do. */
static void
warn_meters(const struct ir_prog *prog, struct diags *diags)
{
    size_t last = SIZE_MAX;     /* One place may be for both directions. */

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if ((!meter->microburst && !meter->parent)
            || meter->place.span.start == last) {
            continue;
        }
        last = meter->place.span.start;
        diag_warning(diags, meter->place.span, meter->place.pointer,
                     "the kernel's meters only drop what is above the limit: "
                     "%s", meter->parent
                     ? "nothing is lent, and no guarantee is kept by them"
                     : "bursts are neither marked nor recorded");
    }
}

/* Packets pass no meter of a tenant that is split, so without parents nothing
 * would keep its limit. */
static bool
check_splits(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->split) {
            struct diag *d = diag_error(
                diags, meter->place.span, meter->place.pointer, "the kernel's "
                "meters do not borrow, so endpoints or classes cannot share "
                "what their tenant has");

            diag_remedy(diags, d, "remove \"guarantee\", \"weight\" and "
                        "\"borrow\" of the tenant's endpoints, or its "
                        "\"classes\", or choose another target");
            return false;
        }
    }
    return true;
}

/* The tables judge TCP and UDP by the packets' own ports, which the flows of
 * stateless rules do not foresee. */
static bool
check_stateless(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (rule->stateless) {
            struct diag *d = diag_error(
                diags, rule->place.span, rule->place.pointer, "the target "
                "asap2 has no stateless rules");

            diag_remedy(diags, d, "remove \"stateful\": false, or choose "
                        "another target");
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

    warn_meters(prog, diags);
    return check_splits(prog, diags) && check_stateless(prog, diags) && fits;
}

/* Leaves of each meter a band that drops, and no uplink's meters: who borrows
 * is kept to its limit, who does not to its guarantee. */
static void
lower_meters(struct ir_prog *prog)
{
    size_t n = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant) {
            meter->parent = NULL;
            meter->limit_number = meter->weight = 0;
            if (!meter->no_borrow) {
                meter->guarantee_kbps = 0;
            }
            meter->microburst = meter->exceed_ecn = false;
            meter->mark_bytes = meter->depth_bytes = meter->limit_bytes = 0;
            prog->meters.v[n++] = meter;
        }
    }
    prog->meters.n = n;
}

static void
asap2_lower(struct ir_prog *prog, struct arena *arena)
{
    pass_group(prog, arena);
    lower_meters(prog);
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
    .lower = asap2_lower,
    .emit = openflow_emit,
};
