/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"

#include <string.h>

#include "ir/validate.h"
#include "sema/check.h"

/* What comes to a VF has a class, too. */
static void
note_classes(struct ir_prog *prog, const struct policy *policy,
             const struct policy_endpoint *e, struct ir_vf *vf,
             struct arena *arena)
{
    class_vec classes = VEC_INIT;

    legacy_find_classes(policy, e, &classes, arena);
    vf->passes = vf->queues;
    for (size_t i = 0; i < classes.n; i++) {
        if (classes.v[i]) {
            ir_find_class(prog, classes.v[i]->name)->legacy = true;
            vf->passes |= 1 << classes.v[i]->queue;
        }
    }
}

static void
note_rules(const struct policy *policy, const struct policy_endpoint *e,
           struct ir_vf *vf, struct arena *arena)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        switch (legacy_fate(rule, e)) {
        case LEGACY_OTHERS:
            break;
        case LEGACY_UNKEPT:
            *vec_push(arena, &vf->rules) = rule->name;
            break;
        case LEGACY_CUT:
            *vec_push(arena, &vf->cut) = rule->name;
            break;
        }
    }
}

static void
add_vf(struct ir_prog *prog, const struct policy *policy,
       const struct policy_endpoint *e, const struct intent_uplink *uplink,
       struct arena *arena)
{
    const struct policy_class *class = legacy_class(policy, e);
    struct legacy_rates rates = legacy_rates(e);
    struct ir_vf *vf = arena_zalloc(arena, sizeof *vf);

    vf->name = e->name;
    vf->place = ir_place_of(arena, e->intent->port.at, false);
    vf->uplink_place = ir_place_of(arena, uplink->interface.at, false);
    vf->vlan_place = ir_place_of(arena, e->network->intent->vlan.at, false);
    vf->rate_place = (rates.at ? ir_place_of(arena, rates.at, false)
                      : vf->place);
    vf->owed_place = (rates.owed_at ? ir_place_of(arena, rates.owed_at, false)
                      : vf->rate_place);
    vf->uplink = uplink->name.s;
    vf->interface = uplink->interface.s;
    vf->vf = e->intent->vf.n;
    vf->mac = e->intent->mac;
    vf->vlan = e->network->intent->vlan.n;
    vf->class = class ? ir_find_class(prog, class->name) : NULL;
    vf->queues = legacy_queues(policy, e);
    note_classes(prog, policy, e, vf, arena);
    note_rules(policy, e, vf, arena);
    vf->max_mbps = rates.max_mbps;
    vf->min_mbps = rates.min_mbps;
    *vec_push(arena, &prog->vfs) = vf;
}

void
ir_add_vfs(struct ir_prog *prog, const struct policy *policy,
           const struct intent_node *node, struct arena *arena)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];
            const struct intent_uplink *uplink = legacy_uplink(e);

            if (uplink && e->node == node) {
                add_vf(prog, policy, e, uplink, arena);
            }
        }
    }
}

bool
ir_has_vfs(const struct ir_prog *prog, const char *uplink)
{
    for (size_t i = 0; i < prog->vfs.n; i++) {
        if (!strcmp(prog->vfs.v[i]->uplink, uplink)) {
            return true;
        }
    }
    return false;
}

void
ir_validate_vf(struct ir_validator *v, const struct ir_vf *vf)
{
    ir_once(v, "VF %u of %s", vf->vf, vf->interface);
    if (vf->max_mbps && vf->min_mbps > vf->max_mbps) {
        ir_invalid(v, "its least rate is more than its most");
    }
    if (vf->class && !(vf->queues & 1 << vf->class->queue)) {
        ir_invalid(v, "its queues are without that of its class");
    }
    if (vf->queues & ~vf->passes) {
        ir_invalid(v, "it sends in queues that it does not pass");
    }
}
