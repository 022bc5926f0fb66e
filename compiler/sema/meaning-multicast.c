/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-multicast.h"

#include "flow.h"
#include "packets.h"
#include "sema/check.h"
#include "sema/meaning-packet.h"
#include "sema/policy.h"

bool
multicast_is_carried(const struct policy_network *network,
                     const struct flow *packet)
{
    struct in6_addr group = packet_destination(packet);

    for (size_t i = 0; packet_has_family(packet, &group)
                       && i < network->intent->groups.n; i++) {
        if (subnet_holds(&network->intent->groups.v[i], &group)) {
            return true;
        }
    }
    return false;
}

bool
multicast_has_right_mac(const struct flow *packet)
{
    const uint8_t *mac = packet->dl_dst.ea;

    if (packet_is_ip6(packet)) {
        /* RFC 2464 section 7: 33:33 and the last four octets. */
        const uint8_t *ip = packet->ipv6_dst.s6_addr;

        return (mac[0] == 0x33 && mac[1] == 0x33 && mac[2] == ip[12]
                && mac[3] == ip[13] && mac[4] == ip[14] && mac[5] == ip[15]);
    }

    /* RFC 1112 section 6.4: 01:00:5e, a zero bit and the last 23 bits. */
    uint32_t ip = ntohl(packet->nw_dst);
    return (mac[0] == 0x01 && mac[1] == 0x00 && mac[2] == 0x5e
            && mac[3] == (ip >> 16 & 0x7f) && mac[4] == (ip >> 8 & 0xff)
            && mac[5] == (ip & 0xff));
}
