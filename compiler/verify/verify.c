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
#include "verify/proof.h"
#include "verify/scope.h"

/* More diagrams than that are forgotten once their entry is done with: those
 * of other tenants have little in common with them, and caches are small. */
enum { MAX_NODES = 1 << 18 };

/* The mark of a tenant's connections.  Where no flow notes any, it is what the
 * name gives: no connection is then there to have it. */
static void
find_marks(struct proof *p)
{
    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        const struct policy_tenant *tenant = p->task->policy->tenants.v[i];
        struct usage usage = { .kind = USE_ZONE, .tenant = tenant };
        uint64_t value;

        p->marks[i] = ident("tenant", tenant->name, 32);
        if (usage_winner(&p->comparison, &usage, &value)) {
            usage = (struct usage) { .kind = USE_MARK, .zone = value };
            if (usage_winner(&p->comparison, &usage, &value)) {
                p->marks[i] = value;
            }
        }
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
reset_if_large(struct proof *p)
{
    if (proof_nodes(p) > MAX_NODES) {
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
            reset_if_large(p);
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
            reset_if_large(p);
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

/* What is not as expected is told port by port. */
static void
prove(struct proof *p)
{
    if (compare_and_vote(p) && !p->mixed) {
        return;
    }
    proof_reset(p);
    p->by_port = true;
    if (p->mixed) {
        hmap_clear(&p->comparison.usages);
        p->comparison.disputed = false;
        if (compare_and_vote(p)) {
            return;
        }
    }
    compare_all(p, false, p->comparison.disputed);
}

/* Is it what a table does with packets that no flow of it matches? */
static bool
is_last_resort(const struct table_flow *flow)
{
    return !flow->priority && !flow->n_conditions && !flow->ofpacts_len;
}

static bool
is_of_rule(const struct proof *p, const struct table_flow *flow)
{
    for (size_t i = 0; i < p->task->policy->rules.n; i++) {
        if ((COOKIE_MARK | p->task->policy->rules.v[i]->id)
            == flow->cookie) {
            return true;
        }
    }
    return false;
}

/* What is wrong with the tables by themselves.  A rule that another makes
 * needless is the intent's: sema/check-redundant.c warns of it. */
static void
look_at_tables(struct proof *p)
{
    const struct table_set *tables = p->task->tables;
    const char *colliding = table_set_colliding_conjunction(tables);
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
    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *by = table_set_shadow(tables,
                                                    tables->flows.v[i]);

        if (by && !is_last_resort(tables->flows.v[i])
            && !(is_of_rule(p, by) && is_of_rule(p, tables->flows.v[i]))) {
            *vec_push(p->arena, &p->result->shadowed)
                = (struct verify_shadow) { tables->flows.v[i], by };
        }
    }
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

/* Proves all that is asked about, in LAYOUT_BITS only if 'fine', each sender
 * 'apart' or not.  'slices' are NULL if that is all. */
static struct outcome
attempt(const struct verify_task *task, const struct slices *slices,
        struct arena *arena, struct verify_result *result, bool fine,
        bool apart)
{
    struct proof p = {
        .task = task, .result = result, .arena = arena,
        .fields = exec_fields_create(task->tables), .fine = fine,
        .apart = apart,
    };
    struct outcome outcome;

    memset(result, 0, sizeof *result);
    result->whole = !slices;
    p.marks = arena_zalloc(arena, (task->policy->tenants.n + 1)
                           * sizeof *p.marks);
    p.comparison = (struct comparison) {
        .task = task, .arena = arena,
        .tunnel = table_set_port(task->tables, INTERFACE_TUNNEL),
    };
    hmap_init(&p.comparison.usages);
    p.comparison.node = find_node(task);
    result->unproved = entries_list(task, arena, result, &p.entries);
    if (slices) {
        limit_entries(&p);
    }
    prove(&p);
    if (!result->unproved) {
        look_at_tables(&p);
    }
    outcome.scattered = p.scattered;
    outcome.mingled = (slices && !result->unproved
                       && !scope_is_apart(task, slices, &p.comparison));
    proof_destroy(&p);
    exec_fields_destroy(p.fields);
    hmap_destroy(&p.comparison.usages);
    return outcome;
}

static bool
is_over(const struct verify_task *task)
{
    return task->deadline && time_msec() > task->deadline;
}

/* What cannot be proved of senders together may be of each. */
static struct outcome
prove_task(const struct verify_task *task, const struct slices *slices,
           struct arena *arena, struct verify_result *result)
{
    struct outcome outcome;
    bool fine = false, apart = false;

    for (;;) {
        outcome = attempt(task, slices, arena, result, fine, apart);
        if (outcome.scattered && !fine) {
            fine = true;
        } else if (result->unproved && !apart && !is_over(task)) {
            apart = true;
        } else {
            return outcome;
        }
    }
}

void
verify(const struct verify_task *task, struct arena *arena,
       struct verify_result *result)
{
    struct slices *slices = task->tenants ? slices_create(task) : NULL;

    if (prove_task(task, slices, arena, result).mingled) {
        prove_task(task, NULL, arena, result);
    }
    slices_destroy(slices);
}
