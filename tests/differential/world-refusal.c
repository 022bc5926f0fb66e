/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "world-parts.h"

#include <string.h>

#include "base/diag.h"
#include "util.h"

/* Why rules are refused.  A world leaves those out, so a compiler that refuses
 * what it should not would never be seen: of peerings, the world knows by
 * itself.  A cause that is not listed here is none. */

static bool
lacks_consent(const struct world *w, const struct world_rule *rule)
{
    return !world_is_consented(w, rule);
}

/* Does an external not list a tenant whose rule, or with whom a peering, names
 * it? */
static bool
is_not_listed(const struct world *w, const struct world_rule *rule)
{
    unsigned int tenants
        = (rule->tenant == PEERING ? (world_tenants_of(w, rule, true)
                                      | world_tenants_of(w, rule, false))
           : rule->tenant >= 0 ? 1u << rule->tenant : 0);

    for (int i = 0; i < w->n_externals; i++) {
        for (int j = 0; j < w->n_tenants; j++) {
            if (tenants >> j & 1 && !world_lists(w, i, j)
                && (world_names_external(&rule->from, i)
                    || world_names_external(&rule->to, i))) {
                return true;
            }
        }
    }
    return false;
}

static bool
is_with_itself(const struct world *w, const struct world_rule *rule)
{
    return (world_tenants_of(w, rule, true)
            & world_tenants_of(w, rule, false)) != 0;
}

static bool
lacks_gateway(const struct world *w, const struct world_rule *rule)
{
    unsigned int selected = (world_selected(w, rule, true)
                             | world_selected(w, rule, false));

    for (int i = 0; i < w->n_endpoints; i++) {
        const struct world_network *n = &w->networks[w->endpoints[i].network];

        if (selected >> i & 1 && !(n->gateway4 || n->gateway6)) {
            return true;
        }
    }
    return false;
}

/* That others may be about the same packets is not looked at. */
static bool
is_charged_otherwise(const struct world *w, const struct world_rule *rule)
{
    for (int i = 0; i < w->n_rules; i++) {
        const struct world_rule *other = &w->rules[i];

        if (other != rule && !other->left_out && other->tenant == PEERING
            && (other->charge || rule->charge)) {
            return true;
        }
    }
    return false;
}

static const struct {
    const char *cause;          /* A part of it. */
    bool (*judge)(const struct world *, const struct world_rule *);
} causes[] = {
    { " does not consent to this peering with ", lacks_consent },
    { "a peering joins two tenants, this one only ", is_with_itself },
    { " cannot take part in this peering: its network ", lacks_gateway },
    { " cannot route to ", NULL },
    { "what is not tracked never passes to or from an external", NULL },
    { " have the same address before external ", NULL },
    { " has none of these addresses", NULL },
    { " has no endpoint ", NULL },
    { " has no network ", NULL },
    { " is not for tenant ", is_not_listed },
    { "a peering needs a member ", NULL },
    { "both sides of this rule are outside", NULL },
    { "nobody knows what is a reply of ", NULL },
    { "one side of a tenant's rule must be ", NULL },
    { "this allows packets that rule ", world_is_contradicted },
    { ", somebody else pays", is_charged_otherwise },
};

static bool
is_right(const struct world *w, const struct world_rule *rule,
         const char *cause)
{
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
        if (strstr(cause, causes[i].cause)) {
            return !causes[i].judge || causes[i].judge(w, rule);
        }
    }
    return false;
}

const char *
world_find_misjudged(const struct world *w, const struct world_rule *rule,
                     const struct diags *diags)
{
    for (size_t i = 0; i < diags->list.n; i++) {
        const struct diag *d = &diags->list.v[i];

        if (d->severity == DIAG_ERROR && !is_right(w, rule, d->cause)) {
            return d->cause;
        }
    }
    return NULL;
}

const char *
world_check_refusals(const struct world *w, struct arena *arena)
{
    const char *wrong = NULL;

    for (int i = 0; i < w->n_rules && !wrong; i++) {
        struct world with = *w;
        struct compiled c;

        if (w->rules[i].misjudged) {
            with.rules[i].left_out = false;
            world_compile(&with, &c);
            wrong = world_find_misjudged(&with, &with.rules[i], c.diags);
            wrong = wrong ? arena_printf(arena, "rule r%d is refused: %s", i,
                                         wrong) : NULL;
            compiled_destroy(&c);
        }
    }
    return wrong;
}
