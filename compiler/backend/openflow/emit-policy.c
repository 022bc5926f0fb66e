/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "backend/openflow/conjunction.h"
#include "util.h"

/* The POLICY table.  A packet is judged by the present policy whatever the
 * state of its connection, so that a connection dies when policy withdraws
 * its rule: by who opened it to whom and for what, see TABLE_SIDES and
 * REG_SERVICE. */

/* Fields of one side of a rule. */
struct side_fields {
    const char *tenant, *group;
};
static const struct side_fields from_fields = { REG_FROM_TENANT, REG_FROM };
static const struct side_fields to_fields = { REG_TO_TENANT, REG_TO };

static enum of_priority
rule_priority(enum rule_kind kind)
{
    switch (kind) {
    case RULE_DENY: return PRIORITY_DENY;
    case RULE_ALLOW: return PRIORITY_ALLOW;
    case RULE_PEERING: return PRIORITY_ALLOW;
    case RULE_DEFAULT: return PRIORITY_DEFAULT;
    }
    OVS_NOT_REACHED();
}

static const char *
rule_actions(struct emitter *e, const struct ir_rule *rule)
{
    if (rule->kind == RULE_DENY) {
        return "drop";
    } else if (!rule->class) {
        return FORMAT(e, "goto_table:%d", TABLE_COMMIT);
    }
    return FORMAT(e, "set_field:%#"PRIx32"->"REG_CLASS",goto_table:%d",
                  CLASS_VALUE(rule->class->dscp, rule->class->queue),
                  TABLE_COMMIT);
}

/* Adds the matches of the parts of externals: of all parts of one as of a
 * whole tenant. */
static void
match_parts(struct emitter *e, const struct ir_side *side,
            const struct side_fields *fields, side_match_vec *out)
{
    for (size_t i = 0, n; i < side->parts.n; i += n) {
        const struct ir_external *x = side->parts.v[i]->external;

        for (n = 1; i + n < side->parts.n
             && side->parts.v[i + n]->external == x; n++) {
            continue;
        }
        if (n == x->n_parts) {
            *vec_push(e->arena, out) = (struct side_match) {
                FORMAT(e, "%s=%#"PRIx32, fields->tenant, x->number), 0,
            };
            continue;
        }
        for (size_t j = i; j < i + n; j++) {
            *vec_push(e->arena, out) = (struct side_match) {
                FORMAT(e, "%s=%#"PRIx32, fields->group,
                       side->parts.v[j]->number), 0,
            };
        }
    }
}

static side_match_vec
match_side(struct emitter *e, const struct ir_side *side,
           const struct side_fields *fields)
{
    side_match_vec out = VEC_INIT;

    match_parts(e, side, fields, &out);

    for (size_t i = 0; i < side->tenants.n; i++) {
        *vec_push(e->arena, &out) = (struct side_match) {
            FORMAT(e, "%s=%#"PRIx32, fields->tenant,
                   side->tenants.v[i]->number), 0,
        };
    }
    for (size_t i = 0; i < side->groups.n; i++) {
        const struct ir_group *group = side->groups.v[i];

        *vec_push(e->arena, &out) = (struct side_match) {
            FORMAT(e, "%s=%#"PRIx32, fields->group, group->number),
            group->n_endpoints == 1 ? group->number : 0,
        };
    }
    return out;
}

static void
add_tenant_services(struct emitter *e, uint32_t number,
                    const match_vec *services, match_vec *out)
{
    for (size_t i = 0; i < services->n; i++) {
        *vec_push(e->arena, out) = FORMAT(e, REG_FROM_TENANT"=%#"PRIx32",%s",
                                          number, services->v[i]);
    }
}

/* 'services' of each tenant, and external, that 'from' holds some of. */
static match_vec
match_tenant_services(struct emitter *e, const struct ir_side *from,
                      const match_vec *services)
{
    const ir_endpoint_vec *endpoints = &from->endpoints;
    match_vec out = VEC_INIT;

    for (size_t i = 0; i < endpoints->n; i++) {
        const struct ir_tenant *tenant = endpoints->v[i]->tenant;

        if (!i || tenant != endpoints->v[i - 1]->tenant) {
            add_tenant_services(e, tenant->number, services, &out);
        }
    }
    for (size_t i = 0; i < from->parts.n; i++) {
        const struct ir_external *x = from->parts.v[i]->external;

        if (!i || x != from->parts.v[i - 1]->external) {
            add_tenant_services(e, x->number, services, &out);
        }
    }
    return out;
}

static void
add_product(struct emitter *e, const struct ir_rule *rule, const char *part,
            const struct ir_side *from, const struct ir_side *to,
            match_vec services, product_vec *products)
{
    *vec_push(e->arena, products) = (struct product) {
        .name = FORMAT(e, "%s %s", rule->name, part),
        .priority = rule_priority(rule->kind),
        .rule = rule,
        .actions = rule_actions(e, rule),
        .from = match_side(e, from, &from_fields),
        .to = match_side(e, to, &to_fields),
        .services = services,
        .tenant_services = match_tenant_services(e, from, &services),
    };
}

static void
add_rule(struct emitter *e, const struct ir_rule *rule, product_vec *products)
{
    const struct ir_service *service = rule->service;

    if (!service || !service->symmetric) {
        add_product(e, rule, "tracked", &rule->from, &rule->to,
                    match_tracked(e, service), products);
    }

    match_vec services = match_stateless(e, service);
    struct ir_side from = rule->from, to = rule->to;

    /* What is not tracked passes to and from no external. */
    from.parts.n = to.parts.n = 0;
    if (services.n && from.endpoints.n && to.endpoints.n) {
        add_product(e, rule, "stateless", &from, &to, services, products);
        add_product(e, rule, "stateless, back", &to, &from, services,
                    products);
    }
}

void
emit_policy(struct emitter *e)
{
    product_vec products = VEC_INIT;

    for (size_t i = 0; i < e->prog->rules.n; i++) {
        add_rule(e, e->prog->rules.v[i], &products);
    }
    emit_products(e, &products);
}
