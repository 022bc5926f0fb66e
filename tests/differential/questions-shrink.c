/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "questions.h"

#include <netinet/in.h>
#include <string.h>

static bool
has_state(enum connection connection)
{
    return connection != CONNECTION_NONE && connection != CONNECTION_NEW;
}

/* Each makes one thing of the question plainer, if it is not yet. */

static void
take_vlan(struct question *q)
{
    memset(q->packet.vlans, 0, sizeof q->packet.vlans);
}

static void
take_tos(struct question *q)
{
    q->packet.nw_tos = 0;
}

static void
take_ttl(struct question *q)
{
    q->packet.nw_ttl = q->packet.nw_ttl ? 64 : 0;
}

static void
take_label(struct question *q)
{
    q->packet.ipv6_label = 0;
}

static void
take_flags(struct question *q)
{
    q->packet.tcp_flags = 0;
}

static void
take_fragment(struct question *q)
{
    q->packet.nw_frag = 0;
}

/* What the other side of a connection said is in 'opener'. */
static void
take_source_port(struct question *q)
{
    if (!has_state(q->connection) && !has_state(q->beyond)
        && q->packet.nw_proto != IPPROTO_ICMP
        && q->packet.nw_proto != IPPROTO_ICMPV6) {
        q->packet.tp_src = 0;
    }
}

static void
take_state_beyond(struct question *q)
{
    q->beyond = has_state(q->beyond) ? CONNECTION_NEW : q->beyond;
}

static void
take_state(struct question *q)
{
    q->connection = (has_state(q->connection) ? CONNECTION_NEW
                     : q->connection);
}

bool
question_simplify(const struct question *q, size_t i, struct question *plainer)
{
    static void (*const take[])(struct question *) = {
        take_vlan, take_tos, take_ttl, take_label, take_flags, take_fragment,
        take_state_beyond, take_state, take_source_port,
    };

    *plainer = *q;
    if (i < sizeof take / sizeof take[0]) {
        take[i](plainer);
        return true;
    }
    return false;
}
