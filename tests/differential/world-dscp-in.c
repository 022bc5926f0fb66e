/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"
#include "world-parts.h"

/* Classes of which packets may keep the DSCP that they come with. */

/* A class that lets one in has its DSCP and queue for itself. */
static bool
is_alone(const struct world *w, int class)
{
    for (int i = 0; i < MAX_CLASSES; i++) {
        if (i != class && w->classes[i].dscp == w->classes[class].dscp
            && w->classes[i].queue == w->classes[class].queue) {
            return false;
        }
    }
    return true;
}

void
world_init_dscp_in(struct world *w, struct rng rng)
{
    for (int i = 0; i < MAX_CLASSES; i++) {
        struct world_class *c = &w->classes[i];
        int in = 1 + rng_below(&rng, 63);

        if (in != c->dscp && is_alone(w, i) && rng_chance(&rng, 60)) {
            c->in = in;
            c->in_queue = rng_below(&rng, 8);
            c->in_mbps = 1 + rng_below(&rng, 1000);
            c->in_kib = 2 + rng_below(&rng, 64);
        }
    }
}

void
world_put_dscp_in(struct ds *ds, const struct world_class *c)
{
    if (c->in) {
        ds_put_format(ds, ", \"dscp_in\": {\"dscp\": %d, \"queue\": %d, "
                      "\"limit\": \"%dMbps\", \"burst\": \"%dKiB\"}", c->in,
                      c->in_queue, c->in_mbps, c->in_kib);
    }
}

static const char *
check_cap(const struct world *w, const struct compiled *c, int tenant,
          int class)
{
    const struct world_class *own = &w->classes[class];
    char *name = arena_printf(c->arena, "t%d", tenant);
    char *class_name = arena_printf(c->arena, "c%d", class);
    size_t n = 0;

    for (size_t i = 0; i < c->plan.meters.n; i++) {
        const struct plan_meter *m = &c->plan.meters.v[i];

        if (!m->dscp_in || strcmp(m->name, name)
            || strcmp(m->class, class_name)) {
            continue;
        } else if (!own->in || m->rate != own->in_mbps * UINT64_C(1000)
                   || m->burst != DIV_ROUND_UP(own->in_kib * 1024 * 8, 1000)
                   || m->microburst || m->parent || m->packets) {
            return "what keeps its DSCP has another limit";
        }
        n++;
    }
    return n > 1 ? "what keeps its DSCP has two limits" : NULL;
}

const char *
world_check_dscp_in(const struct world *w, const struct compiled *c)
{
    const char *wrong = NULL;

    for (int i = 0; i < w->n_tenants; i++) {
        for (int j = 0; j < MAX_CLASSES && !wrong; j++) {
            wrong = check_cap(w, c, i, j);
        }
    }
    return wrong;
}
