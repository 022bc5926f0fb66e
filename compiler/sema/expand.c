/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/resolve.h"

#include <stdlib.h>

#include "base/diag.h"
#include "bitmap.h"
#include "sema/check.h"
#include "util.h"

/* Selectors, from names to endpoints. */

void
dangling(struct resolver *r, struct text text, const char *owner,
         const char *what, const char *nearest)
{
    bool key = text.at->key == text.s;
    struct diag *d = (key ? value_key_error : value_error)(
        r->diags, text.at, "%s has no %s '%s'", owner, what, text.s);
    if (nearest) {
        diag_remedy(r->diags, d, "did you mean '%s'?", nearest);
    } else {
        diag_remedy(r->diags, d, "define it, or name one that is there");
    }
}

const char *
owner_title(struct resolver *r, const struct policy_tenant *tenant)
{
    return (tenant ? arena_printf(r->arena, "tenant '%s'", tenant->name)
            : "the intent");
}

static struct scope
every_tenant(const struct resolver *r)
{
    return (r->every ? *r->every : (struct scope) {
        .v = r->policy->tenants.v, .n = r->policy->tenants.n,
    });
}

/* Those that 's' names, or 'outer' if it names none. */
static struct scope
find_scope(struct resolver *r, const struct intent_selector *s,
           struct scope outer)
{
    struct policy_tenant *tenant;

    if (!s->tenant.s) {
        return outer;
    } else if (!strcmp(s->tenant.s, POLICY_EVERY_TENANT)) {
        return every_tenant(r);
    }
    tenant = RESOLVE(r, &r->policy->tenants, s->tenant, "tenant");
    for (size_t i = 0; tenant && i < r->policy->tenants.n; i++) {
        if (r->policy->tenants.v[i] == tenant) {
            return (struct scope) { .v = &r->policy->tenants.v[i], .n = 1 };
        }
    }
    return (struct scope) { .unknown = true };
}

static const char *
scope_title(struct resolver *r, struct scope scope)
{
    return owner_title(r, scope.n == 1 ? scope.v[0] : NULL);
}

static bool
check_network(struct resolver *r, struct text name, struct scope scope)
{
    struct nearest nearest = nearest_init(name.s);

    for (size_t i = 0; i < scope.n; i++) {
        for (size_t j = 0; j < scope.v[i]->networks.n; j++) {
            if (!strcmp(scope.v[i]->networks.v[j]->intent->name.s, name.s)) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < scope.n && !diags_are_full(r->diags, DIAG_ERROR);
         i++) {
        for (size_t j = 0; j < scope.v[i]->networks.n; j++) {
            nearest_try(&nearest, scope.v[i]->networks.v[j]->intent->name.s);
        }
    }
    dangling(r, name, scope_title(r, scope), "network", nearest.best);
    return false;
}

static bool
check_endpoint(struct resolver *r, struct text name, struct scope scope)
{
    struct nearest nearest = nearest_init(name.s);

    for (size_t i = 0; i < scope.n; i++) {
        if (tenant_endpoint(scope.v[i], name.s)) {
            return true;
        }
    }
    for (size_t i = 0; i < scope.n && !diags_are_full(r->diags, DIAG_ERROR);
         i++) {
        for (size_t j = 0; j < scope.v[i]->endpoints.n; j++) {
            nearest_try(&nearest,
                        scope.v[i]->endpoints.v[j]->intent->name.s);
        }
    }
    dangling(r, name, scope_title(r, scope), "endpoint", nearest.best);
    return false;
}

/* Reports names in 's' that nobody in 'scope' has; returns true if there are
 * none. */
static bool
check_names(struct resolver *r, const struct intent_selector *s,
            struct scope scope)
{
    bool right = !scope.unknown;

    for (size_t i = 0; scope.n && i < s->networks.n; i++) {
        right &= check_network(r, s->networks.v[i], scope);
    }
    for (size_t i = 0; scope.n && i < s->endpoints.n; i++) {
        right &= check_endpoint(r, s->endpoints.v[i], scope);
    }
    for (size_t i = 0; i < s->except.n; i++) {
        const struct intent_selector *except = &s->except.v[i];

        right &= check_names(r, except, find_scope(r, except, scope));
    }
    return right;
}

/* Those of the tenant that 's' may select are the candidates from 0 to one
 * below this, sorted by index. */
static size_t
n_candidates(const struct intent_selector *s,
             const struct policy_tenant *tenant)
{
    return s->endpoints.n ? s->endpoints.n : tenant->endpoints.n;
}

/* NULL where the tenant has none of that name. */
static const struct policy_endpoint *
candidate(const struct intent_selector *s, const struct policy_tenant *tenant,
          size_t i)
{
    return (s->endpoints.n
            ? tenant_endpoint(tenant, s->endpoints.v[i].s)
            : tenant->endpoints.v[i]);
}

/* Warns of exceptions that 's' would not select anyway. */
static void
check_exceptions(struct resolver *r, const struct intent_selector *s,
                 struct scope scope)
{
    struct intent_selector without = *s;

    without.except.n = 0;
    for (size_t i = 0; i < s->except.n; i++) {
        bool used = false;

        for (size_t t = 0; t < scope.n && !used; t++) {
            size_t n = n_candidates(s, scope.v[t]);

            for (size_t j = 0; j < n && !used; j++) {
                const struct policy_endpoint *e = candidate(s, scope.v[t], j);

                used = e && (!e->network
                             || (selector_matches(&without, e)
                                 && selector_matches(&s->except.v[i], e)));
            }
        }
        if (!used) {
            struct diag *d = value_warning(r->diags, s->except.v[i].at,
                                           "this takes nothing away from "
                                           "what is selected");
            diag_remedy(r->diags, d, "check its members, or remove it");
        }
    }
}

/* Does 's' select 'e', if there is one, and may it? */
static bool
selects(const struct intent_selector *s, struct scope scope,
        const struct policy_endpoint *e)
{
    return (e && e->network
            && !(scope.routed && !e->network->intent->gateways.n)
            && selector_matches(s, e));
}

static bool
has_selected(const struct intent_selector *s, struct scope scope,
             const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < n_candidates(s, tenant); i++) {
        if (selects(s, scope, candidate(s, tenant, i))) {
            return true;
        }
    }
    return false;
}

