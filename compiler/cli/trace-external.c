/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/trace.h"

#include <netinet/icmp6.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "flow.h"
#include "packets.h"
#include "sema/policy.h"
#include "util.h"

/* The external that 'name' names; prints if there is none. */
static const struct policy_external *
find_external(const struct policy *policy, const struct cli_options *options,
              const char *name)
{
    struct nearest nearest = nearest_init(name);

    for (size_t i = 0; i < policy->externals.n; i++) {
        if (!strcmp(policy->externals.v[i]->name, name)) {
            return policy->externals.v[i];
        }
        nearest_try(&nearest, policy->externals.v[i]->name);
    }
    fprintf(stderr, "bulkhead: %s knows no external '%s'",
            cli_intent_title(options), name);
    if (nearest.best) {
        fprintf(stderr, ": did you mean '%s'?", nearest.best);
    }
    putc('\n', stderr);
    return NULL;
}

/* The attachment to 'node', or the only one if that is NULL; prints if there
 * is none. */
static const struct policy_attachment *
find_attachment(const struct policy_external *e, const char *node)
{
    for (size_t i = 0; i < e->attachments.n; i++) {
        if (node ? !strcmp(e->attachments.v[i]->node->name.s, node)
            : e->attachments.n == 1) {
            return e->attachments.v[i];
        }
    }
    if (node) {
        fprintf(stderr, "bulkhead: external '%s' is not attached to node "
                "'%s'\n", e->name, node);
    } else {
        fprintf(stderr, "bulkhead: external '%s' is attached to %s: say "
                "--node=NODE\n", e->name,
                e->attachments.n ? "several nodes" : "no node");
    }
    return NULL;
}

/* Fills in what was not given as the router would. */
static void
complete(const struct policy_attachment *a,
         const struct flow_wildcards *given, struct flow *packet)
{
    bool neighbor = (packet->dl_type == htons(ETH_TYPE_ARP)
                     || is_nd(packet, NULL));

    if (eth_addr_is_zero(given->masks.dl_src)) {
        packet->dl_src = a->intent->mac;
    }
    if (eth_addr_is_zero(given->masks.dl_dst)) {
        packet->dl_dst = (packet->dl_type == htons(ETH_TYPE_ARP)
                          ? eth_addr_broadcast : a->gateway_mac);
    }
    if (neighbor && eth_addr_is_zero(given->masks.arp_sha)
        && !(is_nd(packet, NULL)
             && packet->tp_src != htons(ND_NEIGHBOR_SOLICIT))) {
        packet->arp_sha = packet->dl_src;
    }
    if (packet->dl_type == htons(ETH_TYPE_ARP) && !given->masks.nw_proto) {
        packet->nw_proto = ARP_OP_REQUEST;
    }
    if (is_icmpv4(packet, NULL) && !given->masks.tp_src) {
        packet->tp_src = htons(8 /* Echo request. */);
    } else if (is_icmpv6(packet, NULL) && !given->masks.tp_src) {
        packet->tp_src = htons(ICMP6_ECHO_REQUEST);
    }
    if (is_ip_any(packet) && !given->masks.nw_ttl) {
        packet->nw_ttl = neighbor ? 255 : 64;
    }
}

bool
trace_is_external(const struct cli_options *options)
{
    return policy_external_name(options->from) != NULL;
}

const struct policy_attachment *
trace_enter(const struct policy *policy, const struct cli_options *options,
            const struct flow_wildcards *given, struct flow *packet)
{
    const struct policy_external *e = find_external(
        policy, options, policy_external_name(options->from));
    const struct policy_attachment *a = e ? find_attachment(e, options->node)
                                        : NULL;

    if (a && is_ip_any(packet) && !given->masks.nw_src
        && ipv6_is_zero(&given->masks.ipv6_src)) {
        fprintf(stderr, "bulkhead: anybody may have sent this: write its %s\n",
                packet->dl_type == htons(ETH_TYPE_IP) ? "nw_src"
                : "ipv6_src");
        return NULL;
    } else if (a) {
        complete(a, given, packet);
    }
    return a;
}
