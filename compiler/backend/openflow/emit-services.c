/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "util.h"

/* What services match in REG_SERVICE. */

#define ALL_BITS                                                        \
    (SERVICE_KIND_BITS | SERVICE_PROTOCOL_BITS | SERVICE_PORT_BITS)

static void
add_match(struct emitter *e, uint32_t value, uint32_t mask, match_vec *out)
{
    *vec_push(e->arena, out) = FORMAT(e, REG_SERVICE"=%#"PRIx32"/%#"PRIx32,
                                      value, mask);
}

/* Adds a match for each of the fewest masks that cover 'range' exactly. */
static void
cover_range(struct emitter *e, uint32_t value, struct port_range range,
            match_vec *out)
{
    uint32_t port = range.first;

    while (port <= range.last) {
        uint32_t size = port & -port;   /* The largest aligned block. */

        while (port + size - 1 > range.last) {
            size >>= 1;
        }
        add_match(e, value | port, ALL_BITS & ~(size - 1), out);
        port += size;
    }
}

match_vec
match_tracked(struct emitter *e, const struct policy_service *service)
{
    match_vec out = VEC_INIT;

    if (!service) {
        add_match(e, SERVICE_TRACKED, SERVICE_TRACKED, &out);
    }
    for (size_t i = 0; service && i < service->matches.n; i++) {
        const struct service_match *m = &service->matches.v[i];
        uint32_t value = SERVICE_TRACKED | SERVICE_PROTOCOL(m->protocol);

        if (m->ports.last) {
            cover_range(e, value, m->ports, &out);
        } else {
            /* Only services.def has such: ICMP, which is IPv4's alone, and
             * ICMPv6, IPv6's. */
            bool is_ip6 = m->protocol == IPPROTO_ICMPV6;

            add_match(e, value | (is_ip6 ? SERVICE_IPV6 : 0),
                      SERVICE_KIND_BITS | SERVICE_IPV6 | SERVICE_PROTOCOL_BITS,
                      &out);
        }
    }
    return out;
}

match_vec
match_stateless(struct emitter *e, const struct policy_service *service)
{
    match_vec out = VEC_INIT;

    if (!service) {
        add_match(e, SERVICE_STATELESS, SERVICE_STATELESS, &out);
    }
    for (size_t i = 0; service && i < e->prog->symmetric.n; i++) {
        /* As in emit_stateless(), each match is one port. */
        const struct service_match *s = e->prog->symmetric.v[i]->matches.v;

        for (size_t j = 0; j < service->matches.n; j++) {
            const struct service_match *m = &service->matches.v[j];

            if (m->protocol == s->protocol
                && m->ports.first <= s->ports.first
                && m->ports.last >= s->ports.last) {
                add_match(e, (SERVICE_STATELESS | SERVICE_PROTOCOL(s->protocol)
                              | s->ports.first), ALL_BITS, &out);
                break;
            }
        }
    }
    return out;
}
