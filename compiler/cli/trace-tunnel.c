/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "flow.h"
#include "packets.h"
#include "sema/packet.h"
#include "sema/policy.h"
#include "util.h"

/* The node called 'name', if it has tunnels; prints what is wrong with
 * 'option' if it has none, or is not there. */
static const struct intent_node *
find_node(const struct policy *policy, const struct cli_options *options,
          const char *option, const char *name)
{
    struct nearest nearest = nearest_init(name);

    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        if (strcmp(node->name.s, name)) {
            nearest_try(&nearest, node->name.s);
        } else if (node->tunnel.at) {
            return node;
        } else {
            fprintf(stderr, "bulkhead: %s: node '%s' has no tunnels: it has "
                    "no \"tunnel_address\"\n", option, name);
            return NULL;
        }
    }
    fprintf(stderr, "bulkhead: %s: %s knows no node '%s'", option,
            cli_intent_title(options), name);
    if (nearest.best) {
        fprintf(stderr, ": did you mean '%s'?", nearest.best);
    }
    putc('\n', stderr);
    return NULL;
}

/* Stores the nodes at both ends of the tunnel, of which --from calls the
 * first one 'name'; prints why that cannot be. */
static bool
find_ends(const struct policy *policy, const struct cli_options *options,
          const char *name, const struct intent_node **from,
          const struct intent_node **to)
{
    if (!options->node) {
        fputs("bulkhead: what comes by tunnel comes to a node: say "
              "--node=NODE\n", stderr);
        return false;
    }
    *from = find_node(policy, options, "--from", name);
    *to = *from ? find_node(policy, options, "--node", options->node) : NULL;
    if (*to && *to == *from) {
        fprintf(stderr, "bulkhead: --from and --node are both '%s', which "
                "has no tunnel to itself\n", name);
        return false;
    }
    return *to != NULL;
}

bool
trace_enter_tunnel(const struct policy *policy,
                   const struct cli_options *options,
                   const struct flow_wildcards *given, struct flow *packet)
{
    enum { MAX_VNI = (1 << 24) - 1 };
    const char *name = options->from + strlen(TRACE_TUNNEL);
    int len = strcspn(name, ":"), n = 0;
    const struct intent_node *from, *to;
    uint32_t vni;
    char *node;
    bool known;

    if (!ovs_scan(name + len, ":%"SCNu32"%n", &vni, &n) || name[len + n]
        || vni > MAX_VNI) {
        fprintf(stderr, "bulkhead: --from=%s says no VNI, of 24 bits: write "
                "it as in --from=tunnel:n2:5001\n", options->from);
        return false;
    }
    node = xmemdup0(name, len);
    known = find_ends(policy, options, node, &from, &to);
    free(node);
    if (!known) {
        return false;
    } else if (eth_addr_is_zero(given->masks.dl_src)
               || eth_addr_is_zero(given->masks.dl_dst)) {
        fputs("bulkhead: what comes by tunnel is judged as it stands: write "
              "its dl_src and dl_dst too\n", stderr);
        return false;
    }
    packet_encapsulate(packet, &from->tunnel.ip, &to->tunnel.ip, vni);
    return true;
}
