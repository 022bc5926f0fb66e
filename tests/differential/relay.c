/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "relay.h"

#include <stddef.h>
#include <string.h>

#include "packets.h"
#include "util.h"

void
relay_init(struct relay *r, const struct world *w)
{
    memset(r, 0, sizeof *r);
    r->world = w;
}

void
relay_destroy(struct relay *r)
{
    for (int i = 0; i < MAX_NODES; i++) {
        if (r->nodes[i].ready) {
            tables_destroy(r->nodes[i].tables);
            compiled_destroy(&r->nodes[i].compiled);
        }
    }
}

/* Compiles node 'i'.  Returns NULL, or why it cannot be asked. */
static const char *
prepare(struct relay *r, int i)
{
    struct compiled *c = &r->nodes[i].compiled;
    const char *reason = NULL;

    if (!r->nodes[i].ready) {
        world_compile(r->world, c);
        compiled_lower(c, c->policy->intent->nodes.v[i].name.s);
        r->nodes[i].tables = tables_create(c->prog, &c->plan, &reason);
        r->nodes[i].ready = true;
    }
    return (r->nodes[i].tables ? NULL
            : "the other node's flows cannot be loaded");
}

/* The node that has the address, or -1. */
static int
find_node(const struct compiled *c, struct in6_addr ip)
{
    for (size_t i = 0; i < c->policy->intent->nodes.n; i++) {
        const struct address *tunnel = &c->policy->intent->nodes.v[i].tunnel;

        if (tunnel->at && ipv6_addr_equals(&tunnel->ip, &ip)) {
            return i;
        }
    }
    return -1;
}

/* 'packet' as the other end gets it. */
static void
arrive(struct flow *packet, const struct in6_addr *source)
{
    struct flow_tnl outer = packet->tunnel;

    memset(packet, 0, offsetof(struct flow, dl_dst));
    packet->tunnel = outer;
    packet->in_port.ofp_port = u16_to_ofp(TUNNEL_PORT);
    if (IN6_IS_ADDR_V4MAPPED(source)) {
        packet->tunnel.ip_src = in6_addr_get_mapped_ipv4(source);
    } else {
        packet->tunnel.ipv6_src = *source;
    }
    packet->ct_nw_proto = 0;
    packet->ct_tp_src = packet->ct_tp_dst = 0;
    packet->ct_nw_src = packet->ct_nw_dst = 0;
    packet->ct_ipv6_src = packet->ct_ipv6_dst = in6addr_any;
}

/* What is there of 'packet' on its way to a tunnel. */
static const char *
compare_delivery(struct relay *r, const struct compiled *c,
                 const struct question *q, const struct flow *packet)
{
    struct question there = *q;
    struct outcome outcome;
    int i = find_node(c, flow_tnl_dst(&packet->tunnel));
    const char *difference = i < 0 ? "it goes to no node" : prepare(r, i);

    if (difference) {
        return difference;
    }
    there.tunnel = true;
    there.full = false;
    there.packet = *packet;
    arrive(&there.packet, &c->prog->tunnel_address);
    tables_run(r->nodes[i].tables, &there, &outcome);
    difference = outcome_compare(&r->nodes[i].compiled, &there, &outcome,
                                 c->arena);
    if (!difference) {
        difference = outcome_compare_relayed(c, q, &outcome, c->arena);
    }
    return (difference
            ? arena_printf(c->arena, "on the other node: %s", difference)
            : NULL);
}

const char *
relay_compare(struct relay *r, const struct compiled *c,
              const struct question *q, const struct outcome *o)
{
    const char *difference = NULL;

    for (size_t i = 0; i < o->n_out && !difference; i++) {
        if (o->out[i].port == u16_to_ofp(TUNNEL_PORT)) {
            difference = compare_delivery(r, c, q, &o->out[i].packet);
        }
    }
    return difference;
}
