/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "outcome.h"

#include <netinet/icmp6.h>
#include <string.h>

#include "packets.h"
#include "sema/meaning.h"

struct flow
outcome_packet(const struct flow *sent, const struct meaning *m, uint8_t dscp)
{
    struct flow packet = *sent;

    if (m->answered) {
        packet.dl_dst = packet.dl_src;
        packet.dl_src = m->answer;
    }
    if (m->answered && packet.dl_type == htons(ETH_TYPE_ARP)) {
        ovs_be32 asked = packet.nw_dst;

        packet.nw_proto = ARP_OP_REPLY;
        packet.arp_tha = packet.arp_sha;
        packet.nw_dst = packet.nw_src;
        packet.arp_sha = m->answer;
        packet.nw_src = asked;
    } else if (m->answered) {
        packet.ipv6_dst = packet.ipv6_src;
        packet.ipv6_src = packet.nd_target;
        packet.nw_ttl = 255;
        packet.tp_src = htons(ND_NEIGHBOR_ADVERT);
        packet.arp_sha = eth_addr_zero;         /* Not in an advertisement. */
        packet.arp_tha = m->answer;
        packet.igmp_group_ip4 = htonl(m->answer_router ? 0xe0000000
                                      : 0x60000000);
        packet.tcp_flags = htons(2);    /* The option's type. */
    } else {
        packet.nw_tos = dscp << 2 | (packet.nw_tos & IP_ECN_MASK);
        if (m->routed) {
            packet.dl_src = (m->to ? m->to->network->gateway_mac
                             : m->external->gateway_mac);
            packet.dl_dst = (m->to ? m->to->intent->mac
                             : m->external->intent->mac);
            packet.nw_ttl--;
        }
    }
    return packet;
}

/* What is in the packet, without what the switch notes about it. */
static struct flow
bare(const struct flow *packet)
{
    struct flow b = *packet;

    memset(&b, 0, offsetof(struct flow, dl_dst));
    b.ct_nw_proto = 0;
    b.ct_nw_src = b.ct_nw_dst = 0;
    b.ct_ipv6_src = b.ct_ipv6_dst = in6addr_any;
    b.ct_tp_src = b.ct_tp_dst = 0;
    if (is_icmpv6(&b, NULL) && b.tp_src == htons(ND_NEIGHBOR_ADVERT)) {
        b.arp_sha = eth_addr_zero;
    }
    return b;
}

const char *
packets_differ(const struct flow *expected_, const struct flow *got_,
               bool headers_only)
{
    struct flow expected = bare(expected_), got = bare(got_);
    bool ip = is_ip_any(&expected);

    if (!eth_addr_equals(expected.dl_src, got.dl_src)
        || !eth_addr_equals(expected.dl_dst, got.dl_dst)) {
        return "it arrives with other MACs";
    } else if (ip && expected.nw_ttl != got.nw_ttl) {
        return "it arrives with another TTL";
    } else if (ip && (expected.nw_tos ^ got.nw_tos) & IP_DSCP_MASK) {
        return "it arrives with another DSCP";
    } else if (!headers_only && memcmp(&expected, &got, sizeof got)) {
        return "it arrives changed";
    }
    return NULL;
}
