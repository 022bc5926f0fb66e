/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "sema/policy.h"
#include "sset.h"

/* Warns of tenants that list each other on one side only: a peering with
 * every tenant leaves them out without a word. */

/* "TENANT/PEER": no name has a slash. */
static const char *
pair(const char *tenant, const char *peer, struct arena *arena)
{
    return arena_printf(arena, "%s/%s", tenant, peer);
}

/* Is it a part of a peering that every tenant may join, and is not imposed? */
static bool
is_shared(const struct policy_rule *rule)
{
    const selector_vec *sides[] = { &rule->intent->from, &rule->intent->to };

    for (size_t i = 0; i < ARRAY_SIZE(sides) && !rule->imposed; i++) {
        for (size_t j = 0; j < sides[i]->n; j++) {
            const struct text *tenant = &sides[i]->v[j].tenant;

            if (tenant->s && !strcmp(tenant->s, POLICY_EVERY_TENANT)) {
                return true;
            }
        }
    }
    return false;
}

/* Adds the tenants that such peerings name, in 'names'. */
static void
find_shared(const struct policy *policy, struct sset *names)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind == RULE_PEERING && is_shared(rule)) {
            const selector_vec *sides[] = {
                &rule->intent->from, &rule->intent->to,
            };

            for (size_t j = 0; j < ARRAY_SIZE(sides); j++) {
                for (size_t k = 0; k < sides[j]->n; k++) {
                    const char *name = sides[j]->v[k].tenant.s;

                    if (name) {
                        sset_add(names, name);
                    }
                }
            }
        }
    }
}

static void
doubt_peers(const struct policy_tenant *tenant, const struct sset *listed,
            const struct sset *shared, struct diags *diags)
{
    const text_vec *peers = &tenant->intent->peers;

    for (size_t i = 0; i < peers->n; i++) {
        const struct text *peer = &peers->v[i];

        if (strcmp(peer->s, POLICY_EVERY_TENANT)
            && !policy_external_name(peer->s) && strcmp(peer->s, tenant->name)
            && (sset_contains(shared, peer->s)
                || sset_contains(shared, tenant->name))
            && !sset_contains(listed, pair(peer->s, tenant->name,
                                           diags->arena))
            && !sset_contains(listed, pair(peer->s, POLICY_EVERY_TENANT,
                                           diags->arena))) {
            struct diag *d = value_warning(
                diags, peer->at, "tenant '%s' does not list '%s' in its "
                "\"peers\", so a peering of one of them with every tenant "
                "leaves the other out", peer->s, tenant->name);

            diag_remedy(diags, d, "list '%s' there, too, or remove this",
                        tenant->name);
        }
    }
}

void
doubt_consent(const struct policy *policy, struct diags *diags)
{
    struct sset listed = SSET_INITIALIZER(&listed);
    struct sset shared = SSET_INITIALIZER(&shared);

    find_shared(policy, &shared);
    for (size_t i = 0; !sset_is_empty(&shared) && i < policy->tenants.n;
         i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->intent->peers.n; j++) {
            sset_add(&listed, pair(tenant->name,
                                   tenant->intent->peers.v[j].s,
                                   diags->arena));
        }
    }
    for (size_t i = 0; !sset_is_empty(&shared) && i < policy->tenants.n;
         i++) {
        doubt_peers(policy->tenants.v[i], &listed, &shared, diags);
    }
    sset_destroy(&listed);
    sset_destroy(&shared);
}
