/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/joins.h"

#include <stdlib.h>
#include <string.h>

#include "intent/intent.h"
#include "sema/policy.h"
#include "util.h"

size_t
joins_root(const struct joins *j, size_t number)
{
    while (j->with[number] != number) {
        number = j->with[number] = j->with[j->with[number]];
    }
    return number;
}

size_t
joins_number(const struct joins *j, const char *name)
{
    return (size_t) shash_find_data(&j->numbers, name);
}

/* Adds the tenant of that name, if it is there; returns its number, or
 * 'number'. */
static size_t
add_name(const struct joins *j, struct joined *joined, size_t number,
         const char *name)
{
    size_t other = joins_number(j, name);

    joined->all |= !strcmp(name, POLICY_EVERY_TENANT);
    if (!other || other == number) {
        return number;
    }
    if (joined->n >= joined->allocated) {
        joined->v = x2nrealloc(joined->v, &joined->allocated,
                               sizeof *joined->v);
    }
    return joined->v[joined->n++] = other;
}

/* Adds all whom the selectors name; one that names no tenant means that whose
 * rule it is, 'own', or else all.  Returns one of them. */
static size_t
add_selectors(const struct joins *j, struct joined *joined, size_t number,
              bool own, const selector_vec *selectors)
{
    for (size_t i = 0; i < selectors->n; i++) {
        const struct intent_selector *s = &selectors->v[i];

        joined->all |= s->external.s || (!s->tenant.s && !own);
        number = (s->tenant.s ? add_name(j, joined, number, s->tenant.s)
                  : number);
        number = add_selectors(j, joined, number, true, &s->except);
    }
    return number;
}

/* Finds whom the tenant of that number names. */
static void
find_joined(struct joins *j, size_t number)
{
    const struct intent_tenant *t = &j->intent->tenants.v[number - 1];
    struct joined *joined = &j->of[number];

    joined->at = t->name.at;
    joined->n = 0;
    joined->all = false;
    for (size_t k = 0; k < t->peers.n; k++) {
        add_name(j, joined, number, t->peers.v[k].s);
    }
    for (size_t k = 0; k < t->rules.n; k++) {
        add_selectors(j, joined, number, true, &t->rules.v[k].from);
        add_selectors(j, joined, number, true, &t->rules.v[k].to);
    }
}

static void
join_all(struct joins *j, size_t number, const struct joined *joined)
{
    j->all |= joined->all;
    for (size_t i = 0; i < joined->n; i++) {
        number = number ? number : joined->v[i];
        j->with[joins_root(j, number)] = joins_root(j, joined->v[i]);
    }
}

static void
join_peerings(struct joins *j)
{
    struct joined joined = { .v = NULL };

    for (size_t i = 0; i < j->intent->peerings.n; i++) {
        const struct intent_rule *peering = &j->intent->peerings.v[i];

        joined.n = 0;
        add_selectors(j, &joined, 0, false, &peering->from);
        add_selectors(j, &joined, 0, false, &peering->to);
        join_all(j, 0, &joined);
    }
    free(joined.v);
}

void
joins_destroy(struct joins *j)
{
    for (size_t i = 1; i <= j->n; i++) {
        free(j->of[i].v);
    }
    free(j->of);
    free(j->with);
    shash_destroy(&j->numbers);
}

void
joins_init(struct joins *j, const struct intent *intent)
{
    *j = (struct joins) { .n = intent->tenants.n };
    shash_init(&j->numbers);
    j->of = xcalloc(j->n + 1, sizeof *j->of);
    j->with = xcalloc(j->n + 1, sizeof *j->with);
    for (size_t i = 1; i <= j->n; i++) {
        shash_add(&j->numbers, intent->tenants.v[i - 1].name.s, (void *) i);
    }
}

/* Does it know the tenants of the intent, as they stand there? */
static bool
has_tenants(const struct joins *j, const struct intent *intent)
{
    bool same = j->n == intent->tenants.n;

    for (size_t i = 1; i <= j->n && same; i++) {
        same = joins_number(j, intent->tenants.v[i - 1].name.s) == i;
    }
    return same;
}

bool
joins_update(struct joins *j, const struct intent *intent, const char *changed)
{
    bool same = has_tenants(j, intent);

    j->of[changed ? joins_number(j, changed) : 0].at = NULL;
    if (!same) {
        joins_destroy(j);
        joins_init(j, intent);
    }
    j->intent = intent;
    j->all = intent->externals.n || intent->guardrails.n;
    for (size_t i = 1; i <= j->n; i++) {
        j->with[i] = i;
    }
    for (size_t i = 1; i <= j->n; i++) {
        if (j->of[i].at != intent->tenants.v[i - 1].name.at) {
            find_joined(j, i);
        }
        join_all(j, i, &j->of[i]);
    }
    join_peerings(j);
    return same;
}

size_t *
joins_list_roots(const struct joins *j)
{
    size_t *roots = xcalloc(j->n + 1, sizeof *roots);

    for (size_t i = 1; i <= j->n; i++) {
        roots[i] = joins_root(j, i);
    }
    return roots;
}
