/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

#include "intent/exceed.h"
#include "util.h"

enum {
    MAX_WEIGHT = 1000,
    MAX_CONNECTIONS = 100000000,
};

static void
decode_amount(struct decoder *d, const struct value *v,
              struct intent_bandwidth *bandwidth)
{
    bandwidth->guarantee = decode_rate(d, v, "guarantee");
    bandwidth->limit = decode_rate(d, v, "limit");
    bandwidth->burst = decode_bytes(d, v, "burst");
    bandwidth->weight = decode_integer(d, v, "weight", 1, MAX_WEIGHT);
    bandwidth->weight_at = value_member(v, "weight");
    bandwidth->no_borrow = decode_flag(d, v, "borrow", false);
}

static void
decode_part(struct decoder *d, const struct value *v,
            struct intent_part *part)
{
    static const struct member members[] = {
        { "guarantee", false }, { "limit", true }, { "burst", true },
        { "weight", false }, { "borrow", false }, { NULL, false },
    };

    part->class = decode_key(v);
    if (decode_object(d, v, "the bandwidth of a class", members)) {
        decode_amount(d, v, &part->bandwidth);
    }
}

static void
decode_direction(struct decoder *d, const struct value *v, const char *what,
                 struct intent_bandwidth *bandwidth)
{
    static const struct member members[] = {
        { "guarantee", false }, { "limit", true }, { "burst", true },
        { "weight", false }, { "borrow", false }, { "classes", false },
        { NULL, false },
    };

    if (v && decode_object(d, v, what, members)) {
        const struct value *classes = value_member(v, "classes");

        decode_amount(d, v, bandwidth);
        if (classes && classes->type == VALUE_OBJECT && !classes->n) {
            decode_error(d, classes, "this shares out nothing, since it names "
                         "no class", "remove it, or name a class");
        }
        DECODE_EACH(d, classes, decode_map,
                    "a map of classes", decode_part, &bandwidth->parts);
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
        { "borrow", false }, { "classes", false }, { NULL, false },
    };
    static const char *const of_both[] = {
        "guarantee", "limit", "burst", "weight", "borrow", "classes",
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
decode_own_bandwidth(struct decoder *d, const struct value *v,
                     struct intent_bandwidth *send,
                     struct intent_bandwidth *receive)
{
    const struct value *places[] = {
        v, v ? value_member(v, "send") : NULL,
        v ? value_member(v, "receive") : NULL,
    };

    decode_bandwidth(d, v, send, receive);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        const struct value *classes = (places[i] ? value_member(places[i],
                                                                "classes")
                                       : NULL);

        if (classes) {
            decode_error(d, classes, "an endpoint's bandwidth is not shared "
                         "out among classes", "remove it; the tenant's may "
                         "be");
        }
    }
}

static void
decode_exceed(struct decoder *d, const struct value *v,
              struct intent_microburst *microburst)
{
    struct text exceed = decode_text(d, v, "exceed");

    if (exceed.s && !exceed_parse(exceed.s, &microburst->exceed)) {
        decode_error(d, exceed.at, "this must be \"drop\", \"ecn\", \"pass\" "
                     "or \"dscp:N\", N from 0 to 63",
                     "write one of them; without it, \"drop\" is meant");
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
        decode_exceed(d, v, microburst);
        microburst->at = v;
    }
}

/* The limit of packets a second, if there is one, that is "key". */
static void
decode_packet_limit(struct decoder *d, const struct value *limits,
                    const char *key, const char *what, struct quantity *rate,
                    struct quantity *burst)
{
    static const struct member members[] = {
        { "rate", true }, { "burst", true }, { NULL, false },
    };
    const struct value *v = value_member(limits, key);

    if (v && decode_object(d, v, what, members)) {
        *rate = decode_packet_rate(d, v, "rate");
        *burst = decode_packets(d, v, "burst");
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

    if (!v || !decode_object(d, v, "limits", members)) {
        return;
    }
    decode_packet_limit(d, v, "packets", "a limit of packets",
                        &tenant->packet_rate, &tenant->packet_burst);
    decode_packet_limit(d, v, "upcalls", "a limit of upcalls",
                        &tenant->upcall_rate, &tenant->upcall_burst);
    if (value_member(v, "connections")) {
        tenant->connections = decode_integer(d, v, "connections", 1,
                                             MAX_CONNECTIONS);
    }
}
