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

/* Adds a match for each of the fewest masks that cover the ports from
 * 'first' to 'last' exactly. */
static void
cover_range(struct emitter *e, uint32_t value, uint32_t mask, uint16_t first,
            uint16_t last, match_vec *out)
{
    uint32_t port = first;

    while (port <= last) {
        uint32_t size = port & -port;   /* The largest aligned block. */

        while (port + size - 1 > last) {
            size >>= 1;
        }
        add_match(e, value | port, mask & ~(size - 1), out);
        port += size;
    }
}

match_vec
match_tracked(struct emitter *e, const struct ir_service *service,
              enum tracked_part part)
{
    uint32_t tracked = (SERVICE_TRACKED
                        | (part == TRACKED_REPLIES ? SERVICE_REPLY : 0));
    uint32_t mask = part == TRACKED_ALL ? 0 : SERVICE_REPLY;
    match_vec out = VEC_INIT;

    if (!service) {
        add_match(e, tracked, SERVICE_TRACKED | mask, &out);
    }
    for (size_t i = 0; service && i < service->matches.n; i++) {
        const struct ir_match *m = &service->matches.v[i];
        uint32_t value = tracked | SERVICE_PROTOCOL(m->protocol);

        if (m->last) {
            cover_range(e, value, ALL_BITS | mask, m->first, m->last, &out);
        } else {
            /* Only services.def has such: ESP, of both families, ICMP, which
             * is IPv4's alone, and ICMPv6, IPv6's. */
            bool is_ip6 = m->protocol == IPPROTO_ICMPV6;
            bool is_both = m->protocol == IPPROTO_ESP;

            add_match(e, value | (is_ip6 ? SERVICE_IPV6 : 0),
                      SERVICE_KIND_BITS | (is_both ? 0 : SERVICE_IPV6)
                      | SERVICE_PROTOCOL_BITS | mask, &out);
        }
    }
    return out;
}

/* Does 'service' have the port of a symmetric service? */
static bool
has_port(const struct ir_service *service, const struct ir_match *port)
{
    for (size_t i = 0; i < service->matches.n; i++) {
        const struct ir_match *m = &service->matches.v[i];

        if (m->protocol == port->protocol && m->first <= port->first
            && m->last >= port->last) {
            return true;
        }
    }
    return false;
}

/* Has a symmetric service before the one at 'end' this port? */
static bool
is_earlier(const struct ir_prog *prog, size_t end,
           const struct ir_match *port)
{
    for (size_t i = 0; i < end; i++) {
        const struct ir_service *s = prog->services.v[i];

        if (s->symmetric && has_port(s, port)) {
            return true;
        }
    }
    return false;
}

match_vec
match_stateless(struct emitter *e, const struct ir_service *service)
{
    match_vec out = VEC_INIT;

    if (!service) {
        add_match(e, SERVICE_STATELESS, SERVICE_STATELESS, &out);
    }
    for (size_t i = 0; service && i < e->prog->services.n; i++) {
        const struct ir_service *s = e->prog->services.v[i];

        for (size_t j = 0; s->symmetric && j < s->matches.n; j++) {
            const struct ir_match *port = &s->matches.v[j];

            /* Services may share a port. */
            if (has_port(service, port) && !is_earlier(e->prog, i, port)) {
                add_match(e, (SERVICE_STATELESS
                              | SERVICE_PROTOCOL(port->protocol)
                              | port->first), ALL_BITS, &out);
            }
        }
    }
    return out;
}
