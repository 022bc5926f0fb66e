/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include "util.h"

enum { MAX_WEIGHT = 1000 };

static void
decode_direction(struct decoder *d, const struct value *v, const char *what,
                 struct intent_bandwidth *bandwidth)
{
    static const struct member members[] = {
        { "guarantee", false }, { "limit", true }, { "burst", true },
        { "weight", false }, { "borrow", false }, { NULL, false },
    };

    if (v && decode_object(d, v, what, members)) {
        bandwidth->guarantee = decode_rate(d, v, "guarantee");
        bandwidth->limit = decode_rate(d, v, "limit");
        bandwidth->burst = decode_bytes(d, v, "burst");
        bandwidth->weight = decode_integer(d, v, "weight", 1, MAX_WEIGHT);
        bandwidth->weight_at = value_member(v, "weight");
        bandwidth->no_borrow = decode_flag(d, v, "borrow", false);
    }
}

/* "send" and "receive", each by itself. */
static void
decode_directions(struct decoder *d, const struct value *v,
                  struct intent_bandwidth *send,
                  struct intent_bandwidth *receive)
{
    static const struct member members[] = {
        { "send", false }, { "receive", false }, { "guarantee", false },
        { "limit", false }, { "burst", false }, { "weight", false },
        { "borrow", false }, { NULL, false },
    };
    static const char *const of_both[] = {
        "guarantee", "limit", "burst", "weight", "borrow",
    };

    if (!decode_object(d, v, "bandwidth", members)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(of_both); i++) {
        const struct value *m = value_member(v, of_both[i]);

        if (m) {
            decode_error(d, m, "this is for both directions, beside what is "
                         "for one", "move it into \"send\" or \"receive\", "
                         "or remove those");
        }
    }
    decode_direction(d, value_member(v, "send"), "\"send\"", send);
    decode_direction(d, value_member(v, "receive"), "\"receive\"", receive);
}

void
decode_bandwidth(struct decoder *d, const struct value *v,
                 struct intent_bandwidth *send,
                 struct intent_bandwidth *receive)
{
    if (v && v->type == VALUE_OBJECT
        && (value_member(v, "send") || value_member(v, "receive"))) {
        decode_directions(d, v, send, receive);
    } else {
        decode_direction(d, v, "bandwidth", send);
        *receive = *send;
    }
}

void
decode_microburst(struct decoder *d, const struct value *v,
                  struct intent_microburst *microburst)
{
    static const struct member members[] = {
        { "depth", false }, { "mark", false }, { "limit", false },
        { "exceed", false }, { NULL, false },
    };

    if (v && decode_object(d, v, "microburst", members)) {
        microburst->depth = decode_bytes(d, v, "depth");
        microburst->mark = decode_bytes(d, v, "mark");
        microburst->limit = decode_bytes(d, v, "limit");
        microburst->ecn = decode_choice(d, v, "exceed", "drop", "ecn");
        microburst->at = v;
    }
}

/* What a tenant may have of what is limited without being sold. */
void
decode_limits(struct decoder *d, const struct value *v,
              struct intent_tenant *tenant)
{
    static const struct member members[] = {
        { "packets", false }, { "connections", false }, { "upcalls", false },
        { NULL, false },
    };
    static const struct member of_packets[] = {
        { "rate", true }, { "burst", true }, { NULL, false },
    };
    const struct value *packets, *refused;

    if (!v || !decode_object(d, v, "limits", members)) {
        return;
    }
    packets = value_member(v, "packets");
    if (packets && decode_object(d, packets, "a limit of packets",
                                 of_packets)) {
        tenant->packet_rate = decode_packet_rate(d, packets, "rate");
        tenant->packet_burst = decode_packets(d, packets, "burst");
    }
    refused = value_member(v, "connections");
    if (refused) {
        decode_error(d, refused, "connections of a tenant cannot be limited "
                     "yet: the switch takes such limits by ovs-appctl alone, "
                     "and forgets them when it restarts",
                     "remove it; \"packets\" limits how fast connections can "
                     "be opened, and rules with \"stateful\": false open "
                     "none");
    }
    refused = value_member(v, "upcalls");
    if (refused) {
        decode_error(d, refused, "upcalls of a tenant cannot be limited: Open "
                     "vSwitch makes them before it applies any meter",
                     "remove it");
    }
}
