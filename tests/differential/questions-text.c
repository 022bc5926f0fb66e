/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "questions.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/packet.h"
#include "util.h"

/* Packets in the syntax of ofproto/trace, whose fields have one name for each
 * protocol. */

static void
put_arp(struct ds *ds, const struct flow *packet)
{
    ds_put_format(ds, ",arp,arp_op=%u,arp_spa="IP_FMT",arp_tpa="IP_FMT
                  ",arp_sha="ETH_ADDR_FMT, packet->nw_proto,
                  IP_ARGS(packet->nw_src), IP_ARGS(packet->nw_dst),
                  ETH_ADDR_ARGS(packet->arp_sha));
}

static void
put_ports(struct ds *ds, const struct flow *packet, const char *protocol)
{
    ds_put_format(ds, ",%s_src=%u,%s_dst=%u", protocol,
                  ntohs(packet->tp_src), protocol, ntohs(packet->tp_dst));
}

static void
put_transport(struct ds *ds, const struct flow *packet)
{
    if (packet->nw_frag & FLOW_NW_FRAG_LATER) {
        return;
    } else if (packet->nw_proto == IPPROTO_TCP) {
        put_ports(ds, packet, "tcp");
    } else if (packet->nw_proto == IPPROTO_UDP) {
        put_ports(ds, packet, "udp");
    } else if (packet->nw_proto == IPPROTO_SCTP) {
        put_ports(ds, packet, "sctp");
    } else if (is_icmpv4(packet, NULL)) {
        ds_put_format(ds, ",icmp_type=%u,icmp_code=%u",
                      ntohs(packet->tp_src), ntohs(packet->tp_dst));
    } else if (is_icmpv6(packet, NULL)) {
        ds_put_format(ds, ",icmpv6_type=%u,icmpv6_code=%u",
                      ntohs(packet->tp_src), ntohs(packet->tp_dst));
        if (is_nd(packet, NULL)) {
            ds_put_cstr(ds, ",nd_target=");
            ipv6_format_addr(&packet->nd_target, ds);
            ds_put_format(ds, ",nd_%s="ETH_ADDR_FMT,
                          packet->tp_src == htons(135) ? "sll" : "tll",
                          ETH_ADDR_ARGS(packet->tp_src == htons(135)
                                        ? packet->arp_sha : packet->arp_tha));
        }
    }
}

static void
put_ip(struct ds *ds, const struct flow *packet)
{
    if (packet->dl_type == htons(ETH_TYPE_IP)) {
        ds_put_format(ds, ",ip,nw_src="IP_FMT",nw_dst="IP_FMT,
                      IP_ARGS(packet->nw_src), IP_ARGS(packet->nw_dst));
    } else {
        ds_put_cstr(ds, ",ipv6,ipv6_src=");
        ipv6_format_addr(&packet->ipv6_src, ds);
        ds_put_cstr(ds, ",ipv6_dst=");
        ipv6_format_addr(&packet->ipv6_dst, ds);
    }
    ds_put_format(ds, ",nw_proto=%u,nw_ttl=%u,nw_tos=%u,nw_ecn=%u",
                  packet->nw_proto, packet->nw_ttl,
                  packet->nw_tos & IP_DSCP_MASK,
                  packet->nw_tos & IP_ECN_MASK);
    if (packet->nw_frag) {
        ds_put_format(ds, ",nw_frag=%s",
                      packet->nw_frag & FLOW_NW_FRAG_LATER ? "later"
                      : "first");
    }
    put_transport(ds, packet);
}

static void
put_packet(struct ds *ds, const struct question *q)
{
    const struct flow *packet = &q->packet;

    ds_put_format(ds, "in_port=%u,dl_src="ETH_ADDR_FMT",dl_dst="ETH_ADDR_FMT,
                  packet->in_port.ofp_port, ETH_ADDR_ARGS(packet->dl_src),
                  ETH_ADDR_ARGS(packet->dl_dst));
    if (q->tunnel) {
        ds_put_char(ds, ',');
        packet_put_outer(ds, &packet->tunnel);
    }
    if (packet->vlans[0].tci) {
        ds_put_format(ds, ",dl_vlan=%d",
                      vlan_tci_to_vid(packet->vlans[0].tci));
    }
    if (packet->dl_type == htons(ETH_TYPE_ARP)) {
        put_arp(ds, packet);
    } else if (is_ip_any(packet)) {
        put_ip(ds, packet);
    } else {
        ds_put_format(ds, ",dl_type=%#x", ntohs(packet->dl_type));
    }
}

/* The tuple that opened the connection.  Its addresses are the packet's: an
 * ICMP error comes from the receiver of what it is about. */
static void
put_opener(struct ds *ds, const struct question *q)
{
    const struct flow *packet = &q->packet;
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    bool swap = connection_is_backward(q, q->connection);
    struct in6_addr opened = question_opened(q, q->connection);

    ds_put_format(ds, ",ct_state=trk|new,ct_nw_proto=%u,ct_tp_src=%u,"
                  "ct_tp_dst=%u,", q->opener.protocol,
                  ntohs(q->opener.source), ntohs(q->opener.destination));
    if (ip6) {
        ds_put_cstr(ds, "ct_ipv6_src=");
        ipv6_format_addr(swap ? &packet->ipv6_dst : &packet->ipv6_src, ds);
        ds_put_cstr(ds, ",ct_ipv6_dst=");
        ipv6_format_addr(swap ? &opened : &packet->ipv6_dst, ds);
    } else {
        ds_put_format(ds, "ct_nw_src="IP_FMT",ct_nw_dst="IP_FMT,
                      IP_ARGS(swap ? packet->nw_dst : packet->nw_src),
                      IP_ARGS(swap ? in6_addr_get_mapped_ipv4(&opened)
                              : packet->nw_dst));
    }
}

static const char *
to_arena(struct ds *ds, struct arena *arena)
{
    const char *text = arena_strdup(arena, ds_cstr(ds));

    ds_destroy(ds);
    return text;
}

const char *
question_text(const struct question *q, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_packet(&ds, q);
    if (q->packet.nw_frag || q->connection == CONNECTION_RELATED) {
        ds_put_format(&ds, " (opened by protocol %u, ports %u to %u, of ",
                      q->opener.protocol, ntohs(q->opener.source),
                      ntohs(q->opener.destination));
        ipv6_format_mapped(&q->opener.outside, &ds);
        ds_put_char(&ds, ')');
    }
    return to_arena(&ds, arena);
}

const char *
question_trace_text(const struct question *q, bool tracked, uint32_t mark,
                    struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_packet(&ds, q);
    if (tracked) {
        put_opener(&ds, q);
        ds_put_format(&ds, ",ct_mark=%#"PRIx32, mark);
    }
    return to_arena(&ds, arena);
}
