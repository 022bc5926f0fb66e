/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/proof.h"

#include "openvswitch/ofp-actions.h"
#include "sema/ident.h"
#include "sema/policy.h"
#include "verify/verify.h"

/* What is wrong with the tables by themselves. */

/* Is it what a table does with packets that no flow of it matches? */
static bool
is_last_resort(const struct table_flow *flow)
{
    return !flow->priority && !flow->n_conditions && !flow->ofpacts_len;
}

static bool
has_rule(const struct proof *p, const struct table_flow *flow)
{
    for (size_t i = 0; i < p->task->policy->rules.n; i++) {
        if ((COOKIE_MARK | p->task->policy->rules.v[i]->id)
            == flow->cookie) {
            return true;
        }
    }
    return false;
}

/* Is the conjunction with this id, in this table, a rule's? */
static bool
is_conjunction_of_rule(const struct proof *p, uint8_t table, uint32_t id)
{
    const flow_vec *flows = &p->task->tables->flows;

    for (size_t i = 0; i < flows->n; i++) {
        const struct table_flow *flow = flows->v[i];

        for (size_t j = 0; flow->table == table && j < flow->n_conditions;
             j++) {
            const struct condition *c = &flow->conditions[j];

            if (c->field == F_CONJ_ID && c->value == id) {
                return has_rule(p, flow);
            }
        }
    }
    return false;
}

/* Is the flow a rule's, or part of conjunctions that are? */
static bool
is_of_rule(const struct proof *p, const struct table_flow *flow)
{
    const struct ofpact *a;

    if (!flow->clause) {
        return has_rule(p, flow);
    }
    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION
            && !is_conjunction_of_rule(p, flow->table,
                                       ofpact_get_CONJUNCTION(a)->id)) {
            return false;
        }
    }
    return true;
}

static void
look_for_doubles(struct proof *p, bool clauses)
{
    const char *colliding
        = clauses ? table_set_colliding_conjunction(p->task->tables) : NULL;
    const char *shared = usages_shared(&p->comparison);

    for (size_t i = 0; i < 2; i++) {
        const char *what = i ? shared : colliding;
        struct verify_difference *d
            = what ? proof_add_difference(p, VERIFY_ISOLATION) : NULL;

        if (d) {
            *d = (struct verify_difference) {
                .kind = VERIFY_ISOLATION, .from = "all ports", .what = what,
            };
        }
    }
}

/* A rule that another makes needless is the intent's: sema/check-redundant.c
 * warns of it. */
static void
note_shadow(void *proof, const struct table_flow *flow,
            const struct table_flow *by)
{
    struct proof *p = proof;

    if (!is_last_resort(flow) && !(is_of_rule(p, by) && is_of_rule(p, flow))) {
        *vec_push(p->arena, &p->result->shadowed)
            = (struct verify_shadow) { flow, by };
    }
}

static void
look_at_flow(struct proof *p, const struct table_flow *flow)
{
    const struct table_flow *by = table_set_shadow(p->task->tables, flow);

    if (by) {
        note_shadow(p, flow, by);
    }
}

void
proof_look_at_tables(struct proof *p)
{
    const flow_vec *flows = &p->task->tables->flows;

    look_for_doubles(p, true);
    for (size_t i = 0; i < flows->n; i++) {
        look_at_flow(p, flows->v[i]);
    }
}

void
proof_look_at_flows(struct proof *p, struct table_flow *const flows[],
                    size_t n)
{
    bool clauses = false;

    for (size_t i = 0; i < n; i++) {
        clauses |= flows[i]->clause;
    }
    look_for_doubles(p, clauses);
    for (size_t i = 0; i < n; i++) {
        look_at_flow(p, flows[i]);
        table_set_shadowed(p->task->tables, flows[i], note_shadow, p);
    }
}
