/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "sema/policy.h"

/* Is every label of 's' on the endpoint? */
static bool
labels_match(const struct intent_selector *s,
             const struct intent_endpoint *endpoint)
{
    for (size_t i = 0; i < s->label_names.n; i++) {
        bool found = false;

        for (size_t j = 0; j < endpoint->label_names.n && !found; j++) {
            found = (!strcmp(s->label_names.v[i].s,
                             endpoint->label_names.v[j].s)
                     && !strcmp(s->label_values.v[i].s,
                                endpoint->label_values.v[j].s));
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool
selector_matches(const struct intent_selector *s,
                 const struct policy_endpoint *e)
{
    return ((!s->tenant.s || !strcmp(s->tenant.s, e->tenant->name))
            && (!s->network.s
                || !strcmp(s->network.s, e->network->intent->name.s))
            && (!s->endpoint.s
                || !strcmp(s->endpoint.s, e->intent->name.s))
            && labels_match(s, e->intent));
}
