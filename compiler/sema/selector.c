/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "sema/policy.h"

const struct policy_endpoint *
tenant_endpoint(const struct policy_tenant *tenant, const char *name)
{
    size_t low = 0, high = tenant->endpoints.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct policy_endpoint *e = tenant->endpoints.v[mid];
        int order = strcmp(name, e->intent->name.s);

        if (!order) {
            return e;
        } else if (order < 0) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return NULL;
}

const struct text *
label_value(const struct intent_endpoint *endpoint, const char *label)
{
    for (size_t i = 0; i < endpoint->label_names.n; i++) {
        if (!strcmp(endpoint->label_names.v[i].s, label)) {
            return &endpoint->label_values.v[i];
        }
    }
    return NULL;
}

/* Is every label of 's' on the endpoint, with one of its values? */
static bool
labels_match(const struct intent_selector *s,
             const struct intent_endpoint *endpoint)
{
    for (size_t i = 0; i < s->labels.n; i++) {
        const struct intent_label *label = &s->labels.v[i];
        const struct text *value = label_value(endpoint, label->name.s);

        if (!value || !texts_hold(&label->values, value->s)) {
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
                || texts_hold(&s->networks, e->network->intent->name.s))
            && (!s->endpoints.n
                || texts_hold(&s->endpoints, e->intent->name.s))
            && labels_match(s, e->intent)
            && (!s->cidrs.n || has_address_in(&s->cidrs, e->intent))
            && !is_excepted(&s->except, e));
}
