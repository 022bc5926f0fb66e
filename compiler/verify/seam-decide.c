/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "packets.h"
#include "util.h"
#include "verify/contract-tables.h"
#include "verify/proof.h"
#include "verify/seam-private.h"

enum { OP_AGREE = DD_OP_USER + 40 };

/* Endpoints that have one number, and that all rules treat alike. */
struct kin {
    uint64_t number;
    uint32_t alike;
    endpoint_vec members;
};

struct decider {
    struct proof *proof;
    struct side *side;
    const struct seam *seam;
    const struct region *region;        /* Or NULL. */
    struct seam_part *parts;    /* By view: what that can concern. */
    VEC(struct kin) kins;
    seam_outcomes *found;       /* Or NULL. */
};

static void
add_endpoint(struct decider *d, const struct policy_endpoint *e)
{
    const uint64_t *number = shash_find_data(&d->seam->numbers, e->name);
    uint32_t alike = d->side->judge.facts->alike[e->index];
    struct arena *arena = d->proof->arena;
    struct kin *kin = NULL;

    if (!number) {
        return;                 /* Nothing is asked of it. */
    }
    for (size_t i = 0; i < d->kins.n && !kin; i++) {
        if (d->kins.v[i].number == *number && d->kins.v[i].alike == alike) {
            kin = &d->kins.v[i];
        }
    }
    if (!kin) {
        kin = vec_push(arena, &d->kins);
        kin->number = *number;
        kin->alike = alike;
    }
    *vec_push(arena, &kin->members) = e;
}

/* Can a packet of the view match the flow, where POLICY is asked? */
static bool
flow_may_match(const struct table_flow *flow, const struct asked *asked,
               const struct exec_view *view)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];
        uint64_t value;

        if ((exec_number(asked, c->field, &value)
             && (c->value ^ value) & c->mask)
            || !seam_may_meet(view, c)) {
            return false;
        }
    }
    return true;
}

static bool
names_one(const struct region_rule *rule, const struct kin *kin)
{
    for (size_t i = 0; i < kin->members.n; i++) {
        if (region_rule_names(rule, kin->members.v[i])) {
            return true;
        }
    }
    return false;
}

static bool
may_differ(const struct decider *d, const struct kin *a, const struct kin *b,
           const struct seam_view *view)
{
    const struct asked asked = { a->number, b->number, 0 };
    const struct region *r = d->region;

    for (size_t i = 0; r && i < r->n_flows; i++) {
        if (flow_may_match(r->flows[i], &asked, &view->view)) {
            return true;
        }
    }
    for (size_t i = 0; r && i < r->n_rules; i++) {
        const struct region_rule *rule = &r->rules[i];

        if (seam_may_speak(&d->side->judge, rule, (view->asked - 1) / 2)
            && names_one(rule, a) && names_one(rule, b)) {
            return true;
        }
    }
    return !r;
}

static bool
is_outcome(const struct seam_outcome *a, const struct seam_outcome *b)
{
    return (a->allow == b->allow && a->ofpacts_len == b->ofpacts_len
            && !memcmp(a->ofpacts, b->ofpacts, a->ofpacts_len)
            && !strcmp(a->class_name, b->class_name));
}

static bool
has_outcome(const seam_outcomes *outcomes, const struct seam_outcome *o)
{
    for (size_t i = 0; i < outcomes->n; i++) {
        if (is_outcome(&outcomes->v[i], o)) {
            return true;
        }
    }
    return false;
}

/* What it is that the flow does where this is meant. */
static struct seam_outcome
get_outcome(const struct decider *d, const struct table_flow *flow,
            const struct expect *e)
{
    size_t n;
    const struct policy_rule *const *rules = expect_rules(&d->side->judge,
                                                          e->rules, &n);
    struct seam_outcome o = {
        .ofpacts = flow->ofpacts, .ofpacts_len = flow->ofpacts_len,
        .allow = e->allow, .flow = flow, .rule = n ? rules[0] : NULL,
    };

    if (o.allow) {
        o.class = expect_class(rules[0], (e->asked - 1) / 2);
    }
    o.class_name = o.class ? o.class->name : "";
    return o;
}

