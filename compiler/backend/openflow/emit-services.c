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

port_masks
cover_ports(struct emitter *e, const struct ir_match *m)
{
    port_masks out = VEC_INIT;
    uint32_t port = m->first;

    while (port <= m->last) {
        uint32_t size = port & -port;   /* The largest aligned block. */

        while (port + size - 1 > m->last) {
            size >>= 1;
        }
        *vec_push(e->arena, &out) = (struct port_mask) {
            port, ~(size - 1),
        };
        port += size;
    }
    return out;
}

/* Adds the matches of the ports of 'm' with 'value' in the other bits of
 * 'mask'. */
static void
add_ports(struct emitter *e, uint32_t value, uint32_t mask,
          const struct ir_match *m, match_vec *out)
{
    port_masks ports = cover_ports(e, m);

    for (size_t i = 0; i < ports.n; i++) {
        add_match(e, value | ports.v[i].port,
                  (mask & ~SERVICE_PORT_BITS) | ports.v[i].mask, out);
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
            add_ports(e, value, ALL_BITS | mask, m, &out);
        } else {
            /* ICMP is IPv4's alone, and ICMPv6 IPv6's. */
            bool is_ip6 = m->protocol == IPPROTO_ICMPV6;
            bool is_both = m->protocol != IPPROTO_ICMP && !is_ip6;

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
