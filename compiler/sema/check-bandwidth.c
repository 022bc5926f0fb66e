/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include "sema/charge.h"
#include "sema/policy.h"

/* Rates are whole kbps in OpenFlow 1.3, section A.3.4.5. */
#define MIN_RATE UINT64_C(1000)
#define MAX_RATE UINT64_C(1600000000000)

/* The wire has 32 bits for it. */
#define MAX_PACKET_RATE UINT64_C(4000000000)

enum {
    /* Packets come in batches (NETDEV_MAX_BURST of lib/dp-packet.h), which a
     * meter takes to arrive at once. */
    MIN_PACKETS = 32,
    MAX_PACKETS = 1000 * 1000,
};

void
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

void
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

static void
check_packets(struct diags *diags, const struct quantity *rate,
              const struct quantity *burst)
{
    if (rate->at && rate->n > MAX_PACKET_RATE) {
        struct diag *d = value_error(diags, rate->at,
                                     "the switch cannot hold this rate");
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

static void
check_limit(const struct quantity *limit, const struct policy_tenant *tenant,
            const struct intent_node *node,
            const struct intent_uplink *uplink, struct diags *diags)
{
    if (limit->at && limit->n > uplink->rate.n) {
        struct diag *d = value_error(diags, limit->at,
                                     "this limit is above the rate of "
                                     "uplink '%s' of node '%s', where the "
                                     "tenant %s", uplink->name.s,
                                     node->name.s,
                                     tenant_is_at(tenant, node, uplink)
                                     ? "has endpoints" : "pays for others");
        diag_remedy(diags, d, "lower it to %s: it holds at each uplink that "
                    "the tenant takes",
                    rate_text(uplink->rate.n, diags->arena));
        diag_see(diags, d, uplink->rate.at->span, "the uplink's rate");
        see_payer(diags, d, tenant, node, uplink);
    }
}

/* The short form of "bandwidth" is one limit. */
static bool
is_short(const struct intent_bandwidth *send,
         const struct intent_bandwidth *receive)
{
    return send->limit.at == receive->limit.at;
}

static void
check_uplink(const struct policy *policy, const struct intent_node *node,
             const struct intent_uplink *uplink, struct diags *diags)
{
    check_rate(diags, &uplink->rate);
    check_burst(diags, &uplink->burst);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];
        const struct intent_bandwidth *send = &tenant->intent->send;
        const struct intent_bandwidth *receive = &tenant->intent->receive;

        if (tenant_takes(tenant, node, uplink)) {
            check_limit(&send->limit, tenant, node, uplink, diags);
            if (!is_short(send, receive)) {
                check_limit(&receive->limit, tenant, node, uplink, diags);
            }
        }
    }
}

/* What is said beside "borrow": false and changes nothing. */
static void
doubt_direction(const struct intent_bandwidth *bandwidth, struct diags *diags)
{
    const struct quantity *guarantee = &bandwidth->guarantee;
    const struct quantity *limit = &bandwidth->limit;
    struct diag *d;

    if (bandwidth->weight_at) {
        d = value_warning(diags, bandwidth->weight_at, "this changes nothing: "
                          "a weight is for who borrows");
        diag_remedy(diags, d, "remove it, or let it borrow");
        diag_see(diags, d, bandwidth->no_borrow->span, "it does not");
    }
    if (guarantee->at && limit->n > guarantee->n) {
        d = value_warning(diags, limit->at, "this is never reached: who does "
                          "not borrow gets its guarantee and no more");
        diag_remedy(diags, d, "write the guarantee's rate, or let it borrow");
        diag_see(diags, d, guarantee->at->span, "the guarantee");
    }
}

void
check_direction(const struct intent_bandwidth *bandwidth, struct diags *diags)
{
    const struct quantity *guarantee = &bandwidth->guarantee;
    const struct quantity *limit = &bandwidth->limit;

    check_rate(diags, limit);
    check_rate(diags, guarantee);
    check_burst(diags, &bandwidth->burst);
    if (guarantee->at && guarantee->n > limit->n) {
        struct diag *d = value_error(diags, guarantee->at,
                                     "this guarantee is above the limit, "
                                     "where packets drop");
        diag_remedy(diags, d, "lower it to the limit, or raise the limit");
        diag_see(diags, d, limit->at->span, "the limit");
    }
    if (bandwidth->no_borrow && !guarantee->at) {
        struct diag *d = value_error(diags, bandwidth->no_borrow,
                                     "without a guarantee, who does not "
                                     "borrow gets nothing");
        diag_remedy(diags, d, "add a \"guarantee\", or let it borrow");
    } else if (bandwidth->no_borrow) {
        doubt_direction(bandwidth, diags);
    }
}

static void
check_both(const struct intent_bandwidth *send,
           const struct intent_bandwidth *receive, struct diags *diags)
{
    check_direction(send, diags);
    if (!is_short(send, receive)) {
        check_direction(receive, diags);
    }
}

/* That an endpoint's limit is inside its tenant's and its uplink's. */
static void
check_own_limit(const struct policy_endpoint *e, const struct quantity *limit,
                const struct quantity *whole, struct diags *diags)
{
    const struct intent_uplink *uplink
        = e->node ? network_uplink(e->network, e->node) : NULL;

    if (limit->at && whole->at && limit->n > whole->n) {
        struct diag *d = value_error(diags, limit->at, "this limit is above "
                                     "that of tenant '%s', which its "
                                     "endpoints share", e->tenant->name);
        diag_remedy(diags, d, "lower it to the tenant's limit");
        diag_see(diags, d, whole->at->span, "the tenant's limit");
    } else if (uplink) {
        check_limit(limit, e->tenant, e->node, uplink, diags);
    }
}

static void
check_own(const struct policy_endpoint *e, struct diags *diags)
{
    const struct intent_endpoint *own = e->intent;
    const struct intent_tenant *tenant = e->tenant->intent;

    check_both(&own->send, &own->receive, diags);
    check_own_limit(e, &own->send.limit, &tenant->send.limit, diags);
    if (!is_short(&own->send, &own->receive)) {
        check_own_limit(e, &own->receive.limit, &tenant->receive.limit,
                        diags);
    }
}

void
check_bandwidth(const struct policy *policy, struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            check_uplink(policy, node, &node->uplinks.v[j], diags);
        }
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct intent_tenant *tenant = policy->tenants.v[i]->intent;

        check_both(&tenant->send, &tenant->receive, diags);
        check_microburst(policy, tenant, diags);
        check_packets(diags, &tenant->packet_rate, &tenant->packet_burst);
        check_packets(diags, &tenant->upcall_rate, &tenant->upcall_burst);
        for (size_t j = 0; j < policy->tenants.v[i]->endpoints.n; j++) {
            check_own(policy->tenants.v[i]->endpoints.v[j], diags);
        }
    }
}
