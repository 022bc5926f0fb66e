/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "packets.h"
#include "util.h"

static bool
prefix_equals(const struct address *a, const struct address *b)
{
    return a->plen == b->plen && ipv6_addr_equals(&a->ip, &b->ip);
}

bool
ranges_intersect(const range_vec *a, const range_vec *b)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct policy_range *x = &a->v[i];

        for (size_t j = 0; j < b->n; j++) {
            const struct policy_range *y = &b->v[j];

            if (x->external == y->external
                && (!x->cidr || !y->cidr || range_holds(x->cidr, y->cidr)
                    || range_holds(y->cidr, x->cidr))) {
                return true;
            }
        }
    }
    return false;
}

/* The range that stands before range 'j' of external 'i' and is the same; NULL
 * if there is none. */
static const struct address *
find_before(const struct policy *policy, size_t i, size_t j)
{
    const struct address *range
        = &policy->externals.v[i]->intent->addresses.v[j];

    for (size_t k = 0; k <= i; k++) {
        const address_vec *all = &policy->externals.v[k]->intent->addresses;

        for (size_t l = 0; l < (k == i ? j : all->n); l++) {
            if (prefix_equals(range, &all->v[l])) {
                return &all->v[l];
            }
        }
    }
    return NULL;
}

static void
check_addresses(const struct policy *policy, size_t i, struct diags *diags)
{
    const struct policy_external *e = policy->externals.v[i];
    struct diag *d;

    for (size_t j = 0; j < e->intent->addresses.n; j++) {
        const struct address *range = &e->intent->addresses.v[j];
        const struct address *before = find_before(policy, i, j);
        bool routable = true;

        for (size_t k = 0; k < n_unroutable; k++) {
            routable &= !range_holds(&unroutable[k], range);
        }
        if (!routable) {
            d = value_error(diags, range->at, "no router forwards what is "
                            "from or for these addresses");
            diag_remedy(diags, d, "write unicast addresses that are neither "
                        "loopback nor link-local");
        } else if (before) {
            d = value_error(diags, range->at, "this range stands twice, so "
                            "nobody knows where its packets go");
            diag_remedy(diags, d, "give each range to one external; where "
                        "ranges overlap, the longer prefix is meant");
            diag_see(diags, d, before->at->span, "the other one");
        }
    }
    if (!e->intent->addresses.n) {
        d = value_key_error(diags, e->intent->name.at,
                            "external '%s' has no address", e->name);
        diag_remedy(diags, d, "list its \"addresses\"");
    }
}

static void
check_tenants(const struct policy *policy, const struct policy_external *e,
              struct diags *diags)
{
    for (size_t i = 0; i < e->intent->tenants.n; i++) {
        const struct text *name = &e->intent->tenants.v[i];

        if (strcmp(name->s, POLICY_EVERY_TENANT)
            && !policy_find_tenant(policy, name->s)) {
            report_no_tenant(policy, name, diags);
        }
    }
}

/* Does it hold any address? */
static bool
is_something(const struct policy *policy, const struct policy_range *range)
{
    const address_vec *all = &range->external->intent->addresses;

    if (range->cidr && external_of(policy, range->cidr) == range->external) {
        return true;
    }
    for (size_t i = 0; i < all->n; i++) {
        if ((!range->cidr || range_holds(range->cidr, &all->v[i]))
            && external_of(policy, &all->v[i]) == range->external) {
            return true;
        }
    }
    return false;
}

/* One of the tenants whose rule or peering it is, but may not use the
 * external; NULL if there is none. */
static const struct policy_tenant *
find_unlisted(const struct policy_rule *rule, const struct policy_external *e)
{
    const tenant_vec *const sides[] = { &rule->from_tenants,
                                        &rule->to_tenants };

    for (size_t i = 0; rule->kind == RULE_PEERING && i < ARRAY_SIZE(sides);
         i++) {
        for (size_t j = 0; j < sides[i]->n; j++) {
            if (!external_lists(e, sides[i]->v[j])) {
                return sides[i]->v[j];
            }
        }
    }
    return (rule->tenant && !external_lists(e, rule->tenant) ? rule->tenant
            : NULL);
}

