/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/validate.h"

#include <inttypes.h>

/* Is all of the side the tenant's whose rule it is?  Sides are sorted, so the
 * ends tell. */
static bool
is_own(const struct ir_rule *rule, const struct ir_side *side)
{
    const ir_endpoint_vec *endpoints = &side->endpoints;

    return (!endpoints->n
            || (ir_rule_is_of(rule, endpoints->v[0]->tenant)
                && endpoints->v[endpoints->n - 1]->tenant
                   == endpoints->v[0]->tenant));
}

/* Is 'every' right about the side? */
static bool
is_every(const struct ir_validator *v, const struct ir_rule *rule, bool every,
         const struct ir_side *side)
{
    return (!every || (rule->kind == RULE_GUARDRAIL
                       && side->endpoints.n == v->prog->endpoints.n));
}

/* Does it join tenants with tenants, or with externals? */
static bool
is_peering(const struct ir_rule *rule)
{
    return (!(rule->from.parts.n && (rule->from.endpoints.n
                                     || rule->to.parts.n))
            && !(rule->to.parts.n && rule->to.endpoints.n));
}

/* What a tenant allows is its own, and of what it denies one side. */
void
ir_validate_rule(struct ir_validator *v, const struct ir_rule *rule)
{
    bool from = is_own(rule, &rule->from), to = is_own(rule, &rule->to);

    if (rule->kind == RULE_DEFAULT
        && (rule->from.parts.n || rule->to.parts.n)) {
        ir_invalid(v, "it names externals, and is a default");
    } else if (rule->kind == RULE_PEERING && !is_peering(rule)) {
        ir_invalid(v, "it joins neither tenants nor one with externals");
    } else if (!rule->from.endpoints.n && !rule->to.endpoints.n) {
        ir_invalid(v, "it has no endpoints");
    }
    if (rule_kind_denies(rule->kind)
        && (rule->class || rule->replies || rule->depth)) {
        ir_invalid(v, "it denies, and has a class or a depth");
    } else if (rule->reply_class && !rule->replies) {
        ir_invalid(v, "it has a class of replies that have none");
    }
    if (rule->stateless
        && (rule->replies || rule->from.parts.n || rule->to.parts.n
            || (rule->kind != RULE_ALLOW && rule->kind != RULE_PEERING))) {
        ir_invalid(v, "it cannot be stateless");
    }
    if ((rule->charge_from || rule->charge_to)
        && (rule->kind != RULE_PEERING
            || rule->from.parts.n || rule->to.parts.n
            || (rule->charge_from && rule->charge_to))) {
        ir_invalid(v, "it charges both sides, or is no peering of tenants");
    }
    if (!is_every(v, rule, rule->from_every, &rule->from)
        || !is_every(v, rule, rule->to_every, &rule->to)) {
        ir_invalid(v, "only a guardrail has a side that is everybody");
    }
    if (!rule_kind_is_operators(rule->kind)
        && !(rule->kind == RULE_DENY ? from || to : from && to)) {
        ir_invalid(v, "it is not a peering, and is of several tenants");
    }
    ir_once(v, "id %#"PRIx64, rule->id);
}
