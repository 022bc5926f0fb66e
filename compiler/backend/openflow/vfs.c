/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/openflow.h"

#include "ir/ir.h"
#include "plan/nic.h"
#include "plan/plan.h"

/* What asks for the VLAN tag. */
static const char *
tag_place(const struct ir_prog *prog, const struct ir_vf *vf, uint8_t priority,
          struct arena *arena)
{
    const char *vlan = ir_place_text(prog, &vf->vlan_place, arena);
    struct ir_place queue;

    if (!priority) {
        return vlan;
    }
    queue = ir_place_member(arena, &vf->class->place, "queue");
    return arena_printf(arena, "%s; %s", vlan,
                        ir_place_text(prog, &queue, arena));
}

static void
add_rules(const struct ir_vf *vf, struct plan_vf *set, struct arena *arena)
{
    for (size_t i = 0; i < vf->rules.n; i++) {
        *vec_push(arena, &set->rules) = vf->rules.v[i];
    }
    for (size_t i = 0; i < vf->cut.n; i++) {
        *vec_push(arena, &set->cut) = vf->cut.v[i];
    }
}

void
openflow_set_vfs(const struct ir_prog *prog, struct plan *plan)
{
    if (prog->vfs.n) {
        plan->vfs = arena_zalloc(plan->arena, sizeof *plan->vfs);
    }
    for (size_t i = 0; i < prog->vfs.n; i++) {
        const struct ir_vf *vf = prog->vfs.v[i];
        struct ir_place mac = ir_place_member(plan->arena, &vf->place,
                                              "../mac");
        uint8_t priority = vf->class ? vf->class->queue : 0;
        struct plan_vf *set = vec_push(plan->arena, &plan->vfs->all);

        *set = (struct plan_vf) {
            .name = vf->name,
            .uplink = vf->uplink,
            .interface = vf->interface,
            .place = ir_place_text(prog, &vf->place, plan->arena),
            .mac_place = ir_place_text(prog, &mac, plan->arena),
            .vlan_place = tag_place(prog, vf, priority, plan->arena),
            .rate_place = ir_places_text(prog, &vf->rate_place,
                                         &vf->owed_place, plan->arena),
            .vf = vf->vf,
            .vlan = vf->vlan,
            .priority = priority,
            .mac = vf->mac,
            .max_mbps = vf->max_mbps,
            .min_mbps = vf->min_mbps,
        };
        add_rules(vf, set, plan->arena);
    }
}
