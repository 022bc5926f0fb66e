/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/narrower.h"

#include <stdlib.h>
#include <string.h>

#include "sema/check.h"
#include "sema/policy.h"
#include "util.h"

struct comparison {
    const struct policy *policy;
    const char *tenant;         /* What is said of others does not matter;
                                 * NULL: of two peerings. */
    bool possible;              /* Could it be so, if endpoints were others? */
};

/* An alternative of a selector. */
struct choice {
    const struct intent_selector *s;
    const char *tenant;         /* Whose endpoints, or all; NULL: anybody's
                                 * who could have one of that name. */
    const struct policy_endpoint *e;    /* If not NULL, this one of those that
                                         * it names. */
};

static bool
is_every(const char *tenant)
{
    return !tenant || !strcmp(tenant, POLICY_EVERY_TENANT);
}

/* 's' is of 'outer' if it does not say whose it is; NULL: all are that can
 * be. */
static struct choice
choice_of(const struct comparison *c, const struct intent_selector *s,
          const char *outer)
{
    const char *tenant = s->tenant.s ? s->tenant.s : outer;

    return (struct choice) {
        s, is_every(tenant) && c->tenant ? c->tenant : tenant, NULL,
    };
}

static bool
same_tenant(const char *a, const char *b)
{
    return !a || !b || !strcmp(a, b);
}

/* Are all names of 'some', if those are not any, in 'all'? */
static bool
names_hold(const text_vec *all, const text_vec *some)
{
    for (size_t i = 0; all->n && i < some->n; i++) {
        if (!texts_hold(all, some->v[i].s)) {
            return false;
        }
    }
    return !all->n || some->n;
}

static bool
names_are_apart(const text_vec *a, const text_vec *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (texts_hold(b, a->v[i].s)) {
            return false;
        }
    }
    return a->n && b->n;
}

static const struct intent_label *
find_label(const struct intent_selector *s, const char *name)
{
    for (size_t i = 0; i < s->labels.n; i++) {
        if (!strcmp(s->labels.v[i].name.s, name)) {
            return &s->labels.v[i];
        }
    }
    return NULL;
}

static bool
labels_hold(const struct intent_selector *all,
            const struct intent_selector *some)
{
    for (size_t i = 0; i < all->labels.n; i++) {
        const struct intent_label *label = &all->labels.v[i];
        const struct intent_label *other = find_label(some, label->name.s);

        if (!other || !names_hold(&label->values, &other->values)) {
            return false;
        }
    }
    return true;
}

static bool
labels_are_apart(const struct intent_selector *a,
                 const struct intent_selector *b)
{
    for (size_t i = 0; i < a->labels.n; i++) {
        const struct intent_label *label = &a->labels.v[i];
        const struct intent_label *other = find_label(b, label->name.s);

        if (other && names_are_apart(&label->values, &other->values)) {
            return true;
        }
    }
    return false;
}

static bool
cidrs_hold(const address_vec *all, const address_vec *some)
{
    for (size_t i = 0; all->n && i < some->n; i++) {
        bool held = false;

        for (size_t j = 0; j < all->n && !held; j++) {
            held = range_holds(&all->v[j], &some->v[i]);
        }
        if (!held) {
            return false;
        }
    }
    return !all->n || some->n;
}

/* Has the endpoint the name, network and labels? */
static bool
stands(const struct intent_selector *s, const struct policy_endpoint *e)
{
    struct intent_selector standing = *s;

    standing.tenant.s = NULL;
    standing.cidrs.n = standing.except.n = 0;
    return e->network && selector_matches(&standing, e);
}

/* Has nobody whom 'choice' selects what 'except' wants? */
static bool
is_apart(const struct comparison *c, const struct choice *choice,
         const struct choice *except)
{
    return ((!is_every(choice->tenant) && !is_every(except->tenant)
             && !same_tenant(choice->tenant, except->tenant))
            || names_are_apart(&choice->s->networks, &except->s->networks)
            || names_are_apart(&choice->s->endpoints, &except->s->endpoints)
            || labels_are_apart(choice->s, except->s)
            || (choice->e && (c->possible || !stands(except->s, choice->e))));
}

static bool holds(const struct comparison *, const struct choice *all,
                  const struct choice *some);

