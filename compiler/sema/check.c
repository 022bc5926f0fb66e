/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "sema/policy.h"
#include "util.h"

/* Rates are whole kbps in OpenFlow 1.3, section A.3.4.5. */
#define MIN_RATE UINT64_C(1000)
#define MAX_RATE UINT64_C(1600000000000)

/* The wire has 32 bits for it. */
#define MAX_PACKET_RATE UINT64_C(4000000000)

enum {
    MIN_BURST = ETH_HEADER_LEN + VLAN_HEADER_LEN + ETH_PAYLOAD_MAX,
    MAX_BURST = 1024 * 1024 * 1024,

    /* Packets come in batches (NETDEV_MAX_BURST of lib/dp-packet.h), which a
     * meter takes to arrive at once. */
    MIN_PACKETS = 32,
    MAX_PACKETS = 1000 * 1000,
};

VEC_TYPEDEF(rule_vec, const struct policy_rule *);

static void
check_rate(struct diags *diags, const struct quantity *rate)
{
    if (rate->at && (rate->n < MIN_RATE || rate->n > MAX_RATE
                     || rate->n % MIN_RATE)) {
        struct diag *d = value_error(diags, rate->at,
                                     "a meter cannot hold this rate");
        diag_remedy(diags, d, "choose a whole number of kbps, from 1kbps to "
                    "1.6Tbps");
    }
}

static void
check_burst(struct diags *diags, const struct quantity *burst)
{
    if (burst->at && (burst->n < MIN_BURST || burst->n > MAX_BURST)) {
        struct diag *d = value_error(
            diags, burst->at,
            burst->n < MIN_BURST ? "a full frame of %d bytes would never pass"
            : "this is more than any buffer holds (%d bytes)",
            burst->n < MIN_BURST ? MIN_BURST : MAX_BURST);
        diag_remedy(diags, d, "choose a burst from %d bytes to 1GiB",
                    MIN_BURST);
    }
}

/* A depth of a queue, at most 'limit', if there is one. */
static void
check_depth(struct diags *diags, const struct quantity *depth,
            const struct quantity *limit)
{
    if (depth->at && (depth->n < MIN_BURST || depth->n > MAX_BURST)) {
        struct diag *d = value_error(
            diags, depth->at,
            depth->n < MIN_BURST ? "a full frame of %d bytes is deeper by "
            "itself" : "this is more than any buffer holds (%d bytes)",
            depth->n < MIN_BURST ? MIN_BURST : MAX_BURST);
        diag_remedy(diags, d, "choose a depth from %d bytes to 1GiB",
                    MIN_BURST);
    } else if (depth->at && limit->at && depth->n > limit->n) {
        struct diag *d = value_error(diags, depth->at,
                                     "a queue is never that deep: what is "
                                     "above \"limit\" drops");
        diag_remedy(diags, d, "lower it to the limit, or raise the limit");
        diag_see(diags, d, limit->at->span, "the limit");
    }
}

static void
check_microburst(struct diags *diags, const struct intent_microburst *m)
{
    check_depth(diags, &m->depth, &m->limit);
    check_depth(diags, &m->mark, &m->limit);
    check_depth(diags, &m->limit, &m->limit);
    if (m->ecn && !m->limit.at) {
        struct diag *d = value_error(diags, m->at,
                                     "with \"exceed\": \"ecn\", nothing here "
                                     "keeps the tenant within its bandwidth");
        diag_remedy(diags, d, "give a \"limit\", above which packets drop");
    }
}

static void
check_packets(struct diags *diags, const struct intent_tenant *tenant)
{
    const struct quantity *rate = &tenant->packet_rate;
    const struct quantity *burst = &tenant->packet_burst;

    if (rate->at && rate->n > MAX_PACKET_RATE) {
        struct diag *d = value_error(diags, rate->at,
                                     "a meter cannot hold this rate");
        diag_remedy(diags, d, "choose a rate up to 4Gpps");
    }
    if (burst->at && (burst->n < MIN_PACKETS || burst->n > MAX_PACKETS)) {
        struct diag *d = value_error(
            diags, burst->at,
            burst->n < MIN_PACKETS ? "packets come in batches of %d, which "
            "would never pass whole" : "so many packets at once are a flood "
            "(the most is %d)",
            burst->n < MIN_PACKETS ? MIN_PACKETS : MAX_PACKETS);
        diag_remedy(diags, d, "choose a burst from %dpkt to 1Mpkt",
                    MIN_PACKETS);
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
                struct diag *d = value_error(diags, limit->at,
                                             "this limit is above the rate of "
                                             "an uplink of node '%s', where "
                                             "the tenant has endpoints",
                                             node->name.s);
                diag_remedy(diags, d, "lower it to the uplink's rate");
                diag_see(diags, d, rate->at->span, "the uplink's rate");
            }
        }
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        check_rate(diags, &policy->tenants.v[i]->intent->limit);
        check_burst(diags, &policy->tenants.v[i]->intent->burst);
        check_microburst(diags, &policy->tenants.v[i]->intent->microburst);
        check_packets(diags, policy->tenants.v[i]->intent);
    }
}

