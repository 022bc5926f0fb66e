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

#include "bitmap.h"
#include "sema/meaning-endpoint.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"
#include "verify/scope.h"

size_t
judge_tenant(const struct judge *j, const struct policy_tenant *tenant)
{
    return scope_number(j->policy, tenant);
}

static void
add_rule(struct judge_facts *facts, const struct policy_tenant *tenant,
         const struct policy_rule *rule)
{
    size_t number = scope_number(facts->policy, tenant);
    rule_vec *rules = &facts->of_tenants[number];

    if (!rules->n || rules->v[rules->n - 1] != rule) {
        *vec_push(facts->arena, rules) = rule;
    }
}

static void
add_rule_of(struct judge_facts *facts, const endpoint_vec *endpoints,
            const struct policy_rule *rule)
{
    const struct policy_tenant *last = NULL;

    for (size_t i = 0; i < endpoints->n; i++) {
        if (endpoints->v[i]->tenant != last) {
            last = endpoints->v[i]->tenant;
            add_rule(facts, last, rule);
        }
    }
}

static void
add_rules(struct judge_facts *facts)
{
    const struct policy *policy = facts->policy;

    facts->of_tenants = arena_zalloc(facts->arena, (policy->tenants.n + 1)
                                     * sizeof *facts->of_tenants);
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->tenant) {
            add_rule(facts, rule->tenant, rule);
        }
        add_rule_of(facts, &rule->from, rule);
        add_rule_of(facts, &rule->to, rule);
    }
}

static void
add_sides(struct judge_facts *facts, side_vec *sides,
          const endpoint_vec *endpoints, uint32_t side)
{
    for (size_t i = 0; i < endpoints->n; i++) {
        *vec_push(facts->arena, &sides[endpoints->v[i]->index]) = side;
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
number_senders(struct judge_facts *facts, size_t n)
{
    const struct policy *policy = facts->policy;
    struct pool pool;

    pool_init(&pool);
    facts->sending = arena_zalloc(facts->arena,
                                  (n + 1) * sizeof *facts->sending);
    facts->senders = arena_zalloc(facts->arena,
                                  (n + 1) * sizeof *facts->senders);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];
            struct sending s = {
                e->network, e->node, e->intent->send.limit.at ? e : NULL,
                facts->alike[e->index], e->bound,
            };
            uint32_t id = pool_add(&pool, &s, sizeof s);

            facts->sending[e->index] = id;
            facts->senders[id].v[facts->senders[id].v[0] != NULL] = e;
        }
    }
    pool_destroy(&pool);
}

static void
number_alike(struct judge_facts *facts)
{
    const struct policy *policy = facts->policy;
    size_t n = policy_n_endpoints(policy);
    struct pool pool;
    side_vec *sides;

    sides = arena_zalloc(facts->arena, (n + 1) * sizeof *sides);
    facts->sides = sides;
    facts->alike = arena_zalloc(facts->arena, (n + 1) * sizeof *facts->alike);
    for (size_t i = 0; i < policy->rules.n; i++) {
        add_sides(facts, sides, &policy->rules.v[i]->from, 2 * i);
        add_sides(facts, sides, &policy->rules.v[i]->to, 2 * i + 1);
    }
    pool_init(&pool);
    for (size_t i = 0; i < n; i++) {
        const side_vec *of = &sides[i];

        facts->alike[i] = pool_add(&pool, of->n ? (void *) of->v : "",
                                   of->n * sizeof *of->v);
    }
    pool_destroy(&pool);
    number_senders(facts, n);
}

struct judge_facts *
judge_facts_create(const struct policy *policy, const char *node,
                   struct arena *arena)
{
    struct judge_facts *facts = arena_zalloc(arena, sizeof *facts);

    facts->policy = policy;
    facts->node = node;
    facts->arena = arena;
    add_rules(facts);
    number_alike(facts);
    facts->reached = arena_zalloc(arena, (policy->tenants.n + 1)
                                  * sizeof *facts->reached);
    return facts;
}

/* Which sides of the rule the endpoint is on, as 1-bits; goes past it. */
static unsigned int
next_sides(const side_vec *sides, size_t *i, size_t rule)
{
    unsigned int on = 0;

    for (; *i < sides->n && sides->v[*i] / 2 == rule; ++*i) {
        on |= 1u << sides->v[*i] % 2;
    }
    return on;
}

