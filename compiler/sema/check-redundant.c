/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sema/policy.h"
#include "util.h"

/* Rules that change nothing: what they say, other rules say already.
 *
 * A rule speaks of pairs of an opener and another endpoint, for points: a
 * protocol and a destination port.  What others leave of a range of ports
 * begins where the range does or where one of them is over, so these points
 * stand for all.  What the tenant's "default" says does not count: a rule that
 * says the same remains when the default changes.
 *
 * Rules are looked at from the last of the file to the first, and one that is
 * found counts no more: all that are found can be taken away together, and no
 * packet's verdict or class is another then. */

enum {
    ANY_OTHER = 256,            /* A protocol that no service matches: what
                                 * settles it settles all. */
    /* For the rules of a tenant; what takes more is not found. */
    MAX_STEPS = 2000 * 1000,
    MAX_GLANCES = 100 * MAX_STEPS,      /* At a match of a service. */
};

struct point {
    int protocol;               /* IPPROTO_*, or ANY_OTHER. */
    uint16_t port;              /* Destination. */
    bool symmetric;             /* Rules speak both ways. */
};

VEC_TYPEDEF(point_vec, struct point);
VEC_TYPEDEF(rule_vec, const struct policy_rule *);

struct search {
    struct arena *arena;
    VEC(const struct policy_service *) symmetric;
    const struct policy_rule *rule;     /* That may change nothing. */
    rule_vec others;            /* That may say the same. */
    rule_vec found;             /* Those that do. */
    size_t n_steps, n_glances;
};

static bool
match_holds(const struct service_match *m, const struct point *point)
{
    return (m->protocol == point->protocol
            && (!m->ports.last || (m->ports.first <= point->port
                                   && point->port <= m->ports.last)));
}

static bool
service_holds(const struct policy_service *service, const struct point *point)
{
    for (size_t i = 0; service && i < service->matches.n; i++) {
        if (match_holds(&service->matches.v[i], point)) {
            return true;
        }
    }
    return !service;
}

static struct point
make_point(const struct search *s, int protocol, uint16_t port)
{
    struct point point = { protocol, port, false };

    for (size_t i = 0; i < s->symmetric.n; i++) {
        point.symmetric |= service_holds(s->symmetric.v[i], &point);
    }
    return point;
}

/* Adds the points where 'service' is over, if they are above 'first' and up to
 * 'last' of the protocol. */
static void
add_ends(struct search *s, const struct policy_service *service,
         int protocol, int first, int last, point_vec *points)
{
    for (size_t i = 0; service && i < service->matches.n
         && s->n_steps++ <= MAX_STEPS; i++) {
        const struct service_match *m = &service->matches.v[i];

        if (m->protocol == protocol && m->ports.last
            && m->ports.last >= first && m->ports.last < last) {
            *vec_push(s->arena, points) = make_point(s, protocol,
                                                     m->ports.last + 1);
        }
    }
}

static int
compare_points(const void *a_, const void *b_)
{
    const struct point *a = a_, *b = b_;

    return (a->protocol != b->protocol
            ? (a->protocol < b->protocol ? -1 : 1)
            : a->port < b->port ? -1 : a->port > b->port);
}

static void
drop_equal(point_vec *points)
{
    size_t n = 1;

    qsort(points->v, points->n, sizeof *points->v, compare_points);
    for (size_t i = 1; i < points->n; i++) {
        if (compare_points(&points->v[i], &points->v[n - 1])) {
            points->v[n++] = points->v[i];
        }
    }
    points->n = n;
}

/* The points that stand for all that the rule's service matches. */
static point_vec
all_points(struct search *s)
{
    const struct policy_service *service = s->rule->service;
    point_vec points = VEC_INIT;

    if (!service) {
        *vec_push(s->arena, &points) = make_point(s, ANY_OTHER, 0);
        return points;
    }
    for (size_t i = 0; i < service->matches.n; i++) {
        const struct service_match *m = &service->matches.v[i];
        int first = m->ports.first;
        int last = m->ports.last ? m->ports.last : UINT16_MAX;

        *vec_push(s->arena, &points) = make_point(s, m->protocol, first);
        for (size_t j = 0; j < s->others.n; j++) {
            add_ends(s, s->others.v[j]->service, m->protocol, first, last,
                     &points);
        }
        for (size_t j = 0; j < s->symmetric.n; j++) {
            add_ends(s, s->symmetric.v[j], m->protocol, first, last, &points);
        }
    }
    drop_equal(&points);
    return points;
}

