/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "backend/openflow/conjunction.h"
#include "backend/openflow/emit-stateless.h"
#include "hmapx.h"
#include "util.h"

/* However deep rules are, none is as strong as one of another kind. */
BUILD_ASSERT_DECL(PRIORITY_UNTRACKED + MAX_DEPTH < PRIORITY_ALLOW);
BUILD_ASSERT_DECL(PRIORITY_ALLOW + MAX_DEPTH < PRIORITY_DENY);

/* The POLICY table.  A packet is judged by the present policy whatever the
 * state of its connection, so that a connection dies when policy withdraws
 * its rule: by who opened it to whom and for what, see TABLE_SIDES and
 * REG_SERVICE. */

static const struct side_fields from_fields = { REG_FROM_TENANT, REG_FROM };
static const struct side_fields to_fields = { REG_TO_TENANT, REG_TO };

/* Flows with a side that is everybody would look like members of others'
 * conjunctions, were their priority the same. */
static enum of_priority
rule_priority(const struct ir_rule *rule)
{
    switch (rule->kind) {
    case RULE_GUARDRAIL: return (rule->from_every || rule->to_every
                                 ? PRIORITY_EVERYBODY : PRIORITY_FORBIDDEN);
    case RULE_DENY: return PRIORITY_DENY;
    case RULE_ALLOW: return PRIORITY_ALLOW + rule->depth;
    case RULE_PEERING: return PRIORITY_ALLOW + rule->depth;
    case RULE_DEFAULT: return PRIORITY_DEFAULT;
    }
    OVS_NOT_REACHED();
}

/* Notes who pays, if the rule says it.  Of what is not tracked 'back' says
 * that the sides are those of an answer. */
static const char *
note_payer(const struct ir_rule *rule, bool back)
{
    return (!rule->charge_from && !rule->charge_to ? ""
            : rule->charge_from != back
            ? "move:"REG_FROM_TENANT"->"REG_PAYER","
            : "move:"REG_TO_TENANT"->"REG_PAYER",");
}

