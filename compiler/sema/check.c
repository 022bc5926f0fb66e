/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "packets.h"
#include "sema/policy.h"
#include "util.h"

/* Rates are whole kbps in OpenFlow 1.3, section A.3.4.5. */
#define MIN_RATE UINT64_C(1000)
#define MAX_RATE UINT64_C(1600000000000)

enum {
    MIN_BURST = ETH_HEADER_LEN + VLAN_HEADER_LEN + ETH_PAYLOAD_MAX,
    MAX_BURST = 1024 * 1024 * 1024,
};

static void
check_rate(struct diags *diags, const struct quantity *rate)
{
    if (rate->at && (rate->n < MIN_RATE || rate->n > MAX_RATE
                     || rate->n % MIN_RATE)) {
        struct diag *d = diag_error(diags, rate->at->span, rate->at->pointer,
                                    "a meter cannot hold this rate");
        diag_remedy(diags, d, "choose a whole number of kbps, from 1kbps to "
                    "1.6Tbps");
    }
}

static void
check_burst(struct diags *diags, const struct quantity *burst)
{
    if (burst->at && (burst->n < MIN_BURST || burst->n > MAX_BURST)) {
        struct diag *d = diag_error(
            diags, burst->at->span, burst->at->pointer,
            burst->n < MIN_BURST ? "a full frame of %d bytes would never pass"
            : "this is more than any buffer holds (%d bytes)",
            burst->n < MIN_BURST ? MIN_BURST : MAX_BURST);
        diag_remedy(diags, d, "choose a burst from %d bytes to 1GiB",
                    MIN_BURST);
    }
}

static bool
tenant_on_node(const struct policy_tenant *tenant, const char *node)
{
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct text *n = &tenant->endpoints.v[i]->intent->node;

        if (n->s && !strcmp(n->s, node)) {
            return true;
        }
    }
    return false;
}

static void
check_bandwidth(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];
        const struct quantity *rate = &node->uplinks.v[0].rate;

        check_rate(diags, rate);
        check_burst(diags, &node->uplinks.v[0].burst);
        for (size_t j = 0; j < policy->tenants.n; j++) {
            const struct policy_tenant *tenant = policy->tenants.v[j];
            const struct quantity *limit = &tenant->intent->limit;

            if (limit->at && limit->n > rate->n
                && tenant_on_node(tenant, node->name.s)) {
                struct diag *d = diag_error(
                    diags, limit->at->span, limit->at->pointer,
                    "this limit is above the rate of an uplink of node '%s', "
                    "where the tenant has endpoints", node->name.s);
                diag_remedy(diags, d, "lower it to the uplink's rate");
                diag_see(diags, d, rate->at->span, "the uplink's rate");
            }
        }
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        check_rate(diags, &policy->tenants.v[i]->intent->limit);
        check_burst(diags, &policy->tenants.v[i]->intent->burst);
    }
}

/* Where 'tenant' lists 'peer', or NULL. */
static const struct text *
find_peer(const struct policy_tenant *tenant, const char *peer)
{
    for (size_t i = 0; i < tenant->intent->peers.n; i++) {
        if (!strcmp(tenant->intent->peers.v[i].s, peer)) {
            return &tenant->intent->peers.v[i];
        }
    }
    return NULL;
}

static void
check_peer_names(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const text_vec *peers = &policy->tenants.v[i]->intent->peers;

        for (size_t j = 0; j < peers->n; j++) {
            const struct text *peer = &peers->v[j];
            struct nearest nearest = nearest_init(peer->s);
            bool found = false;

            for (size_t k = 0; k < policy->tenants.n && !found; k++) {
                found = !strcmp(policy->tenants.v[k]->name, peer->s);
                nearest_try(&nearest, policy->tenants.v[k]->name);
            }
            if (!found) {
                struct diag *d = diag_error(diags, peer->at->span,
                                            peer->at->pointer,
                                            "there is no tenant '%s'",
                                            peer->s);
                if (nearest.best) {
                    diag_remedy(diags, d, "did you mean '%s'?", nearest.best);
                } else {
                    diag_remedy(diags, d, "remove it, or define the tenant");
                }
            } else if (!strcmp(peer->s, policy->tenants.v[i]->name)) {
                struct diag *d = diag_error(diags, peer->at->span,
                                            peer->at->pointer,
                                            "a tenant is not its own peer");
                diag_remedy(diags, d, "remove it");
            }
        }
    }
}

