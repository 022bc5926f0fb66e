/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/differences.h"

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/plan.h"

struct json *
plan_differences_to_json(const struct plan *plan)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < plan->differences.n; i++) {
        const struct plan_difference *d = &plan->differences.v[i];
        struct json *object = json_object_create();
        struct json *lost = json_array_create_empty();

        for (size_t j = 0; j < d->lost.n; j++) {
            json_array_add(lost, json_string_create(d->lost.v[j]));
        }
        json_object_put_string(object, "tenant", d->tenant);
        json_object_put_string(object, "uplink", d->uplink);
        json_object_put(object, "place", d->place
                        ? json_string_create(d->place) : json_null_create());
        json_object_put_string(object, "asked", d->asked);
        json_object_put_string(object, "held", d->held);
        json_object_put(object, "lost", lost);
        json_array_add(array, object);
    }
    return array;
}

void
plan_format_differences(const struct plan *plan, struct ds *ds)
{
    for (size_t i = 0; i < plan->in_hardware.n; i++) {
        ds_put_format(ds, "%s#   - %s\n", i ? "" : "# Meters in hardware:\n",
                      plan->in_hardware.v[i]);
    }
    for (size_t i = 0; i < plan->differences.n; i++) {
        const struct plan_difference *d = &plan->differences.v[i];

        ds_put_format(ds, "# Tenant %s by uplink %s (%s)\n#   asks for %s\n"
                      "#   and has  %s:\n", d->tenant, d->uplink,
                      d->place ? d->place : "place not known", d->asked,
                      d->held);
        for (size_t j = 0; j < d->lost.n; j++) {
            ds_put_format(ds, "#   - %s\n", d->lost.v[j]);
        }
    }
}