static bool
holds(const endpoint_vec *sorted, const struct policy_endpoint *e)
{
    size_t low = 0, high = sorted->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (sorted->v[mid]->index < e->index) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < sorted->n && sorted->v[low] == e;
}

static bool
speaks(const struct policy_rule *rule, const struct point *point,
       const struct policy_endpoint *from, const struct policy_endpoint *to)
{
    return (service_holds(rule->service, point)
            && ((holds(&rule->from, from) && holds(&rule->to, to))
                || (point->symmetric && holds(&rule->from, to)
                    && holds(&rule->to, from))));
}

bool
rule_may_settle(const struct policy_rule *other,
                const struct policy_rule *rule)
{
    if (rule->stateless && !other->stateless) {
        return false;
    }
    if (other == rule || other->kind == RULE_GUARDRAIL
        || rule->kind == RULE_GUARDRAIL) {
        return other != rule && other->kind == RULE_GUARDRAIL;
    }
    return (other->kind == RULE_DENY
            || (rule->kind != RULE_DENY && rule_allows_for(other, rule)));
}

/* Finds one of the others that settles this, and puts it first: it may well
 * settle what comes next, too. */
static bool
is_settled(struct search *s, const struct point *point,
           const struct policy_endpoint *from,
           const struct policy_endpoint *to)
{
    for (size_t i = 0; i < s->others.n; i++) {
        const struct policy_rule *other = s->others.v[i];

        s->n_steps++;
        if (speaks(other, point, from, to)) {
            s->others.v[i] = s->others.v[0];
            s->others.v[0] = other;
            return true;
        }
    }
    return false;
}

/* Notes the first of the others as one of those that settle the rule. */
static void
note_found(struct search *s)
{
    for (size_t i = 0; i < s->found.n; i++) {
        if (s->found.v[i] == s->others.v[0]) {
            return;
        }
    }
    *vec_push(s->arena, &s->found) = s->others.v[0];
}

static bool
pairs_are_settled(struct search *s, const struct point *point)
{
    const struct policy_rule *rule = s->rule;

    for (size_t i = 0; i < rule->from.n; i++) {
        for (size_t j = 0; j < rule->to.n; j++) {
            if (rule->from.v[i] != rule->to.v[j]) {
                if (!is_settled(s, point, rule->from.v[i], rule->to.v[j])
                    || s->n_steps > MAX_STEPS) {
                    return false;
                }
                note_found(s);
            }
        }
    }
    return true;
}

/* Do the others settle all that the rule speaks of? */
static bool
all_is_settled(struct search *s)
{
    point_vec points = all_points(s);

    for (size_t i = 0; i < points.n; i++) {
        if (!pairs_are_settled(s, &points.v[i])) {
            return false;
        }
    }
    return true;
}

/* Is the last pair of the rule settled at the first port?  Mostly not, and
 * then no more is to be asked. */
static bool
one_is_settled(struct search *s, const rule_vec *alive)
{
    const struct policy_rule *rule = s->rule;
    const struct policy_endpoint *from = rule->from.v[0];
    const struct policy_endpoint *to = rule->to.v[rule->to.n - 1];
    const struct policy_service *service = rule->service;
    struct point point = make_point(
        s, service ? service->matches.v[0].protocol : ANY_OTHER,
        service ? service->matches.v[0].ports.first : 0);

    for (size_t i = 0; from != to && i < alive->n
         && s->n_glances <= MAX_GLANCES; i++) {
        const struct policy_service *other = alive->v[i]->service;

        s->n_glances += other ? other->matches.n : 1;
        if (rule_may_settle(alive->v[i], rule)
            && speaks(alive->v[i], &point, from, to)) {
            return true;
        }
    }
    return from == to;
}

static bool
changes_nothing(struct search *s, const rule_vec *alive)
{
    /* Who selects nobody was warned; for what passes to and from externals
     * there is check_redundant_externals(). */
    if (s->rule->from_ranges.n || s->rule->to_ranges.n || !s->rule->from.n
        || !s->rule->to.n || s->n_steps > MAX_STEPS
        || !one_is_settled(s, alive)) {
        return false;
    }
    s->others.n = s->found.n = 0;
    for (size_t i = 0; i < alive->n; i++) {
        if (rule_may_settle(alive->v[i], s->rule)) {
            *vec_push(s->arena, &s->others) = alive->v[i];
        }
    }
    return all_is_settled(s);
}

/* What those that settle an allowing rule do: all deny, all allow, or some
 * this and some that. */
