/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/packet-value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-parse.h"
#include "packets.h"
#include "util.h"

/* Open vSwitch's parser takes 10.2.0.267 for 10.2.0.11. */
static char *
check_ip4(const char *key, const char *value)
{
    static const char *const fields[] = {
        "nw_src", "nw_dst", "ip_src", "ip_dst", "arp_spa", "arp_tpa",
    };
    struct in_addr ip;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (!strcmp(key, fields[i]) && inet_pton(AF_INET, value, &ip) != 1) {
            return xasprintf("%s: '%s' is not an IPv4 address, as in "
                             "10.1.0.11", key, value);
        }
    }
    return NULL;
}

/* How large the value of a field may be that has fewer bits than its bytes;
 * Open vSwitch's parser cuts it. */
static uint64_t
max_of(const struct mf_field *mf)
{
    return (mf->id == MFF_IP_DSCP ? UINT8_MAX        /* Not shifted. */
            : mf->id == MFF_VLAN_VID ? VLAN_VID_MASK | VLAN_CFI
            : (UINT64_C(1) << mf->n_bits) - 1);
}

char *
packet_check_value(const char *key, const char *value)
{
    const struct mf_field *mf = mf_from_name(key);
    char *error = check_ip4(key, value), *end;
    uint64_t number;

    if (error || !mf || mf->n_bits >= 64) {
        return error;
    }
    number = strtoull(value, &end, 0);
    if (!*value || *end) {
        return NULL;            /* It is no number. */
    } else if (number > max_of(mf)) {
        return xasprintf("%s: %s is more than %"PRIu64, key, value,
                         max_of(mf));
    } else if (mf->id == MFF_IP_DSCP && number & IP_ECN_MASK) {
        return xasprintf("%s: the last two bits of %s are nw_ecn", key, value);
    }
    return NULL;
}

bool
packet_parse_protocol(const char *word, const struct ofp_protocol **protocol)
{
    static const struct ofp_protocol protocols[] = {
        { "ah", ETH_TYPE_IP, IPPROTO_AH },
        { "ah6", ETH_TYPE_IPV6, IPPROTO_AH },
        { "esp", ETH_TYPE_IP, IPPROTO_ESP },
        { "esp6", ETH_TYPE_IPV6, IPPROTO_ESP },
        { "gre", ETH_TYPE_IP, IPPROTO_GRE },
        { "gre6", ETH_TYPE_IPV6, IPPROTO_GRE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (!strcmp(protocols[i].name, word)) {
            *protocol = &protocols[i];
            return true;
        }
    }
    return false;
}
