/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/ovn/emit.h"

#include <string.h>

#include "hash.h"
#include "util.h"

static struct ovn_group *
find_group(const struct emitter *e, const void *of)
{
    struct ovn_group *group;

    HMAP_FOR_EACH_WITH_HASH (group, node, hash_pointer(of, 0),
                             &e->by_origin) {
        if (group->of == of) {
            return group;
        }
    }
    return NULL;
}

static struct ovn_group *
add_group(struct emitter *e, const void *of, const struct ir_tenant *tenant,
          const char *name)
{
    struct ovn_group *group = arena_zalloc(e->plan->arena, sizeof *group);

    group->of = of;
    group->tenant = tenant;
    group->name = name;
    hmap_insert(&e->by_origin, &group->node, hash_pointer(of, 0));
    return group;
}

static void
add_member(struct emitter *e, struct ovn_group *group,
           const struct ir_endpoint *endpoint)
{
    *vec_push(e->plan->arena, &group->endpoints) = endpoint;
    for (size_t i = 0; i < endpoint->addresses.n; i++) {
        bool ip4 = IN6_IS_ADDR_V4MAPPED(&endpoint->addresses.v[i]);

        group->ip4 |= ip4;
        group->ip6 |= !ip4;
    }
}

/* Each tenant's endpoints stand together, and a group is called after its
 * first. */
static void
add_groups(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = e->prog->endpoints.v[i];
        const struct ir_tenant *tenant = endpoint->tenant;
        struct ovn_group *group = find_group(e, endpoint->group);

        if (!find_group(e, tenant)) {
            *vec_push(e->plan->arena, &e->tenants) = (struct ovn_tenant) {
                .tenant = tenant,
                .all = add_group(e, tenant, tenant,
                                 ovn_mangle(e, "tenant", tenant->name)),
                .first = e->groups.n,
            };
        }
        if (!group) {
            group = add_group(e, endpoint->group, tenant,
                              ovn_mangle(e, "group", endpoint->name));
            group->index = e->groups.n;
            *vec_push(e->plan->arena, &e->groups) = group;
            e->tenants.v[e->tenants.n - 1].n++;
        }
        add_member(e, group, endpoint);
        add_member(e, e->tenants.v[e->tenants.n - 1].all, endpoint);
    }
}

struct ovn_group *
ovn_group_of(const struct emitter *e, const struct ir_endpoint *endpoint)
{
    return find_group(e, endpoint->group);
}

struct ovn_tenant *
ovn_tenant(struct emitter *e, const struct ir_tenant *tenant)
{
    size_t low = 0, high = e->tenants.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        int cmp = strcmp(tenant->name, e->tenants.v[mid].tenant->name);

        if (!cmp) {
            return &e->tenants.v[mid];
        } else if (cmp < 0) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    OVS_NOT_REACHED();
}

/* Rules treat all of a group alike, so the first of it tells. */
static ovn_groups
side_groups(struct emitter *e, const struct ir_side *side)
{
    ovn_groups out = VEC_INIT;

    for (size_t i = 0; i < side->endpoints.n; i++) {
        const struct ir_endpoint *endpoint = side->endpoints.v[i];

        if (endpoint->group->first == endpoint) {
            *vec_push(e->plan->arena, &out) = ovn_group_of(e, endpoint);
        }
    }
    return out;
}

struct ovn_side
ovn_from(struct emitter *e, const struct ir_rule *rule)
{
    return (struct ovn_side) { rule, "from", side_groups(e, &rule->from) };
}

struct ovn_side
ovn_to(struct emitter *e, const struct ir_rule *rule)
{
    return (struct ovn_side) { rule, "to", side_groups(e, &rule->to) };
}

/* The number of groups from 'i' on that are of one tenant. */
static size_t
run_length(const ovn_groups *groups, size_t i)
{
    size_t n = 1;

    while (i + n < groups->n
           && groups->v[i + n]->tenant == groups->v[i]->tenant) {
        n++;
    }
    return n;
}

/* Each tenant of 'near' reaches all of 'far'. */
static void
join(struct emitter *e, const ovn_groups *near, const ovn_groups *far)
{
    for (size_t i = 0; i < near->n; i += run_length(near, i)) {
        struct ovn_tenant *tenant = ovn_tenant(e, near->v[i]->tenant);

        if (!tenant->joined) {
            tenant->joined = arena_zalloc(e->plan->arena, e->groups.n
                                          * sizeof *tenant->joined);
        }
        for (size_t j = 0; j < far->n; j++) {
            tenant->joined[far->v[j]->index] = true;
        }
    }
}

void
ovn_find_groups(struct emitter *e)
{
    add_groups(e);
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        const struct ir_rule *rule = e->prog->rules.v[i];

        if (rule->kind == RULE_PEERING) {
            ovn_groups from = side_groups(e, &rule->from);
            ovn_groups to = side_groups(e, &rule->to);

            join(e, &from, &to);
            join(e, &to, &from);
        }
    }
}

bool
ovn_reaches(const struct ovn_tenant *tenant, const struct ovn_group *group)
{
    return (tenant->tenant == group->tenant
            || (tenant->joined && tenant->joined[group->index]));
}

/* The same endpoints in as few groups as can be: whole tenants in one. */
static ovn_groups
compress(struct emitter *e, const ovn_groups *groups)
{
    ovn_groups out = VEC_INIT;

    for (size_t i = 0, n; i < groups->n; i += n) {
        const struct ovn_tenant *tenant = ovn_tenant(e, groups->v[i]->tenant);

        n = run_length(groups, i);
        if (n == tenant->n) {
            *vec_push(e->plan->arena, &out) = tenant->all;
        }
        for (size_t j = 0; n < tenant->n && j < n; j++) {
            *vec_push(e->plan->arena, &out) = groups->v[i + j];
        }
    }
    return out;
}

ovn_products
ovn_pair(struct emitter *e, const struct ovn_side *near,
         const struct ovn_side *far)
{
    ovn_groups nearest = compress(e, &near->groups);
    ovn_products products = VEC_INIT;

    for (size_t i = 0, n; i < nearest.n; i += n) {
        const struct ovn_tenant *tenant = ovn_tenant(e, nearest.v[i]->tenant);
        ovn_groups reached = VEC_INIT;

        for (size_t j = 0; j < far->groups.n; j++) {
            if (ovn_reaches(tenant, far->groups.v[j])) {
                *vec_push(e->plan->arena, &reached) = far->groups.v[j];
            }
        }
        reached = compress(e, &reached);
        n = run_length(&nearest, i);
        for (size_t j = 0; reached.n && j < n; j++) {
            *vec_push(e->plan->arena, &products) = (struct ovn_product) {
                nearest.v[i + j], reached, far,
            };
        }
    }
    return products;
}
