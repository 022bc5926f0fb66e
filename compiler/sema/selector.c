/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "sema/policy.h"

static bool
is_one_of(const text_vec *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (!strcmp(names->v[i].s, name)) {
            return true;
        }
    }
    return false;
}

/* Is every label of 's' on the endpoint, with one of its values? */
static bool
labels_match(const struct intent_selector *s,
             const struct intent_endpoint *endpoint)
{
    for (size_t i = 0; i < s->labels.n; i++) {
        const struct intent_label *label = &s->labels.v[i];
        bool found = false;

        for (size_t j = 0; j < endpoint->label_names.n && !found; j++) {
            found = (!strcmp(label->name.s, endpoint->label_names.v[j].s)
                     && is_one_of(&label->values,
                                  endpoint->label_values.v[j].s));
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Has the endpoint an address in one of the ranges? */
static bool
has_address_in(const address_vec *cidrs,
               const struct intent_endpoint *endpoint)
{
    for (size_t i = 0; i < cidrs->n; i++) {
        for (size_t j = 0; j < endpoint->addresses.n; j++) {
            if (subnet_holds(&cidrs->v[i], &endpoint->addresses.v[j].ip)) {
                return true;
            }
        }
    }
    return false;
}

static bool
is_excepted(const selector_vec *except, const struct policy_endpoint *e)
{
    for (size_t i = 0; i < except->n; i++) {
        if (selector_matches(&except->v[i], e)) {
            return true;
        }
    }
    return false;
}

bool
selector_matches(const struct intent_selector *s,
                 const struct policy_endpoint *e)
{
    return ((!s->tenant.s || !strcmp(s->tenant.s, POLICY_EVERY_TENANT)
             || !strcmp(s->tenant.s, e->tenant->name))
            && (!s->networks.n
                || is_one_of(&s->networks, e->network->intent->name.s))
            && (!s->endpoints.n
                || is_one_of(&s->endpoints, e->intent->name.s))
            && labels_match(s, e->intent)
            && (!s->cidrs.n || has_address_in(&s->cidrs, e->intent))
            && !is_excepted(&s->except, e));
}
