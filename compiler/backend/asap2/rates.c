/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/asap2/rates.h"

#include "backend/kernel/meters.h"
#include "backend/lost.h"
#include "backend/refuse.h"
#include "base/diag.h"
#include "hmapx.h"
#include "ir/ir.h"
#include "plan/plan.h"
#include "util.h"

/* A kbit of a burst is 1024 bits there (Open vSwitch 3.1: lib/netdev-linux.c,
 * tc_policer_init()). */
static const struct lost_meters meters = {
    .whose = "the kernel's", .max_kbps = TC_MAX_KBPS, .kbit_bytes = 128,
};

/* devlink.sh has no rates for an uplink with VFs in legacy mode. */
static void
warn_of_legacy(const struct ir_prog *prog, struct diags *diags)
{
    struct hmapx said = HMAPX_INITIALIZER(&said);

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->guarantee_kbps && !meter->receive
            && ir_has_vfs(prog, meter->uplink)
            && is_first_at(&said, &meter->place)) {
            warn_of(diags, &meter->place, NULL, "uplink '%s' has VFs in "
                    "legacy mode, and a NIC in that mode has no rates of "
                    "tenants: of what ports of the bridge send there, nothing "
                    "keeps this guarantee", meter->uplink);
        }
    }
    hmapx_destroy(&said);
}

static void
warn_of_direction(const struct ir_prog *prog, bool receive,
                  struct diags *diags)
{
    struct hmapx said = HMAPX_INITIALIZER(&said);

    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (lost_is_kept(meter) && !meter->unlimited
            && meter->receive == receive && lost_is_too_fast(&meters, meter)
            && is_first_at(&said, &meter->place)) {
            struct ir_place limit = ir_place_member(
                diags->arena, &meter->place, "../limit");

            warn_of(diags, &limit, NULL, "Open vSwitch gives tc no "
                    "more than %d Mbps, so this limit has no meter: of what "
                    "is %s", TC_MAX_KBPS / 1000,
                    receive ? "received, nothing keeps it"
                    : ir_has_vfs(prog, meter->uplink)
                    ? "sent, nothing keeps it"
                    : "sent, only the NIC's rate keeps it (devlink.sh)");
        }
    }
    hmapx_destroy(&said);
}

bool
asap2_check_rates(const struct ir_prog *prog, struct diags *diags)
{
    warn_of_legacy(prog, diags);
    warn_of_direction(prog, false, diags);
    warn_of_direction(prog, true, diags);
    kernel_warn_bursts(prog, diags, &meters);
    for (size_t i = 0; i < prog->caps.n; i++) {
        const struct ir_class *class = prog->caps.v[i]->class;

        if (class->in_kbps > TC_MAX_KBPS) {
            refuse(diags, &class->place, "dscp_in/limit", "ask for less",
                   "Open vSwitch gives tc no more than %d Mbps, and nothing "
                   "else keeps this limit", TC_MAX_KBPS / 1000);
            return false;
        }
    }
    return true;
}

/* The meter that a packet meets is that of the datapath or that of the NIC. */
static const char *const in_hardware[] = {
    "the first packets of a flow pass before its filter is there, and they "
    "and all that stays in software are counted apart: at worst both together "
    "have twice the rate and the burst",
    "there is one band, which drops; a kbit of a burst is 1024 bits there, "
    "and 1000 in software",
    "the driver mlx5 counts IP packets, not frames, so a limit lets some more "
    "pass, and it rounds rates down to eight bits",
};

void
asap2_note_rates(const struct ir_prog *prog, struct plan *plan)
{
    lost_note(prog, plan, &meters);
    for (size_t i = 0; prog->meters.n && i < ARRAY_SIZE(in_hardware); i++) {
        *vec_push(plan->arena, &plan->in_hardware) = in_hardware[i];
    }
}
