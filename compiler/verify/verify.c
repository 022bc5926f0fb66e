/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "sema/ident.h"
#include "sema/interface.h"
#include "timeval.h"
#include "util.h"
#include "verify/contract.h"
#include "verify/proof.h"
#include "verify/scope.h"

/* More diagrams than that are forgotten once their entry is done with, or once
 * their tenant is: those of other tenants have little in common with them, and
 * caches are small. */
enum { MAX_NODES = 1 << 18, MAX_NODES_OF_TENANTS = 1 << 15 };

/* The mark of a tenant's connections.  Where no flow notes any, it is what the
 * name gives: no connection is then there to have it. */
static uint32_t
find_mark(struct proof *p, size_t i)
{
    const struct policy_tenant *tenant = p->task->policy->tenants.v[i];
    struct usage usage = { .kind = USE_ZONE, .tenant = tenant };
    uint64_t value;

    if (usage_winner(&p->comparison, &usage, &value)) {
        usage = (struct usage) { .kind = USE_MARK, .zone = value };
        if (usage_winner(&p->comparison, &usage, &value)) {
            return value;
        }
    }
    return ident("tenant", tenant->name, 32);
}

static void
find_marks(struct proof *p)
{
    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        p->marks[i] = find_mark(p, i);
    }
}

static bool
is_known(struct proof *p, const struct policy_tenant *tenant)
{
    struct usage usage = { .kind = USE_ZONE, .tenant = tenant };
    uint64_t value;

    if (!usage_winner(&p->comparison, &usage, &value)) {
        return false;
    }
    usage = (struct usage) { .kind = USE_MARK, .zone = value };
    return usage_winner(&p->comparison, &usage, &value);
}

static void
reset_if_large(struct proof *p, size_t max)
{
    if (proof_nodes(p) > max) {
        proof_reset(p);
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
                || !is_known(p, entry->endpoint->tenant))) {
            proof_run(p, entry);
            if (!p->result->unproved) {
                proof_vote(p, entry, all);
            }
            reset_if_large(p, MAX_NODES);
        }
    }
    for (size_t i = 0; i < p->entries.n; i++) {
        known &= (!p->entries.v[i].probed || !p->entries.v[i].endpoint
                  || is_known(p, p->entries.v[i].endpoint->tenant));
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
            reset_if_large(p, MAX_NODES);
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

/* Tenants one after the other, so that what was computed to find their zones
 * and marks is still known when they are compared. */
struct round {
    struct proof *proof;
    struct neighbors neighbors;
    bool *known;                /* By tenant: is its mark? */
    size_t *first;              /* By tenant: its first entry. */
    bool same;
};

/* Finds zone and mark of the tenant by as few endpoints as will do. */
static void
know_tenant(struct round *r, size_t number)
{
    struct proof *p = r->proof;
    const struct policy_tenant *tenant = p->task->policy->tenants.v[number];

    for (size_t i = r->first[number]; i < p->entries.n
         && p->entries.v[i].endpoint
         && p->entries.v[i].endpoint->tenant == tenant
         && !is_known(p, tenant) && !proof_is_late(p); i++) {
        if (p->entries.v[i].probed) {
            proof_run(p, &p->entries.v[i]);
            if (!p->result->unproved) {
                proof_vote(p, &p->entries.v[i], false);
            }
        }
    }
    p->marks[number] = find_mark(p, number);
    r->known[number] = true;
}

/* The same of those that its packets may be for, or of all if that is not
 * known. */
static void
know_enough(struct round *r, const struct entry *entry)
{
    const struct policy *policy = r->proof->task->policy;
    size_t own = (entry->endpoint
                  ? scope_number(policy, entry->endpoint->tenant) : 0);

    for (size_t i = 0; i < policy->tenants.n; i++) {
        if (i != own && !r->known[i]
            && (!entry->endpoint
                || bitmap_is_set(neighbors_of(&r->neighbors, own), i))) {
            know_tenant(r, i);
        }
    }
    if (entry->endpoint && !r->known[own]) {
        know_tenant(r, own);
    }
}

static void
compare_next(struct round *r, struct entry *entry, struct entry *last)
{
    struct proof *p = r->proof;

    if (last && last->endpoint && (!entry->endpoint
        || last->endpoint->tenant != entry->endpoint->tenant)) {
        reset_if_large(p, MAX_NODES_OF_TENANTS);
    }
    know_enough(r, entry);
    proof_run(p, entry);
    if (!p->result->unproved && !entry->endpoint && entry->probed) {
        proof_vote(p, entry, false);
    }
    if (!p->result->unproved && entry->asked) {
        entry->differs = !proof_compare(p, entry, true);
        r->same &= !entry->differs;
    }
    reset_if_large(p, MAX_NODES);
}

/* Are all marks those that were found?  What was compared later, and is not
 * of an endpoint, has a vote too. */
static bool
are_marks_right(struct round *r)
{
    struct proof *p = r->proof;
    bool right = true;

    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        right &= r->known[i] && p->marks[i] == find_mark(p, i);
    }
    for (size_t i = 0; i < p->entries.n; i++) {
        right &= (!p->entries.v[i].probed || !p->entries.v[i].endpoint
                  || is_known(p, p->entries.v[i].endpoint->tenant));
    }
    return right;
}