size_t
judge_joining(const struct judge *j, const struct policy_endpoint *from,
              const struct policy_endpoint *to,
              const struct policy_rule *rules[])
{
    const side_vec *a = &j->facts->sides[from->index];
    const side_vec *b = &j->facts->sides[to->index];
    size_t n = 0;

    for (size_t i = 0, k = 0; i < a->n && k < b->n; ) {
        size_t rule = MIN(a->v[i], b->v[k]) / 2;
        unsigned int of_a = next_sides(a, &i, rule);
        unsigned int of_b = next_sides(b, &k, rule);

        if ((of_a & 1 && of_b & 2) || (of_a & 2 && of_b & 1)) {
            rules[n++] = j->policy->rules.v[rule];
        }
    }
    return n;
}

uint32_t
judge_alike(const struct judge *j, const struct policy_endpoint *e)
{
    return j->facts->alike[e->index];
}

uint32_t
judge_sending(const struct judge *j, const struct policy_endpoint *e)
{
    return j->facts->sending[e->index];
}

const struct policy_endpoint *
judge_sender(const struct judge *j, const struct policy_endpoint *from,
             const struct policy_endpoint *to)
{
    const struct senders *alike = &j->facts->senders[
        j->facts->sending[from->index]];

    /* Where tables are cut, numbers are of each sender by itself. */
    return (from == to || j->outcomes ? from
            : alike->v[0] == to ? alike->v[1]
            : alike->v[0]);
}

const struct policy_endpoint *
judge_other(const struct judge *j, const struct policy_endpoint *e)
{
    const struct senders *alike = &j->facts->senders[
        j->facts->sending[e->index]];

    return alike->v[0] == e ? alike->v[1] : alike->v[0];
}

const struct policy_endpoint *
judge_any_of(const struct policy_endpoint *e)
{
    return e ? e->tenant->endpoints.v[0] : NULL;
}

/* Adds the tenants whose endpoints peerings of 'tenant' name. */
static void
add_joined(const struct judge *j, const endpoint_vec *endpoints,
           unsigned long joined[])
{
    for (size_t i = 0; i < endpoints->n; i++) {
        bitmap_set1(joined, judge_tenant(j, endpoints->v[i]->tenant));
    }
}

/* The tenants of which gateways may join an endpoint with 'tenant', itself
 * too; to be freed. */
static unsigned long *
find_joined(const struct judge *j, const struct policy_tenant *tenant)
{
    size_t own = judge_tenant(j, tenant);
    const rule_vec *rules = &j->facts->of_tenants[own];
    unsigned long *joined = bitmap_allocate(j->policy->tenants.n);

    bitmap_set1(joined, own);
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->v[i]->kind == RULE_PEERING) {
            add_joined(j, &rules->v[i]->from, joined);
            add_joined(j, &rules->v[i]->to, joined);
        }
    }
    return joined;
}

/* Does a peering of the tenant name the endpoint? */
static bool
may_join(const struct judge *j, const struct policy_tenant *tenant,
         const struct policy_endpoint *e)
{
    const rule_vec *rules = &j->facts->of_tenants[judge_tenant(j, tenant)];

    if (e->tenant == tenant) {
        return true;
    }
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->v[i]->kind == RULE_PEERING
            && (endpoint_is_in(e, &rules->v[i]->from)
                || endpoint_is_in(e, &rules->v[i]->to))) {
            return true;
        }
    }
    return false;
}

bool
judge_joins(const struct judge *j, const struct meaning_question *q,
            const struct policy_tenant *tenant,
            const struct policy_endpoint *e)
{
    return (may_join(j, tenant, e)
            && gateways_join(j->policy, q, tenant, e));
}

/* Adds the endpoints of 'tenant' that 's' reaches so. */
static void
add_reached(struct judge *j, const struct origin *s,
            const struct policy_tenant *tenant, endpoint_vec *reached)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = tenant->endpoints.v[i];

        if (endpoint_is_reached(j->policy, &s->q, to)
            && judge_joins(j, &s->q, s->q.from->tenant, to)) {
            *vec_push(j->facts->arena, reached) = to;
        }
    }
}

const endpoint_vec *
judge_reached(struct judge *j, const struct origin *s)
{
    const struct policy_tenant *tenant = s->q.from->tenant;
    const struct policy *policy = j->policy;
    endpoint_vec **reached = &j->facts->reached[judge_tenant(j, tenant)];
    unsigned long *joined;
    size_t i;

    if (*reached) {
        return *reached;
    }
    *reached = arena_zalloc(j->facts->arena, sizeof **reached);
    joined = find_joined(j, tenant);
    BITMAP_FOR_EACH_1 (i, policy->tenants.n, joined) {
        add_reached(j, s, policy->tenants.v[i], *reached);
    }
    free(joined);
    return *reached;
}
