/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "lapse.h"

#include <string.h>

#include "backend/openflow/pipeline.h"
#include "mutate.h"
#include "openvswitch/shash.h"

void
lapse_find_more(const struct plan *plan, const struct plan *other,
                struct arena *arena, plan_flows *more)
{
    struct shash texts = SHASH_INITIALIZER(&texts);

    for (size_t i = 0; i < other->flows.n; i++) {
        shash_add(&texts, plan_flow_string(other, &other->flows.v[i]), NULL);
    }
    for (size_t i = 0; i < plan->flows.n; i++) {
        if (!shash_find(&texts, plan_flow_string(plan, &plan->flows.v[i]))) {
            *vec_push(arena, more) = &plan->flows.v[i];
        }
    }
    shash_destroy(&texts);
}

bool
lapse_leak(struct plan *plan, struct rng *rng, bool scattered)
{
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n; i++) {
        struct plan_flow flow = plan->flows.v[(start + i) % plan->flows.n];
        const char *address = strstr(flow.match, "nw_dst=");

        if (flow.table == TABLE_ROUTE && address) {
            int n = strstr(flow.match, "dl_dst=") - flow.match;
            const char *low = strchr(strchr(address, '.') + 1, '.');

            flow.match = (scattered
                          ? arena_printf(plan->arena, "%.*stcp,nw_dst=0.0%s"
                                         "/0.0.255.255", n, flow.match, low)
                          : arena_printf(plan->arena, "ip,%s", address));
            flow.priority += 100;
            plan->flows.v[plan->flows.n++] = flow;
            return true;
        }
    }
    return false;
}

bool
lapse_keep(struct plan *plan, const struct plan *old, struct rng *rng)
{
    plan_flows gone = VEC_INIT;

    lapse_find_more(old, plan, plan->arena, &gone);
    if (!gone.n) {
        return false;
    }
    plan->flows.v[plan->flows.n++] = *gone.v[rng_below(rng, gone.n)];
    return true;
}

bool
lapse_stay(struct plan *plan, const struct plan *old)
{
    plan_flows come = VEC_INIT, gone = VEC_INIT;

    lapse_find_more(plan, old, plan->arena, &come);
    lapse_find_more(old, plan, plan->arena, &gone);
    plan->flows.n = 0;
    for (size_t i = 0; i < old->flows.n; i++) {
        *vec_push(plan->arena, &plan->flows) = old->flows.v[i];
    }
    return come.n + gone.n > 0;
}

/* Leaves in 'plan' what 'old' has too, and in 'new' all else. */
static void
part_new(struct plan *plan, const struct plan *old, struct plan *new)
{
    plan_flows come = VEC_INIT;
    size_t n = 0;

    *new = *plan;
    memset(&new->flows, 0, sizeof new->flows);
    lapse_find_more(plan, old, plan->arena, &come);
    for (size_t i = 0, k = 0; i < plan->flows.n; i++) {
        if (k < come.n && come.v[k] == &plan->flows.v[i]) {
            *vec_push(plan->arena, &new->flows) = plan->flows.v[i];
            k++;
        } else {
            plan->flows.v[n++] = plan->flows.v[i];
        }
    }
    plan->flows.n = n;
}

bool
lapse_new(struct plan *plan, const struct plan *old, size_t kind,
          struct rng *rng)
{
    struct plan new;
    bool changed;

    part_new(plan, old, &new);
    changed = new.flows.n && mutate(&new, kind, rng) >= 0;
    for (size_t i = 0; i < new.flows.n; i++) {
        *vec_push(plan->arena, &plan->flows) = new.flows.v[i];
    }
    return changed;
}

bool
lapse_imitate(struct plan *plan, const struct plan *old, struct rng *rng)
{
    plan_flows come = VEC_INIT;
    struct plan_flow *flow;
    size_t start = rng_below(rng, plan->flows.n);
    bool matches = rng_chance(rng, 30);

    lapse_find_more(plan, old, plan->arena, &come);
    flow = come.n ? CONST_CAST(struct plan_flow *,
                               come.v[rng_below(rng, come.n)]) : NULL;
    for (size_t i = 0; i < plan->flows.n && flow; i++) {
        const struct plan_flow *other
            = &plan->flows.v[(start + i) % plan->flows.n];

        if (other->table != flow->table || other->priority != flow->priority
            || !strcmp(other->actions, flow->actions)) {
            continue;
        } else if (!matches) {
            flow->actions = other->actions;
        } else if (other->match != flow->match) {
            const char *actions = flow->actions;

            *flow = *other;     /* In the place of that one, if it stays. */
            flow->actions = actions;
            plan->flows.v[(start + i) % plan->flows.n]
                = plan->flows.v[plan->flows.n - 1];
            plan->flows.n--;
        }
        return true;
    }
    return false;
}

/* The first flow of POLICY from a random one on that is like 'as' but for what
 * it does, or any if that is NULL; not one of a conjunction's clauses. */
static struct plan_flow *
find_decision(const struct plan *plan, struct rng *rng,
              const struct plan_flow *as)
{
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n; i++) {
        struct plan_flow *flow
            = &plan->flows.v[(start + i) % plan->flows.n];

        if (flow->table == TABLE_POLICY && flow->priority
            && strncmp(flow->actions, "conjunction", 11)
            && (!as || strcmp(flow->actions, as->actions))) {
            return flow;
        }
    }
    return NULL;
}

bool
lapse_decide(struct plan *plan, struct rng *rng)
{
    struct plan_flow *flow = find_decision(plan, rng, NULL);
    const struct plan_flow *other = flow ? find_decision(plan, rng, flow)
                                    : NULL;

    if (other) {
        flow->actions = other->actions;
    }
    return other != NULL;
}

bool
lapse_decide_by_port(struct plan *plan, struct rng *rng)
{
    const struct plan_flow *decision = find_decision(plan, rng, NULL);
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n && decision; i++) {
        struct plan_flow flow = plan->flows.v[(start + i) % plan->flows.n];

        if (flow.table == TABLE_ADMIT && strstr(flow.match, "in_port=")) {
            flow.match = arena_printf(
                plan->arena, "in_port=%.*s",
                (int) strcspn(strstr(flow.match, "in_port=") + 8, ","),
                strstr(flow.match, "in_port=") + 8);
            flow.table = TABLE_POLICY;
            flow.priority = 400;
            flow.cookie = decision->cookie;
            flow.actions = decision->actions;
            plan->flows.v[plan->flows.n++] = flow;
            return true;
        }
    }
    return false;
}

const char *
lapse_lose(const struct plan *plan, struct rng *rng)
{
    size_t start = rng_below(rng, plan->flows.n);

    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow
            = &plan->flows.v[(start + i) % plan->flows.n];

        if (flow->priority
            && (flow->table == TABLE_CLASS || flow->table == TABLE_OUTPUT)) {
            return plan_flow_string(plan, flow);
        }
    }
    return NULL;
}
