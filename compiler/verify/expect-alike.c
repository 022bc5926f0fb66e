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

/* The endpoints on a side of a rule, or of several. */
struct side_set {
    uint32_t number;
    const endpoint_vec *endpoints;
    tenant_vec tenants;         /* Theirs; one may be there again. */
    struct side_set *next;      /* Of the same key. */
};

/* Few sets that differ have one key, of which a hash takes far less than of
 * all endpoints. */
struct side_key {
    size_t n;
    const struct policy_endpoint *some[3];
};

struct side_sets {
    struct pool keys;
    VEC(struct side_set *) of_keys;
    VEC(struct side_set *) v;
};

static struct side_set *
create_set(struct judge_facts *facts, struct side_sets *sets,
           const endpoint_vec *endpoints)
{
    struct side_set *set = arena_zalloc(facts->arena, sizeof *set);
    const struct policy_tenant *last = NULL;

    set->number = sets->v.n;
    set->endpoints = endpoints;
    *vec_push(facts->arena, &sets->v) = set;
    for (size_t i = 0; i < endpoints->n; i++) {
        const struct policy_endpoint *e = endpoints->v[i];

        *vec_push(facts->arena, &facts->sets[e->index]) = set->number;
        if (e->tenant != last) {
            last = e->tenant;
            *vec_push(facts->arena, &set->tenants) = last;
        }
    }
    return set;
}

static const struct side_set *
find_set(struct judge_facts *facts, struct side_sets *sets,
         const endpoint_vec *endpoints)
{
    size_t n = endpoints->n;
    struct side_key key = { .n = n };
    struct side_set **first, *set;
    uint32_t number;

    if (n) {
        key.some[0] = endpoints->v[0];
        key.some[1] = endpoints->v[n / 2];
        key.some[2] = endpoints->v[n - 1];
    }
    number = pool_add(&sets->keys, &key, sizeof key);
    first = (number < sets->of_keys.n ? &sets->of_keys.v[number]
             : vec_push(facts->arena, &sets->of_keys));
    for (set = *first; set; set = set->next) {
        if (!n || !memcmp(set->endpoints->v, endpoints->v,
                          n * sizeof *endpoints->v)) {
            return set;
        }
    }
    set = create_set(facts, sets, endpoints);
    set->next = *first;
    *first = set;
    return set;
}

static void
add_rule(struct judge_facts *facts, const struct policy_tenant *tenant,
         const struct policy_rule *rule, struct rule_sides sides)
{
    size_t number = scope_number(facts->policy, tenant);
    rule_vec *rules = &facts->of_tenants[number];

    if (!rules->n || rules->v[rules->n - 1] != rule) {
        *vec_push(facts->arena, rules) = rule;
        *vec_push(facts->arena, &facts->sides[number]) = sides;
    }
}

static void
add_rule_of(struct judge_facts *facts, const tenant_vec *tenants,
            const struct policy_rule *rule, struct rule_sides sides)
{
    for (size_t i = 0; i < tenants->n; i++) {
        add_rule(facts, tenants->v[i], rule, sides);
    }
}

static void
add_rules(struct judge_facts *facts)
{
    const struct policy *policy = facts->policy;
    size_t n = policy->tenants.n;
    struct side_sets sets = { .v = VEC_INIT };

    pool_init(&sets.keys);
    facts->of_tenants = arena_zalloc(facts->arena,
                                     (n + 1) * sizeof *facts->of_tenants);
    facts->sides = arena_zalloc(facts->arena,
                                (n + 1) * sizeof *facts->sides);
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];
        const struct side_set *from = find_set(facts, &sets, &rule->from);
        const struct side_set *to = find_set(facts, &sets, &rule->to);
        struct rule_sides sides = { from->number, to->number };

        if (rule->tenant) {
            add_rule(facts, rule->tenant, rule, sides);
        }
        add_rule_of(facts, &from->tenants, rule, sides);
        add_rule_of(facts, &to->tenants, rule, sides);
    }
    facts->marks = arena_zalloc(facts->arena, sets.v.n + 1);
    pool_destroy(&sets.keys);
}

