/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/icmp6.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* What lies outside, behind a router at this node.
 *
 * An external is to the registers what a tenant is, and its parts are groups:
 * so policy speaks of both alike.  It has no zone: what it sends is in that of
 * the receiver's tenant, which TUNNEL finds by the destination before anything
 * else looks at the packet, and which pays.
 *
 * Whose an address is, the longest prefix says: of parts, and of the holes in
 * them.  Endpoints' own addresses are stronger, and alone in priorities from
 * PRIORITY_ALLOW on. */

/* What a prefix does in a table. */
enum use { FROM_OUTSIDE, ERROR_FROM_OUTSIDE, TO_OUTSIDE };

/* "ip,nw_src=203.0.113.0/24", or the field that 'use' looks at. */
static const char *
match_prefix(struct emitter *e, const struct ir_prefix *prefix, enum use use)
{
    static const char *const fields[][2] = {
        [FROM_OUTSIDE] = { "ip,nw_src", "ipv6,ipv6_src" },
        [ERROR_FROM_OUTSIDE] = { "ip,ct_state=+trk+rel,ct_nw_dst",
                                 "ipv6,ct_state=+trk+rel,ct_ipv6_dst" },
        [TO_OUTSIDE] = { "ip,nw_dst", "ipv6,ipv6_dst" },
    };
    bool ip4 = IN6_IS_ADDR_V4MAPPED(&prefix->ip);
    int plen = prefix->plen - (ip4 ? 96 : 0);
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *match;

    if (!plen) {
        /* A match without bits is none, but for what it needs. */
        return (use == ERROR_FROM_OUTSIDE
                ? FORMAT(e, "%s,ct_state=+trk+rel", ip4 ? "ip" : "ipv6")
                : ip4 ? "ip" : "ipv6");
    }
    ipv6_format_mapped(&prefix->ip, &ds);
    match = FORMAT(e, "%s=%s/%d", fields[use][!ip4], ds_cstr(&ds), plen);
    ds_destroy(&ds);
    return match;
}

/* Adds a flow for 'prefix' that longer ones are stronger than.  'from' is ""
 * or ends with a comma. */
static void
emit_prefix(struct emitter *e, enum of_table table, enum reason reason,
            const char *from, const struct ir_prefix *prefix, enum use use,
            const char *actions)
{
    emit_flow(e, table, PRIORITY_PREFIX + prefix->plen, reason,
              FORMAT(e, "%s%s", from, match_prefix(e, prefix, use)), actions);
}

static void
emit_part(struct emitter *e, enum of_table table, enum reason reason,
          const char *from, const struct ir_part *part, enum use use,
          const char *actions)
{
    for (size_t i = 0; i < part->prefixes.n; i++) {
        emit_prefix(e, table, reason, from, &part->prefixes.v[i], use,
                    actions);
    }
}

/* Addresses that are nobody's, whoever sends from them or to them. */
static void
emit_hole(struct emitter *e, const struct ir_prefix *hole)
{
    emit_prefix(e, TABLE_SPOOF, REASON_SPOOF, "", hole, FROM_OUTSIDE, "drop");
    emit_prefix(e, TABLE_ROUTE, REASON_UNREACHABLE, "", hole,
                ERROR_FROM_OUTSIDE, "drop");
    emit_prefix(e, TABLE_GATEWAY, REASON_UNREACHABLE, "", hole, TO_OUTSIDE,
                "drop");
}

/* IPv4 in IPv6's clothes: to the policy ::/0 does not hold it. */
static void
emit_mapped_hole(struct emitter *e)
{
    emit_flow(e, TABLE_SPOOF, PRIORITY_PREFIX + 96, REASON_SPOOF,
              "ipv6,ipv6_src=::ffff:0:0/96", "drop");
    emit_flow(e, TABLE_ROUTE, PRIORITY_PREFIX + 96, REASON_UNREACHABLE,
              "ipv6,ct_state=+trk+rel,ct_ipv6_dst=::ffff:0:0/96", "drop");
    emit_flow(e, TABLE_GATEWAY, PRIORITY_PREFIX + 96, REASON_UNREACHABLE,
              "ipv6,ipv6_dst=::ffff:0:0/96", "drop");
}

