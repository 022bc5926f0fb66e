/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-policy.h"

#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"

/* What the flows of POLICY match and decide. */

const uint32_t service_kind_bits[N_SERVICE_KINDS] = {
    [SERVICE_KIND_OPENER] = SERVICE_TRACKED >> 28,
    [SERVICE_KIND_REPLY] = (SERVICE_TRACKED | SERVICE_REPLY) >> 28,
    [SERVICE_KIND_STATELESS] = SERVICE_STATELESS >> 28,
    [SERVICE_KIND_UNTRACKED] = SERVICE_UNTRACKED >> 28,
};

static const struct condition any;

static const struct condition *
condition_on(const struct table_flow *flow, enum field f)
{
    const struct condition *cond = flow_condition(flow, f);

    return cond ? cond : &any;
}

static bool
holds(const struct condition *cond, uint32_t value)
{
    return !((cond->value ^ value) & cond->mask);
}

/* One more than the side that has the number of the group; 0: none has it. */
static uint32_t
find_side(const struct policy_space *s, uint32_t group)
{
    const struct policy_endpoint *e = note_who(s->contract, NOTE_GROUP,
                                               group);

    for (size_t i = s->n_own; i < s->sides.n && !e; i++) {
        if (s->sides.v[i].group == group) {
            return i + 1;
        }
    }
    return e ? s->of_endpoints[e->index] : 0;
}

/* The sides whose numbers the flow matches. */
static dd_t
match_side_of_flow(struct policy_space *s, const struct table_flow *flow,
                   enum policy_digit digit)
{
    bool from = digit == P_FROM;
    const struct condition *tenant = condition_on(flow, from ? F_REG11
                                                  : F_REG13);
    const struct condition *group = condition_on(flow, from ? F_REG12
                                                 : F_REG14);
    size_t n = from ? s->end : s->sides.n;
    VEC(dd_t) runs = VEC_INIT;

    if (group->mask == UINT32_MAX) {
        uint32_t side = find_side(s, group->value);

        return (side && holds(tenant, s->sides.v[side - 1].tenant)
                ? policy_sides(s, digit, side - 1, side) : DD_NONE);
    } else if (!tenant->mask && !group->mask) {
        return policy_sides(s, digit, 0, s->sides.n);
    }
    for (size_t i = from ? s->first : 0, end; i < n; i = end + 1) {
        for (end = i; end < n && holds(tenant, s->sides.v[end].tenant)
             && holds(group, s->sides.v[end].group); end++) {
            continue;
        }
        if (end > i) {
            *vec_push(s->arena, &runs) = policy_sides(s, digit, i, end);
        }
    }
    return runs.n ? dd_over_all(s->dd, runs.v, runs.n) : DD_NONE;
}

static dd_t
match_service_of_flow(struct policy_space *s, const struct table_flow *flow)
{
    const struct condition *cond = condition_on(flow, F_REG8);
    uint32_t value = cond->value, mask = cond->mask;
    dd_t set = DD_NONE;

    if (!mask) {
        return DD_ALL;
    }
    for (int i = 0; i < N_SERVICE_KINDS; i++) {
        if (!((service_kind_bits[i] ^ value >> 28) & mask >> 28)) {
            set = dd_or(s->dd, set, dd_range(s->dd, P_KIND, i, i));
        }
    }
    if (value & mask & UINT32_C(0x0e000000)) {
        return DD_NONE;
    }
    set = dd_and(s->dd, set, dd_bits(s->dd, P_SERVICE_IP6, value >> 24 & 1,
                                     mask >> 24 & 1));
    set = dd_and(s->dd, set, dd_bits(s->dd, P_SERVICE_PROTO,
                                     value >> 16 & 0xff, mask >> 16 & 0xff));
    return dd_and(s->dd, set, dd_bits(s->dd, P_SERVICE_PORT, value & 0xffff,
                                      mask & 0xffff));
}

