/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/seam.h"

#include <string.h>

#include "openvswitch/ofp-actions.h"
#include "sema/ident.h"
#include "util.h"
#include "verify/contract-tables.h"
#include "verify/proof.h"
#include "verify/round.h"
#include "verify/seam-private.h"

enum { N_VERDICTS = 256 };

bool
seam_is_about(const struct table_flow *flow)
{
    return flow->table == TABLE_POLICY;
}

void
seam_destroy(struct seam *seam)
{
    if (seam) {
        shash_destroy(&seam->numbers);
        arena_destroy(seam->arena);
    }
}

struct seam *
seam_create(void)
{
    struct arena *arena = arena_create();
    struct seam *seam = arena_zalloc(arena, sizeof *seam);

    seam->arena = arena;
    shash_init(&seam->numbers);
    return seam;
}

/* What is decided, of as many flows as rules. */
struct verdicts {
    struct exec_cut cut;
    const struct table_flow *flows[N_VERDICTS];
    struct judge_outcome outcomes[N_VERDICTS];
};

static void
add_verdict(struct verdicts *v, const struct table_flow *flow,
            const struct policy_rule *rule, const struct policy_class *class)
{
    v->flows[v->cut.n] = flow;
    v->outcomes[v->cut.n++] = (struct judge_outcome) { rule, class };
}

static void
verdicts_init(struct verdicts *v)
{
    v->cut = (struct exec_cut) { .table = TABLE_POLICY, .outcomes = v->flows };
}

/* Runs all packets, whatever is decided.  Returns whether it is known what
 * tables use for whom, and stores whether all is as expected. */
static bool
run(struct proof *p, const struct verdicts *v, bool *same)
{
    struct round r;
    bool known;

    proof_start_anew(p);
    p->cut = &v->cut;
    p->outcomes = v->outcomes;
    round_init(&r, p);
    round_run(&r, 0, p->entries.n);
    known = (round_has_marks(&r) && !p->comparison.disputed
             && proof_is_fine(p));
    *same = known && round_is_fine(&r);
    round_destroy(&r);
    return known;
}

/* The rule that allows by flows of the cookie, or NULL. */
static const struct policy_rule *
find_rule(const struct policy *policy, uint64_t cookie)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if ((COOKIE_MARK | rule->id) == cookie) {
            return rule_kind_denies(rule->kind) ? NULL : rule;
        }
    }
    return NULL;
}

/* Is there one that does the same, and allows by that class or denies too? */
static bool
has_verdict(const struct verdicts *v, const struct table_flow *flow,
            bool allow, const struct policy_class *class)
{
    for (size_t i = 0; i < v->cut.n; i++) {
        const struct judge_outcome *o = &v->outcomes[i];
        bool allows = o->rule && !rule_kind_denies(o->rule->kind);

        if (allow == allows && (!allow || class == o->class)
            && flow->ofpacts_len == v->flows[i]->ofpacts_len
            && !memcmp(flow->ofpacts, v->flows[i]->ofpacts,
                       flow->ofpacts_len)) {
            return true;
        }
    }
    return false;
}

/* What POLICY seems to decide by rules, going by cookies, and replies by the
 * same class: that is a guess, from which is found out by which numbers it
 * knows whom.  Returns false if there is nothing that allows, or that denies
 * all else. */
static bool
guess_verdicts(const struct proof *p, struct verdicts *v)
{
    const flow_vec *flows = &p->task->tables->flows;
    bool allows = false, denies = false;

    for (size_t i = 0; i < flows->n && v->cut.n < N_VERDICTS; i++) {
        const struct table_flow *flow = flows->v[i];
        const struct policy_class *class;
        const struct policy_rule *rule;

        if (!seam_is_about(flow) || flow->clause) {
            continue;
        }
        rule = find_rule(p->task->policy, flow->cookie);
        class = rule ? rule->class : NULL;
        if ((rule || !flow->n_conditions)
            && !has_verdict(v, flow, rule != NULL, class)) {
            add_verdict(v, flow, rule, class);
            allows |= rule != NULL;
            denies |= !rule;
        }
    }
    return allows && denies;
}

