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
struct attached;
struct bridge_info;
struct diags;
struct intent;
struct intent_tenant;

/* Where they are bound. */
struct site {
    const char *node, *bridge;
    const struct bridge_info *info;
    struct attached *attached;
};

/* What was found for the endpoints of a tenant, or for externals. */
struct bound {
    struct smap here;           /* Interface -> "TENANT/ENDPOINT", or "external
                                 * NAME"; it is on the bridge. */
    struct smap missing;        /* The same; it is not. */
};

void bound_init(struct bound *);
void bound_destroy(struct bound *);
void bound_swap(struct bound *, struct bound *);

/* The tenant as the bridge has it: its endpoints with what interfaces say of
 * them, and those of the node whose interface the bridge lacks without one.
 * It is 'tenant' itself or, in 'arena', shares with it.  Fills 'bound'.  Adds
 * an error to 'diags' for an interface that says what cannot be. */
const struct intent_tenant *bind_tenant(const struct intent_tenant *tenant,
                                        const struct site *, struct arena *,
                                        struct bound *, struct diags *);

/* Gives 'whole', a copy of 'intent' otherwise, the externals as the bridge has
 * them: without the attachments of the node whose interface it lacks. */
void bind_externals(const struct intent *, const struct site *, struct arena *,
                    struct bound *, struct intent *whole);

/* Would it be another now? */
bool bound_has_changed(const struct bound *, const struct site *);

/* Adds the name and "(INTERFACE)" of each that is missing. */
void bound_missing(const struct bound *, struct arena *, plan_names *);

#endif /* agent/bind.h */
