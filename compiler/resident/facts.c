/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/facts.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

void
facts_init(struct facts *facts)
{
    memset(facts, 0, sizeof *facts);
    hmap_init(&facts->all);
}

void
facts_destroy(struct facts *facts)
{
    struct fact *fact;

    facts_settle(facts);
    free(facts->gone.v);
    HMAP_FOR_EACH_POP (fact, node, &facts->all) {
        free(fact);
    }
    hmap_destroy(&facts->all);
}

static void
push(struct fact_vec *vec, struct fact *fact)
{
    if (vec->n == vec->allocated) {
        vec->v = x2nrealloc(vec->v, &vec->allocated, sizeof *vec->v);
    }
    vec->v[vec->n++] = fact;
}

static uint32_t
key_hash(const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_FLOW:
        return hash_string(fact->flow.match,
                           fact->flow.table << 16 | fact->flow.priority);
    case FACT_METER:
        return hash_int(fact->meter.id, 1);
    case FACT_CLAIM:
        return hash_string(fact->claim.key,
                           hash_string(fact->claim.what,
                                       hash_uint64(fact->claim.number)));
    }
    OVS_NOT_REACHED();
}

static bool
same_key(const struct fact *a, const struct fact *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case FACT_FLOW:
        return !plan_compare_flows(&a->flow, &b->flow);
    case FACT_METER:
        return a->meter.id == b->meter.id;
    case FACT_CLAIM:
        return (a->claim.number == b->claim.number
                && !strcmp(a->claim.what, b->claim.what)
                && !strcmp(a->claim.key, b->claim.key));
    }
    OVS_NOT_REACHED();
}

/* Of facts of the same key. */
static bool
same_value(const struct fact *a, const struct fact *b)
{
    switch (a->kind) {
    case FACT_FLOW:
        return (a->flow.cookie == b->flow.cookie
                && !strcmp(a->flow.actions, b->flow.actions));
    case FACT_METER:
        return (plan_meter_same(&a->meter, &b->meter)
                && !strcmp(a->meter.name, b->meter.name));
    case FACT_CLAIM:
        return (a->claim.at == b->claim.at
                && !strcmp(a->claim.by, b->claim.by));
    }
    OVS_NOT_REACHED();
}

enum { MAX_STRINGS = 4 };

/* Stores where the strings of '*fact' are.  Returns how many. */
static size_t
find_strings(struct fact *fact, const char **strings[MAX_STRINGS])
{
    size_t n = 0;

    switch (fact->kind) {
    case FACT_FLOW:
        strings[n++] = &fact->flow.match;
        strings[n++] = &fact->flow.actions;
        break;
    case FACT_METER:
        strings[n++] = &fact->meter.name;
        strings[n++] = &fact->meter.endpoint;
        strings[n++] = &fact->meter.uplink;
        strings[n++] = &fact->meter.place;
        break;
    case FACT_CLAIM:
        strings[n++] = &fact->claim.key;
        strings[n++] = &fact->claim.by;
        break;
    }
    return n;
}

/* A copy whose strings are its own, behind it. */
static struct fact *
fact_clone(const struct fact *fact)
{
    const char **strings[MAX_STRINGS];
    struct fact found = *fact, *copy;
    size_t n = find_strings(&found, strings), size = sizeof *copy;
    char *end;

    for (size_t i = 0; i < n; i++) {
        size += *strings[i] ? strlen(*strings[i]) + 1 : 0;
    }
    copy = xmalloc(size);
    *copy = *fact;
    end = (char *) (copy + 1);
    find_strings(copy, strings);
    for (size_t i = 0; i < n; i++) {
        if (*strings[i]) {
            size = strlen(*strings[i]) + 1;
            *strings[i] = memcpy(end, *strings[i], size);
            end += size;
        }
    }
    return copy;
}

/* What was held before, in the order in which it was found: claims, meters,
 * and flows in their own order. */
struct before {
    const struct fact_vec *held;
    size_t next;                /* In 'held': what is likely wanted next. */
};

enum { MAX_SKIPPED = 16 };      /* Claims or meters that may have gone in a
                                 * row. */

/* Is 'fact' held before 'wanted' would be? */
static bool
stands_before(const struct fact *fact, const struct fact *wanted)
{
    return (fact->kind != wanted->kind
            ? fact->kind > wanted->kind
            : fact->kind == FACT_FLOW
              && plan_compare_flows(&fact->flow, &wanted->flow) < 0);
}