static const char *
rule_actions(struct emitter *e, const struct ir_rule *rule,
             const struct ir_class *class, bool back)
{
    const char *payer = note_payer(rule, back);

    if (rule_kind_denies(rule->kind)) {
        return "drop";
    } else if (!class) {
        return FORMAT(e, "%sgoto_table:%d", payer, TABLE_COMMIT);
    }
    return FORMAT(e, "%sset_field:%#"PRIx32"->"REG_CLASS",goto_table:%d",
                  payer, CLASS_VALUE(class->dscp, class->queue),
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

side_match_vec
match_side(struct emitter *e, struct rule_side which,
           const struct side_fields *fields)
{
    const struct ir_side *side = which.side;
    side_match_vec out = VEC_INIT;

    if (which.every) {
        vec_push(e->arena, &out)->match = "";
        return out;
    }
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
add_tenant_services(struct emitter *e, const char *tenant, uint32_t number,
                    const match_vec *services, match_vec *out)
{
    for (size_t i = 0; i < services->n; i++) {
        *vec_push(e->arena, out) = FORMAT(e, "%s=%#"PRIx32",%s", tenant,
                                          number, services->v[i]);
    }
}

match_vec
match_tenant_services(struct emitter *e, const struct ir_side *from,
                      const char *field, const match_vec *services)
{
    const ir_endpoint_vec *endpoints = &from->endpoints;
    match_vec out = VEC_INIT;

    for (size_t i = 0; i < endpoints->n; i++) {
        const struct ir_tenant *tenant = endpoints->v[i]->tenant;

        if (!i || tenant != endpoints->v[i - 1]->tenant) {
            add_tenant_services(e, field, tenant->number, services, &out);
        }
    }
    for (size_t i = 0; i < from->parts.n; i++) {
        const struct ir_external *x = from->parts.v[i]->external;

        if (!i || x != from->parts.v[i - 1]->external) {
            add_tenant_services(e, field, x->number, services, &out);
        }
    }
    return out;
}

static void
add_product(struct emitter *e, const struct ir_rule *rule, const char *part,
            struct rule_side from, struct rule_side to,
            match_vec services, product_vec *products)
{
    *vec_push(e->arena, products) = (struct product) {
        .name = FORMAT(e, "%s %s", rule->name, part),
        .priority = rule_priority(rule),
        .rule = rule,
        .actions = rule_actions(e, rule, rule->class, false),
        .from = match_side(e, from, &from_fields),
        .to = match_side(e, to, &to_fields),
        .services = services,
        .tenant_services = match_tenant_services(e, from.side, REG_FROM_TENANT,
                                                 &services),
    };
}

/* What is not tracked, there and back, each for services of its own. */
static void
add_both_ways(struct emitter *e, const struct ir_rule *rule, const char *part,
              struct rule_side from, struct rule_side to, match_vec there,
              match_vec back, product_vec *products)
{
    add_product(e, rule, part, from, to, there, products);
    add_product(e, rule, FORMAT(e, "%s, back", part), to, from, back,
                products);
    products->v[products->n - 1].actions = rule_actions(e, rule, rule->class,
                                                        true);
}

/* What allows it is weaker for what comes back, where both may speak. */
static void
add_untracked(struct emitter *e, const struct ir_rule *rule,
              struct rule_side from, struct rule_side to,
              product_vec *products)
{
    match_vec there = match_untracked(e, rule->service, "tp_dst");
    match_vec back = match_untracked(e, rule->service, "tp_src");

    if (there.n) {
        add_both_ways(e, rule, "untracked", from, to, there, back, products);
        if (!rule_kind_denies(rule->kind)) {
            products->v[products->n - 1].priority
                = PRIORITY_UNTRACKED + rule->depth;
        }
    }
}

/* 'stateless' has the tenants that stateless rules speak of. */
static void
add_rule(struct emitter *e, const struct ir_rule *rule,
         const struct hmapx *stateless, product_vec *products)
{
    const struct ir_service *service = rule->service;
    struct ir_side from_endpoints = rule->from, to_endpoints = rule->to;
    /* An external is nobody's endpoint: where there are some, everybody must
     * be named. */
    bool named = e->prog->externals.n > 0;
    struct rule_side from = { &rule->from, rule->from_every && !named };
    struct rule_side to = { &rule->to, rule->to_every && !named };

    if (!service || !service->symmetric) {
        add_product(e, rule, "tracked", from, to,
                    match_tracked(e, service, rule->replies ? TRACKED_FORWARD
                                  : TRACKED_ALL), products);
    }
    if (rule->replies) {
        add_product(e, rule, "replies", from, to,
                    match_tracked(e, service, TRACKED_REPLIES), products);
        products->v[products->n - 1].actions
            = rule_actions(e, rule, rule->reply_class, false);
    }

    match_vec services = match_stateless(e, service);

    /* What is not tracked passes to and from no external. */
    from_endpoints.parts.n = to_endpoints.parts.n = 0;
    from.side = &from_endpoints;
    to.side = &to_endpoints;
    if (!from_endpoints.endpoints.n || !to_endpoints.endpoints.n) {
        return;
    }
    if (services.n) {
        add_both_ways(e, rule, "stateless", from, to, services, services,
                      products);
    }
    if (rule->stateless || (rule_kind_denies(rule->kind)
                            && speaks_of_some(rule, stateless))) {
        add_untracked(e, rule, from, to, products);
    }
}

void
emit_policy(struct emitter *e)
{
    struct hmapx stateless = HMAPX_INITIALIZER(&stateless);
    product_vec products = VEC_INIT;

    find_stateless(e->prog, &stateless);
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        add_rule(e, e->prog->rules.v[i], &stateless, &products);
    }
    emit_products(e, TABLE_POLICY, &products);
    hmapx_destroy(&stateless);
}
