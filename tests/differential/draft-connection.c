/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "draft.h"
#include "world.h"

void
draft_opener(struct draft *d, const struct flow *whole)
{
    struct question *q = d->q;
    bool swap = (q->connection == CONNECTION_REPLY
                 || q->connection == CONNECTION_RELATED);
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
    return (d->reply && rng_chance(d->rng, 20) ? CONNECTION_RELATED
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
        .from = q->tunnel ? NULL : from, .packet = &q->packet,
        .connection = q->connection, .beyond = &q->beyond,
        .opener = &q->opener,
    };
}