static void
check_consent(const struct policy_rule *rule,
              const struct policy_tenant *tenant,
              const struct policy_tenant *peer, struct diags *diags)
{
    if (!find_peer(tenant, peer->name)) {
        const struct value *at = tenant->intent->name.at;
        struct diag *d = diag_error(
            diags, rule->at->key_span, rule->at->pointer,
            "tenant '%s' does not consent to this peering with '%s'",
            tenant->name, peer->name);
        diag_remedy(diags, d, "\"peers\" of tenant '%s' must list \"%s\"",
                    tenant->name, peer->name);
        diag_see(diags, d, at->key_span, "the tenant is defined here");
    }
}

static bool
endpoint_in(const endpoint_vec *set, const struct policy_endpoint *e)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->v[i] == e) {
            return true;
        }
    }
    return false;
}

/* The address that both endpoints have, of 'a', or NULL. */
static const struct address *
shared_address(const struct intent_endpoint *a,
               const struct intent_endpoint *b)
{
    for (size_t i = 0; i < a->addresses.n; i++) {
        for (size_t j = 0; j < b->addresses.n; j++) {
            if (ipv6_addr_equals(&a->addresses.v[i].ip,
                                 &b->addresses.v[j].ip)) {
                return &a->addresses.v[i];
            }
        }
    }
    return NULL;
}

/* A tenant that reaches 'e' through a peering must have that address nowhere
 * else, or it could not route to it.  Endpoints in 'done' were compared from
 * the other side. */
static void
check_peer_addresses(const struct policy_rule *rule,
                     const struct policy_endpoint *e,
                     const struct policy_tenant *peer,
                     const endpoint_vec *done, struct diags *diags)
{
    for (size_t i = 0; i < peer->endpoints.n && peer != e->tenant; i++) {
        const struct policy_endpoint *other = peer->endpoints.v[i];
        const struct address *a = shared_address(e->intent, other->intent);

        if (a && !(done && endpoint_in(done, other))) {
            struct diag *d = diag_error(
                diags, a->at->span, a->at->pointer,
                "%s cannot route: '%s' and '%s' share this address",
                rule->name, e->name, other->name);
            diag_remedy(diags, d, "give peers different addresses");
            diag_see(diags, d, shared_address(other->intent,
                                              e->intent)->at->span,
                     "the other one");
        }
    }
}

static bool
is_first_of_tenant(const endpoint_vec *set, size_t i)
{
    return !i || set->v[i]->tenant != set->v[i - 1]->tenant;
}

/* Checks one pair of tenants of a peering, each pair once. */
static void
check_peer_pair(const struct policy_rule *rule, size_t i, size_t j,
                struct diags *diags)
{
    const struct policy_tenant *from = rule->from.v[i]->tenant;
    const struct policy_tenant *to = rule->to.v[j]->tenant;
    bool first = (is_first_of_tenant(&rule->from, i)
                  && is_first_of_tenant(&rule->to, j));

    if (first && from == to) {
        struct diag *d = diag_error(diags, rule->at->key_span,
                                    rule->at->pointer,
                                    "a peering joins two tenants, this one "
                                    "only '%s'", from->name);
        diag_remedy(diags, d, "write a rule of that tenant");
    } else if (first) {
        check_consent(rule, from, to, diags);
        check_consent(rule, to, from, diags);
    }
}

