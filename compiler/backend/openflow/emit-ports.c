/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

#include "packets.h"
#include "util.h"

static void
emit_admit(struct emitter *e, const struct ir_endpoint *ep)
{
    emit_flow(e, TABLE_ADMIT, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "in_port=\"%s\",vlan_tci=0x0000/0x1fff",
                     ep->interface),
              FORMAT(e, "%s%sset_field:%#"PRIx32"->"REG_TENANT","
                     "set_field:%#"PRIx32"->"REG_SOURCE","
                     "set_field:%#"PRIx32"->"REG_NETWORK","
                     "set_field:%#"PRIx16"->"REG_ZONE","
                     "set_field:%#"PRIx32"->"REG_FROM",goto_table:%d",
                     limit_call(e, ep->tenant), upcalls_note(e, ep->tenant),
                     ep->tenant->number, ep->number,
                     ep->network->vni, ep->tenant->zone,
                     ep->group->number, TABLE_SPOOF));
}

/* A neighbor solicitation that tells the truth about its sender.  One
 * without the source link-layer address option, for duplicate address
 * detection, gets no answer: nobody else can have the address. */
static void
emit_solicitation(struct emitter *e, const struct ir_endpoint *ep,
                  const char *mac, const char *source)
{
    emit_flow(e, TABLE_SPOOF, PRIORITY_NEIGHBOR, REASON_PIPELINE,
              FORMAT(e, REG_SOURCE"=%#"PRIx32",dl_src=%s,icmp6,%s,"
                     "icmp_type=%d,icmp_code=0,nd_sll=%s",
                     ep->number, mac, source, ND_NEIGHBOR_SOLICIT, mac),
              FORMAT(e, "goto_table:%d", TABLE_NEIGHBOR));
}

static void
emit_sources(struct emitter *e, const struct ir_endpoint *ep)
{
    const char *mac = FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(ep->mac));
    struct in6_addr link_local;
    char s[INET6_ADDRSTRLEN + 1];

    for (size_t i = 0; i < ep->addresses.n; i++) {
        const struct in6_addr *ip = &ep->addresses.v[i];

        ipv6_string_mapped(s, ip);
        if (IN6_IS_ADDR_V4MAPPED(ip)) {
            emit_flow(e, TABLE_SPOOF, PRIORITY_ALLOW, REASON_PIPELINE,
                      FORMAT(e, REG_SOURCE"=%#"PRIx32",dl_src=%s,arp,"
                             "arp_op=1,arp_sha=%s,arp_spa=%s",
                             ep->number, mac, mac, s),
                      FORMAT(e, "goto_table:%d", TABLE_NEIGHBOR));
        } else {
            emit_solicitation(e, ep, mac, FORMAT(e, "ipv6_src=%s", s));
        }
        emit_flow(e, TABLE_SPOOF, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_SOURCE"=%#"PRIx32",dl_src=%s,%s",
                         ep->number, mac, match_address(e, ip, "src")),
                  FORMAT(e, "goto_table:%d", TABLE_TRACK));
    }

    /* Hosts solicit from their modified EUI-64 link-local address as well
     * (RFC 4291 section 2.5.1). */
    if (ir_has_ip6(ep)) {
        in6_generate_lla(ep->mac, &link_local);
        ipv6_string_mapped(s, &link_local);
        emit_solicitation(e, ep, mac, FORMAT(e, "ipv6_src=%s", s));
    }
}

/* What no tenant may send, whatever its source address: "FIELD=NUMBER". */
static const struct forbidden {
    const char *field;
    int number;
    enum reason reason;
} forbidden[] = {
    { "icmp6,icmp_type", ND_ROUTER_SOLICIT, REASON_FORBIDDEN_REPLY },
    { "icmp6,icmp_type", ND_ROUTER_ADVERT, REASON_FORBIDDEN_REPLY },
    { "icmp6,icmp_type", ND_NEIGHBOR_SOLICIT, REASON_SPOOF },
    { "icmp6,icmp_type", ND_NEIGHBOR_ADVERT, REASON_SPOOF },
    { "icmp6,icmp_type", ND_REDIRECT, REASON_FORBIDDEN_REPLY },
    /* RFC 792, RFC 1256. */
    { "icmp,icmp_type", ICMP_REDIRECT, REASON_FORBIDDEN_REPLY },
    { "icmp,icmp_type", ICMP_ROUTERADVERT, REASON_FORBIDDEN_REPLY },
    { "icmp,icmp_type", ICMP_ROUTERSOLICIT, REASON_FORBIDDEN_REPLY },
    /* RFC 2710, RFC 3810, RFC 3376. */
    { "icmp6,icmp_type", MLD_LISTENER_QUERY, REASON_FORBIDDEN_REPLY },
    { "icmp6,icmp_type", MLD_LISTENER_REPORT, REASON_FORBIDDEN_REPLY },
    { "icmp6,icmp_type", MLD_LISTENER_REDUCTION, REASON_FORBIDDEN_REPLY },
    { "icmp6,icmp_type", MLD2_LISTENER_REPORT, REASON_FORBIDDEN_REPLY },
    { "ip,nw_proto", IPPROTO_IGMP, REASON_FORBIDDEN_REPLY },
    /* Open vSwitch gives malformed packets protocol 0, and rewrites no header
     * of a packet that has it: commit_set_nw_action(). */
    { "ip,nw_proto", 0, REASON_FORBIDDEN_REPLY },
    { "ipv6,nw_proto", 0, REASON_FORBIDDEN_REPLY },
    { "udp,tp_src", DHCP_SERVER, REASON_FORBIDDEN_REPLY },
    { "udp6,tp_src", DHCPV6_SERVER, REASON_FORBIDDEN_REPLY },
    { "udp,tp_dst", DHCP_CLIENT, REASON_FORBIDDEN_REPLY },
    { "udp6,tp_dst", DHCPV6_CLIENT, REASON_FORBIDDEN_REPLY },
};

