/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "packets.h"
#include "util.h"

/* Between nodes.  The sender's node judges, marks and meters a packet and
 * gives it the VNI of the receiver's network; one that it routed comes from
 * the gateway's MAC of that network.  The receiver's node judges it again, in
 * the zone of the receiver's tenant, and hands it to one of its ports: what
 * came by tunnel never leaves by tunnel. */

static const char *
match_outer(struct emitter *e, const struct in6_addr *ip, const char *field)
{
    char s[INET6_ADDRSTRLEN + 1];

    ipv6_string_mapped(s, ip);
    return FORMAT(e, "tun_%s%s=%s", IN6_IS_ADDR_V4MAPPED(ip) ? "" : "ipv6_",
                  field, s);
}

/* The port also has "local_ip", so the switch itself takes only what is sent
 * to the node's address; the match holds whoever changes that. */
static void
emit_peer(struct emitter *e, const struct ir_node *peer)
{
    emit_flow(e, TABLE_ADMIT, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "in_port=\""PLAN_TUNNEL"\",%s,%s,"
                     "vlan_tci=0x0000/0x1fff",
                     match_outer(e, &peer->address, "src"),
                     match_outer(e, &e->prog->tunnel_address, "dst")),
              FORMAT(e, "set_field:%#"PRIx32"->"REG_PEER",goto_table:%d",
                     peer->number, TABLE_TUNNEL));
}

static void
emit_network(struct emitter *e, const struct ir_network *network)
{
    const char *receiver = FORMAT(
        e, "set_field:%#"PRIx32"->"REG_NETWORK",set_field:%#"PRIx16"->"
        REG_ZONE, network->vni, network->tenant->zone);

    emit_flow(e, TABLE_TUNNEL, PRIORITY_DEFAULT, REASON_PIPELINE,
              FORMAT(e, "tun_id=%#"PRIx32, network->vni),
              FORMAT(e, "%s,goto_table:%d", receiver, TABLE_SPOOF));
    if (network->gateways.n) {
        emit_flow(e, TABLE_TUNNEL, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, "tun_id=%#"PRIx32",dl_src="ETH_ADDR_FMT,
                         network->vni, ETH_ADDR_ARGS(network->gateway_mac)),
                  FORMAT(e, "%s,set_field:%#"PRIx32"->"REG_TO_TENANT","
                         "goto_table:%d", receiver, network->tenant->number,
                         TABLE_SPOOF));
    }
}

/* Takes what matches 'via' and has an address of 'from', on its node. */
static void
emit_source(struct emitter *e, const struct ir_endpoint *from,
            const char *via)
{
    for (size_t i = 0; i < from->addresses.n; i++) {
        emit_flow(e, TABLE_SPOOF, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_PEER"=%#"PRIx32",%s,%s", from->node->number,
                         via, match_address(e, &from->addresses.v[i], "src")),
                  FORMAT(e, "set_field:%#"PRIx32"->"REG_TENANT","
                         "set_field:%#"PRIx32"->"REG_SOURCE","
                         "set_field:%#"PRIx32"->"REG_FROM",goto_table:%d",
                         from->tenant->number, from->number,
                         from->group->number, TABLE_TRACK));
    }
}

void
emit_routed_source(struct emitter *e, const struct ir_endpoint *from,
                   const struct ir_tenant *to)
{
    emit_source(e, from, FORMAT(e, REG_TO_TENANT"=%#"PRIx32, to->number));
}

static void
emit_remote(struct emitter *e, const struct ir_endpoint *ep)
{
    if (ep->network->here) {
        emit_source(e, ep, FORMAT(e, REG_NETWORK"=%#"PRIx32",dl_src="
                                  ETH_ADDR_FMT, ep->network->vni,
                                  ETH_ADDR_ARGS(ep->mac)));
    }

    bool ip4 = IN6_IS_ADDR_V4MAPPED(&ep->node->address);
    char s[INET6_ADDRSTRLEN + 1];
    ipv6_string_mapped(s, &ep->node->address);
    emit_flow(e, TABLE_OUTPUT, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, REG_DEST"=%#"PRIx32, ep->number),
              FORMAT(e, "set_field:%#"PRIx32"->tun_id,set_field:%s->%s,%s",
                     ep->network->vni, s, ip4 ? "tun_dst" : "tun_ipv6_dst",
                     has_tenant_queues(e)
                     ? FORMAT(e, "goto_table:%d", TABLE_DELIVER)
                     : "output:\""PLAN_TUNNEL"\""));
}

void
emit_tunnels(struct emitter *e)
{
    if (!e->prog->encapsulation) {
        return;
    }
    for (size_t i = 0; i < e->prog->peers.n; i++) {
        emit_peer(e, e->prog->peers.v[i]);
    }
    emit_flow(e, TABLE_ADMIT, PRIORITY_DEFAULT, REASON_UNKNOWN_PEER,
              "in_port=\""PLAN_TUNNEL"\"", "drop");
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        if (e->prog->networks.v[i]->here) {
            emit_network(e, e->prog->networks.v[i]);
        }
    }
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        if (e->prog->endpoints.v[i]->node) {
            emit_remote(e, e->prog->endpoints.v[i]);
        }
    }
    emit_tunnel_queues(e);
    emit_arrived(e);
}
