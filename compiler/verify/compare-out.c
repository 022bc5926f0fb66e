/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Packets as they are to leave. */

#include <string.h>

#include "flow.h"
#include "packets.h"
#include "util.h"
#include "verify/compare.h"

static void
expect_field(struct comparison *c, struct out *out, enum field f, u128 value)
{
    out->fields[f] = term_const(c->terms, fields[f].width, value);
}

/* A packet as it came. */
static struct out
unchanged(struct comparison *c, ofp_port_t port)
{
    struct out out;

    memset(&out, 0, sizeof out);
    out.port = ofp_to_u16(port);
    for (int f = F_FIRST_OF_PACKET; f < N_FIELDS; f++) {
        if (fields[f].mf != MFF_N_IDS
            && !(f >= F_TUN_ID && f <= F_TUN_IPV6_DST)) {
            out.fields[f] = term_field(c->terms, f);
        }
    }
    expect_field(c, &out, F_QUEUE, 0);
    expect_field(c, &out, F_ND_RESERVED, 0);
    expect_field(c, &out, F_ND_OPTIONS, 0);
    return out;
}

/* Neighbor advertisements of gateways and others, RFC 4861 section 4.4. */
enum { ND_ROUTER_FLAGS = 0xe0, ND_HOST_FLAGS = 0x60 };

struct out
compare_answer(struct comparison *c, const struct expect *e)
{
    struct out answer = unchanged(c, OFPP_IN_PORT), *out = &answer;
    uint64_t mac = eth_addr_to_uint64(e->answer);

    out->fields[F_ETH_DST] = term_field(c->terms, F_ETH_SRC);
    expect_field(c, out, F_ETH_SRC, mac);
    if (IN6_IS_ADDR_V4MAPPED(&e->target)) {
        expect_field(c, out, F_NW_PROTO, ARP_OP_REPLY);
        out->fields[F_ARP_THA] = term_field(c->terms, F_ARP_SHA);
        out->fields[F_NW_DST] = term_field(c->terms, F_NW_SRC);
        expect_field(c, out, F_ARP_SHA, mac);
        expect_field(c, out, F_NW_SRC, (uint32_t) field_from_ip(&e->target));
        return answer;
    }
    out->fields[F_IPV6_DST] = term_field(c->terms, F_IPV6_SRC);
    expect_field(c, out, F_IPV6_SRC, field_from_ip(&e->target));
    expect_field(c, out, F_NW_TTL, 255);
    expect_field(c, out, F_TP_SRC, 136);
    expect_field(c, out, F_ARP_THA, mac);
    expect_field(c, out, F_ND_RESERVED, (u128) (e->router ? ND_ROUTER_FLAGS
                                         : ND_HOST_FLAGS) << 24);
    expect_field(c, out, F_ND_OPTIONS, 2);
    return answer;
}

static void
expect_tunnel(struct comparison *c, const struct expect *e, struct out *out)
{
    const struct in6_addr *ip = &e->node->tunnel.ip;
    bool ip4 = IN6_IS_ADDR_V4MAPPED(ip);

    for (int f = F_TUN_ID; f <= F_TUN_IPV6_DST; f++) {
        expect_field(c, out, f, 0);
    }
    expect_field(c, out, F_TUN_ID, e->to->network->intent->vni);
    expect_field(c, out, ip4 ? F_TUN_DST : F_TUN_IPV6_DST, field_from_ip(ip));
}

static struct out
deliver(struct comparison *c, const struct expect *e,
        const struct expect_copy *copy)
{
    const struct policy_endpoint *to = copy->to;
    struct out out = unchanged(c, e->node ? c->tunnel : compare_port(
        c, to ? to->intent->interface.s : e->external->intent->interface.s));

    expect_field(c, &out, F_QUEUE, copy->queue);
    if (!copy->kept) {
        expect_field(c, &out, F_IP_DSCP, copy->dscp);
    }
    if (e->routed) {
        expect_field(c, &out, F_ETH_SRC, eth_addr_to_uint64(
            to ? to->network->gateway_mac : e->external->gateway_mac));
        expect_field(c, &out, F_ETH_DST, eth_addr_to_uint64(
            to ? to->intent->mac : e->external->intent->mac));
        term_decrement(c->terms, &out.fields[F_NW_TTL]);
    }
    if (e->node) {
        expect_tunnel(c, e, &out);
    }
    return out;
}

const struct out *
compare_delivered(struct comparison *c, const struct expect *e,
                  const struct expect_copy *copy)
{
    struct {
        const void *to, *target, *external, *node;
        uint16_t queue;
        uint8_t dscp, kept, routed, pad[3];
    } key = {
        .to = copy->to, .target = e->to, .external = e->external,
        .node = e->node,
        .queue = copy->queue, .dscp = copy->dscp, .kept = copy->kept != NULL,
        .routed = e->routed,
    };
    dd_t *known = memo_find(&c->outs, &key, sizeof key);

    if (*known == DD_NONE) {
        struct out out = deliver(c, e, copy);

        *known = DD_LEAF(effects_add_out(c->effects, &out) + 1);
    }
    return effects_out(c->effects, dd_leaf(*known) - 1);
}

const char *
compare_out(struct comparison *c, const struct out *got,
            const struct out *expected)
{
    if (got == expected) {
        return NULL;
    } else if (got->port != expected->port) {
        return arena_printf(c->arena, "it goes to port %s",
                            compare_port_name(c, got->port));
    }
    for (int f = 0; f < N_FIELDS; f++) {
        if (got->fields[f] != expected->fields[f]) {
            return arena_printf(c->arena, "it leaves with another %s",
                                fields[f].name);
        }
    }
    return NULL;
}

static bool
is_same_out(const struct comparison *c, uint64_t a, uint64_t b,
            const u128 values[])
{
    const struct out *x = effects_out(c->effects, a);
    const struct out *y = effects_out(c->effects, b);

    for (int f = 0; f < N_FIELDS; f++) {
        if (term_eval(c->terms, x->fields[f], values)
            != term_eval(c->terms, y->fields[f], values)) {
            return false;
        }
    }
    return x->port == y->port;
}

bool
compare_is_same(const struct comparison *c, dd_t effects, dd_t walked,
                const u128 values[])
{
    const struct effect *a, *b;
    size_t n_a, n_b;

    if (walked == DD_NONE) {
        return false;
    }
    a = effects_get(c->effects, effects, &n_a);
    b = effects_get(c->effects, walked, &n_b);
    for (size_t i = 0; i < n_a; i++) {
        if (a[i].kind == EFFECT_AMBIGUOUS) {
            return true;
        } else if (i >= n_b || a[i].kind != b[i].kind
                   || (a[i].kind == EFFECT_OUT
                       ? !is_same_out(c, a[i].arg, b[i].arg, values)
                       : a[i].arg != b[i].arg)) {
            return false;
        }
    }
    return n_a == n_b;
}