static const char *
verb_of(const rule_vec *found)
{
    size_t n_deny = 0;

    for (size_t i = 0; i < found->n; i++) {
        n_deny += rule_kind_denies(found->v[i]->kind);
    }
    return (n_deny == found->n ? "deny" : n_deny ? "decide about" : "allow");
}

static void
report(const struct search *s, struct diags *diags)
{
    const rule_vec *found = &s->found;
    const char *verb = verb_of(found);
    struct span span = policy_rule_span(s->rule);
    const char *pointer = value_pointer(s->rule->at, diags->arena);
    struct diag *d;

    if (!found->n) {
        d = diag_warning(diags, span, pointer, "no packet comes under this: "
                         "no rule speaks about an endpoint and itself");
    } else if (found->n == 1) {
        d = diag_warning(diags, span, pointer, "this changes nothing: '%s' "
                         "%s all of it", found->v[0]->name,
                         *verb == 'd' ? "denies" : "allows");
    } else {
        d = diag_warning(diags, span, pointer, "this changes nothing: other "
                         "rules %s all of it", verb);
    }
    diag_remedy(diags, d, found->n ? "remove it, or correct what one of them "
                "is about" : "remove it, or correct what it is about");
    for (size_t i = 0; i < found->n; i++) {
        diag_see(diags, d, policy_rule_span(found->v[i]), "'%s' is this",
                 found->v[i]->name);
    }
}

/* From the last of the last file, by name, to the first. */
static int
compare_places(const void *a_, const void *b_)
{
    const struct policy_rule *const *ap = a_;
    const struct policy_rule *const *bp = b_;
    const struct span *a = &(*ap)->at->span, *b = &(*bp)->at->span;
    int order = strcmp(b->source->name, a->source->name);

    return (order ? order
            : a->start > b->start ? -1 : a->start < b->start);
}

/* Looks at the rules of 'tenant', or at peerings if it is NULL, among all that
 * may settle them. */
static void
check_scope(struct search *s, const struct policy_tenant *tenant,
            rule_vec *alive, struct diags *diags)
{
    rule_vec rules = VEC_INIT;

    for (size_t i = 0; i < alive->n; i++) {
        if (alive->v[i]->tenant == tenant) {
            *vec_push(s->arena, &rules) = alive->v[i];
        }
    }
    if (rules.n) {
        qsort(rules.v, rules.n, sizeof *rules.v, compare_places);
    }
    s->n_steps = s->n_glances = 0;
    for (size_t i = 0; i < rules.n; i++) {
        s->rule = rules.v[i];
        if (changes_nothing(s, alive)) {
            size_t n = 0;

            report(s, diags);
            for (size_t j = 0; j < alive->n; j++) {
                if (alive->v[j] != s->rule) {
                    alive->v[n++] = alive->v[j];
                }
            }
            alive->n = n;
        }
    }
}

/* Does a tenant's rule speak of others too?  Such a one denies. */
static bool
names_others(const struct policy_rule *rule)
{
    return (rule->from.n && rule->to.n
            && (rule->from.v[0]->tenant != rule->tenant
                || rule->from.v[rule->from.n - 1]->tenant != rule->tenant
                || rule->to.v[0]->tenant != rule->tenant
                || rule->to.v[rule->to.n - 1]->tenant != rule->tenant));
}

void
check_redundant(const struct policy *policy, struct diags *diags)
{
    struct search s = { .arena = arena_create() };
    rule_vec scope = VEC_INIT, between = VEC_INIT, guardrails = VEC_INIT;
    const size_t n = policy->rules.n;

    for (size_t i = 0; i < policy->services.n; i++) {
        if (policy->services.v[i]->symmetric) {
            *vec_push(s.arena, &s.symmetric) = policy->services.v[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (policy->rules.v[i]->kind == RULE_GUARDRAIL) {
            *vec_push(s.arena, &guardrails) = policy->rules.v[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind != RULE_DEFAULT) {
            if (!rule->tenant || names_others(rule)) {
                *vec_push(s.arena, &between) = rule;
            }
            if (rule->tenant) {
                *vec_push(s.arena, &scope) = rule;
            }
        }
        /* The rules of a tenant stand together. */
        if (i + 1 == n || policy->rules.v[i + 1]->tenant != rule->tenant) {
            for (size_t j = 0; rule->tenant && j < guardrails.n; j++) {
                *vec_push(s.arena, &scope) = guardrails.v[j];
            }
            check_scope(&s, rule->tenant, &scope, diags);
            scope.n = 0;
        }
    }
    check_scope(&s, NULL, &between, diags);
    arena_destroy(s.arena);
}