/* Does 'choice' take away what 'except' selects of it, or not have it? */
static bool
is_without(const struct comparison *c, const struct choice *choice,
           const struct choice *except)
{
    for (size_t i = 0; i < choice->s->except.n; i++) {
        struct choice own = choice_of(c, &choice->s->except.v[i],
                                      choice->tenant);

        /* Of others' endpoints it is without any. */
        if (same_tenant(own.tenant, choice->tenant)) {
            own.tenant = POLICY_EVERY_TENANT;
        }
        if (holds(c, &own, except)) {
            return true;
        }
    }
    return is_apart(c, choice, except);
}

/* Are the networks and labels of 'some' those of 'all', or fewer? */
static bool
others_hold(const struct intent_selector *all,
            const struct intent_selector *some)
{
    return (names_hold(&all->networks, &some->networks)
            && labels_hold(all, some));
}

/* Does 'all' select whom 'some' selects? */
static bool
holds(const struct comparison *c, const struct choice *all,
      const struct choice *some)
{
    bool named = some->e && !all->s->endpoints.n;

    if (!is_every(all->tenant) && !same_tenant(all->tenant, some->tenant)) {
        return false;
    }
    if (named ? !c->possible && !stands(all->s, some->e)
        : !((some->e ? texts_hold(&all->s->endpoints,
                                  some->e->intent->name.s)
             : names_hold(&all->s->endpoints, &some->s->endpoints))
            && others_hold(all->s, some->s))) {
        return false;
    }
    for (size_t i = 0; i < all->s->except.n; i++) {
        struct choice except = choice_of(c, &all->s->except.v[i],
                                         all->tenant);

        if (!is_without(c, some, &except)) {
            return false;
        }
    }
    return cidrs_hold(&all->s->cidrs, &some->s->cidrs);
}

/* An alternative of a side by a name that it lists, "" if it lists none. */
struct listing {
    const char *name;
    size_t alternative;
};

struct side {
    const selector_vec *alternatives;
    struct listing *listings;   /* Sorted; NULL until they are asked for. */
    size_t n;
    size_t *alike;              /* Alternatives that may hold the choice at */
    size_t n_alike;             /* hand, whomever it names. */
};

static int
compare_listings(const void *a_, const void *b_)
{
    const struct listing *a = a_, *b = b_;

    return strcmp(a->name, b->name);
}

static void
list_names(struct side *side)
{
    size_t n = 0;

    for (size_t i = 0; i < side->alternatives->n; i++) {
        n += MAX(1, side->alternatives->v[i].endpoints.n);
    }
    side->listings = xmalloc(n * sizeof *side->listings);
    side->alike = xmalloc(side->alternatives->n * sizeof *side->alike);
    for (size_t i = 0; i < side->alternatives->n; i++) {
        const struct intent_selector *s = &side->alternatives->v[i];

        for (size_t j = 0; j < s->endpoints.n; j++) {
            side->listings[side->n++] = (struct listing) {
                s->endpoints.v[j].s, i,
            };
        }
        if (!s->endpoints.n) {
            side->listings[side->n++] = (struct listing) { "", i };
        }
    }
    qsort(side->listings, side->n, sizeof *side->listings, compare_listings);
}

/* Is the choice in that alternative of 'side'? */
static bool
is_held_by(const struct comparison *c, const struct intent_selector *s,
           const struct choice *some)
{
    struct choice all = choice_of(c, s, NULL);

    return (some->s->external.s
            ? (s->external.s && !strcmp(s->external.s, some->s->external.s)
               && cidrs_hold(&s->cidrs, &some->s->cidrs))
            : !s->external.s && holds(c, &all, some));
}

static bool
is_held(const struct comparison *c, const struct side *side,
        const struct choice *some)
{
    for (size_t i = 0; i < side->alternatives->n; i++) {
        if (is_held_by(c, &side->alternatives->v[i], some)) {
            return true;
        }
    }
    return false;
}

/* Compares all with what 'some' says beside names, once for all of them. */
static void
find_alike(struct side *side, const struct intent_selector *some)
{
    if (!side->listings) {
        list_names(side);
    }
    side->n_alike = 0;
    for (size_t i = 0; i < side->alternatives->n; i++) {
        const struct intent_selector *s = &side->alternatives->v[i];

        if (!s->endpoints.n || others_hold(s, some)) {
            side->alike[side->n_alike++] = i;
        }
    }
}