/* Of what is in POLICY's flows but sides and REG_SERVICE. */
static dd_t
match_header(struct policy_space *s, const struct condition *cond)
{
    switch ((int) cond->field) {
    case F_ETH_TYPE:
        return (cond->value == ETH_TYPE_IP ? dd_range(s->dd, P_IP6, 0, 0)
                : cond->value == ETH_TYPE_IPV6 ? dd_range(s->dd, P_IP6, 1, 1)
                : DD_NONE);
    case F_NW_PROTO:
        return dd_bits(s->dd, P_PROTO, cond->value, cond->mask);
    case F_TP_SRC:
        return dd_bits(s->dd, P_SRC, cond->value, cond->mask);
    case F_TP_DST:
        return dd_bits(s->dd, P_DST, cond->value, cond->mask);
    case F_REG8: case F_REG11: case F_REG12: case F_REG13: case F_REG14:
    case F_CONJ_ID:
        return DD_ALL;
    default:
        return DD_NONE;
    }
}

static dd_t
match_flow(struct policy_space *s, const struct table_flow *flow)
{
    struct dd *dd = s->dd;
    dd_t set = match_side_of_flow(s, flow, P_FROM);

    if (set != DD_NONE) {
        set = dd_and(dd, set, match_side_of_flow(s, flow, P_TO));
        set = dd_and(dd, set, match_service_of_flow(s, flow));
    }
    for (size_t i = 0; i < flow->n_conditions && set != DD_NONE; i++) {
        set = dd_and(dd, set, match_header(s, &flow->conditions[i]));
    }
    return set;
}

/* The openers that the flow may be about. */
static struct acting
openers_of(const struct policy_space *s, const struct table_flow *flow)
{
    const struct condition *tenant = condition_on(flow, F_REG11);
    const struct condition *group = condition_on(flow, F_REG12);
    struct acting a = { flow, s->sides.n, 0 };

    if (group->mask == UINT32_MAX) {
        a.end = find_side(s, group->value);
        a.first = a.end ? a.end - 1 : 0;
        return a;
    }
    for (size_t i = 0; i < s->sides.n; i++) {
        if (holds(tenant, s->sides.v[i].tenant)
            && holds(group, s->sides.v[i].group)) {
            a.first = MIN(a.first, i);
            a.end = i + 1;
        }
    }
    return a;
}

static void
widen(struct acting *a, struct acting more)
{
    bool none = a->first >= a->end;

    if (more.first < more.end) {
        a->first = none ? more.first : MIN(a->first, more.first);
        a->end = none ? more.end : MAX(a->end, more.end);
    }
}

/* A conjunction, and the flows that are its parts. */
struct part {
    const struct table_flow *flow;
    uint8_t clause;
};

struct conjunction {
    struct hmap_node node;
    uint32_t id;
    uint16_t priority;
    uint8_t n;                  /* Clauses. */
    VEC(struct part) parts;
    struct acting openers;      /* As the first clause says. */
};

static struct conjunction *
find_conjunction(const struct policy_space *s, uint32_t id)
{
    struct conjunction *conj;

    HMAP_FOR_EACH_WITH_HASH (conj, node, id, &s->conjunctions) {
        if (conj->id == id) {
            return conj;
        }
    }
    return NULL;
}

static void
add_part(struct policy_space *s, const struct table_flow *flow,
         const struct ofpact_conjunction *clause)
{
    struct conjunction *conj = find_conjunction(s, clause->id);
    struct arena *arena = s->contract->arena;

    if (!conj) {
        conj = arena_zalloc(arena, sizeof *conj);
        conj->id = clause->id;
        conj->priority = flow->priority;
        conj->n = clause->n_clauses;
        hmap_insert(&s->conjunctions, &conj->node, conj->id);
    }
    if (conj->priority == flow->priority && conj->n == clause->n_clauses) {
        *vec_push(arena, &conj->parts) = (struct part) {
            flow, clause->clause,
        };
        if (!clause->clause) {
            widen(&conj->openers, openers_of(s, flow));
        }
    }
}

