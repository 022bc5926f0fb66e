/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/prove.h"

#include <stdlib.h>
#include <string.h>

#include "plan/prove.h"
#include "resident/joins.h"
#include "resident/meant.h"
#include "resident/resident.h"
#include "sema/policy.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"
#include "verify/base.h"

enum {
    FEW_ENDPOINTS = 40,         /* All packets of so many take a fraction of
                                 * what a process does. */
};

struct proved {
    struct arena *arena;
    struct table_set tables;
    struct ofputil_port_map ports;
    struct verify_base *base;
    char *node;
    struct joins joins;
    struct meant *meant;        /* When all was proved; or NULL. */
    struct sset left;           /* See proved_left(). */

    /* Of the proof that has begun. */
    struct arena *begun;        /* NULL: none has. */
    struct arena *compiled;     /* Holds 'policy', if it was taken; or NULL. */
    const struct policy *policy;        /* NULL: all is to be proved. */
    struct meant *means;        /* What that says, ... */
    struct verify_news news;    /* ... and of it is new. */
};

/* Do tenants share an uplink by trees of meters? */
static bool
has_trees(const struct policy *policy)
{
    size_t n = 0;

    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        n += policy->intent->nodes.v[i].uplinks.n;
    }
    for (size_t i = 0; i < n; i++) {
        if (policy->trees[0][i] || policy->trees[1][i]) {
            return true;
        }
    }
    return false;
}

struct proved *
proved_create(const struct policy *policy, const struct plan *plan)
{
    struct proved *p = xzalloc(sizeof *p);
    struct verify_task task = { .policy = policy, .node = plan->node };

    p->arena = arena_create();
    p->node = xstrdup(plan->node);
    ofputil_port_map_init(&p->ports);
    sset_init(&p->left);
    joins_init(&p->joins, policy->intent);
    joins_update(&p->joins, policy->intent, NULL);
    if (!p->joins.all && !has_trees(policy)
        && !plan_to_task(plan, &task, &p->tables, &p->ports, p->arena)) {
        p->base = verify_base_create(&task);
        p->meant = meant_create(policy);
    }
    if (!p->base) {
        proved_destroy(p);
        return NULL;
    }
    return p;
}

/* Forgets the proof that has begun. */
static void
end_begun(struct proved *p)
{
    meant_destroy(p->means);
    arena_destroy(p->begun);
    arena_destroy(p->compiled);
    p->means = NULL;
    p->begun = NULL;
    p->compiled = NULL;
    p->policy = NULL;
}

void
proved_destroy(struct proved *p)
{
    if (p) {
        verify_base_destroy(p->base);
        table_set_destroy(&p->tables);
        ofputil_port_map_destroy(&p->ports);
        arena_destroy(p->arena);
        joins_destroy(&p->joins);
        sset_destroy(&p->left);
        meant_destroy(p->meant);
        end_begun(p);
        free(p->node);
        free(p);
    }
}

static void
change_ports(struct proved *p, const struct intent_tenant *tenant)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct intent_endpoint *e = &tenant->endpoints.v[i];

        if (e->interface.s && e->node.s && !strcmp(e->node.s, p->node)) {
            verify_base_port(p->base, tenant->name.s, e->interface.s);
        }
    }
}

/* Of whom something else may be meant: who is joined with the tenant now, or
 * was by 'before', which says of each what joins_root() said. */
static void
change_meaning(struct proved *p, const size_t before[], const char *tenant)
{
    const struct joins *j = &p->joins;
    size_t number = joins_number(j, tenant);

    for (size_t i = 1; i <= j->n && number; i++) {
        if (joins_root(j, i) == joins_root(j, number)
            || before[i] == before[number]) {
            verify_base_tenant(p->base, j->intent->tenants.v[i - 1].name.s);
        }
    }
    if (number) {
        change_ports(p, &j->intent->tenants.v[number - 1]);
    } else {
        verify_base_lose(p->base, "a tenant has gone");
    }
}

/* The text of a flow, for as long as 'arena' is there. */
static const char *
flow_text(const struct plan_flow *flow, struct arena *arena)
{
    struct plan plan = { .arena = arena };

    return plan_flow_string(&plan, flow);
}

static void
change_flows(struct proved *p, const plan_flows *flows, bool there,
             struct arena *arena)
{
    for (size_t i = 0; i < flows->n; i++) {
        const char *text = flow_text(flows->v[i], arena);

        if (there) {
            verify_base_add(p->base, text);
        } else {
            verify_base_remove(p->base, text);
        }
    }
}