static void
emit_forbidden(struct emitter *e)
{
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
        const struct forbidden *f = &forbidden[i];

        emit_flow(e, TABLE_SPOOF, PRIORITY_FORBIDDEN, f->reason,
                  FORMAT(e, "%s=%d", f->field, f->number), "drop");
    }
}

void
emit_answer(struct emitter *e, const char *where, const struct in6_addr *ip,
            struct eth_addr ea, bool router)
{
    const char *mac = FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(ea));
    char s[INET6_ADDRSTRLEN + 1];

    ipv6_string_mapped(s, ip);
    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        emit_flow(e, TABLE_NEIGHBOR, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, "%s,arp,arp_op=1,arp_tpa=%s", where, s),
                  FORMAT(e, "move:eth_src->eth_dst,set_field:%s->eth_src,"
                         "set_field:2->arp_op,move:arp_sha->arp_tha,"
                         "move:arp_spa->arp_tpa,set_field:%s->arp_sha,"
                         "set_field:%s->arp_spa,in_port", mac, mac, s));
        return;
    }
    if (e->caps->kernel) {      /* See backend/kernel/neighbors.h. */
        return;
    }

    /* RFC 4861 sections 4.3 and 4.4: the type, the flags (solicited,
     * override, perhaps router) and the target's link-layer address.  The
     * option can be set only once the type is an advertisement's, hence the
     * next table. */
    emit_flow(e, TABLE_NEIGHBOR, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "%s,icmp6,icmp_type=%d,nd_target=%s", where,
                     ND_NEIGHBOR_SOLICIT, s),
              FORMAT(e, "move:eth_src->eth_dst,set_field:%s->eth_src,"
                     "move:ipv6_src->ipv6_dst,set_field:%s->ipv6_src,"
                     "set_field:255->nw_ttl,set_field:%d->icmpv6_type,"
                     "set_field:%#"PRIx32"->"REG_ND_FLAGS",resubmit(,%d)",
                     mac, s, ND_NEIGHBOR_ADVERT,
                     router ? 0xe0000000 : 0x60000000,
                     TABLE_NEIGHBOR_ADVERT));
}

static void
emit_advert(struct emitter *e)
{
    if (e->caps->kernel) {
        return;
    }
    emit_flow(e, TABLE_NEIGHBOR_ADVERT, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "icmp6,icmp_type=%d,icmp_code=0",
                     ND_NEIGHBOR_ADVERT),
              "move:"REG_ND_FLAGS"->nd_reserved,set_field:2->nd_options_type,"
              "move:eth_src->nd_tll,in_port");
}

static const char *
match_network(struct emitter *e, const struct ir_network *network)
{
    return FORMAT(e, REG_NETWORK"=%#"PRIx32, network->vni);
}

static void
emit_neighbors(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];

        for (size_t j = 0; j < network->gateways.n && network->here; j++) {
            emit_answer(e, match_network(e, network), &network->gateways.v[j],
                        network->gateway_mac, true);
        }
    }
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *ep = e->prog->endpoints.v[i];

        for (size_t j = 0; j < ep->addresses.n && ep->network->here; j++) {
            emit_answer(e, match_network(e, ep->network),
                        &ep->addresses.v[j], ep->mac, false);
        }
        /* A DHCPv6 server answers to link-local addresses. */
        if (ep->network->here && ep->network->dhcp && ir_has_ip6(ep)) {
            struct in6_addr link_local;

            in6_generate_lla(ep->mac, &link_local);
            emit_answer(e, match_network(e, ep->network), &link_local,
                        ep->mac, false);
        }
    }
    emit_advert(e);
}

void
emit_ports(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        if (!e->prog->endpoints.v[i]->node) {
            emit_admit(e, e->prog->endpoints.v[i]);
            emit_sources(e, e->prog->endpoints.v[i]);
        }
    }
    emit_forbidden(e);
    emit_neighbors(e);
}