/* Counts the endpoints in both sets, which are sorted, and stores one. */
static size_t
intersect(const endpoint_vec *a, const endpoint_vec *b,
          const struct policy_endpoint **one)
{
    size_t i = 0, j = 0, n = 0;

    while (i < a->n && j < b->n) {
        if (a->v[i]->index == b->v[j]->index) {
            *one = a->v[i];
            n++;
            i++;
            j++;
        } else if (a->v[i]->index < b->v[j]->index) {
            i++;
        } else {
            j++;
        }
    }
    return n;
}

/* Is there a sender and another endpoint as receiver in both? */
static bool
pairs_intersect(const endpoint_vec *from_a, const endpoint_vec *to_a,
                const endpoint_vec *from_b, const endpoint_vec *to_b)
{
    const struct policy_endpoint *from = NULL, *to = NULL;
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
    bool symmetric = (service_has_symmetric(a->service)
                      && service_has_symmetric(b->service));

    return (services_intersect(a->service, b->service)
            && (pairs_intersect(&a->from, &a->to, &b->from, &b->to)
                || (symmetric
                    && pairs_intersect(&a->from, &a->to,
                                       &b->to, &b->from))));
}

/* May rules 'a' and 'b', which allow, have endpoints in common?  Rules of one
 * tenant, and peerings, stand together: policy->rules is sorted by name. */
static bool
same_scope(const struct policy_rule *a, const struct policy_rule *b)
{
    return (a->kind == RULE_PEERING || b->kind == RULE_PEERING
            ? a->kind == b->kind
            : a->from_tenants.v[0] == b->from_tenants.v[0]);
}

static void
check_class(const struct policy_rule *a, const struct policy_rule *b,
            struct diags *diags)
{
    if (a->class != b->class && rules_intersect(a, b)) {
        struct diag *d = value_error(diags, b->at,
                                     "this allows packets that rule '%s' "
                                     "allows with another class", a->name);
        diag_remedy(diags, d, "give both the same class, or make them match "
                    "different packets (RoCEv2, and so 'any service', "
                    "matches both ways)");
        diag_see(diags, d, a->at->span, "the other rule");
    }
}

/* Two rules that allow the same packet must give it the same class. */
static void
check_classes(const struct policy *policy, struct arena *arena,
              struct diags *diags)
{
    rule_vec allows = VEC_INIT;

    for (size_t i = 0; i < policy->rules.n; i++) {
        const struct policy_rule *rule = policy->rules.v[i];

        if ((rule->kind == RULE_ALLOW || rule->kind == RULE_PEERING)
            && rule->from.n && rule->to.n) {
            *vec_push(arena, &allows) = rule;
        }
    }
    for (size_t i = 0; i < allows.n; i++) {
        for (size_t j = i + 1;
             j < allows.n && same_scope(allows.v[i], allows.v[j]); j++) {
            check_class(allows.v[i], allows.v[j], diags);
        }
    }
}

static int
compare_ids(const void *a_, const void *b_)
{
    const struct policy_rule *const *a = a_;
    const struct policy_rule *const *b = b_;

    return (*a)->id < (*b)->id ? -1 : (*a)->id > (*b)->id;
}

/* Ids are hashes of names: equal ones are equal names, or a collision. */
static void
check_ids(const struct policy *policy, struct arena *arena,
          struct diags *diags)
{
    size_t n = policy->rules.n;
    const struct policy_rule **rules = arena_zalloc(arena, n * sizeof *rules);

    for (size_t i = 0; i < n; i++) {
        rules[i] = policy->rules.v[i];
    }
    if (n) {
        qsort(rules, n, sizeof *rules, compare_ids);
    }
    for (size_t i = 1; i < n; i++) {
        const struct policy_rule *a = rules[i - 1], *b = rules[i];

        if (a->id == b->id) {
            bool later = a->at->span.start > b->at->span.start;
            const struct policy_rule *first = later ? b : a;
            const struct policy_rule *second = later ? a : b;
            struct diag *d = value_error(diags, second->at,
                                         strcmp(a->name, b->name)
                                         ? "rule '%s' has the same id as '%s'"
                                         : "rule '%s' stands twice",
                                         second->name, first->name);
            diag_remedy(diags, d, "give it another name");
            diag_see(diags, d, first->at->span, "the other one");
        }
    }
}

void
policy_check(const struct policy *policy, struct arena *arena,
             struct diags *diags)
{
    size_t n_errors = diags->n_errors;

    check_addressing(policy, arena, diags);
    if (diags->n_errors == n_errors) {
        check_peerings(policy, arena, diags);
        check_overlay(policy, diags);
    } else {
        diags->unchecked = "peerings and tunnels";
    }
    check_receivers(policy, diags);
    check_bandwidth(policy, diags);
    check_classes(policy, arena, diags);
    check_ids(policy, arena, diags);
    if (diags->n_errors == n_errors) {
        check_doubts(policy, diags);
    }
}