void
proved_change(struct proved *p, const struct intent *intent,
              const struct resident_diff *diff)
{
    struct arena *arena = arena_create();
    size_t *before = joins_list_roots(&p->joins);

    if (!joins_update(&p->joins, intent, diff->tenant)) {
        verify_base_lose(p->base, "tenants have come or gone");
    } else if (p->joins.all) {
        verify_base_lose(p->base, "something is said of all tenants");
    } else if (diff->tenant) {
        change_meaning(p, before, diff->tenant);
    }
    free(before);
    change_flows(p, &diff->deleted, false, arena);
    change_flows(p, &diff->changed, false, arena);
    change_flows(p, &diff->added, true, arena);
    change_flows(p, &diff->changed, true, arena);
    for (size_t i = 0; i < diff->meters_deleted.n; i++) {
        verify_base_meter(p->base, diff->meters_deleted.v[i]->id, false);
    }
    for (size_t i = 0; i < diff->meters_added.n; i++) {
        verify_base_meter(p->base, diff->meters_added.v[i]->id, true);
    }
    arena_destroy(arena);
}

const char *
proved_lost(const struct proved *p)
{
    return verify_base_lost(p->base);
}

/* Does the peering name one of the tenants? */
static bool
names_one(const selector_vec *selectors, const struct sset *there)
{
    for (size_t i = 0; i < selectors->n; i++) {
        const char *name = selectors->v[i].tenant.s;

        if (name && sset_contains(there, name)) {
            return true;
        }
    }
    return false;
}

/* The tenant, or if that is NULL those that are asked about, and all that are
 * joined with them. */
static void
find_there(const struct proved *p, const struct intent *whole,
           const char *tenant, struct intent *slice, struct arena *arena,
           struct sset *there)
{
    const struct joins *j = &p->joins;
    bool *roots = xcalloc(j->n + 1, sizeof *roots);
    const char *name;

    if (tenant) {
        roots[joins_root(j, joins_number(j, tenant))] = true;
    }
    for (size_t i = 0;
         !tenant && (name = verify_base_asked(p->base, &i)); ) {
        roots[joins_root(j, joins_number(j, name))] = true;
    }
    for (size_t i = 1; i <= j->n; i++) {
        if (roots[joins_root(j, i)]) {
            *vec_push(arena, &slice->tenants) = whole->tenants.v[i - 1];
            sset_add(there, whole->tenants.v[i - 1].name.s);
        }
    }
    free(roots);
}

/* The intent of these. */
static const struct intent *
slice(const struct proved *p, const struct intent *whole,
      const char *tenant, struct arena *arena)
{
    struct intent *slice = arena_zalloc(arena, sizeof *slice);
    struct sset there = SSET_INITIALIZER(&there);

    slice->encapsulation = whole->encapsulation;
    slice->nodes = whole->nodes;
    slice->classes = whole->classes;
    slice->services = whole->services;
    find_there(p, whole, tenant, slice, arena, &there);
    for (size_t i = 0; i < whole->peerings.n; i++) {
        const struct intent_rule *peering = &whole->peerings.v[i];

        if (names_one(&peering->from, &there)
            || names_one(&peering->to, &there)) {
            *vec_push(arena, &slice->peerings) = *peering;
        }
    }
    sset_destroy(&there);
    return slice;
}

/* Are both the intent of the same one tenant, and of nothing that joins it
 * with others? */
static bool
are_of_one(const struct intent *a, const struct intent *b)
{
    const struct intent_tenant *t = a->tenants.v, *u = b->tenants.v;

    return (a->tenants.n == 1 && b->tenants.n == 1
            && t->name.s == u->name.s && t->endpoints.v == u->endpoints.v
            && t->networks.v == u->networks.v && t->rules.v == u->rules.v
            && a->nodes.v == b->nodes.v && a->classes.v == b->classes.v
            && a->services.v == b->services.v
            && !a->peerings.n && !b->peerings.n);
}

/* The policy of those that are asked about: what they were compiled from, if
 * that is the last that was compiled. */
static const struct policy *
find_policy(struct proved *p, struct resident *r)
{
    const struct intent *of = slice(p, resident_intent(r, p->begun), NULL,
                                    p->begun);
    const struct policy *policy = resident_take_policy(r, &p->compiled);

    if (!policy || !are_of_one(policy->intent, of)) {
        policy = policy_resolve_checked(of, p->begun);
    }
    return policy && !has_trees(policy) ? policy : NULL;
}

