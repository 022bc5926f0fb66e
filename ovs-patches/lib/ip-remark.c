/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>
#include "ip-remark.h"

#include <netinet/ip6.h>

#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"

/* Returns the EtherType of what is at the layer 3 offset of 'packet', or 0. */
static ovs_be16
l3_type(const struct dp_packet *packet)
{
    if (packet->l3_ofs == UINT16_MAX || packet->l2_5_ofs != UINT16_MAX) {
        return 0;
    } else if (packet->packet_type != htonl(PT_ETH)) {
        return pt_ns_type_be(packet->packet_type);
    } else if (packet->l3_ofs < ETH_HEADER_LEN) {
        return 0;
    }
    return get_unaligned_be16(ALIGNED_CAST(const ovs_be16 *,
                                           (char *) dp_packet_l3(packet) - 2));
}

static struct ip_header *
ipv4_header(const struct dp_packet *packet)
{
    struct ip_header *ip = dp_packet_l3(packet);

    return (l3_type(packet) == htons(ETH_TYPE_IP)
            && dp_packet_l3_size(packet) >= IP_HEADER_LEN
            && IP_VER(ip->ip_ihl_ver) == 4
            && IP_IHL(ip->ip_ihl_ver) >= 5
            ? ip : NULL);
}

/* Returns the first 32 bits of the IPv6 header of 'packet': version, traffic
 * class and flow label. */
static ovs_16aligned_be32 *
ipv6_flow(const struct dp_packet *packet)
{
    struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);
    ovs_16aligned_be32 *flow = &ip6->ip6_flow;

    return (l3_type(packet) == htons(ETH_TYPE_IPV6)
            && dp_packet_l3_size(packet) >= IPV6_HEADER_LEN
            && ntohl(get_16aligned_be32(flow)) >> 28 == 6
            ? flow : NULL);
}

/* Returns the DS field with ECN (0...255), or -1 if 'packet' is not IP. */
static int
get_tos(const struct dp_packet *packet)
{
    const struct ip_header *ip = ipv4_header(packet);
    const ovs_16aligned_be32 *flow;

    if (ip) {
        return ip->ip_tos;
    }
    flow = ipv6_flow(packet);
    return flow ? ntohl(get_16aligned_be32(flow)) >> 20 & 0xff : -1;
}

static void
set_tos(struct dp_packet *packet, uint8_t tos)
{
    struct ip_header *ip = ipv4_header(packet);

    if (ip) {
        ip->ip_csum = recalc_csum16(ip->ip_csum, htons(ip->ip_tos),
                                    htons(tos));
        ip->ip_tos = tos;
    } else {
        ovs_16aligned_be32 *flow = ipv6_flow(packet);

        put_16aligned_be32(flow, (get_16aligned_be32(flow)
                                  & htonl(0xf00fffff))
                                 | htonl((uint32_t) tos << 20));
    }
}

/* Gives 'packet', whose DSCP is that of 'tos', another one.  Returns true if
 * that changed anything. */
static bool
set_dscp(struct dp_packet *packet, uint8_t tos, uint8_t dscp)
{
    if (tos >> 2 == dscp) {
        return false;
    }
    set_tos(packet, dscp << 2 | (tos & IP_ECN_MASK));
    return true;
}

bool
ip_remark_dscp(struct dp_packet *packet, uint8_t dscp)
{
    int tos = get_tos(packet);

    return tos >= 0 && set_dscp(packet, tos, dscp);
}

bool
ip_remark_drop_precedence(struct dp_packet *packet, uint8_t levels)
{
    int tos = get_tos(packet);
    unsigned int class = tos >> 5;              /* The x of AFxy, 1...4. */
    unsigned int precedence = tos >> 3 & 3;     /* The y of AFxy, 1...3. */

    if (tos < 0 || class < 1 || class > 4 || !precedence || tos & 4) {
        return false;
    }
    precedence = MIN(precedence + levels, 3);
    return set_dscp(packet, tos, class << 3 | precedence << 1);
}

bool
ip_remark_knows_ce(const struct dp_packet *packet)
{
    int tos = get_tos(packet);

    return tos >= 0 && (tos & IP_ECN_MASK) != IP_ECN_NOT_ECT;
}

bool
ip_remark_ce(struct dp_packet *packet)
{
    int tos = get_tos(packet);

    if (!ip_remark_knows_ce(packet) || (tos & IP_ECN_MASK) == IP_ECN_CE) {
        return false;
    }
    set_tos(packet, tos | IP_ECN_CE);
    return true;
}
