/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/check.h"

#include <inttypes.h>

#include "packets.h"
#include "sema/policy.h"
#include "sema/tree.h"
#include "util.h"

/* Sizes that would do for Ethernet's usual frame, where frames are larger. */

enum { USUAL_FRAME = VLAN_ETH_HEADER_LEN + ETH_PAYLOAD_MAX };

struct frame {
    const struct policy_network *network;       /* NULL: there is none. */
    uint64_t bytes;
};

/* The largest one of 'network'. */
static struct frame
frame_of(const struct policy_network *network)
{
    return (struct frame) {
        network, VLAN_ETH_HEADER_LEN + network_mtu(network->tenant->policy,
                                                   network),
    };
}

/* The largest one of the tenant's networks. */
static struct frame
tenant_frame(const struct policy_tenant *tenant)
{
    struct frame widest = { NULL, 0 };

    for (size_t i = 0; i < tenant->networks.n; i++) {
        struct frame frame = frame_of(tenant->networks.v[i]);

        if (frame.bytes > widest.bytes) {
            widest = frame;
        }
    }
    return widest;
}

/* Adds an error if the frame is larger than 'size'.  What is too small for the
 * usual one has an error already. */
static void
check_size(const struct quantity *size, struct frame frame, const char *what,
           struct diags *diags)
{
    if (size->at && size->n >= USUAL_FRAME && size->n < frame.bytes) {
        const struct intent_network *network = frame.network->intent;
        struct diag *d = value_error(
            diags, size->at, "a full frame of network '%s/%s' has %"PRIu64
            " bytes and %s", frame.network->tenant->name, network->name.s,
            frame.bytes, what);

        diag_remedy(diags, d, "raise it to %"PRIu64"B or more, or give the "
                    "network a smaller \"mtu\"", frame.bytes);
        if (network->mtu.at) {
            diag_see(diags, d, network->mtu.at->span, "its mtu");
        } else {
            diag_see(diags, d, network->name.at->key_span, "its mtu is what "
                     "the uplinks of its nodes leave");
        }
    }
}

/* Both directions; the short form of "bandwidth" says both at once. */
static void
check_bursts(const struct quantity *send, const struct quantity *receive,
             struct frame frame, struct diags *diags)
{
    check_size(send, frame, "would never pass", diags);
    if (receive->at != send->at) {
        check_size(receive, frame, "would never pass", diags);
    }
}

/* One text may be for both directions. */
static void
check_parts(const struct policy_tenant *tenant, struct frame frame,
            struct diags *diags)
{
    size_t n_errors = diags->n_errors;

    for (int receive = 0; receive < 2 && diags->n_errors == n_errors;
         receive++) {
        for (size_t i = 0; i < tenant->parts[receive].n; i++) {
            check_size(&tenant->parts[receive].v[i].bandwidth->burst, frame,
                       "would never pass", diags);
        }
    }
}

static void
check_tenant(const struct policy_tenant *tenant, struct frame frame,
             struct diags *diags)
{
    const struct intent_tenant *intent = tenant->intent;

    check_bursts(&intent->send.burst, &intent->receive.burst, frame, diags);
    check_parts(tenant, frame, diags);
    check_size(&intent->microburst.mark, frame, "is always marked", diags);
    check_size(&intent->microburst.depth, frame, "is a burst by itself",
               diags);
    check_size(&intent->microburst.limit, frame, "would never pass", diags);
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        const struct quantity *send = &e->intent->send.burst;
        const struct quantity *receive = &e->intent->receive.burst;

        /* That of its own network takes time to find. */
        if ((send->at && send->n < frame.bytes)
            || (receive->at && receive->n < frame.bytes)) {
            check_bursts(send, receive, frame_of(e->network), diags);
        }
    }
}

/* The largest frame of those that take 'uplink' on 'node'. */
static struct frame
uplink_frame(const struct policy *policy, const struct intent_node *node,
             const struct intent_uplink *uplink)
{
    struct frame widest = { NULL, 0 };

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (e->network != widest.network
                && endpoint_takes(e, node, uplink)) {
                struct frame frame = frame_of(e->network);

                widest = frame.bytes > widest.bytes ? frame : widest;
            }
        }
    }
    return widest;
}

/* The burst of an uplink is that of tenants without "bandwidth", and what
 * others borrow in. */
static void
check_uplinks_above(const struct policy *policy, uint64_t bytes,
                    struct diags *diags)
{
    for (size_t i = 0; i < policy->intent->nodes.n; i++) {
        const struct intent_node *node = &policy->intent->nodes.v[i];

        for (size_t j = 0; j < node->uplinks.n; j++) {
            const struct intent_uplink *uplink = &node->uplinks.v[j];

            if (uplink->burst.n < bytes) {
                check_size(&uplink->burst, uplink_frame(policy, node, uplink),
                           "would never pass", diags);
            }
        }
    }
}

void
check_frames(const struct policy *policy, struct diags *diags)
{
    uint64_t widest = 0;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        struct frame frame = tenant_frame(policy->tenants.v[i]);

        if (frame.bytes > USUAL_FRAME) {
            check_tenant(policy->tenants.v[i], frame, diags);
            widest = MAX(widest, frame.bytes);
        }
    }
    if (widest) {
        check_uplinks_above(policy, widest, diags);
    }
}