void
proved_begin(struct proved *p, struct resident *r)
{
    end_begun(p);
    verify_base_begin(p->base);
    if (p->joins.all || proved_lost(p)) {
        verify_base_means_else(p->base);
        return;
    }
    p->begun = arena_create();
    p->policy = find_policy(p, r);
    if (p->policy) {
        p->means = meant_compare(p->meant, p->policy, p->begun, &p->news);
    }
    if (!p->policy || !p->news.known) {
        verify_base_means_else(p->base);
    }
}

void
proved_end(struct proved *p, bool proved)
{
    verify_base_end(p->base, proved);
    if (proved && p->means && p->meant) {
        meant_take_over(p->meant, p->means);
        p->means = NULL;
    } else if (proved) {        /* What others mean is not known any more. */
        meant_destroy(p->meant);
        p->meant = p->means;
        p->means = NULL;
    }
    end_begun(p);
}

/* Do they have so few endpoints that all of their packets take little? */
static bool
has_few(const struct policy *policy)
{
    return policy && policy_n_endpoints(policy) <= FEW_ENDPOINTS;
}

/* Makes what proofs of changes of the tenant can use, or leaves that to
 * another process if it has many endpoints and there is a limit of time. */
static void
prepare(struct proved *p, const struct intent *intent, const char *tenant,
        int time_ms)
{
    struct verify_task task = {
        .node = p->node, .deadline = time_ms ? time_msec() + time_ms : 0,
    };
    struct arena *arena = arena_create();
    bool leaves;

    task.policy = policy_resolve_checked(slice(p, intent, tenant, arena),
                                         arena);
    leaves = !task.policy || (time_ms && !has_few(task.policy));
    if (leaves && task.policy && task.policy->tenants.n == 1) {
        sset_add(&p->left, tenant);
    } else {
        sset_find_and_delete(&p->left, tenant);
    }
    verify_base_try_seam(p->base, leaves ? NULL : &task, tenant, arena);
    arena_destroy(arena);
}

bool
proved_prepare(struct proved *p, const struct intent *intent, int time_ms)
{
    const char *tenant = (p->joins.all || p->begun ? NULL
                          : verify_base_seamless(p->base));

    if (tenant) {
        prepare(p, intent, tenant, time_ms);
    }
    return tenant != NULL;
}

const char *
proved_left(const struct proved *p)
{
    return (p->joins.all || p->begun || !verify_base_is_proved(p->base)
            || sset_is_empty(&p->left) ? NULL : SSET_FIRST(&p->left));
}

void
proved_prepare_left(struct proved *p, const struct intent *intent,
                    const char *tenant, struct ds *ds)
{
    prepare(p, intent, tenant, 0);
    verify_base_put_seam(p->base, tenant, ds);
}

bool
proved_take(struct proved *p, const char *tenant, const char *text, size_t n)
{
    sset_find_and_delete(&p->left, tenant);
    return (!p->joins.all && !p->begun
            && verify_base_take_seam(p->base, tenant, text, n));
}

static bool
prove(const struct proved *p, bool packets, int time_ms,
      struct proved_count *count)
{
    struct verify_task task = {
        .policy = p->policy, .node = p->node,
        .deadline = time_ms ? time_msec() + time_ms : 0,
    };
    struct arena *arena = arena_create();
    struct verify_result result;
    bool ok = (p->policy && !proved_lost(p)
               && verify_change(p->base, &task, &p->news, packets, arena,
                                &result));

    *count = (struct proved_count) {
        ok ? result.n_tenants : 0, verify_base_n_tenants(p->base),
        ok && result.seam, ok && result.symmetry,
    };
    arena_destroy(arena);
    return ok;
}

bool
proved_prove_packets(const struct proved *p, int time_ms,
                     struct proved_count *count)
{
    return prove(p, true, time_ms, count);
}

bool
proved_prove_soon(const struct proved *p, int time_ms,
                  struct proved_count *count)
{
    long long int start = time_msec();

    if (prove(p, true, time_ms, count)) {
        return true;
    } else if (time_ms) {
        time_ms -= time_msec() - start;
        if (time_ms <= 0) {
            return false;
        }
    }
    return has_few(p->policy) && prove(p, false, time_ms, count);
}

bool
proved_prove(const struct proved *p, int time_ms, struct proved_count *count)
{
    return prove(p, false, time_ms, count);
}
