/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/trace.h"

#include <stdio.h>

#include "cli/show.h"
#include "openvswitch/json.h"
#include "sema/meaning-meters.h"
#include "sema/meaning.h"
#include "sema/tree.h"

/* The meters that a packet passes. */

/* Is it of what endpoints or classes have no part of? */
static bool
is_rest(const struct meaning *m, const struct policy_endpoint *to,
        const struct meaning_meter *meter)
{
    const struct policy_endpoint *e = (meter->receive || !m->from ? to
                                       : m->from);

    return (!meter->endpoint && !meter->class
            && tenant_is_split(meter->tenant, e->node, meter->uplink,
                               meter->receive));
}

/* The tenant whose packets are counted before all else, or NULL. */
static const struct policy_tenant *
counted_tenant(const struct meaning *m)
{
    return (m->counted && m->counted->intent->packet_rate.at ? m->counted
            : NULL);
}

static void
print_meter(const struct meaning *m, const struct policy_endpoint *to,
            const struct meaning_meter *meter)
{
    if (meter->dscp_in) {
        printf("what %s sends that keeps its DSCP in class %s",
               meter->tenant->name, meter->class->name);
        return;
    }
    printf("%swhat %s %s", is_rest(m, to, meter) ? "the rest of " : "",
           meter->endpoint ? meter->endpoint->name : meter->tenant->name,
           meter->receive ? "gets" : "sends");
    if (meter->class) {
        printf(" in class %s", meter->class->name);
    }
}

void
trace_print_meters(const struct meaning *m, const struct policy_endpoint *to)
{
    const struct policy_tenant *counted = counted_tenant(m);
    struct meaning_meter meters[MAX_MEANING_METERS];
    size_t n = meaning_meters(m, to, meters);

    printf("meters       ");
    if (counted) {
        printf("the packets of %s%s", counted->name, n ? "; " : "");
    }
    for (size_t i = 0; i < n; i++) {
        print_meter(m, to, &meters[i]);
        printf("%s", i + 1 < n ? "; " : "");
    }
    printf("%s\n", counted || n ? "" : "none");
}

struct json *
trace_meters_json(const struct meaning *m, const struct policy_endpoint *to)
{
    const struct policy_tenant *counted = counted_tenant(m);
    struct meaning_meter meters[MAX_MEANING_METERS];
    size_t n = meaning_meters(m, to, meters);
    struct json *array = json_array_create_empty();

    if (counted) {
        struct json *object = json_object_create();

        show_put(object, "of", "packets");
        show_put(object, "tenant", counted->name);
        json_array_add(array, object);
    }
    for (size_t i = 0; i < n; i++) {
        const struct meaning_meter *meter = &meters[i];
        struct json *object = json_object_create();

        show_put(object, "of", meter->dscp_in ? "dscp_in"
                 : meter->receive ? "receive" : "send");
        show_put(object, "tenant", meter->tenant->name);
        if (meter->endpoint) {
            show_put(object, "endpoint", meter->endpoint->name);
        }
        if (meter->class) {
            show_put(object, "class", meter->class->name);
        }
        if (is_rest(m, to, meter)) {
            json_object_put(object, "rest", json_boolean_create(true));
        }
        json_array_add(array, object);
    }
    return array;
}
