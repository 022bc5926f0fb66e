/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/round.h"

#include <stdlib.h>

#include "sema/ident.h"
#include "util.h"

/* More diagrams than that are forgotten once their entry is done with, or once
 * their tenant is: those of other tenants have little in common with them, and
 * caches are small. */
enum { MAX_NODES = 1 << 22, MAX_NODES_OF_TENANTS = 1 << 14 };

uint32_t
round_find_mark(struct proof *p, size_t i)
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

bool
round_is_known(struct proof *p, const struct policy_tenant *tenant)
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
    if (proof_nodes(p) > max && p->cut) {
        p->result->unproved = "views would be forgotten";
    } else if (proof_nodes(p) > max) {
        proof_reset(p);
    }
}

void
round_reset_if_large(struct proof *p)
{
    reset_if_large(p, MAX_NODES);
}

/* Finds zone and mark of the tenant by as few endpoints as will do. */
static void
know_tenant(struct round *r, size_t number)
{
    struct proof *p = r->proof;
    const struct policy_tenant *tenant = p->task->policy->tenants.v[number];

    for (size_t i = r->first[number]; i < p->entries.n
         && p->entries.v[i].endpoint
         && p->entries.v[i].endpoint->tenant == tenant
         && !round_is_known(p, tenant) && !proof_is_late(p); i++) {
        if (p->entries.v[i].probed) {
            proof_run(p, &p->entries.v[i]);
            if (!p->result->unproved) {
                proof_vote(p, &p->entries.v[i], false);
            }
        }
    }
    p->marks[number] = round_find_mark(p, number);
    r->known[number] = true;
}

/* The same of those that its packets may be for, or of all if that is not
 * known. */
static void
know_enough(struct round *r, const struct entry *entry)
{
    const struct policy *policy = r->proof->task->policy;
    size_t n = policy->tenants.n, own, i;

    if (!entry->endpoint) {
        for (i = 0; i < n; i++) {
            if (!r->known[i]) {
                know_tenant(r, i);
            }
        }
        return;
    }
    own = scope_number(policy, entry->endpoint->tenant);
    BITMAP_FOR_EACH_1 (i, n, neighbors_of(&r->neighbors, own)) {
        if (i != own && !r->known[i]) {
            know_tenant(r, i);
        }
    }
    if (!r->known[own]) {
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
    round_reset_if_large(p);
}

void
round_init(struct round *r, struct proof *p)
{
    const struct policy *policy = p->task->policy;

    *r = (struct round) { .proof = p, .same = true };
    r->known = xcalloc(policy->tenants.n + 1, sizeof *r->known);
    r->first = xcalloc(policy->tenants.n + 1, sizeof *r->first);
    for (size_t i = p->entries.n; i > 0; i--) {
        const struct policy_endpoint *e = p->entries.v[i - 1].endpoint;

        if (e) {
            r->first[scope_number(policy, e->tenant)] = i - 1;
        }
    }
    neighbors_init(&r->neighbors, policy);
}

void
round_destroy(struct round *r)
{
    neighbors_destroy(&r->neighbors);
    free(r->known);
    free(r->first);
}

void
round_run(struct round *r, size_t first, size_t end)
{
    struct proof *p = r->proof;
    struct entry *last = NULL;

    for (size_t i = first; i < end && !proof_is_late(p); i++) {
        struct entry *entry = &p->entries.v[i];

        if (entry->asked || (entry->probed && !entry->endpoint)) {
            compare_next(r, entry, last);
            last = entry;
        }
    }
}

bool
round_is_fine(const struct round *r)
{
    return r->same && !r->proof->comparison.disputed;
}

bool
round_has_marks(const struct round *r)
{
    struct proof *p = r->proof;
    bool right = true;

    for (size_t i = 0; i < p->task->policy->tenants.n; i++) {
        right &= r->known[i] && p->marks[i] == round_find_mark(p, i);
    }
    return right;
}
