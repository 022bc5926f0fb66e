/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/pipeline.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"
#include "world-parts.h"

/* Some tenants may make so many upcalls and no more.  No packet shows it: what
 * the switch is to be told stands in notes of the flows that let packets in.
 * The target asap2 refuses all of such a world, so they are few. */
void
world_init_upcalls(struct world *w, struct rng rng)
{
    bool some = rng_chance(&rng, 20);

    for (int i = 0; i < w->n_tenants; i++) {
        if (rng_chance(&rng, 60) && some) {
            w->tenants[i].upcalls = 1 + rng_below(&rng, 1000000);
            w->tenants[i].upcalls_burst = 32 + rng_below(&rng, 100000);
        }
    }
}

void
world_put_limits(struct ds *ds, const struct world_tenant *t)
{
    ds_put_cstr(ds, ", \"limits\": {");
    if (t->counted) {
        ds_put_format(ds, "\"packets\": {\"rate\": \"%dkpps\", "
                      "\"burst\": \"%dpkt\"}", t->kpps, t->burst_packets);
    }
    if (t->connections) {
        world_put_comma(ds);
        ds_put_format(ds, "\"connections\": %d", t->connections);
    }
    if (t->upcalls) {
        world_put_comma(ds);
        ds_put_format(ds, "\"upcalls\": {\"rate\": \"%dpps\", "
                      "\"burst\": \"%dpkt\"}", t->upcalls,
                      t->upcalls_burst);
    }
    ds_put_char(ds, '}');
}

/* The note of the flow that lets in what comes from the interface: the bytes
 * in hexadecimal, or "". */
static const char *
find_note(const struct compiled *c, int interface)
{
    const char *match = arena_printf(c->arena, "in_port=\"i%d\",", interface);

    for (size_t i = 0; i < c->plan.flows.n; i++) {
        const struct plan_flow *flow = &c->plan.flows.v[i];
        const char *note = strstr(flow->actions, "note:");

        if (flow->table == TABLE_ADMIT && note
            && !strncmp(flow->match, match, strlen(match))) {
            return arena_strndup(c->arena, note + 5, strcspn(note + 5, ","));
        }
    }
    return "";
}

static uint32_t
number_of(const struct compiled *c, int tenant)
{
    const char *name = arena_printf(c->arena, "t%d", tenant);

    for (size_t i = 0; i < c->plan.tenants.n; i++) {
        if (!strcmp(c->plan.tenants.v[i].name, name)) {
            return c->plan.tenants.v[i].number;
        }
    }
    return 0;
}

/* The note that it is to be. */
static const char *
wanted_note(const struct world *w, const struct compiled *c, int tenant)
{
    const struct world_tenant *t = &w->tenants[tenant];
    const char *s = arena_printf(c->arena, "0000%08"PRIx32"%08x%08x",
                                 number_of(c, tenant), t->upcalls,
                                 t->upcalls_burst);
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (; t->upcalls && *s; s += 2) {
        ds_put_format(&ds, "%s%.2s", ds.length ? "." : "", s);
    }
    s = arena_strdup(c->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

const char *
world_check_upcalls(const struct world *w, const struct compiled *c)
{
    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_endpoint *e = &w->endpoints[i];
        int tenant = w->networks[e->network].tenant;

        if (world_is_there(w, i) && e->bound && !e->node
            && strcmp(find_note(c, i), wanted_note(w, c, tenant))) {
            return arena_printf(c->arena, "interface i%d has another limit of "
                                "upcalls", i);
        }
    }
    return NULL;
}
