/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "timeval.h"
#include "util.h"
#include "verify/contract.h"
#include "verify/jobs.h"
#include "verify/proof.h"
#include "verify/region.h"
#include "verify/round.h"
#include "verify/scope.h"
#include "verify/seam.h"

static void
find_marks(struct proof *p)
{
    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        p->marks[i] = round_find_mark(p, i);
    }
}

/* Finds zones and marks, by as few endpoints as will do.  Returns whether all
 * are known of tenants with endpoints here. */
static bool
probe(struct proof *p, bool all)
{
    bool known = true;

    for (size_t i = 0; i < p->entries.n && !proof_is_late(p); i++) {
        struct entry *entry = &p->entries.v[i];

        if (entry->probed
            && (all || !entry->endpoint
                || !round_is_known(p, entry->endpoint->tenant))) {
            proof_run(p, entry);
            if (!p->result->unproved) {
                proof_vote(p, entry, all);
            }
            round_reset_if_large(p);
        }
    }
    for (size_t i = 0; i < p->entries.n; i++) {
        known &= (!p->entries.v[i].probed || !p->entries.v[i].endpoint
                  || round_is_known(p, p->entries.v[i].endpoint->tenant));
    }
    return known;
}

/* Compares all entries, or those that differ.  Returns whether all is as
 * expected. */
static bool
compare_all(struct proof *p, bool voting, bool all)
{
    bool same = true;

    for (size_t i = 0; i < p->entries.n && !proof_is_late(p); i++) {
        struct entry *entry = &p->entries.v[i];

        if (entry->asked && (all || entry->differs)) {
            proof_run(p, entry);
            if (!p->result->unproved) {
                entry->differs = !proof_compare(p, entry, voting);
                same &= !entry->differs;
            }
            round_reset_if_large(p);
        }
    }
    return same;
}

/* Finds zones and marks, and compares all.  Returns whether all is as expected
 * and agrees who uses what. */
static bool
compare_and_vote(struct proof *p)
{
    bool same;

    if (!probe(p, false)) {
        probe(p, true);
    }
    find_marks(p);
    same = compare_all(p, true, true);
    return same && !p->comparison.disputed;
}

/* Finds zones and marks, and compares all, tenant by tenant.  Returns false if
 * that cannot be done so; else stores whether all is as expected. */
static bool
compare_by_tenant(struct proof *p, bool *same)
{
    struct round r;
    bool right;

    round_init(&r, p);
    round_run(&r, 0, p->entries.n);
    right = round_has_marks(&r);
    *same = round_is_fine(&r);
    round_destroy(&r);
    return right || p->result->unproved;
}

/* Proves all at once, whatever opened connections.  Returns false if that does
 * not do: nothing is known then. */
static bool
prove_any_opener(struct proof *p)
{
    bool fine, same;

    p->any_opener = true;
    fine = (jobs_prove(p)
            || (compare_by_tenant(p, &same) && same && proof_is_fine(p)));
    if (!fine) {
        proof_forget(p);
        p->any_opener = false;
    }
    return fine;
}

/* What is not as expected is told port by port. */
static void
prove(struct proof *p)
{
    bool same;

    if (!p->result->unproved && prove_any_opener(p)) {
        return;
    }
    if (!compare_by_tenant(p, &same)) {
        proof_start_anew(p);
        same = compare_and_vote(p);
    }
    if (same && !p->mixed) {
        return;
    }
    proof_reset(p);
    p->by_port = true;
    if (p->mixed) {
        proof_start_anew(p);
        if (compare_and_vote(p)) {
            return;
        }
    }
    compare_all(p, false, p->comparison.disputed);
}

static const struct intent_node *
find_node(const struct verify_task *task)
{
    const struct intent *intent = task->policy->intent;
    size_t i = 0;

    while (strcmp(intent->nodes.v[i].name.s, task->node)) {
        i++;
    }
    return &intent->nodes.v[i];
}

/* Leaves what tenants send out that are not asked about; of those that these
 * have to do with, zones and marks are found all the same. */
static void
limit_entries(struct proof *p)
{
    const struct policy *policy = p->task->policy;
    const struct policy_tenant *last = NULL;
    struct neighbors neighbors;
    size_t n = policy->tenants.n;
    unsigned long *near = bitmap_allocate(n);

    neighbors_init(&neighbors, policy);
    for (size_t i = 0; i < n; i++) {
        if (p->task->tenants[i]) {
            bitmap_or(near, neighbors_of(&neighbors, i), n);
        }
    }
    p->result->n_endpoints = p->result->n_tenants = 0;
    for (size_t i = 0; i < p->entries.n; i++) {
        struct entry *entry = &p->entries.v[i];

        if (entry->endpoint) {
            size_t number = scope_number(policy, entry->endpoint->tenant);

            entry->asked = p->task->tenants[number];
            entry->probed = bitmap_is_set(near, number);
            p->result->n_endpoints += entry->asked;
            p->result->n_tenants += (entry->asked
                                     && last != entry->endpoint->tenant);
            last = entry->endpoint->tenant;
        }
    }
    neighbors_destroy(&neighbors);
    free(near);
}

