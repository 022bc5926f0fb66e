/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/narrower.h"

#include <string.h>

#include "sema/check.h"
#include "sema/policy.h"

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

static bool
lists(const text_vec *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (!strcmp(names->v[i].s, name)) {
            return true;
        }
    }
    return false;
}

/* Are all names of 'some', if those are not any, in 'all'? */
static bool
names_hold(const text_vec *all, const text_vec *some)
{
    for (size_t i = 0; all->n && i < some->n; i++) {
        if (!lists(all, some->v[i].s)) {
            return false;
        }
    }
    return !all->n || some->n;
}

static bool
names_are_apart(const text_vec *a, const text_vec *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (lists(b, a->v[i].s)) {
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
        : !(names_hold(&all->s->networks, &some->s->networks)
            && (some->e ? lists(&all->s->endpoints, some->e->intent->name.s)
                : names_hold(&all->s->endpoints, &some->s->endpoints))
            && labels_hold(all->s, some->s))) {
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

/* Is the choice in one of 'side'? */
static bool
is_held(const struct comparison *c, const selector_vec *side,
        const struct choice *some)
{
    for (size_t i = 0; i < side->n; i++) {
        struct choice all = choice_of(c, &side->v[i], NULL);

        if (some->s->external.s
            ? (all.s->external.s
               && !strcmp(all.s->external.s, some->s->external.s)
               && cidrs_hold(&all.s->cidrs, &some->s->cidrs))
            : !all.s->external.s && holds(c, &all, some)) {
            return true;
        }
    }
    return false;
}

/* Is each endpoint that the choice names in one of 'side'? */
static bool
names_are_held(const struct comparison *c, const selector_vec *side,
               const struct choice *some)
{
    for (size_t i = 0; i < c->policy->tenants.n; i++) {
        const struct policy_tenant *tenant = c->policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            struct choice one = {
                some->s, c->possible && is_every(some->tenant) ? NULL
                : tenant->name, tenant->endpoints.v[j],
            };

            if ((is_every(some->tenant)
                 || !strcmp(some->tenant, tenant->name))
                && lists(&some->s->endpoints, one.e->intent->name.s)
                && !is_held(c, side, &one)) {
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
    for (size_t i = 0; i < some->n; i++) {
        struct choice choice = choice_of(c, &some->v[i], NULL);

        if (c->tenant && !same_tenant(choice.tenant, c->tenant)) {
            continue;
        } else if (choice.s->endpoints.n
                   ? !names_are_held(c, all, &choice)
                   : !is_held(c, all, &choice)) {
            return false;
        }
    }
    return true;
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