/* ARP and neighbor discovery of the router, which asks for its next hop. */
static void
emit_router(struct emitter *e, const struct ir_external *x)
{
    const char *mac = FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(x->mac));
    const char *from = FORMAT(e, REG_SOURCE"=%#"PRIx32, x->port);

    emit_flow(e, TABLE_SPOOF, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "%s,dl_src=%s,arp,arp_op=1,arp_sha=%s", from, mac,
                     mac), FORMAT(e, "goto_table:%d", TABLE_NEIGHBOR));
    emit_flow(e, TABLE_SPOOF, PRIORITY_NEIGHBOR, REASON_PIPELINE,
              FORMAT(e, "%s,dl_src=%s,icmp6,icmp_type=%d,icmp_code=0,"
                     "nd_sll=%s", from, mac, ND_NEIGHBOR_SOLICIT, mac),
              FORMAT(e, "goto_table:%d", TABLE_NEIGHBOR));
    for (size_t i = 0; i < x->gateways.n; i++) {
        emit_answer(e, from, &x->gateways.v[i], x->gateway_mac, true);
    }
}

/* What its router may send from. */
static void
emit_sources(struct emitter *e, const struct ir_external *x)
{
    const char *from = FORMAT(e, REG_SOURCE"=%#"PRIx32",", x->port);
    const char *router = FORMAT(e, "%sdl_src="ETH_ADDR_FMT",", from,
                                ETH_ADDR_ARGS(x->mac));

    for (size_t i = 0; i < e->prog->parts.n; i++) {
        const struct ir_part *part = e->prog->parts.v[i];
        const char *note = FORMAT(e, "set_field:%#"PRIx32"->"REG_FROM
                                  ",goto_table:", part->number);

        if (part->external != x) {
            emit_part(e, TABLE_SPOOF, REASON_SPOOF, from, part, FROM_OUTSIDE,
                      "drop");
            emit_part(e, TABLE_ROUTE, REASON_UNREACHABLE, from, part,
                      ERROR_FROM_OUTSIDE, "drop");
            continue;
        }
        emit_part(e, TABLE_SPOOF, REASON_PIPELINE, router, part, FROM_OUTSIDE,
                  FORMAT(e, "%s%d", note, TABLE_TRACK));
        /* Anybody on the way may send an ICMP error: the part is that of what
         * opened the connection. */
        emit_part(e, TABLE_ROUTE, REASON_PIPELINE, from, part,
                  ERROR_FROM_OUTSIDE, FORMAT(e, "%s%d", note, TABLE_GATEWAY));
    }
    emit_flow(e, TABLE_ROUTE, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "%sct_state=-rel", from),
              FORMAT(e, "goto_table:%d", TABLE_GATEWAY));
}

/* What its router may send to 'to'. */
static void
emit_receiver(struct emitter *e, const struct ir_external *x,
              const struct ir_endpoint *to)
{
    for (size_t i = 0; i < to->addresses.n; i++) {
        const char *destination = match_address(e, &to->addresses.v[i],
                                                "dst");

        emit_flow(e, TABLE_TUNNEL, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_SOURCE"=%#"PRIx32",dl_dst="ETH_ADDR_FMT",%s",
                         x->port, ETH_ADDR_ARGS(x->gateway_mac), destination),
                  FORMAT(e, "%sset_field:%#"PRIx16"->"REG_ZONE
                         ",goto_table:%d", limit_call(e, to->tenant),
                         to->tenant->zone, TABLE_SPOOF));
        emit_flow(e, TABLE_GATEWAY, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_TENANT"=%#"PRIx32",%s", x->number,
                         destination),
                  FORMAT(e, "set_field:"ETH_ADDR_FMT"->eth_src,"
                         "set_field:"ETH_ADDR_FMT"->eth_dst,dec_ttl,%s,"
                         "set_field:%#"PRIx32"->"REG_NETWORK","
                         "set_field:%d->"REG_CROSSING",goto_table:%d",
                         ETH_ADDR_ARGS(to->network->gateway_mac),
                         ETH_ADDR_ARGS(to->mac), note_receiver(e, to),
                         to->network->vni, CROSSING_EXTERNAL, TABLE_SELF));
    }
}