static void
check_peerings(const struct policy *policy, struct diags *diags)
{
    check_peer_names(policy, diags);
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if (rule->kind != RULE_PEERING) {
            continue;
        }
        for (size_t j = 0; j < rule->from.n; j++) {
            for (size_t k = 0; k < rule->to.n; k++) {
                const struct policy_endpoint *from = rule->from.v[j];
                const struct policy_endpoint *to = rule->to.v[k];

                check_peer_pair(rule, j, k, diags);
                if (is_first_of_tenant(&rule->to, k)) {
                    check_peer_addresses(rule, from, to->tenant, NULL, diags);
                }
                if (is_first_of_tenant(&rule->from, j)) {
                    check_peer_addresses(rule, to, from->tenant, &rule->from,
                                         diags);
                }
            }
        }
    }
}

/* Counts the endpoints in both sets and stores one of them. */
static size_t
intersect(const endpoint_vec *a, const endpoint_vec *b,
          const struct policy_endpoint **one)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (endpoint_in(b, a->v[i])) {
            *one = a->v[i];
            n++;
        }
    }
    return n;
}

/* Is there a sender and another endpoint as receiver in both? */
static bool
pairs_intersect(const endpoint_vec *from_a, const endpoint_vec *to_a,
                const endpoint_vec *from_b, const endpoint_vec *to_b)
{
    const struct policy_endpoint *from, *to;
    size_t n_from = intersect(from_a, from_b, &from);
    size_t n_to = n_from ? intersect(to_a, to_b, &to) : 0;

    return n_to && (n_from > 1 || n_to > 1 || from != to);
}

static bool
services_intersect(const struct policy_service *a,
                   const struct policy_service *b)
{
    if (!a || !b) {
        return true;
    }
    for (size_t i = 0; i < a->matches.n; i++) {
        for (size_t j = 0; j < b->matches.n; j++) {
            const struct service_match *x = &a->matches.v[i];
            const struct service_match *y = &b->matches.v[j];

            if (x->protocol == y->protocol
                && x->ports.first <= y->ports.last
                && y->ports.first <= x->ports.last) {
                return true;
            }
        }
    }
    return false;
}

/* Can both rules match one packet?  Symmetric services match both ways. */
static bool
rules_intersect(const struct policy_rule *a, const struct policy_rule *b)
{
    bool symmetric = ((!a->service || a->service->symmetric)
                      && (!b->service || b->service->symmetric));

    return (services_intersect(a->service, b->service)
            && (pairs_intersect(&a->from, &a->to, &b->from, &b->to)
                || (symmetric
                    && pairs_intersect(&a->from, &a->to,
                                       &b->to, &b->from))));
}

/* Two rules that allow the same packet must give it the same class. */
static void
check_classes(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *a = policy->rules.v[i];

        for (size_t j = i + 1; j < policy->rules.n; j++) {
            const struct policy_rule *b = policy->rules.v[j];

            if (a->kind == b->kind
                && (a->kind == RULE_ALLOW || a->kind == RULE_PEERING)
                && a->class != b->class && rules_intersect(a, b)) {
                struct diag *d = diag_error(
                    diags, b->at->span, b->at->pointer,
                    "this allows packets that rule '%s' allows with another "
                    "class", a->name);
                diag_remedy(diags, d, "give both the same class, or make "
                            "them match different packets (RoCEv2, and so "
                            "'any service', matches both ways)");
                diag_see(diags, d, a->at->span, "the other rule");
            }
        }
    }
}

/* Ids are hashes of names: equal ones are equal names, or a collision. */
static void
check_ids(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *a = policy->rules.v[i];

        for (size_t j = i + 1; j < policy->rules.n; j++) {
            const struct policy_rule *b = policy->rules.v[j];

            if (a->id == b->id) {
                struct diag *d = diag_error(
                    diags, b->at->span, b->at->pointer,
                    strcmp(a->name, b->name)
                    ? "rule '%s' has the same id as '%s'"
                    : "rule '%s' stands twice", b->name, a->name);
                diag_remedy(diags, d, "give it another name");
                diag_see(diags, d, a->at->span, "the other one");
            }
        }
    }
}

void
policy_check(const struct policy *policy, struct arena *arena,
             struct diags *diags)
{
    check_addressing(policy, arena, diags);
    check_bandwidth(policy, diags);
    check_peerings(policy, diags);
    check_classes(policy, diags);
    check_ids(policy, diags);
}
