/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include <string.h>

enum {
    MIN_UPLINK_MTU = MIN_MTU + 70,      /* The longest encapsulation. */
};

struct mtu
decode_mtu(struct decoder *d, const struct value *v, int min)
{
    return (struct mtu) {
        decode_integer(d, v, "mtu", min, MAX_MTU), value_member(v, "mtu"),
    };
}

static struct text
decode_plane(struct decoder *d, const struct value *v)
{
    struct text plane = decode_text(d, v, "plane");

    if (plane.s && strcmp(plane.s, "compute") && strcmp(plane.s, "oob")
        && strcmp(plane.s, INTENT_CONVERGED)) {
        decode_error(d, plane.at, "there is no such plane",
                     "write \"compute\", \""INTENT_CONVERGED"\" or \"oob\"");
    }
    return plane;
}

void
decode_way(struct decoder *d, const struct value *v,
           struct intent_network *network)
{
    network->plane = decode_plane(d, v);
    network->uplink = decode_text(d, v, "uplink");
    if (network->plane.s && network->uplink.s) {
        decode_error(d, network->plane.at, "the uplink is on a plane already",
                     "keep \"uplink\" or \"plane\", not both");
    }
}

static void
decode_uplink(struct decoder *d, const struct value *v,
              struct intent_uplink *uplink)
{
    static const struct member members[] = {
        { "interface", true }, { "plane", false }, { "rate", true },
        { "burst", true }, { "buffer", false }, { "mtu", false },
        { "device", false }, { "queues", false }, { "pmd_cpus", false },
        { NULL, false },
    };

    uplink->name = decode_key(v);
    if (decode_object(d, v, "an uplink", members)) {
        uplink->interface = decode_interface(d, v, "interface");
        uplink->plane = decode_plane(d, v);
        uplink->rate = decode_rate(d, v, "rate");
        uplink->burst = decode_bytes(d, v, "burst");
        uplink->buffer = decode_bytes(d, v, "buffer");
        uplink->mtu = decode_mtu(d, v, MIN_UPLINK_MTU);
        decode_device(d, v, uplink);
    }
}

/* One address, where decode_addresses() also takes a list. */
static void
decode_tunnel(struct decoder *d, const struct value *v,
              struct intent_node *node)
{
    address_vec addresses = VEC_INIT;

    if (decode_text(d, v, "tunnel_address").s) {
        decode_addresses(d, value_member(v, "tunnel_address"), false,
                         &addresses);
    }
    if (addresses.n) {
        node->tunnel = addresses.v[0];
    }
}

static void
decode_node(struct decoder *d, const struct value *v,
            struct intent_node *node)
{
    static const struct member members[] = {
        { "target", false }, { "enforcer", false },
        { "tunnel_address", false }, { "telemetry", false },
        { "dpdk", false }, { "uplinks", true }, { NULL, false },
    };

    node->name = decode_key(v);
    if (!decode_object(d, v, "a node", members)) {
        return;
    }

    struct text target = decode_text(d, v, "target");
    if (target.s && strcmp(target.s, "userspace")) {
        decode_error(d, target.at, "this target is not known",
                     "write \"userspace\", the only target so far");
    }

    node->dpu = decode_choice(d, v, "enforcer", "host", "dpu");
    node->telemetry = decode_flag(d, v, "telemetry", true);
    decode_tunnel(d, v, node);
    decode_dpdk(d, value_member(v, "dpdk"), &node->dpdk);

    const struct value *uplinks = value_member(v, "uplinks");
    DECODE_EACH(d, uplinks, decode_map, "a map of uplinks", decode_uplink,
                &node->uplinks);
    if (uplinks && uplinks->type == VALUE_OBJECT && !uplinks->n) {
        decode_error(d, uplinks, "a node without uplinks has no rates",
                     "name its uplink");
    }
}

/* Files may repeat it, for it is one for the whole fabric. */
static void
decode_encapsulation(struct decoder *d, const struct value *v,
                     struct intent *intent)
{
    struct text text = decode_text(d, v, "encapsulation");
    const struct text *first = &intent->encapsulation;

    if (text.s && strcmp(text.s, "geneve") && strcmp(text.s, "vxlan")) {
        decode_error(d, text.at, "this encapsulation is not known",
                     "write \"geneve\" or \"vxlan\"");
    } else if (text.s && first->s && strcmp(text.s, first->s)) {
        struct diag *diag = value_error(d->diags, text.at, "another file has "
                                        "another encapsulation");

        diag_remedy(d->diags, diag, "write the same in both, or remove one");
        diag_see(d->diags, diag, first->at->span, "the other one");
    }
    intent->encapsulation = text.s && !first->s ? text : *first;
}

void
decode_fabric(struct decoder *d, const struct value *v, struct intent *intent)
{
    static const struct member members[] = {
        { "encapsulation", false }, { "nodes", true }, { NULL, false },
    };

    if (v && decode_object(d, v, "the fabric", members)) {
        decode_encapsulation(d, v, intent);
        DECODE_EACH(d, value_member(v, "nodes"), decode_map,
                    "a map of nodes", decode_node, &intent->nodes);
    }
}
