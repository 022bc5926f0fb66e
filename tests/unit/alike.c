/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "alike.h"

#include <stdlib.h>
#include <string.h>

#include "backend/openflow/pipeline.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

static void
put_endpoint(struct ds *ds, const char *name, int number, bool ip6,
             const char *limit, bool bound)
{
    ds_put_format(ds, "'%s': {'network': 'net', %s", name, limit);
    if (bound) {
        ds_put_format(ds, "'node': 'n1', 'interface': 'i-%s', ", name);
    }
    ds_put_format(ds, "'mac': '02:00:00:00:01:%02d', "
                  "'addresses': ['10.1.0.%d'", number, number);
    if (ip6) {
        ds_put_format(ds, ", 'fd00:1::%d'", number);
    }
    ds_put_format(ds, "], 'labels': {'role': '%s', 'rank': '%d'}}, ",
                  number == 99 ? "server" : "worker", number);
}

/* In the arena. */
static const char *
text(struct arena *arena, const struct alike *tenant)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *result;

    ds_put_format(&ds, "'t': {%s'networks': {'net': {'vni': 1, 'subnets': "
                "['10.1.0.0/16', 'fd00:1::/64'], "
                "'gateway': ['10.1.0.1', 'fd00:1::1']}}, 'endpoints': {",
                tenant->limited
                ? "'bandwidth': {'limit': '10Gbps', 'burst': '256KiB'}, "
                : "");
    for (int i = 0; i < tenant->n; i++) {
        char *name = xasprintf("w%d", i);

        put_endpoint(&ds, name, 10 + i, tenant->ip6,
                     i == tenant->n - 1 && tenant->last ? tenant->last
                     : ALIKE_BANDWIDTH("1Gbps", ""),
                     i ? i < tenant->n - 1 || !tenant->apart
                     : !tenant->first_apart);
        free(name);
    }
    put_endpoint(&ds, "s", 99, tenant->ip6, ALIKE_BANDWIDTH("1Gbps", ""),
                 true);
    ds_chomp(&ds, ' ');
    ds_chomp(&ds, ',');
    ds_put_format(&ds, "}, 'rules': [{'name': 'one', "
                  "'from': {'labels': {'role': 'worker'}}, "
                  "'to': {'labels': {'role': 'server'}}, 'service': 'web', "
                  "'class': 'gold'}, {'name': 'two', "
                  "'from': {'labels': {'role': 'worker'}}, "
                  "'to': {'labels': {'role': 'worker'}}, "
                  "'service': 'rocev2', 'class': 'gold'}%s]}",
                  tenant->rules ? tenant->rules : "");
    result = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return result;
}

void
alike_begin(struct proving *t, struct alike tenant,
            void (*spoil)(struct plan *))
{
    struct arena *arena = arena_create();

    proving_begin(t, arena_printf(
        arena, "{" FABRIC ", " CLASSES ", 'services': {"
        "'web': {'protocol': 'tcp', 'ports': [443]}}, 'tenants': {%s}}",
        text(arena, &tenant)), spoil);
    arena_destroy(arena);
}

enum proving_by
alike_change(struct proving *t, struct alike tenant,
             void (*alter)(struct proving *, struct arena *,
                           struct resident_diff *))
{
    return proving_change(t, text(t->u.arena, &tenant), alter);
}

const char *
alike_number(const struct plan *plan, const char *name, const char *reg)
{
    char *in_port = xasprintf("in_port=\"i-%s\"", name);
    const char *number = NULL;

    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];

        if (flow->table == TABLE_ADMIT && strstr(flow->match, in_port)) {
            const char *end = strstr(flow->actions, reg);

            ck_assert_ptr_nonnull(end);
            while (end[-1] != ':') {
                end--;
            }
            number = arena_strndup(plan->arena, end, strcspn(end, "-"));
        }
    }
    free(in_port);
    ck_assert_ptr_nonnull(number);
    return number;
}
