/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/kernel/meters.h"

#include "backend/lost.h"
#include "backend/refuse.h"
#include "base/diag.h"
#include "intent/exceed.h"
#include "ir/ir.h"
#include "util.h"

void
kernel_warn_meters(const struct ir_prog *prog, struct diags *diags,
                   const char *(*loss_of)(const struct ir_meter *))
{
    const char *last = NULL;
    size_t start = SIZE_MAX;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];
        const char *loss = loss_of(meter);

        /* One place may be for several meters. */
        if (loss && (loss != last || meter->place.span.start != start)) {
            warn_of(diags, &meter->place, !meter->receive && meter->weight
                    ? "../weight" : NULL, "%s", loss);
            last = loss;
            start = meter->place.span.start;
        }
    }
}

static void
warn_microbursts(const struct ir_prog *prog, struct diags *diags)
{
    const struct ir_tenant *last = NULL;

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->microburst && meter->tenant != last) {
            bool drops = meter->exceed == EXCEED_DROP;

            last = meter->tenant;
            warn_of(diags, &last->place, drops ? "microburst"
                    : "microburst/exceed", "the kernel's meters only drop "
                    "what is above the limit%s: bursts are neither marked nor "
                    "recorded", drops ? "" : ", whatever \"exceed\" says");
        }
    }
}

void
kernel_warn_bursts(const struct ir_prog *prog, struct diags *diags,
                   const struct lost_meters *target)
{
    warn_microbursts(prog, diags);
    lost_warn_bursts(prog, diags, target);
}

bool
kernel_check_uplinks(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->networks.n; i++) {
        const struct ir_network *network = prog->networks.v[i];
        const struct ir_uplink *uplink
            = network->here ? ir_find_uplink(prog, network->uplink) : NULL;

        if (network->here && (!uplink || !uplink->rate_kbps)) {
            diag_error(diags, network->place.span, network->place.pointer,
                       "the program has no %suplink '%s'",
                       uplink ? "rate of " : "", network->uplink);
            return false;
        }
    }
    return true;
}

bool
kernel_check_charges(const struct ir_prog *prog, struct diags *diags)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        const struct ir_rule *rule = prog->rules.v[i];

        if (rule->charge_from || rule->charge_to) {
            refuse(diags, &rule->place, "charge", "remove \"charge\", or "
                   "choose another target", "the target charges what an "
                   "endpoint sends to its own tenant, and to no other");
            return false;
        }
    }
    return true;
}

/* The kernel's queues of upcalls are of ports, and have no rate. */
bool
kernel_check_upcalls(const struct ir_prog *prog, struct diags *diags)
{
    bool fits = true;

    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];

        if (tenant->here && tenant->upcall_rate) {
            refuse(diags, &tenant->place, "limits/upcalls", "remove "
                   "\"upcalls\" of its \"limits\", or choose another target",
                   "the kernel datapath cannot limit the upcalls of a tenant");
            fits = false;
        }
    }
    return fits;
}

/* Makes 'meter' one that drops. */
static void
lower_meter(struct ir_meter *meter)
{
    if (meter->guarantee_kbps) {
        meter->guarantee_kbps = lost_own_kbps(meter->guarantee_kbps, meter);
    }
    meter->rate_kbps = lost_own_kbps(meter->rate_kbps, meter);
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

void
kernel_lower_meters(struct ir_prog *prog)
{
    size_t n = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        if (lost_is_kept(prog->meters.v[i])) {
            prog->meters.v[n++] = prog->meters.v[i];
        }
    }
    prog->meters.n = n;
    for (size_t i = 0; i < n; i++) {
        lower_meter(prog->meters.v[i]);
    }
    for (size_t i = 0; i < prog->tenants.n; i++) {
        struct ir_tenant *tenant = prog->tenants.v[i];

        tenant->packet_burst = MAX(tenant->packet_burst,
                                   lost_least_packets(tenant->packet_rate));
    }
    for (size_t i = 0; i < prog->classes.n; i++) {
        struct ir_class *class = prog->classes.v[i];

        class->in_burst_bytes = MAX(class->in_burst_bytes,
                                    lost_least_burst(class->in_kbps));
    }
}
