/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/scope.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/compare.h"

/* Tenants are sorted by name. */
size_t
scope_find(const struct policy *policy, const char *name)
{
    size_t first = 0, n = policy->tenants.n;

    while (n > 0) {
        size_t half = n / 2;
        int order = strcmp(name, policy->tenants.v[first + half]->name);

        if (!order) {
            return first + half;
        } else if (order > 0) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return policy->tenants.n;
}

size_t
scope_number(const struct policy *policy, const struct policy_tenant *tenant)
{
    return (policy->tenants.n && policy->tenants.v[0] == tenant ? 0
            : scope_find(policy, tenant->name));
}

static void
add_endpoints(const struct policy *policy, const endpoint_vec *endpoints,
              unsigned long set[])
{
    const struct policy_tenant *last = NULL;

    for (size_t i = 0; i < endpoints->n; i++) {
        if (endpoints->v[i]->tenant != last) {
            last = endpoints->v[i]->tenant;
            bitmap_set1(set, scope_number(policy, last));
        }
    }
}

static void
add_tenants(const struct policy *policy, const tenant_vec *tenants,
            unsigned long set[])
{
    for (size_t i = 0; i < tenants->n; i++) {
        bitmap_set1(set, scope_number(policy, tenants->v[i]));
    }
}

/* The tenants that a rule names. */
static void
find_named(const struct policy *policy, const struct policy_rule *rule,
           unsigned long set[])
{
    if (rule->tenant) {
        bitmap_set1(set, scope_number(policy, rule->tenant));
    }
    add_endpoints(policy, &rule->from, set);
    add_endpoints(policy, &rule->to, set);
    add_tenants(policy, &rule->from_tenants, set);
    add_tenants(policy, &rule->to_tenants, set);
    if (rule->from_every || rule->to_every) {
        bitmap_set_multiple(set, 0, policy->tenants.n, true);
    }
}

static unsigned long *
set_of(const struct neighbors *neighbors, size_t tenant)
{
    return neighbors->v + tenant * neighbors->n_longs;
}

const unsigned long *
neighbors_of(const struct neighbors *neighbors, size_t tenant)
{
    return set_of(neighbors, tenant);
}

static void
add_peers(struct neighbors *neighbors, const struct policy *policy, size_t i)
{
    const text_vec *peers = &policy->tenants.v[i]->intent->peers;

    bitmap_set1(set_of(neighbors, i), i);
    for (size_t k = 0; k < peers->n; k++) {
        size_t peer = scope_find(policy, peers->v[k].s);

        if (peer < neighbors->n) {
            bitmap_set1(set_of(neighbors, i), peer);
            bitmap_set1(set_of(neighbors, peer), i);
        }
    }
}

void
neighbors_init(struct neighbors *neighbors, const struct policy *policy)
{
    size_t n = policy->tenants.n, tenant;
    unsigned long *set;

    neighbors->n = n;
    neighbors->n_longs = bitmap_n_longs(n + 1);
    neighbors->v = xcalloc((n + 1) * neighbors->n_longs,
                           sizeof *neighbors->v);
    set = set_of(neighbors, n);
    for (size_t i = 0; i < n; i++) {
        add_peers(neighbors, policy, i);
    }
    for (size_t i = 0; n > 1 && i < policy->rules.n; i++) {
        memset(set, 0, neighbors->n_longs * sizeof *set);
        find_named(policy, policy->rules.v[i], set);
        BITMAP_FOR_EACH_1 (tenant, n, set) {
            bitmap_or(set_of(neighbors, tenant), set, n);
        }
    }
}

void
neighbors_destroy(struct neighbors *neighbors)
{
    free(neighbors->v);
}

/* Does the flow send packets to ports of 'tenants', or to who knows which? */
static bool
sends_to(const struct table_flow *flow, const unsigned long ports[])
{
    const struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_OUTPUT) {
            ofp_port_t port = ofpact_get_OUTPUT(a)->port;

            if (port != OFPP_IN_PORT
                && (ofp_to_u16(port) >= ofp_to_u16(OFPP_MAX)
                    || bitmap_is_set(ports, ofp_to_u16(port)))) {
                return true;
            }
        }
    }
    return false;
}

/* The ports of 'tenants'. */
static unsigned long *
find_ports(const struct verify_task *task, const bool tenants[])
{
    unsigned long *ports = bitmap_allocate(UINT16_MAX + 1);
    const struct policy *policy = task->policy;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t k = 0; tenants[i] && k < tenant->endpoints.n; k++) {
            const struct policy_endpoint *e = tenant->endpoints.v[k];

            if (e->bound && !strcmp(e->node->name.s, task->node)) {
                bitmap_set1(ports, ofp_to_u16(table_set_port(
                    task->tables, e->intent->interface.s)));
            }
        }
    }
    return ports;
}

void
verify_widen(const struct verify_task *task, bool tenants[])
{
    size_t n = task->policy->tenants.n, tenant;
    struct slices *slices = slices_create(task);
    unsigned long *ports = find_ports(task, tenants);
    unsigned long *wider = bitmap_allocate(n);
    struct neighbors neighbors;

    neighbors_init(&neighbors, task->policy);
    for (size_t i = 0; i < n; i++) {
        if (tenants[i]) {
            bitmap_or(wider, neighbors_of(&neighbors, i), n);
        }
    }
    for (size_t i = 0; slices && i < task->tables->flows.n; i++) {
        const struct table_flow *flow = task->tables->flows.v[i];

        if (sends_to(flow, ports)) {
            bitmap_or(wider, slices_of(slices, flow), n);
        }
    }
    BITMAP_FOR_EACH_1 (tenant, n, wider) {
        tenants[tenant] = true;
    }
    neighbors_destroy(&neighbors);
    free(wider);
    free(ports);
    slices_destroy(slices);
}

bool
limits_are_crossed(const struct limits *l, const struct comparison *c)
{
    struct usage *usage;
    bool crossed = false;

    HMAP_FOR_EACH (usage, node, &c->usages) {
        for (const struct usage *u = usage;
             u && usage_is_exclusive(u); u = u->next) {
            crossed |= (u->kind == USE_ZONE || u->kind == USE_MARK
                        ? slices_hold(l->slices, u->kind == USE_ZONE
                                      ? F_CT_ZONE : F_CT_MARK, u->value,
                                      l->others)
                        : slices_call(l->slices, u->value, l->others));
        }
    }
    return crossed;
}
