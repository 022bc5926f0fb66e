/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/meaning-endpoint.h"

#include "packets.h"
#include "sema/meaning-packet.h"
#include "sema/policy.h"

bool
endpoint_has_address(const struct policy_endpoint *e,
                     const struct flow *packet, const struct in6_addr *ip)
{
    for (size_t i = 0; packet_has_family(packet, ip)
                       && i < e->intent->addresses.n; i++) {
        if (ipv6_addr_equals(&e->intent->addresses.v[i].ip, ip)) {
            return true;
        }
    }
    return false;
}

bool
endpoint_has_family(const struct policy_endpoint *e, bool ip6)
{
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&e->intent->addresses.v[i].ip) == ip6) {
            return true;
        }
    }
    return false;
}

bool
endpoint_has_link_local(const struct policy_endpoint *e,
                        const struct in6_addr *ip)
{
    struct in6_addr link_local;

    in6_generate_lla(e->intent->mac, &link_local);
    return (endpoint_has_family(e, true)
            && ipv6_addr_equals(ip, &link_local));
}
