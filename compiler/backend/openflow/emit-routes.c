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

const char *
note_receiver(struct emitter *e, const struct ir_endpoint *to)
{
    return FORMAT(e, "set_field:%#"PRIx32"->"REG_DEST","
                  "set_field:%#"PRIx16"->"REG_DEST_ZONE","
                  "set_field:%#"PRIx32"->"REG_TO_TENANT","
                  "set_field:%#"PRIx32"->"REG_TO, to->number,
                  to->tenant->zone, to->tenant->number, to->group->number);
}

/* Actions that note the receiver and go on to the policy. */
static const char *
deliver(struct emitter *e, const struct ir_endpoint *to, bool crossing)
{
    return FORMAT(e, "%s,%sgoto_table:%d", note_receiver(e, to),
                  crossing ? FORMAT(e, "set_field:%d->"REG_CROSSING",",
                                    CROSSING_YES) : "", TABLE_SELF);
}

/* What came by tunnel is for this node. */
static const char *
match_origin(const struct ir_endpoint *to)
{
    return to->node ? REG_PEER"=0," : "";
}

/* Within a network: the MAC and the address are the same endpoint's. */
static void
emit_neighbor_routes(struct emitter *e, const struct ir_endpoint *to)
{
    for (size_t i = 0; i < to->addresses.n; i++) {
        emit_flow(e, TABLE_ROUTE, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, "%s"REG_NETWORK"=%#"PRIx32",dl_dst="ETH_ADDR_FMT
                         ",%s", match_origin(to), to->network->vni,
                         ETH_ADDR_ARGS(to->mac),
                         match_address(e, &to->addresses.v[i], "dst")),
                  deliver(e, to, false));
    }
}

/* Through the gateway: from any network of tenant 'from', which is here, to
 * 'to', whose network must have a gateway too.  Behind a tunnel another node
 * routes, and connections are in the zone of 'from' only. */
static void
emit_gateway_routes(struct emitter *e, const struct ir_tenant *from,
                    const struct ir_endpoint *to)
{
    const struct ir_network *network = to->network;
    struct eth_addr gateway = network->gateway_mac;

    for (size_t i = 0; i < to->addresses.n && network->gateways.n; i++) {
        emit_flow(e, TABLE_GATEWAY, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_TENANT"=%#"PRIx32",%s", from->number,
                         match_address(e, &to->addresses.v[i], "dst")),
                  FORMAT(e, "set_field:"ETH_ADDR_FMT"->eth_src,"
                         "set_field:"ETH_ADDR_FMT"->eth_dst,dec_ttl,%s",
                         ETH_ADDR_ARGS(gateway), ETH_ADDR_ARGS(to->mac),
                         deliver(e, to, !to->node && to->tenant != from)));
    }
    if (to->node && network->gateways.n) {
        emit_routed_source(e, to, from);
    }
}

/* From each tenant that has endpoints here on one side to the endpoints of the
 * other. */
static void
emit_peering_routes(struct emitter *e, const ir_endpoint_vec *from,
                    const ir_endpoint_vec *to)
{
    const struct ir_tenant *last = NULL;

    for (size_t i = 0; i < from->n; i++) {
        if (!from->v[i]->node && from->v[i]->tenant != last) {
            last = from->v[i]->tenant;
            for (size_t j = 0; j < to->n; j++) {
                emit_gateway_routes(e, last, to->v[j]);
            }
        }
    }
}

/* A router discards what would leave it with a TTL of 0 (RFC 1812 section
 * 5.3.1); dec_ttl alone would do so without counting it. */
static void
emit_ttl(struct emitter *e)
{
    static const char *const families[] = { "ip", "ipv6" };

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        for (int ttl = 0; ttl <= 1; ttl++) {
            emit_flow(e, TABLE_GATEWAY, PRIORITY_FORBIDDEN, REASON_TTL,
                      FORMAT(e, "%s,nw_ttl=%d", families[i], ttl), "drop");
        }
    }
}

void
emit_routes(struct emitter *e)
{
    emit_ttl(e);
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];

        if (network->here && network->gateways.n) {
            emit_flow(e, TABLE_ROUTE, PRIORITY_ALLOW, REASON_PIPELINE,
                      FORMAT(e, REG_PEER"=0,"REG_NETWORK"=%#"PRIx32","
                             "dl_dst="ETH_ADDR_FMT,
                             network->vni,
                             ETH_ADDR_ARGS(network->gateway_mac)),
                      FORMAT(e, "goto_table:%d", TABLE_GATEWAY));
        }
    }
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *ep = e->prog->endpoints.v[i];

        if (ep->network->here) {
            emit_neighbor_routes(e, ep);
        }
        if (ep->tenant->here) {
            emit_gateway_routes(e, ep->tenant, ep);
        }
        if (!ep->node) {
            emit_port_output(e, ep);
        }
    }
    for (size_t i = 0; i < e->prog->rules.n && !e->full; i++) {
        const struct ir_rule *rule = e->prog->rules.v[i];

        if (rule->kind == RULE_PEERING) {
            emit_peering_routes(e, &rule->from.endpoints,
                                &rule->to.endpoints);
            emit_peering_routes(e, &rule->to.endpoints,
                                &rule->from.endpoints);
            check_routes(e, rule);
        }
    }
}
