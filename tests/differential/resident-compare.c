/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident-compare.h"

#include <string.h>

static bool
same_flow(const struct plan_flow *a, const struct plan_flow *b)
{
    return (!plan_compare_flows(a, b) && a->cookie == b->cookie
            && !strcmp(a->actions, b->actions));
}

static const char *
compare_flow_lists(const plan_flows *a, const plan_flows *b,
                   const char *reason)
{
    if (a->n != b->n) {
        return reason;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (!same_flow(a->v[i], b->v[i])) {
            return reason;
        }
    }
    return NULL;
}

static const struct plan_meter *
find_meter(const struct plan *plan, uint32_t id)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        if (plan->meters.v[i].id == id) {
            return &plan->meters.v[i];
        }
    }
    return NULL;
}

static bool
same_meter(const struct plan_meter *a, const struct plan_meter *b)
{
    return (a && b && a->id == b->id && plan_meter_same(a, b)
            && !strcmp(a->name, b->name));
}

/* Is each of 'meters' one of 'in' that is not the same in 'out', and are these
 * as many? */
static bool
are_meters(const plan_meters *meters, size_t n, const struct plan *in,
           const struct plan *out)
{
    for (size_t i = 0; i < meters->n; i++) {
        const struct plan_meter *m = meters->v[i];
        const struct plan_meter *other = find_meter(out, m->id);

        if (!same_meter(find_meter(in, m->id), m)
            || (other && plan_meter_same(other, m)
                && !strcmp(other->name, m->name))) {
            return false;
        }
    }
    return meters->n >= n;
}

const char *
compare_diffs(const struct plan *old, const struct plan *new,
              const struct resident_diff *diff)
{
    struct plan_diff want = plan_compare(old, new);
    const char *reason = compare_flow_lists(&want.added, &diff->added,
                                            "other flows are added");

    if (!reason) {
        reason = compare_flow_lists(&want.changed, &diff->changed,
                                    "other flows are changed");
    }
    if (!reason) {
        reason = compare_flow_lists(&want.deleted, &diff->deleted,
                                    "other flows are deleted");
    }
    if (!reason && !are_meters(&diff->meters_added, want.meters_added, new,
                               old)) {
        reason = "other meters are added";
    }
    if (!reason && !are_meters(&diff->meters_deleted, want.meters_deleted,
                               old, new)) {
        reason = "other meters are deleted";
    }
    return reason;
}

const char *
compare_held(const struct resident *resident, const struct plan *plan)
{
    struct arena *arena = arena_create();
    const char *reason = NULL;
    struct plan held;

    resident_plan(resident, &held, arena);
    if (held.flows.n != plan->flows.n || held.meters.n != plan->meters.n) {
        reason = "there are more or fewer flows or meters";
    }
    for (size_t i = 0; !reason && i < held.flows.n; i++) {
        if (!same_flow(&held.flows.v[i], &plan->flows.v[i])) {
            reason = "a flow differs";
        }
    }
    for (size_t i = 0; !reason && i < held.meters.n; i++) {
        if (!same_meter(find_meter(plan, held.meters.v[i].id),
                        &held.meters.v[i])) {
            reason = "a meter differs";
        }
    }
    arena_destroy(arena);
    return reason;
}