/* What one proof came to, beside its result. */
struct outcome {
    bool scattered;             /* It is to be done in LAYOUT_BITS only. */
    bool mingled;               /* Of all tenants. */
};

static void
look_at_tables(struct proof *p, const struct limits *limits)
{
    if (limits && limits->change) {
        proof_look_at_flows(p, limits->flows, limits->n_flows);
    } else {
        proof_look_at_tables(p);
    }
    if (p->task->contracts) {
        contract_ask(p);
    }
}

/* Proves what can meet the change by its seam, if there is one, which asks for
 * nothing of how packets come in. */
static bool
prove_by_seam(struct proof *p, const struct limits *limits)
{
    if (!limits || !limits->region || !limits->seam
        || !seam_prove(p, limits->seam, limits->region)) {
        return false;
    }
    p->result->seam = true;
    p->result->n_tenants = 1;
    return true;
}

static void
prove_asked(struct proof *p, const struct limits *limits)
{
    if (!limits || (!limits->region && !limits->made)) {
        prove(p);
    } else if (!p->result->unproved && limits->made) {
        *limits->made = seam_make(p);
    } else if (!p->result->unproved && !region_prove(p, limits->region)
               && !p->result->unproved) {
        p->result->unproved = "what can meet the change is not proved";
    }
}

/* Finds all ways by which packets come, and proves what is asked of them. */
static void
prove_entries(struct proof *p, const struct limits *limits)
{
    p->result->unproved = entries_list(p->task, limits, p->arena, p->result,
                                       &p->entries);
    if (limits) {
        limit_entries(p);
    }
    prove_asked(p, limits);
}

/* Proves all that is asked about, in LAYOUT_BITS only if 'fine', each sender
 * 'apart' or not.  'limits' are NULL if that is all. */
static struct outcome
attempt(const struct verify_task *task, const struct limits *limits,
        struct arena *arena, struct verify_result *result, bool fine,
        bool apart)
{
    struct exec_fields *own = task->fields ? NULL
                              : exec_fields_create(task->tables);
    struct proof p = {
        .task = task, .result = result, .arena = arena,
        .fields = own ? own : task->fields,
        .facts = judge_facts_create(task->policy, task->node, arena),
        .fine = fine, .apart = apart,
    };
    struct outcome outcome;

    memset(result, 0, sizeof *result);
    result->whole = !limits;
    p.marks = arena_zalloc(arena, (task->policy->tenants.n + 1)
                           * sizeof *p.marks);
    comparison_init(&p.comparison, task, find_node(task), arena);
    if (!prove_by_seam(&p, limits) && !result->unproved) {
        prove_entries(&p, limits);
    }
    if (!result->unproved) {
        look_at_tables(&p, limits);
    }
    outcome.scattered = p.scattered;
    outcome.mingled = (limits && !result->unproved
                       && limits_are_crossed(limits, &p.comparison));
    proof_destroy(&p);
    exec_fields_destroy(own);
    comparison_destroy(&p.comparison);
    return outcome;
}

static bool
is_over(const struct verify_task *task)
{
    return task->deadline && time_msec() > task->deadline;
}

/* What cannot be proved of senders together may be of each. */
static struct outcome
prove_task(const struct verify_task *task, const struct limits *limits,
           struct arena *arena, struct verify_result *result)
{
    struct outcome outcome;
    bool fine = false, apart = false;

    for (;;) {
        outcome = attempt(task, limits, arena, result, fine, apart);
        if (limits && (limits->region || limits->made)) {
            return outcome;
        } else if (outcome.scattered && !fine) {
            fine = true;
        } else if (result->unproved && !apart && !is_over(task)) {
            apart = true;
        } else {
            return outcome;
        }
    }
}

bool
verify_limited(const struct verify_task *task, const struct limits *limits,
               struct arena *arena, struct verify_result *result)
{
    return !prove_task(task, limits, arena, result).mingled;
}

/* What is nobody's is always asked about. */
static unsigned long *
find_others(const struct verify_task *task)
{
    size_t n = task->policy->tenants.n;
    unsigned long *others = bitmap_allocate(n + 1);

    for (size_t i = 0; i < n; i++) {
        bitmap_set(others, i, !task->tenants[i]);
    }
    return others;
}

void
verify(const struct verify_task *task, struct arena *arena,
       struct verify_result *result)
{
    struct slices *slices = task->tenants ? slices_create(task) : NULL;
    unsigned long *others = slices ? find_others(task) : NULL;
    struct limits limits = { .slices = slices, .others = others };

    if (!slices || !verify_limited(task, &limits, arena, result)) {
        prove_task(task, NULL, arena, result);
    }
    free(others);
    slices_destroy(slices);
}