/* Of what it depends how packets of an endpoint are judged and paid for. */
struct sending {
    const struct policy_network *network;
    const struct intent_node *node;
    const struct policy_endpoint *paying;   /* By itself; or NULL. */
    uint32_t alike, bound;
};

static void
number_senders(struct judge_facts *facts)
{
    const struct policy *policy = facts->policy;
    size_t n = policy_n_endpoints(policy);
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

/* Of the number of each sender, once it is asked for. */
static const struct senders *
senders_of(const struct judge *j, const struct policy_endpoint *e)
{
    if (!j->facts->senders) {
        number_senders(j->facts);
    }
    return &j->facts->senders[j->facts->sending[e->index]];
}

static void
number_alike(struct judge_facts *facts, size_t n)
{
    struct pool pool;

    facts->alike = arena_zalloc(facts->arena, (n + 1) * sizeof *facts->alike);
    pool_init(&pool);
    for (size_t i = 0; i < n; i++) {
        const set_vec *of = &facts->sets[i];

        facts->alike[i] = pool_add(&pool, of->n ? (void *) of->v : "",
                                   of->n * sizeof *of->v);
    }
    pool_destroy(&pool);
}

struct judge_facts *
judge_facts_create(const struct policy *policy, const char *node,
                   struct arena *arena)
{
    struct judge_facts *facts = arena_zalloc(arena, sizeof *facts);
    size_t n = policy_n_endpoints(policy);

    facts->policy = policy;
    facts->node = node;
    facts->arena = arena;
    facts->sets = arena_zalloc(arena, (n + 1) * sizeof *facts->sets);
    add_rules(facts);
    number_alike(facts, n);
    facts->reached = arena_zalloc(arena, (policy->tenants.n + 1)
                                  * sizeof *facts->reached);
    return facts;
}

/* Sets these bits of the sets that the endpoint is in, or clears all. */
static void
mark_sets(struct judge_facts *facts, const struct policy_endpoint *e,
          uint8_t bits)
{
    const set_vec *sets = &facts->sets[e->index];

    for (size_t i = 0; i < sets->n; i++) {
        uint8_t *mark = &facts->marks[sets->v[i]];

        *mark = bits ? *mark | bits : 0;
    }
}

size_t
judge_joining(const struct judge *j, const struct policy_endpoint *from,
              const struct policy_endpoint *to,
              const struct policy_rule *rules[])
{
    struct judge_facts *facts = j->facts;
    size_t tenant = judge_tenant(j, from->tenant), n = 0;
    const sides_vec *sides = &facts->sides[tenant];

    mark_sets(facts, from, 1);
    mark_sets(facts, to, 2);
    for (size_t i = 0; i < sides->n; i++) {
        unsigned int a = facts->marks[sides->v[i].from];
        unsigned int b = facts->marks[sides->v[i].to];

        if ((a & 1 && b & 2) || (a & 2 && b & 1)) {
            rules[n++] = facts->of_tenants[tenant].v[i];
        }
    }
    mark_sets(facts, from, 0);
    mark_sets(facts, to, 0);
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
    return senders_of(j, e) - j->facts->senders;
}

const struct policy_endpoint *
judge_sender(const struct judge *j, const struct policy_endpoint *from,
             const struct policy_endpoint *to)
{
    const struct senders *alike = senders_of(j, from);

    /* Where tables are cut, numbers are of each sender by itself. */
    return (from == to || j->outcomes ? from
            : alike->v[0] == to ? alike->v[1]
            : alike->v[0]);
}

const struct policy_endpoint *
judge_other(const struct judge *j, const struct policy_endpoint *e)
{
    const struct senders *alike = senders_of(j, e);

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
