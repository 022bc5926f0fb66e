/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/resolve.h"

#include "base/diag.h"

/* Shared services: peerings with every tenant. */

VEC_TYPEDEF(scope_vec, struct policy_tenant *);

static const struct value *
find_every(const selector_vec *side)
{
    for (size_t i = 0; i < side->n; i++) {
        if (side->v[i].tenant.s
            && !strcmp(side->v[i].tenant.s, POLICY_EVERY_TENANT)) {
            return side->v[i].tenant.at;
        }
    }
    return NULL;
}

/* May 'tenant' stand opposite the external of that name? */
static bool
may_reach(const struct resolver *r, const struct policy_tenant *tenant,
          const char *external, bool imposed)
{
    for (size_t i = 0; i < r->policy->externals.n; i++) {
        const struct policy_external *e = r->policy->externals.v[i];

        if (!strcmp(e->name, external)) {
            return (external_lists(e, tenant)
                    && (imposed || tenant_consents_to_external(tenant, e)));
        }
    }
    return true;
}

/* May 'tenant' stand opposite all that 'side' names? */
static bool
may_join(const struct resolver *r, const struct policy_tenant *tenant,
         const selector_vec *side, bool imposed)
{
    for (size_t i = 0; i < side->n; i++) {
        const char *external = side->v[i].external.s;

        if (external && !may_reach(r, tenant, external, imposed)) {
            return false;
        }
        for (size_t j = 0; !external && j < r->policy->tenants.n; j++) {
            const struct policy_tenant *other = r->policy->tenants.v[j];

            if (!strcmp(side->v[i].tenant.s, other->name)
                && (other == tenant
                    || !(imposed || (tenant_consents(tenant, other)
                                     && tenant_consents(other, tenant))))) {
                return false;
            }
        }
    }
    return true;
}

static void
expand_side(struct resolver *r, const selector_vec *side,
            const selector_vec *other, bool imposed, endpoint_vec *out,
            range_vec *ranges, tenant_vec *tenants)
{
    scope_vec joined = VEC_INIT;
    struct scope every;

    for (size_t i = 0; find_every(side) && i < r->policy->tenants.n; i++) {
        if (may_join(r, r->policy->tenants.v[i], other, imposed)) {
            *vec_push(r->arena, &joined) = r->policy->tenants.v[i];
        }
    }
    every = (struct scope) { .v = joined.v, .n = joined.n, .routed = true };
    r->every = &every;
    expand_selector(r, side, NULL, out, ranges, tenants);
    r->every = NULL;
}

void
expand_peering(struct resolver *r, const struct intent_rule *intent,
               struct policy_rule *rule)
{
    const struct value *from = find_every(&intent->from);
    const struct value *to = find_every(&intent->to);

    if (from && to) {
        struct diag *d = value_error(r->diags, to, "one side of a peering "
                                     "must name its tenants");
        diag_remedy(r->diags, d, "name whose service it is");
        diag_see(r->diags, d, from->span, "the other side");
        return;
    }
    rule->imposed = intent->imposed;
    expand_side(r, &intent->from, &intent->to, intent->imposed, &rule->from,
                &rule->from_ranges, &rule->from_tenants);
    expand_side(r, &intent->to, &intent->from, intent->imposed, &rule->to,
                &rule->to_ranges, &rule->to_tenants);
}
