/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "draft.h"
#include "packets.h"
#include "util.h"
#include "world.h"

bool
connection_is_backward(const struct question *q, enum connection connection)
{
    if (connection == CONNECTION_FOREIGN) {
        connection = q->foreign;
    }
    return (connection == CONNECTION_REPLY
            || connection == CONNECTION_RELATED);
}

uint32_t
question_mark(const struct question *q, const struct ir_prog *prog,
              uint16_t zone, enum connection connection)
{
    uint32_t owner = 0, stranger = 0;

    if (prog->tenants.n) {
        stranger = prog->tenants.v[q->stranger % prog->tenants.n]->number;
    }
    for (size_t i = 0; i < prog->tenants.n; i++) {
        if (prog->tenants.v[i]->here && prog->tenants.v[i]->zone == zone) {
            owner = prog->tenants.v[i]->number;
        }
    }
    return (connection != CONNECTION_FOREIGN
            ? connection == CONNECTION_NEW ? 0 : owner
            : stranger != owner ? stranger
            : owner ^ UINT32_C(1) << q->stranger % 32);
}

void
draft_foreign(struct draft *d)
{
    static const enum connection known[] = {
        CONNECTION_FORWARD, CONNECTION_REPLY, CONNECTION_RELATED,
    };

    d->q->foreign = known[rng_below(d->rng, ARRAY_SIZE(known))];
    d->q->stranger = rng_below(d->rng, 1 << 16);
}

void
question_restrict(struct question *q)
{
    if (q->connection != CONNECTION_NEW
        && (q->beyond == CONNECTION_FORWARD || q->beyond == CONNECTION_REPLY
            || q->beyond == CONNECTION_RELATED)) {
        q->foreign = q->beyond;
        q->beyond = CONNECTION_FOREIGN;
    }
}

struct in6_addr
question_opened(const struct question *q, enum connection connection)
{
    const struct flow *packet = &q->packet;

    if (connection == CONNECTION_FOREIGN) {
        connection = q->foreign;
    }
    return (q->external[0] && connection == CONNECTION_RELATED
            ? q->opener.outside
            : packet->dl_type == htons(ETH_TYPE_IPV6) ? packet->ipv6_src
            : in6_addr_mapped_ipv4(packet->nw_src));
}

void
draft_opener(struct draft *d, const struct flow *whole)
{
    struct question *q = d->q;
    bool swap = connection_is_backward(q, q->connection);
    const struct flow *known = (q->packet.nw_frag
                                || q->connection == CONNECTION_RELATED
                                ? whole : &q->packet);

    q->opener.protocol = known->nw_proto;
    q->opener.source = swap ? known->tp_dst : known->tp_src;
    q->opener.destination = swap ? known->tp_src : known->tp_dst;
}

enum connection
draft_connection(struct draft *d)
{
    if (rng_chance(d->rng, 12)) {
        return rng_below(d->rng, N_CONNECTIONS);
    }
    bool inward = d->outside && d->inward;

    return (d->reply && rng_chance(d->rng, inward ? 50 : 20)
            ? CONNECTION_RELATED
            : d->reply ? CONNECTION_REPLY
            : rng_chance(d->rng, 50) ? CONNECTION_NEW : CONNECTION_FORWARD);
}

/* Mostly the zones agree; where they do not, anything may be there. */
enum connection
draft_beyond(struct draft *d)
{
    enum connection connection = d->q->connection;

    if (connection == CONNECTION_NEW || connection == CONNECTION_FORWARD) {
        return (rng_chance(d->rng, 70)
                ? (rng_chance(d->rng, 50) ? CONNECTION_NEW
                   : CONNECTION_FORWARD)
                : rng_below(d->rng, N_CONNECTIONS));
    }
    return rng_chance(d->rng, 70) ? connection
           : rng_below(d->rng, N_CONNECTIONS);
}

struct meaning_question
question_ask(const struct question *q, const struct policy_endpoint *from)
{
    return (struct meaning_question) {
        .node = WORLD_NODE, .tunnel = q->tunnel,
        .from = q->tunnel || q->external[0] ? NULL : from,
        .packet = &q->packet,
        .connection = q->connection, .beyond = &q->beyond,
        .opener = &q->opener, .full = q->full,
    };
}