static bool
is_user(const struct ir_external *x, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < x->tenants.n; i++) {
        if (x->tenants.v[i] == tenant) {
            return true;
        }
    }
    return false;
}

static void
emit_inward(struct emitter *e, const struct ir_external *x)
{
    emit_flow(e, TABLE_ADMIT, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "in_port=\"%s\",vlan_tci=0x0000/0x1fff",
                     x->interface),
              FORMAT(e, "set_field:%#"PRIx32"->"REG_TENANT","
                     "set_field:%#"PRIx32"->"REG_SOURCE",goto_table:%d",
                     x->number, x->port, TABLE_TUNNEL));
    emit_flow(e, TABLE_TUNNEL, PRIORITY_DEFAULT, REASON_PIPELINE,
              FORMAT(e, REG_SOURCE"=%#"PRIx32, x->port),
              FORMAT(e, "goto_table:%d", TABLE_SPOOF));
    emit_flow(e, TABLE_TRACK, PRIORITY_FORBIDDEN, REASON_UNREACHABLE,
              FORMAT(e, REG_SOURCE"=%#"PRIx32","REG_ZONE"=0", x->port),
              "drop");
    emit_router(e, x);
    emit_sources(e, x);
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *to = e->prog->endpoints.v[i];

        if (!to->node && to->network->gateways.n && is_user(x, to->tenant)) {
            emit_receiver(e, x, to);
        }
    }
}

/* From 'tenant', which uses an external here, to all of them. */
static void
emit_outward(struct emitter *e, const struct ir_tenant *tenant)
{
    const char *from = FORMAT(e, REG_TENANT"=%#"PRIx32",", tenant->number);

    for (size_t i = 0; i < e->prog->parts.n; i++) {
        const struct ir_part *part = e->prog->parts.v[i];
        const struct ir_external *x = part->external;

        if (!is_user(x, tenant)) {
            emit_part(e, TABLE_GATEWAY, REASON_UNREACHABLE, from, part,
                      TO_OUTSIDE, "drop");
            continue;
        }
        emit_part(e, TABLE_GATEWAY, REASON_PIPELINE, from, part, TO_OUTSIDE,
                  FORMAT(e, "set_field:"ETH_ADDR_FMT"->eth_src,"
                         "set_field:"ETH_ADDR_FMT"->eth_dst,dec_ttl,"
                         "set_field:%#"PRIx32"->"REG_DEST","
                         "set_field:%#"PRIx32"->"REG_TO_TENANT","
                         "set_field:%#"PRIx32"->"REG_TO",goto_table:%d",
                         ETH_ADDR_ARGS(x->gateway_mac), ETH_ADDR_ARGS(x->mac),
                         x->port, x->number, part->number, TABLE_SELF));
    }
}

void
emit_externals(struct emitter *e)
{
    const struct ir_prog *prog = e->prog;

    for (size_t i = 0; i < prog->externals.n; i++) {
        const struct ir_external *x = prog->externals.v[i];

        emit_inward(e, x);
        emit_flow(e, TABLE_OUTPUT, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_DEST"=%#"PRIx32, x->port),
                  FORMAT(e, "output:\"%s\"", x->interface));
    }
    for (size_t i = 0; i < prog->tenants.n; i++) {
        const struct ir_tenant *tenant = prog->tenants.v[i];
        bool user = false;

        for (size_t j = 0; j < prog->externals.n && !user; j++) {
            user = is_user(prog->externals.v[j], tenant);
        }
        if (user) {
            emit_outward(e, tenant);
        }
    }
    for (size_t i = 0; i < prog->holes.n; i++) {
        emit_hole(e, &prog->holes.v[i]);
    }
    if (prog->externals.n) {
        emit_mapped_hole(e);
    }
}