/* Finds zones and marks, and compares all, tenant by tenant.  Returns false if
 * that cannot be done so; else stores whether all is as expected. */
static bool
compare_by_tenant(struct proof *p, bool *same)
{
    const struct policy *policy = p->task->policy;
    struct round r = { .proof = p, .same = true };
    struct entry *last = NULL;
    bool right;

    r.known = xcalloc(policy->tenants.n + 1, sizeof *r.known);
    r.first = xcalloc(policy->tenants.n + 1, sizeof *r.first);
    for (size_t i = p->entries.n; i > 0; i--) {
        const struct policy_endpoint *e = p->entries.v[i - 1].endpoint;

        if (e) {
            r.first[scope_number(policy, e->tenant)] = i - 1;
        }
    }
    neighbors_init(&r.neighbors, policy);
    for (size_t i = 0; i < p->entries.n && !proof_is_late(p); i++) {
        struct entry *entry = &p->entries.v[i];

        if (entry->asked || (entry->probed && !entry->endpoint)) {
            compare_next(&r, entry, last);
            last = entry;
        }
    }
    right = are_marks_right(&r);
    neighbors_destroy(&r.neighbors);
    free(r.known);
    free(r.first);
    *same = r.same && !p->comparison.disputed;
    return right || p->result->unproved;
}

/* Forgets all that was found. */
static void
start_anew(struct proof *p)
{
    proof_reset(p);
    hmap_clear(&p->comparison.usages);
    p->comparison.disputed = false;
}

/* What is not as expected is told port by port. */
static void
prove(struct proof *p)
{
    bool same;

    if (!compare_by_tenant(p, &same)) {
        start_anew(p);
        same = compare_and_vote(p);
    }
    if (same && !p->mixed) {
        return;
    }
    proof_reset(p);
    p->by_port = true;
    if (p->mixed) {
        start_anew(p);
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
    p.comparison = (struct comparison) {
        .task = task, .arena = arena,
        .tunnel = table_set_port(task->tables, INTERFACE_TUNNEL),
    };
    hmap_init(&p.comparison.usages);
    memo_init(&p.comparison.numbers);
    p.comparison.node = find_node(task);
    result->unproved = entries_list(task, limits, arena, result, &p.entries);
    if (limits) {
        limit_entries(&p);
    }
    prove(&p);
    if (!result->unproved) {
        look_at_tables(&p, limits);
    }
    outcome.scattered = p.scattered;
    outcome.mingled = (limits && !result->unproved
                       && limits_are_crossed(limits, &p.comparison));
    proof_destroy(&p);
    exec_fields_destroy(own);
    hmap_destroy(&p.comparison.usages);
    memo_destroy(&p.comparison.numbers);
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
        if (outcome.scattered && !fine) {
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