/* The first listing of 'name', or of one behind it. */
static size_t
find_listing(const struct side *side, const char *name)
{
    size_t low = 0, high = side->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(side->listings[mid].name, name) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Is it in one of those that list 'name'? */
static bool
is_held_as(const struct comparison *c, const struct side *side,
           const char *name, const struct choice *one)
{
    for (size_t i = find_listing(side, name);
         i < side->n && !strcmp(side->listings[i].name, name); i++) {
        size_t alternative = side->listings[i].alternative;

        if (is_held_by(c, &side->alternatives->v[alternative], one)) {
            return true;
        }
    }
    return false;
}

/* Is it in one of those that are alike? */
static bool
is_held_alike(const struct comparison *c, const struct side *side,
              const struct choice *one)
{
    for (size_t i = 0; i < side->n_alike; i++) {
        if (is_held_by(c, &side->alternatives->v[side->alike[i]], one)) {
            return true;
        }
    }
    return false;
}

/* Is the endpoint 'one'?  Looks at as few alternatives as it can. */
static bool
name_is_held(const struct comparison *c, const struct side *side,
             const struct choice *one)
{
    enum { FEW = 8 };
    const char *name = one->e->intent->name.s;

    return (side->n_alike <= FEW ? is_held_alike(c, side, one)
            : (is_held_as(c, side, name, one)
               || is_held_as(c, side, "", one)));
}

/* Is each endpoint that the choice names in one of 'side'? */
static bool
names_are_held(const struct comparison *c, struct side *side,
               const struct choice *some)
{
    const text_vec *names = &some->s->endpoints;

    find_alike(side, some->s);
    for (size_t i = 0; i < c->policy->tenants.n; i++) {
        const struct policy_tenant *tenant = c->policy->tenants.v[i];

        if (!is_every(some->tenant) && strcmp(some->tenant, tenant->name)) {
            continue;
        }
        for (size_t j = 0; j < names->n; j++) {
            struct choice one = {
                some->s, c->possible && is_every(some->tenant) ? NULL
                : tenant->name, tenant_endpoint(tenant, names->v[j].s),
            };

            if (one.e && !name_is_held(c, side, &one)) {
                return false;
            }
        }
    }
    return true;
}

static bool
side_holds(const struct comparison *c, const selector_vec *all,
           const selector_vec *some)
{
    struct side side = { .alternatives = all };
    bool held = true;

    for (size_t i = 0; held && i < some->n; i++) {
        struct choice choice = choice_of(c, &some->v[i], NULL);

        held = ((c->tenant && !same_tenant(choice.tenant, c->tenant))
                || (choice.s->endpoints.n ? names_are_held(c, &side, &choice)
                    : is_held(c, &side, &choice)));
    }
    free(side.listings);
    free(side.alike);
    return held;
}

static bool
match_is_held(const struct policy_service *all, const struct service_match *m)
{
    uint32_t next = m->ports.first;     /* The first that is not held yet. */

    for (size_t i = 0; i < all->matches.n; i++) {
        const struct service_match *other = &all->matches.v[i];

        if (other->protocol != m->protocol) {
            continue;
        } else if (!other->ports.last) {
            return true;
        } else if (m->ports.last && other->ports.first <= next
                   && next <= other->ports.last) {
            next = other->ports.last + 1;
            i = -1;             /* Any may go on from there. */
        }
    }
    return m->ports.last && next > m->ports.last;
}

bool
service_holds(const struct policy_service *all,
              const struct policy_service *some)
{
    for (size_t i = 0; all && some && i < some->matches.n; i++) {
        if (!match_is_held(all, &some->matches.v[i])) {
            return false;
        }
    }
    return !all || some;
}

/* Is all of 'b' in 'a'?  Of a symmetric service the sides do not matter. */
static bool
rule_holds(const struct comparison *c, const struct policy_rule *a,
           const struct policy_rule *b)
{
    const struct intent_rule *x = a->intent, *y = b->intent;

    return (service_holds(a->service, b->service)
            && ((side_holds(c, &x->from, &y->from)
                 && side_holds(c, &x->to, &y->to))
                || (b->service && b->service->symmetric
                    && side_holds(c, &x->from, &y->to)
                    && side_holds(c, &x->to, &y->from))));
}

bool
rule_is_narrower(const struct policy *policy, const struct policy_rule *a,
                 const struct policy_rule *b)
{
    const struct policy_tenant *tenant = a->tenant ? a->tenant : b->tenant;
    const char *name = tenant ? tenant->name : NULL;
    const struct comparison now = { policy, name, false };
    const struct comparison ever = { policy, name, true };

    return rule_holds(&now, b, a) && !rule_holds(&ever, a, b);
}
