/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/conjunction.h"

#include <inttypes.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/hmap.h"
#include "sema/ident.h"

/* A match that conjunctions share. */
struct member {
    struct hmap_node node;
    enum of_priority priority;
    const char *match;
    size_t n_candidates;        /* Products that could share it. */
    VEC(struct { uint32_t id; int dimension; }) conjunctions;
};

struct lowering {
    struct emitter *e;
    enum of_table table;
    struct ident_set ids;       /* conj_id. */
    struct hmap members;        /* Contains "struct member"s. */
    VEC(struct member *) order; /* As they came. */
};

/* The members of dimension 'i' of 'product'. */
static size_t
n_members(const struct product *product, int i)
{
    return (i == 0 ? product->from.n : i == 1 ? product->to.n
            : product->tenant_services.n);
}

static const char *
member_match(const struct product *product, int i, size_t j)
{
    return (i == 0 ? product->from.v[j].match
            : i == 1 ? product->to.v[j].match
            : product->tenant_services.v[j]);
}

static size_t
n_plain(const struct product *product)
{
    return product->from.n * product->to.n * product->services.n;
}

static bool
is_every(const side_match_vec *side)
{
    return side->n && !side->v[0].match[0];
}

/* Could a conjunction be the cheaper?  It takes one flow and shares. */
static bool
is_candidate(const struct product *product)
{
    return (n_plain(product) > 2 && !is_every(&product->from)
            && !is_every(&product->to));
}

static uint32_t
member_hash(enum of_priority priority, const char *match)
{
    return hash_string(match, priority);
}

static struct member *
find_member(const struct lowering *l, enum of_priority priority,
            const char *match)
{
    struct member *member;

    HMAP_FOR_EACH_WITH_HASH (member, node, member_hash(priority, match),
                             &l->members) {
        if (member->priority == priority && !strcmp(member->match, match)) {
            return member;
        }
    }
    return NULL;
}

static void
count_member(struct lowering *l, enum of_priority priority,
             const char *match)
{
    struct member *member = find_member(l, priority, match);

    if (!member) {
        member = arena_zalloc(l->e->arena, sizeof *member);
        member->priority = priority;
        member->match = match;
        hmap_insert(&l->members, &member->node, member_hash(priority, match));
        *vec_push(l->e->arena, &l->order) = member;
    }
    member->n_candidates++;
}

static void
count_members(struct lowering *l, const struct product *product)
{
    for (int i = 0; i < N_DIMENSIONS; i++) {
        for (size_t j = 0; j < n_members(product, i); j++) {
            count_member(l, product->priority, member_match(product, i, j));
        }
    }
}

/* Is the conjunction of 'product' the cheaper, if all candidates that could
 * share a member do so, and is there room? */
static bool
is_conjunction(const struct lowering *l, const struct product *product)
{
    size_t max = l->e->caps->action_bytes / CONJUNCTION_BYTES;
    double cost = 1;

    if (!is_candidate(product)) {
        return false;
    }
    for (int i = 0; i < N_DIMENSIONS; i++) {
        for (size_t j = 0; j < n_members(product, i); j++) {
            const struct member *member = find_member(
                l, product->priority, member_match(product, i, j));

            cost += 1.0 / member->n_candidates;
            if (member->conjunctions.n >= max) {
                return false;
            }
        }
    }
    return cost < n_plain(product);
}

static void
emit_product_flow(const struct lowering *l, const struct product *p,
                  const char *match)
{
    emit_flow(l->e, l->table, p->priority, l->table == TABLE_POLICY
              ? p->rule->id : REASON_PIPELINE, match, p->actions);
}

static void
emit_pair(const struct lowering *l, const struct product *p, const char *from,
          const char *to)
{
    for (size_t i = 0; i < p->services.n; i++) {
        emit_product_flow(l, p, FORMAT(l->e, "%s%s%s%s%s", from,
                                       from[0] ? "," : "", to,
                                       to[0] ? "," : "", p->services.v[i]));
    }
}

/* Pairs of an endpoint with itself stay out: rules that have only those in
 * common may do different things. */
static void
emit_plain(const struct lowering *l, const struct product *p)
{
    for (size_t i = 0; i < p->from.n; i++) {
        const struct side_match *from = &p->from.v[i];

        for (size_t j = 0; j < p->to.n; j++) {
            const struct side_match *to = &p->to.v[j];

            if (!from->only || from->only != to->only) {
                emit_pair(l, p, from->match, to->match);
            }
        }
    }
}

static void
emit_conjunction(struct lowering *l, const struct product *product)
{
    uint32_t id = ident_take(&l->ids, "conjunction", product->name, 32);

    for (int i = 0; i < N_DIMENSIONS; i++) {
        for (size_t j = 0; j < n_members(product, i); j++) {
            struct member *member = find_member(
                l, product->priority, member_match(product, i, j));
            size_t n = member->conjunctions.n;

            vec_push(l->e->arena, &member->conjunctions);
            member->conjunctions.v[n].id = id;
            member->conjunctions.v[n].dimension = i + 1;
        }
    }
    emit_product_flow(l, product, FORMAT(l->e, "conj_id=%"PRIu32, id));
}

static void
emit_members(struct lowering *l)
{
    struct ds actions = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < l->order.n; i++) {
        const struct member *member = l->order.v[i];

        if (!member->conjunctions.n) {
            continue;
        }
        ds_clear(&actions);
        for (size_t j = 0; j < member->conjunctions.n; j++) {
            ds_put_format(&actions, "%sconjunction(%"PRIu32",%d/%d)",
                          j ? "," : "", member->conjunctions.v[j].id,
                          member->conjunctions.v[j].dimension, N_DIMENSIONS);
        }
        emit_flow(l->e, l->table, member->priority, REASON_PIPELINE,
                  member->match, arena_strdup(l->e->arena, ds_cstr(&actions)));
    }
    ds_destroy(&actions);
}

void
emit_products(struct emitter *e, enum of_table table,
              const product_vec *products)
{
    struct lowering l = { .e = e, .table = table,
                          .members = HMAP_INITIALIZER(&l.members) };

    ident_set_init(&l.ids, e->arena, e->prog->claims);
    for (size_t i = 0; i < products->n; i++) {
        if (is_candidate(&products->v[i])) {
            count_members(&l, &products->v[i]);
        }
    }
    for (size_t i = 0; i < products->n; i++) {
        const struct product *p = &products->v[i];

        if (is_conjunction(&l, p)) {
            if (has_room_for_conjunction(e, p->rule)) {
                emit_conjunction(&l, p);
            }
        } else if (has_room_for_flows(e, p->rule, n_plain(p))) {
            emit_plain(&l, p);
        }
    }
    emit_members(&l);
    hmap_destroy(&l.members);
    ident_set_destroy(&l.ids);
}
