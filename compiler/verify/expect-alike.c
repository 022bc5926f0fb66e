/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Endpoints that all rules treat alike, so that what is expected of one is
 * expected of all. */

#include <stdlib.h>
#include <string.h>

#include "sema/meaning-endpoint.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"
#include "verify/scope.h"

VEC_TYPEDEF(side_vec, uint32_t);

size_t
judge_tenant(const struct judge *j, const struct policy_tenant *tenant)
{
    return scope_number(j->policy, tenant);
}

static void
add_sides(struct judge *j, side_vec *sides, const endpoint_vec *endpoints,
          uint32_t side)
{
    for (size_t i = 0; i < endpoints->n; i++) {
        *vec_push(j->arena, &sides[endpoints->v[i]->index]) = side;
    }
}

/* Of what it depends how packets of an endpoint are judged and paid for. */
struct sending {
    const struct policy_network *network;
    const struct intent_node *node;
    const struct policy_endpoint *paying;   /* By itself; or NULL. */
    uint32_t alike, bound;
};

static void
number_senders(struct judge *j, size_t n)
{
    const struct policy *policy = j->policy;
    struct pool pool;

    pool_init(&pool);
    j->sending = arena_zalloc(j->arena, (n + 1) * sizeof *j->sending);
    j->senders = arena_zalloc(j->arena, (n + 1) * sizeof *j->senders);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];
            struct sending s = {
                e->network, e->node, e->intent->send.limit.at ? e : NULL,
                j->alike[e->index], e->bound,
            };
            uint32_t id = pool_add(&pool, &s, sizeof s);

            j->sending[e->index] = id;
            j->senders[id].v[j->senders[id].v[0] != NULL] = e;
        }
    }
    pool_destroy(&pool);
}

void
judge_init_alike(struct judge *j)
{
    const struct policy *policy = j->policy;
    struct pool pool;
    side_vec *sides;
    size_t n = 0;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        n += policy->tenants.v[i]->endpoints.n;
    }
    sides = arena_zalloc(j->arena, (n + 1) * sizeof *sides);
    j->alike = arena_zalloc(j->arena, (n + 1) * sizeof *j->alike);
    for (size_t i = 0; i < policy->rules.n; i++) {
        add_sides(j, sides, &policy->rules.v[i]->from, 2 * i);
        add_sides(j, sides, &policy->rules.v[i]->to, 2 * i + 1);
    }
    pool_init(&pool);
    for (size_t i = 0; i < n; i++) {
        j->alike[i] = pool_add(&pool, sides[i].n ? (void *) sides[i].v : "",
                               sides[i].n * sizeof *sides[i].v);
    }
    pool_destroy(&pool);
    number_senders(j, n);
    j->reached = arena_zalloc(j->arena, (policy->tenants.n + 1)
                              * sizeof *j->reached);
    memo_init(&j->verdicts);
    memo_init(&j->connections);
    memo_init(&j->between);
    memo_init(&j->passed);
    memo_init(&j->answers);
}

void
judge_destroy_alike(struct judge *j)
{
    memo_destroy(&j->verdicts);
    memo_destroy(&j->connections);
    memo_destroy(&j->between);
    memo_destroy(&j->passed);
    memo_destroy(&j->answers);
}

uint32_t
judge_alike(const struct judge *j, const struct policy_endpoint *e)
{
    return j->alike[e->index];
}

uint32_t
judge_sending(const struct judge *j, const struct policy_endpoint *e)
{
    return j->sending[e->index];
}

const struct policy_endpoint *
judge_sender(const struct judge *j, const struct policy_endpoint *from,
             const struct policy_endpoint *to)
{
    const struct senders *alike = &j->senders[j->sending[from->index]];

    return (from == to ? from : alike->v[0] == to ? alike->v[1]
            : alike->v[0]);
}

const struct policy_endpoint *
judge_any_of(const struct policy_endpoint *e)
{
    return e ? e->tenant->endpoints.v[0] : NULL;
}

/* Does a peering of the tenant name the endpoint? */
static bool
may_join(const struct judge *j, const struct policy_tenant *tenant,
         const struct policy_endpoint *e)
{
    const rule_vec *rules = &j->of_tenants[judge_tenant(j, tenant)];

    for (size_t i = 0; i < rules->n; i++) {
        if (rules->v[i]->kind == RULE_PEERING
            && (endpoint_is_in(e, &rules->v[i]->from)
                || endpoint_is_in(e, &rules->v[i]->to))) {
            return true;
        }
    }
    return e->tenant == tenant;
}

bool
judge_joins(const struct judge *j, const struct meaning_question *q,
            const struct policy_tenant *tenant,
            const struct policy_endpoint *e)
{
    return (may_join(j, tenant, e)
            && gateways_join(j->policy, q, tenant, e));
}

const endpoint_vec *
judge_reached(struct judge *j, const struct origin *s)
{
    const struct policy_tenant *tenant = s->q.from->tenant;
    const struct policy *policy = j->policy;
    endpoint_vec **reached = &j->reached[judge_tenant(j, tenant)];

    if (*reached) {
        return *reached;
    }
    *reached = arena_zalloc(j->arena, sizeof **reached);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *to
                = policy->tenants.v[i]->endpoints.v[k];

            if (endpoint_is_reached(policy, &s->q, to)
                && judge_joins(j, &s->q, tenant, to)) {
                *vec_push(j->arena, *reached) = to;
            }
        }
    }
    return *reached;
}
