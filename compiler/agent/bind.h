/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_BIND_H
#define AGENT_BIND_H 1

/* Which endpoints and externals are bound on the node: those whose interface
 * the bridge has. */

#include <stdbool.h>

#include "plan/plan.h"
#include "smap.h"

struct arena;
struct bridge_info;
struct intent;
struct intent_tenant;

/* What was found for the endpoints of a tenant, or for externals. */
struct bound {
    struct smap here;           /* Interface -> "TENANT/ENDPOINT", or "external
                                 * NAME"; it is on the bridge. */
    struct smap missing;        /* The same; it is not. */
};

void bound_init(struct bound *);
void bound_destroy(struct bound *);
void bound_swap(struct bound *, struct bound *);

/* The tenant as the bridge has it: endpoints of the node whose interface it
 * lacks have none.  It is 'tenant' itself or, in 'arena', shares with it.
 * Fills 'bound'. */
const struct intent_tenant *bind_tenant(const struct intent_tenant *tenant,
                                        const char *node, const char *bridge,
                                        const struct bridge_info *,
                                        struct arena *, struct bound *);

/* Gives 'whole', a copy of 'intent' otherwise, the externals as the bridge has
 * them: without the attachments of the node whose interface it lacks. */
void bind_externals(const struct intent *, const char *node,
                    const char *bridge, const struct bridge_info *,
                    struct arena *, struct bound *, struct intent *whole);

/* Would it be another now? */
bool bound_has_changed(const struct bound *, const char *bridge,
                       const struct bridge_info *);

/* Adds the name and "(INTERFACE)" of each that is missing. */
void bound_missing(const struct bound *, struct arena *, plan_names *);

#endif /* agent/bind.h */