static void
check_ranges(const struct policy *policy, const struct policy_rule *rule,
             const range_vec *ranges, struct diags *diags)
{
    struct diag *d;

    for (size_t i = 0; i < ranges->n; i++) {
        const struct policy_range *range = &ranges->v[i];
        const struct policy_external *e = range->external;
        const struct policy_tenant *tenant = find_unlisted(rule, e);
        const struct value *at = e->intent->name.at;

        if (tenant) {
            d = value_error(diags, range->at, "external '%s' is not for "
                            "tenant '%s'", e->name, tenant->name);
            diag_remedy(diags, d, "\"tenants\" of the external must list "
                        "\"%s\", or \"*\" for all", tenant->name);
            diag_see(diags, d, at->key_span, "the external");
            return;
        } else if (!is_something(policy, range)) {
            d = value_error(diags, range->at, "external '%s' has none of "
                            "these addresses", e->name);
            diag_remedy(diags, d, "compare with its \"addresses\" and "
                        "\"except\"; longer prefixes of other externals, and "
                        "subnets of its tenants and their peers, are not "
                        "its own");
            diag_see(diags, d, at->key_span, "the external");
        }
    }
}

/* A rule of a tenant, a peering or a guardrail that names externals. */
static void
check_rule(const struct policy *policy, const struct policy_rule *rule,
           struct diags *diags)
{
    struct diag *d;

    check_ranges(policy, rule, &rule->from_ranges, diags);
    check_ranges(policy, rule, &rule->to_ranges, diags);
    if (rule->service && rule->service->symmetric) {
        const struct intent_rule *intent = rule->intent;

        d = value_error(diags, (intent->service.s ? &intent->service
                                : &intent->require)->at,
                        "'%s' cannot be tracked, and what is not tracked "
                        "never passes to or from an external",
                        rule->service->name);
        diag_remedy(diags, d, "name another service");
    }
    if (rule->stateless) {
        d = value_error(diags, rule->stateless, "what is not tracked never "
                        "passes to or from an external");
        diag_remedy(diags, d, "remove it");
    }
    if (rule->from_ranges.n && rule->to_ranges.n && !rule->from.n
        && !rule->to.n) {
        d = value_error(diags, rule->to_ranges.v[0].at,
                        "both sides of this rule are outside");
        diag_remedy(diags, d, "select endpoints on one of them");
        diag_see(diags, d, rule->from_ranges.v[0].at->span,
                 "the other side");
    }
}

/* An address of an endpoint, as the router of an attachment sees it. */
struct seen {
    struct hmap_node node;
    const struct policy_attachment *attachment;
    const struct policy_endpoint *endpoint;
    const struct address *address;
};

/* Nothing is translated, so an address behind a router is one endpoint's. */
static void
see_address(struct hmap *all, const struct policy_attachment *a,
            const struct policy_endpoint *e, const struct address *address,
            struct arena *arena, struct diags *diags)
{
    uint32_t hash = hash_bytes(&address->ip, sizeof address->ip,
                               hash_pointer(a, 0));
    struct seen *seen;

    HMAP_FOR_EACH_WITH_HASH (seen, node, hash, all) {
        if (seen->attachment == a && seen->endpoint->tenant != e->tenant
            && ipv6_addr_equals(&seen->address->ip, &address->ip)) {
            struct diag *d = value_error(
                diags, address->at, "'%s' and '%s' have the same address "
                "before external '%s' on node '%s'", seen->endpoint->name,
                e->name, a->external->name, a->node->name.s);

            diag_remedy(diags, d, "give all that use an external on a node "
                        "different addresses: none is translated");
            diag_see(diags, d, seen->address->at->span, "the other one");
            return;
        }
    }
    seen = arena_zalloc(arena, sizeof *seen);
    seen->attachment = a;
    seen->endpoint = e;
    seen->address = address;
    hmap_insert(all, &seen->node, hash);
}

static void
check_users(const struct policy_external *e, struct arena *arena,
            struct diags *diags)
{
    struct hmap all = HMAP_INITIALIZER(&all);

    for (size_t i = 0; i < e->users.n; i++) {
        for (size_t j = 0; j < e->users.v[i]->endpoints.n; j++) {
            const struct policy_endpoint *ep = e->users.v[i]->endpoints.v[j];
            const struct policy_attachment *a
                = (ep->bound && ep->network->intent->gateways.n
                   ? external_at(e, ep->node) : NULL);

            for (size_t k = 0; a && k < ep->intent->addresses.n; k++) {
                see_address(&all, a, ep, &ep->intent->addresses.v[k], arena,
                            diags);
            }
        }
    }
    hmap_destroy(&all);
}

void
check_externals(const struct policy *policy, struct arena *arena,
                struct diags *diags)
{
    for (size_t i = 0; i < policy->externals.n; i++) {
        check_addresses(policy, i, diags);
        check_tenants(policy, policy->externals.v[i], diags);
        check_users(policy->externals.v[i], arena, diags);
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->from_ranges.n || rule->to_ranges.n) {
            check_rule(policy, rule, diags);
        }
    }
}
