/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include "openvswitch/dynamic-string.h"

/* A tenant's upcalls a second.  No flow can count them: a packet makes one
 * before it meets any.  So the switch has to know which ports are the
 * tenant's. */

const char *
upcalls_note(struct emitter *e, const struct ir_tenant *tenant)
{
    const struct plan_upcalls limit = {
        .number = tenant->number, .rate = tenant->upcall_rate,
        .burst = tenant->upcall_burst,
    };

    return (limit.rate
            ? FORMAT(e, "%s,", plan_upcalls_note(e->arena, &limit)) : "");
}

/* The interfaces of the tenant's endpoints here, with spaces between. */
static const char *
list_interfaces(struct emitter *e, const struct ir_tenant *tenant)
{
    struct ds list = DS_EMPTY_INITIALIZER;
    const char *s;

    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *ep = e->prog->endpoints.v[i];

        if (ep->tenant == tenant && !ep->node) {
            ds_put_format(&list, "%s%s", list.length ? " " : "",
                          ep->interface);
        }
    }
    s = arena_strdup(e->arena, ds_cstr(&list));
    ds_destroy(&list);
    return s;
}

void
emit_upcalls(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        const struct ir_tenant *tenant = e->prog->tenants.v[i];

        if (tenant->here && tenant->upcall_rate) {
            *vec_push(e->arena, &e->plan->upcalls) = (struct plan_upcalls) {
                .name = tenant->name, .number = tenant->number,
                .rate = tenant->upcall_rate, .burst = tenant->upcall_burst,
                .interfaces = list_interfaces(e, tenant),
            };
        }
    }
}