/* Of a flow that decides, and what rules say: DD_NONE if they agree. */
static dd_t
leaf_agree(void *decider, dd_t flow_, dd_t leaf)
{
    struct decider *d = decider;
    struct proof *p = d->proof;
    const struct table_flow *flow;
    const struct expect *e;
    struct seam_outcome o;

    if (flow_ == DD_NONE && leaf == DD_NONE) {
        return DD_NONE;
    } else if (flow_ == DD_NONE || flow_ == DD_ALL || leaf == DD_NONE) {
        return DD_ALL;
    }
    flow = p->task->tables->flows.v[dd_leaf(flow_) - 2];
    e = expect_get(&d->side->judge, leaf);
    if (!e->asked || (!e->allow && flow->ofpacts_len)
        || compare_rule(&p->comparison, flow->cookie, e->rules, e->reason)) {
        return DD_ALL;          /* Who else drops it could name another. */
    }
    o = get_outcome(d, flow, e);
    if (!d->found) {
        return has_outcome(&d->seam->outcomes, &o) ? DD_NONE : DD_ALL;
    } else if (!has_outcome(d->found, &o)) {
        *vec_push(p->arena, d->found) = o;
    }
    return DD_NONE;
}

/* Between two that differ. */
static bool
agrees(struct decider *d, const struct kin *a, const struct kin *b,
       const struct policy_endpoint *opener,
       const struct policy_endpoint *opened, const struct seam_view *view,
       const struct seam_part *part)
{
    const struct dd_op op = { leaf_agree, NULL, d, false, false, OP_AGREE };
    const struct asked numbers = { a->number, b->number, 0 };
    enum judge_question question = (view->asked - 1) / 2;
    bool ip6 = (view->asked - 1) % 2;
    struct space *space = &d->side->space;
    struct judge *j = &d->side->judge;
    struct dd *dd = space->dd;
    dd_t family = space_is(space, F_ETH_TYPE,
                           ip6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    dd_t packets = dd_and(dd, part->packets, dd_and(
        dd, expect_is_asked(j, question), family));
    dd_t decided = exec_decide(d->side->exec, TABLE_POLICY, &numbers,
                               &part->view);
    dd_t meant = expect_verdict(j, question, opener, opened);

    return dd_apply(dd, &op, dd_cut(dd, packets, decided),
                    dd_cut(dd, packets, meant)) == DD_NONE;
}

/* What rules say of two of one kin, they say of any two. */
static bool
all_agree(struct decider *d, const struct kin *a, const struct kin *b)
{
    const struct policy_endpoint *opener = a->members.v[0];
    const struct policy_endpoint *opened = b->members.v[a == b];
    bool agree = true;

    for (size_t i = 0; i < d->seam->views.n && agree; i++) {
        const struct seam_view *view = &d->seam->views.v[i];

        agree = (d->parts[i].packets == DD_NONE || !may_differ(d, a, b, view)
                 || agrees(d, a, b, opener, opened, view, &d->parts[i]));
    }
    return agree;
}

/* Of other packets all is as it was. */
static void
narrow(struct decider *d)
{
    size_t n = d->seam->views.n;
    struct judge *j = &d->side->judge;

    d->parts = arena_zalloc(d->proof->arena, (n + 1) * sizeof *d->parts);
    j->within = DD_NONE;
    for (size_t i = 0; i < n; i++) {
        d->parts[i] = seam_narrow(d->proof, d->side, d->region,
                                  &d->seam->views.v[i]);
        j->within = dd_or(d->side->space.dd, j->within, d->parts[i].packets);
    }
}

bool
seam_decide(struct proof *p, const struct seam *seam,
            const struct region *region, seam_outcomes *found)
{
    struct decider d = {
        .proof = p, .seam = seam, .region = region, .found = found,
    };
    const struct policy_tenant *tenant = p->task->policy->tenants.v[0];
    bool agree = true, scattered;

    proof_reset(p);
    p->cut = NULL;
    p->any_opener = true;
    d.side = proof_side(p, LAYOUT_OPENER);
    p->comparison.judge = &d.side->judge;
    agree = expect_n_questions(&d.side->judge) == seam->n_questions;
    narrow(&d);
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        add_endpoint(&d, tenant->endpoints.v[i]);
    }
    for (size_t i = 0; i < d.kins.n && agree; i++) {
        for (size_t k = 0; k < d.kins.n && agree; k++) {
            const struct kin *a = &d.kins.v[i], *b = &d.kins.v[k];

            agree = ((a == b && a->members.n < 2)
                     || (all_agree(&d, a, b) && !proof_is_late(p)));
        }
    }
    return (agree && !exec_refused(d.side->exec, &scattered)
            && !dd_is_refused(d.side->space.dd));
}

bool
seam_prove(struct proof *p, const struct seam *seam,
           const struct region *region)
{
    bool proved = p->task->policy->tenants.n == 1;

    for (size_t i = 0; i < region->n_flows && proved; i++) {
        proved = seam_is_about(region->flows[i]);
    }
    proved = (proved
              && !(exec_matched(p->fields, TABLE_POLICY) & ~seam->matched)
              && seam_decide(p, seam, region, NULL));
    proof_reset(p);
    p->any_opener = false;
    return proved;
}
