/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/plan.h"
#include "plan/row.h"

#include <string.h>

static bool
same_flow(const struct plan_flow *a, const struct plan_flow *b)
{
    return a->cookie == b->cookie && !strcmp(a->actions, b->actions);
}

static void
diff_flows(const struct plan *old, const struct plan *new,
           struct plan_diff *diff)
{
    size_t i = 0, j = 0;

    while (i < old->flows.n || j < new->flows.n) {
        const struct plan_flow *a = &old->flows.v[i], *b = &new->flows.v[j];
        int cmp = (i == old->flows.n ? 1 : j == new->flows.n ? -1
                   : plan_compare_flows(a, b));

        if (cmp < 0) {
            *vec_push(new->arena, &diff->deleted) = a;
        } else if (cmp > 0) {
            *vec_push(new->arena, &diff->added) = b;
        } else if (!same_flow(a, b)) {
            *vec_push(new->arena, &diff->changed) = b;
        }
        i += cmp <= 0;
        j += cmp >= 0;
    }
}

/* Is 'meter' in 'plan' as it is? */
static bool
has_meter(const struct plan *plan, const struct plan_meter *meter)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *m = &plan->meters.v[i];

        if (m->id == meter->id) {
            return plan_meter_same(m, meter);
        }
    }
    return false;
}

struct plan_diff
plan_compare(const struct plan *old, const struct plan *new)
{
    struct plan_diff diff = { .meters_added = 0 };

    diff_flows(old, new, &diff);
    for (size_t i = 0; i < new->meters.n; i++) {
        diff.meters_added += !has_meter(old, &new->meters.v[i]);
    }
    for (size_t i = 0; i < old->meters.n; i++) {
        diff.meters_deleted += !has_meter(new, &old->meters.v[i]);
    }
    return diff;
}

bool
plan_same(const struct plan *a, const struct plan *b)
{
    struct plan_diff diff = plan_compare(a, b);

    return (!diff.added.n && !diff.changed.n && !diff.deleted.n
            && !diff.meters_added && !diff.meters_deleted
            && a->kernel == b->kernel && a->telemetry == b->telemetry
            && a->northbound == b->northbound && plan_same_rows(a, b));
}
