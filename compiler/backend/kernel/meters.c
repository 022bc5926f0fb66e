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

/* What a rate gives in a millisecond, in bytes and in packets. */
static uint64_t
least_burst(uint64_t kbps)
{
    return DIV_ROUND_UP(kbps, 8);
}

static uint32_t
least_packets(uint32_t rate)
{
    return DIV_ROUND_UP(rate, 1000);
}

/* What endpoints that do not borrow have is not their tenant's to share. */
static uint64_t
own_kbps(uint64_t kbps, const struct ir_meter *meter)
{
    return MAX(kbps, meter->apart_kbps + 1) - meter->apart_kbps;
}

/* At which a lowered meter drops. */
static uint64_t
drop_kbps(const struct ir_meter *meter)
{
    return own_kbps(meter->no_borrow ? meter->guarantee_kbps
                    : meter->rate_kbps, meter);
}

/* Of a program that is not lowered yet, as much of it as is left then. */
static bool
is_kept(const struct ir_meter *meter)
{
    /* What is the rest is known by its parent. */
    return meter->tenant && !ir_meter_is_rest(meter);
}

/* The first place that asks for a burst which is too small, and how many
 * others there are. */
struct small_bursts {
    const struct ir_place *first;
    const char *member;         /* Of what stands there. */
    size_t n;
};

static void
note_burst(struct small_bursts *bursts, bool small,
           const struct ir_place *place, const char *member)
{
    if (small && !bursts->n++) {
        bursts->first = place;
        bursts->member = member;
    }
}

static struct small_bursts
find_small_bursts(const struct ir_prog *prog)
{
    struct small_bursts bursts = { .n = 0 };

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        note_burst(&bursts, is_kept(meter)
                   && lost_drop_burst(meter) < least_burst(drop_kbps(meter)),
                   &meter->place, meter->unlimited ? NULL : "../burst");
    }
    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];

        note_burst(&bursts, tenant->here
                   && tenant->packet_burst
                      < least_packets(tenant->packet_rate), &tenant->place,
                   "limits/packets/burst");
    }
    for (size_t i = 0; i < prog->caps.n; i++) {
        const struct ir_class *class = prog->caps.v[i]->class;

        note_burst(&bursts,
                   class->in_burst_bytes < least_burst(class->in_kbps),
                   &class->place, "dscp_in/burst");
    }
    return bursts;
}

void
kernel_warn_bursts(const struct ir_prog *prog, struct diags *diags)
{
    struct small_bursts bursts = find_small_bursts(prog);

    warn_microbursts(prog, diags);
    if (bursts.n) {
        warn_of(diags, bursts.first, bursts.member, "the kernel's meters "
                "count whole milliseconds: bursts that are less than the rate "
                "gives in one become that, here and %"PRIuSIZE" more times",
                bursts.n - 1);
    }
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
        meter->guarantee_kbps = own_kbps(meter->guarantee_kbps, meter);
    }
    meter->rate_kbps = own_kbps(meter->rate_kbps, meter);
    if (meter->receive && !meter->no_borrow) {
        meter->guarantee_kbps = 0;
    }
    meter->parent = NULL;
    meter->split = false;
    meter->limit_number = meter->weight = meter->apart_kbps = 0;
    meter->burst_bytes = MAX(lost_drop_burst(meter),
                             least_burst(drop_kbps(meter)));
    meter->microburst = false;
    meter->exceed = EXCEED_DROP;
    meter->mark_bytes = meter->depth_bytes = meter->limit_bytes = 0;
}

void
kernel_lower_meters(struct ir_prog *prog)
{
    size_t n = 0;

    for (size_t i = 0; i < prog->meters.n; i++) {
        if (is_kept(prog->meters.v[i])) {
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
                                   least_packets(tenant->packet_rate));
    }
    for (size_t i = 0; i < prog->classes.n; i++) {
        struct ir_class *class = prog->classes.v[i];

        class->in_burst_bytes = MAX(class->in_burst_bytes,
                                    least_burst(class->in_kbps));
    }
}