/* Adds 'e' to 'out', unless it is there. */
static void
take(struct resolver *r, const struct policy_endpoint *e, endpoint_vec *out)
{
    if (!bitmap_is_set(r->taken, e->index)) {
        bitmap_set1(r->taken, e->index);
        *vec_push(r->arena, out) = e;
    }
}

/* Are there endpoints in 'scope' that 's' would select if their networks had
 * gateways? */
static bool
lacks_gateways(const struct intent_selector *s, struct scope scope)
{
    bool routed = scope.routed;

    scope.routed = false;
    for (size_t i = 0; routed && i < scope.n; i++) {
        if (has_selected(s, scope, scope.v[i])) {
            return true;
        }
    }
    return false;
}

/* Does "except" take away all that 's' selects? */
static bool
excepts_all(const struct intent_selector *s, struct scope scope)
{
    struct intent_selector without = *s;

    without.except.n = 0;
    for (size_t i = 0; s->except.n && i < scope.n; i++) {
        if (has_selected(&without, scope, scope.v[i])) {
            return true;
        }
    }
    return false;
}

/* Warns that 's' adds nothing: what it selects is there, if 'selected'. */
static void
warn_nothing_new(struct resolver *r, const struct intent_selector *s,
                 struct scope scope, bool selected)
{
    const char *what = "this selects no endpoint";
    const char *remedy = "ignore this until such an endpoint is there";

    if (selected) {
        what = "all that this selects is selected already";
        remedy = "remove it from the list";
    } else if (!scope.n) {
        what = "this selects no tenant: none is allowed and consents";
        remedy = "let tenants and the other side list each other in "
                 "\"peers\", or make the peering \"imposed\"; an external "
                 "lists in its \"tenants\" who is allowed";
    } else if (excepts_all(s, scope)) {
        what = "this selects no endpoint: \"except\" takes all of them away";
        remedy = "correct one of the two";
    } else if (lacks_gateways(s, scope)) {
        what = "this selects no endpoint: what leaves a network needs its "
               "\"gateway\"";
        remedy = "give the networks of those tenants a \"gateway\"";
    } else if (s->labels.n) {
        remedy = suggest_label(r, s, scope);
        remedy = (remedy ? remedy : "check the labels, or ignore this until "
                  "such an endpoint is there");
    } else if (s->cidrs.n) {
        remedy = "check the addresses, or ignore this until an endpoint has "
                 "one of them";
    }
    diag_remedy(r->diags, value_warning(r->diags, s->at, "%s", what), "%s",
                remedy);
}

