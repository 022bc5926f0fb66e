/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <string.h>

#include "packets.h"
#include "sema/ident.h"
#include "util.h"

#define IP4(A, B, C, D, PLEN)                                           \
    { { { { [10] = 0xff, [11] = 0xff, [12] = A, [13] = B, [14] = C,     \
            [15] = D } } }, 96 + (PLEN), NULL }

/* RFC 6890, as far as it is never forwarded. */
const struct address unroutable[] = {
    IP4(0, 0, 0, 0, 8),         /* "This network". */
    IP4(127, 0, 0, 0, 8),       /* Loopback. */
    IP4(169, 254, 0, 0, 16),    /* Link-local. */
    IP4(224, 0, 0, 0, 4),       /* Multicast. */
    IP4(240, 0, 0, 0, 4),       /* Reserved, and broadcast. */
    { { { { 0 } } }, 127, NULL },       /* Unspecified, and loopback. */
    { { { { 0xfe, 0x80 } } }, 10, NULL },       /* Link-local. */
    { { { { 0xff } } }, 8, NULL },      /* Multicast. */
};
const size_t n_unroutable = ARRAY_SIZE(unroutable);

bool
range_holds(const struct address *range, const struct address *prefix)
{
    return range->plen <= prefix->plen && subnet_holds(range, &prefix->ip);
}

/* The length of the longest prefix by which the external holds 'prefix'; -1
 * if it does not. */
static int
longest_prefix(const struct policy_external *e, const struct address *prefix)
{
    int plen = -1;

    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        const struct address *range = &e->intent->addresses.v[i];

        if (range_holds(range, prefix)) {
            plen = MAX(plen, range->plen);
        }
    }
    for (size_t i = 0; i < e->intent->excepts.n; i++) {
        if (range_holds(&e->intent->excepts.v[i], prefix)) {
            return -1;
        }
    }
    return plen;
}

static bool
is_inside(const struct policy *policy, const struct policy_external *e,
          const struct address *prefix)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct address *tunnel = &policy->intent->nodes.v[i].tunnel;

        if (tunnel->at && range_holds(tunnel, prefix)) {
            return true;
        }
    }
    for (size_t i = 0; i < e->inside.n; i++) {
        if (range_holds(e->inside.v[i], prefix)) {
            return true;
        }
    }
    for (size_t i = 0; i < n_unroutable; i++) {
        if (range_holds(&unroutable[i], prefix)) {
            return true;
        }
    }
    return false;
}

const struct policy_external *
external_of(const struct policy *policy, const struct address *prefix)
{
    const struct policy_external *best = NULL;
    int best_plen = -1;

    for (size_t i = 0; i < policy->externals.n; i++) {
        int plen = longest_prefix(policy->externals.v[i], prefix);

        if (plen > best_plen) {
            best = policy->externals.v[i];
            best_plen = plen;
        }
    }
    return best && !is_inside(policy, best, prefix) ? best : NULL;
}

const struct policy_attachment *
external_at(const struct policy_external *e, const struct intent_node *node)
{
    for (size_t i = 0; i < e->attachments.n; i++) {
        if (e->attachments.v[i]->node == node) {
            return e->attachments.v[i];
        }
    }
    return NULL;
}

struct eth_addr
external_gateway_mac(const struct policy_attachment *a)
{
    /* Locally administered, and no network's: those have 7d. */
    struct eth_addr mac = ETH_ADDR_C(0a,b1,7e,00,00,00);
    char *name = xasprintf("%s/%s", a->external->name, a->intent->node.s);
    uint32_t number = ident("gateway", name, 24);

    free(name);
    mac.ea[3] = number >> 16;
    mac.ea[4] = number >> 8;
    mac.ea[5] = number;
    return a->intent->gateway_mac_text.s ? a->intent->gateway_mac : mac;
}

void
expand_external(const struct policy_external *e,
                const struct intent_selector *s, struct arena *arena,
                range_vec *ranges)
{
    if (e && !s->cidrs.n) {
        *vec_push(arena, ranges) = (struct policy_range) { e, NULL, s->at };
    }
    for (size_t i = 0; e && i < s->cidrs.n; i++) {
        *vec_push(arena, ranges) = (struct policy_range) {
            e, &s->cidrs.v[i], s->cidrs.v[i].at,
        };
    }
}

static bool
names(const range_vec *ranges, const struct policy_external *e)
{
    for (size_t i = 0; i < ranges->n; i++) {
        if (ranges->v[i].external == e) {
            return true;
        }
    }
    return false;
}

static bool
contains(const tenant_vec *tenants, const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < tenants->n; i++) {
        if (tenants->v[i] == tenant) {
            return true;
        }
    }
    return false;
}

bool
external_lists(const struct policy_external *e,
               const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < e->intent->tenants.n; i++) {
        const char *name = e->intent->tenants.v[i].s;

        if (!strcmp(name, POLICY_EVERY_TENANT)
            || !strcmp(name, tenant->name)) {
            return true;
        }
    }
    return false;
}

/* Is it a rule of the tenant, or a peering with it? */
static bool
is_about(const struct policy_rule *rule, const struct policy_tenant *tenant)
{
    return (rule->tenant == tenant
            || (rule->kind == RULE_PEERING
                && (contains(&rule->from_tenants, tenant)
                    || contains(&rule->to_tenants, tenant))));
}

static bool
uses(const struct policy *policy, const struct policy_external *e,
     const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if ((names(&rule->from_ranges, e) || names(&rule->to_ranges, e))
            && is_about(rule, tenant)) {
            return external_lists(e, tenant);
        }
    }
    return false;
}

/* Is it a user, or does a peering join it with one? */
static bool
is_near(const struct policy *policy, const struct policy_external *e,
        const struct policy_tenant *tenant)
{
    bool near = contains(&e->users, tenant);

    for (size_t i = 0; i < policy->rules.n && !near; i++) {
        const struct policy_rule *rule = policy->rules.v[i];
        bool from = contains(&rule->from_tenants, tenant);
        bool to = contains(&rule->to_tenants, tenant);

        for (size_t j = 0; rule->kind == RULE_PEERING && j < e->users.n;
             j++) {
            near |= ((from && contains(&rule->to_tenants, e->users.v[j]))
                     || (to && contains(&rule->from_tenants,
                                        e->users.v[j])));
        }
    }
    return near;
}

bool
external_is_used_by(const struct policy_external *e,
                    const struct policy_tenant *tenant)
{
    for (size_t i = 0; i < e->users.n; i++) {
        if (e->users.v[i] == tenant) {
            return true;
        }
    }
    return false;
}

void
find_users(const struct policy *policy, struct policy_external *e,
           struct arena *arena)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        if (uses(policy, e, policy->tenants.v[i])) {
            *vec_push(arena, &e->users) = policy->tenants.v[i];
        }
    }
    for (size_t i = 0; i < policy->tenants.n && e->users.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n
             && is_near(policy, e, tenant); j++) {
            const address_vec *subnets = &tenant->networks.v[j]->intent
                                         ->subnets;

            for (size_t k = 0; k < subnets->n; k++) {
                *vec_push(arena, &e->inside) = &subnets->v[k];
            }
        }
    }
}