/* Notes numbers and views that are used, by what is known after run(). */
static void
note_usages(struct proof *p, struct seam *seam)
{
    const struct exec *exec = proof_side(p, LAYOUT_OPENER)->exec;
    const struct usage *u;

    HMAP_FOR_EACH (u, node, &p->comparison.usages) {
        if (u->kind == USE_NUMBER) {
            const struct policy_endpoint *e = u->endpoint;
            uint64_t *number = arena_zalloc(seam->arena, sizeof *number);

            *number = u->value;
            shash_add(&seam->numbers, e->name, number);
        } else if (u->kind == USE_VIEW) {
            *vec_push(seam->arena, &seam->views) = (struct seam_view) {
                u->zone, *exec_view(exec, u->value),
            };
        }
    }
    seam->n_questions = expect_n_questions(
        &proof_side(p, LAYOUT_OPENER)->judge);
    seam->matched = exec_matched(p->fields, TABLE_POLICY);
}

/* Finds what POLICY and rules come to, of all endpoints; stores whether that
 * is among what was 'guessed'. */
static bool
find_verdicts(struct proof *p, const struct seam *seam,
              const struct verdicts *guessed, struct verdicts *v, bool *all)
{
    seam_outcomes found = VEC_INIT;

    if (!seam_decide(p, seam, NULL, &found) || found.n > N_VERDICTS) {
        return false;
    }
    *all = true;
    for (size_t i = 0; i < found.n; i++) {
        const struct seam_outcome *o = &found.v[i];

        add_verdict(v, o->flow, o->rule, o->class);
        *all &= has_verdict(guessed, o->flow, o->allow, o->class);
    }
    return found.n > 0;
}

/* Keeps what there is as long as the seam is. */
static void
note_outcomes(struct seam *seam, const struct verdicts *v)
{
    for (size_t i = 0; i < v->cut.n; i++) {
        const struct judge_outcome *o = &v->outcomes[i];
        const struct table_flow *flow = v->flows[i];
        struct seam_outcome *new = vec_push(seam->arena, &seam->outcomes);
        void *ofpacts = arena_zalloc(seam->arena, flow->ofpacts_len + 1);

        nullable_memcpy(ofpacts, flow->ofpacts, flow->ofpacts_len);
        new->ofpacts = ofpacts;
        new->ofpacts_len = flow->ofpacts_len;
        new->allow = o->rule && !rule_kind_denies(o->rule->kind);
        new->class_name = (o->class ? arena_strdup(seam->arena,
                                                   o->class->name) : "");
    }
}

/* Of what was noted in 'seam', and what is guessed, or else found. */
static const struct verdicts *
prove_any_verdict(struct proof *p, struct seam **seam, struct verdicts *guess,
                  struct verdicts *all)
{
    bool same, guessed;

    if (!guess_verdicts(p, guess) || !run(p, guess, &same)) {
        return NULL;
    }
    note_usages(p, *seam);
    if (!find_verdicts(p, *seam, guess, all, &guessed)) {
        return NULL;
    } else if (guessed) {
        return same ? guess : NULL;
    }
    seam_destroy(*seam);
    *seam = seam_create();
    if (!run(p, all, &same)) {
        return NULL;
    }
    note_usages(p, *seam);
    return same ? all : NULL;
}

struct seam *
seam_make(struct proof *p)
{
    struct verdicts *guess = arena_zalloc(p->arena, sizeof *guess);
    struct verdicts *all = arena_zalloc(p->arena, sizeof *all);
    const struct verdicts *proved = NULL;
    struct seam *seam = seam_create();

    verdicts_init(guess);
    verdicts_init(all);
    p->any_opener = true;
    if (region_is_simple(p) && p->task->policy->tenants.n == 1) {
        proved = prove_any_verdict(p, &seam, guess, all);
    }
    p->cut = NULL;
    if (!proved) {
        seam_destroy(seam);
        return NULL;
    }
    note_outcomes(seam, proved);
    return seam;
}