/* 'fact' was found in the table: if it was held before, what followed it then
 * is likely next. */
static void
follow(struct before *before, const struct fact *fact)
{
    size_t end = MIN(before->held->n, before->next + MAX_SKIPPED);

    for (size_t i = before->next; i < end; i++) {
        if (before->held->v[i] == fact) {
            before->next = i + 1;
            return;
        }
    }
}

/* The next of what was held before, if that is what is wanted; or NULL. */
static struct fact *
expected(struct before *before, const struct fact *wanted)
{
    const struct fact_vec *held = before->held;
    struct fact *fact;

    while (before->next < held->n
           && stands_before(held->v[before->next], wanted)) {
        before->next++;
    }
    fact = before->next < held->n ? held->v[before->next] : NULL;
    if (!fact || !same_key(fact, wanted)) {
        return NULL;
    }
    before->next++;
    return same_value(fact, wanted) ? fact : NULL;
}

/* Returns NULL, or a fact that 'wanted' clashes with. */
static struct fact *
hold(struct facts *facts, const struct fact *wanted, struct before *before,
     struct fact_vec *held)
{
    struct fact *fact, *same = expected(before, wanted);
    uint32_t hash;

    if (same) {
        same->n++;
        push(held, same);
        return NULL;
    }
    hash = key_hash(wanted);

    HMAP_FOR_EACH_WITH_HASH (fact, node, hash, &facts->all) {
        if (same_key(fact, wanted)) {
            if (same_value(fact, wanted)) {
                same = fact;
            } else if (fact->n > fact->n_leaving) {
                return fact;
            }
        }
    }
    if (same) {
        follow(before, same);
    } else {
        same = fact_clone(wanted);
        same->fresh = true;
        hmap_insert(&facts->all, &same->node, hash);
        if (same->kind == FACT_FLOW) {
            facts->n_flows[same->flow.table]++;
        }
    }
    same->n++;
    push(held, same);
    return NULL;
}

struct fact *
facts_hold(struct facts *facts, const struct plan *plan,
           const struct claims *claims, const struct fact_vec *likely,
           struct fact_vec *held)
{
    const struct fact_vec none = { .v = NULL };
    struct before before = { .held = likely ? likely : &none };
    struct fact *clash = NULL;

    for (size_t i = 0; i < claims->list.n && !clash; i++) {
        clash = hold(facts, &(struct fact) { .kind = FACT_CLAIM,
                                             .claim = claims->list.v[i] },
                     &before, held);
    }
    for (size_t i = 0; i < plan->meters.n && !clash; i++) {
        clash = hold(facts, &(struct fact) { .kind = FACT_METER,
                                             .meter = plan->meters.v[i] },
                     &before, held);
    }
    for (size_t i = 0; i < plan->flows.n && !clash; i++) {
        clash = hold(facts, &(struct fact) { .kind = FACT_FLOW,
                                             .flow = plan->flows.v[i] },
                     &before, held);
    }
    return clash;
}

static void
remove_fact(struct facts *facts, struct fact *fact)
{
    hmap_remove(&facts->all, &fact->node);
    if (fact->kind == FACT_FLOW) {
        facts->n_flows[fact->flow.table]--;
    }
}

void
facts_release(struct facts *facts, struct fact_vec *held)
{
    for (size_t i = 0; i < held->n; i++) {
        struct fact *fact = held->v[i];

        if (!--fact->n) {
            remove_fact(facts, fact);
            free(fact);
        }
    }
    held->n = 0;
}

void
facts_leave(struct fact_vec *held, bool leaves)
{
    for (size_t i = 0; i < held->n; i++) {
        if (leaves) {
            held->v[i]->n_leaving++;
        } else {
            held->v[i]->n_leaving--;
        }
    }
}

void
facts_drop(struct facts *facts, struct fact_vec *held)
{
    for (size_t i = 0; i < held->n; i++) {
        struct fact *fact = held->v[i];

        fact->n--;
        fact->n_leaving--;
        if (!fact->n) {
            remove_fact(facts, fact);
            push(&facts->gone, fact);
        }
    }
    held->n = 0;
}

void
facts_settle(struct facts *facts)
{
    for (size_t i = 0; i < facts->gone.n; i++) {
        free(facts->gone.v[i]);
    }
    facts->gone.n = 0;
}