static void
add_parts(struct policy_space *s, const struct table_flow *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            add_part(s, flow, ofpact_get_CONJUNCTION(a));
        }
    }
}

/* The openers of a flow of a conjunction are those of its first clause, too.
 */
static void
add_acting(struct policy_space *s, const struct table_flow *flow)
{
    const struct condition *id = condition_on(flow, F_CONJ_ID);
    const struct conjunction *conj = (id->mask ? find_conjunction(s, id->value)
                                      : NULL);
    struct acting *acting = vec_push(s->contract->arena, &s->acting);

    *acting = conj ? conj->openers : openers_of(s, flow);
    acting->flow = flow;
}

void
policy_find_flows(struct policy_space *s)
{
    const flow_vec *flows = &s->contract->task->tables->flows;

    for (size_t i = 0; i < flows->n; i++) {
        if (flows->v[i]->table == TABLE_POLICY && flows->v[i]->clause) {
            add_parts(s, flows->v[i]);
        }
    }
    for (size_t i = 0; i < flows->n; i++) {
        if (flows->v[i]->table == TABLE_POLICY && !flows->v[i]->clause) {
            add_acting(s, flows->v[i]);
        }
    }
}

/* The clause with that number: the packets of any flow of it. */
static dd_t
match_clause(struct policy_space *s, const struct conjunction *conj,
             uint8_t number)
{
    VEC(dd_t) sets = VEC_INIT;

    for (size_t i = 0; i < conj->parts.n; i++) {
        if (conj->parts.v[i].clause == number) {
            *vec_push(s->arena, &sets) = match_flow(s, conj->parts.v[i].flow);
        }
    }
    return sets.n ? dd_over_all(s->dd, sets.v, sets.n) : DD_NONE;
}

static dd_t
match_conjunction(struct policy_space *s, const struct table_flow *flow,
                  uint32_t id)
{
    const struct conjunction *conj = find_conjunction(s, id);
    dd_t set = match_flow(s, flow);

    if (!conj || conj->priority != flow->priority) {
        return DD_NONE;
    }
    for (uint8_t i = 0; i < conj->n && set != DD_NONE; i++) {
        set = dd_and(s->dd, set, match_clause(s, conj, i));
    }
    return set;
}

static struct outcome
outcome_of(struct contract *c, const struct table_flow *flow)
{
    struct outcome outcome = { .allow = false };
    struct deed deed;
    u128 class;

    deed_read(c, flow->ofpacts, ofpact_end(flow->ofpacts, flow->ofpacts_len),
              &deed);
    if (deed_passes(&deed)) {
        outcome.allow = true;
        outcome.class = deed_sets(&deed, F_REG5, &class)
                        ? class & INT32_MAX : 0;
        outcome.payer = (deed_copies(&deed, F_REG4, F_REG11) ? PAYER_FROM
                         : deed_copies(&deed, F_REG4, F_REG13) ? PAYER_TO
                         : PAYER_SENDER);
    }
    return outcome;
}

static void
add_flow(struct policy_space *s, const struct table_flow *flow)
{
    const struct condition *id = condition_on(flow, F_CONJ_ID);
    dd_t set = (id->mask ? match_conjunction(s, flow, id->value)
                : match_flow(s, flow));

    if (set != DD_NONE) {
        struct decision *d = vec_push(s->arena, &s->flows);

        d->weakness = UINT16_MAX - flow->priority;
        d->outcome = outcome_of(s->contract, flow);
        d->set = set;
        d->flow = flow;
    }
}

void
policy_add_flows(struct policy_space *s)
{
    for (size_t i = 0; i < s->acting.n; i++) {
        const struct acting *a = &s->acting.v[i];

        if (a->first < s->end && a->end > s->first) {
            add_flow(s, a->flow);
        }
    }
}