/* Adds the endpoints in 'scope' that 's' selects to 'out'. */
static void
expand_alternative(struct resolver *r, const struct intent_selector *s,
                   struct scope scope, endpoint_vec *out)
{
    bool dangling_network = false, selected = false;
    size_t n_old = out->n;

    for (size_t t = 0; t < scope.n; t++) {
        for (size_t i = 0; i < n_candidates(s, scope.v[t]); i++) {
            const struct policy_endpoint *e = candidate(s, scope.v[t], i);

            dangling_network |= e && !e->network;
            if (selects(s, scope, e)) {
                selected = true;
                take(r, e, out);
            }
        }
    }
    if (selected) {
        doubt_labels(r, s, scope);
    }
    if (out->n == n_old && !dangling_network) {
        warn_nothing_new(r, s, scope, selected);
    }
}

static int
compare_indexes(const void *a_, const void *b_)
{
    const struct policy_endpoint *const *a = a_;
    const struct policy_endpoint *const *b = b_;

    return (*a)->index < (*b)->index ? -1 : (*a)->index > (*b)->index;
}

/* Sorts what several alternatives added to 'out'; each did in order. */
static void
end_taking(struct resolver *r, endpoint_vec *out)
{
    bool sorted = true;

    for (size_t i = 0; i < out->n; i++) {
        bitmap_set0(r->taken, out->v[i]->index);
        sorted &= !i || out->v[i - 1]->index < out->v[i]->index;
    }
    if (!sorted) {
        qsort(out->v, out->n, sizeof *out->v, compare_indexes);
    }
}

void
expand_selector(struct resolver *r, const selector_vec *alternatives,
                const struct policy_tenant *own, endpoint_vec *out,
                range_vec *ranges, tenant_vec *tenants)
{
    struct policy_tenant *one = CONST_CAST(struct policy_tenant *, own);
    struct scope outer = { .v = &one, .n = own != NULL };

    for (size_t i = 0; i < alternatives->n; i++) {
        const struct intent_selector *s = &alternatives->v[i];
        struct scope scope = find_scope(r, s, outer);

        for (size_t j = 0; j < scope.n; j++) {
            if (!scope.routed || has_selected(s, scope, scope.v[j])) {
                *vec_push(r->arena, tenants) = scope.v[j];
            }
        }
        if (s->external.s) {
            expand_external(RESOLVE(r, &r->policy->externals, s->external,
                                    "external"), s, r->arena, ranges);
        } else if (check_names(r, s, scope)) {
            expand_alternative(r, s, scope, out);
            check_exceptions(r, s, scope);
        }
    }
    end_taking(r, out);
}

/* What of a side names an external, or NULL. */
static const struct value *
find_external(const selector_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        if (side->v[i].external.s) {
            return side->v[i].external.at;
        }
    }
    return NULL;
}

/* What of a side names another tenant than 'own', or NULL. */
static const struct value *
find_foreign(const selector_vec *side, const struct policy_tenant *own)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct text *tenant = &side->v[i].tenant;

        if (tenant->s && strcmp(tenant->s, own->name)) {
            return tenant->at;
        }
    }
    return NULL;
}

void
check_authority(struct resolver *r, const struct intent_rule *rule,
                const struct policy_tenant *own)
{
    const struct value *from = find_foreign(&rule->from, own);
    const struct value *to = find_foreign(&rule->to, own);
    struct diag *d;

    if (rule->deny) {
        from = from ? from : to ? find_external(&rule->from) : NULL;
        to = to ? to : from ? find_external(&rule->to) : NULL;
    }

    if (!rule->deny && (from || to)) {
        d = value_error(r->diags, from ? from : to, "a tenant's rule allows "
                        "within the tenant only");
        diag_remedy(r->diags, d, "between tenants the operator's peerings "
                    "allow, as far as both consent; name \"%s\", or no "
                    "tenant", own->name);
    } else if (from && to) {
        d = value_error(r->diags, to, "one side of a tenant's rule must be "
                        "the tenant's own endpoints");
        diag_remedy(r->diags, d, "leave \"tenant\" out of \"from\" or "
                    "\"to\"");
        diag_see(r->diags, d, from->span, "the other side");
    }
}
