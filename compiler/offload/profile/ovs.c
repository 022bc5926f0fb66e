/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* What Open vSwitch gives to tc when "hw-offload" is on, as of the version
 * that Bulkhead patches. */

#define PUT "Open vSwitch 3.1: lib/netdev-offload-tc.c, netdev_tc_flow_put()"
#define TEST "Open vSwitch 3.1: lib/netdev-offload-tc.c, test_key_and_mask()"
#define CT_MATCH                                                        \
    "Open vSwitch 3.1: lib/netdev-offload-tc.c, "                       \
    "parse_match_ct_state_to_flower()"
#define ACTIONS                                                         \
    "Open vSwitch 3.1: lib/netdev-offload-tc.c, netdev_tc_parse_nl_actions()"
#define ACTS                                                            \
    "Open vSwitch 3.1: lib/tc.c, nl_msg_put_flower_acts(): a drop is for " \
    "no actions only, so what conforms comes to software, packet by packet"
#define SET                                                             \
    "Open vSwitch 3.1: lib/netdev-offload-tc.c, set_flower_map and "    \
    "parse_put_flow_set_masked_action()"
#define CSUM "Open vSwitch 3.1: lib/tc.c, csum_update_flag()"
#define TUNNEL                                                          \
    "Open vSwitch 3.1: lib/netdev-offload-tc.c, parse_put_flow_set_action()"
#define METERS                                                          \
    "Open vSwitch 3.1: lib/netdev-offload-tc.c, meter_tc_set_policer()"

static const struct cap_fact facts[] = {
    { CAP_MATCH_ETH, SUPPORT_YES, PUT },
    { CAP_MATCH_VLAN, SUPPORT_YES, PUT },
    { CAP_MATCH_ARP, SUPPORT_YES, PUT },
    { CAP_MATCH_PROTOCOL, SUPPORT_YES, PUT },
    { CAP_MATCH_TOS, SUPPORT_YES, PUT },
    { CAP_MATCH_TTL, SUPPORT_YES, PUT },
    { CAP_MATCH_WHOLE, SUPPORT_YES, PUT },
    { CAP_MATCH_FRAGMENT, SUPPORT_YES, PUT },
    { CAP_MATCH_IP4, SUPPORT_YES, PUT },
    { CAP_MATCH_IP6, SUPPORT_YES, PUT },
    { CAP_MATCH_PORTS, SUPPORT_YES, PUT },
    { CAP_MATCH_TCP_FLAGS, SUPPORT_YES, PUT },
    { CAP_MATCH_ICMP, SUPPORT_YES, PUT },
    { CAP_MATCH_ND, SUPPORT_NO, TEST },
    { CAP_MATCH_TUNNEL4, SUPPORT_YES, PUT },
    { CAP_MATCH_TUNNEL6, SUPPORT_YES, PUT },
    { CAP_MATCH_CT_STATE, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_NEW, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_RELATED, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_INVALID, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_ZONE, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_MARK, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_TUPLE, SUPPORT_NO, TEST },
    { CAP_MATCH_MARK, SUPPORT_NO, TEST },
    { CAP_MATCH_PRIORITY, SUPPORT_NO, TEST },
    { CAP_MATCH_VHOST, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_SYSTEM, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_OTHER, SUPPORT_NO, TEST },
    { CAP_OUTPUT, SUPPORT_YES, ACTIONS },
    { CAP_OUTPUTS, SUPPORT_YES, ACTIONS },
    { CAP_OUTPUT_BACK, SUPPORT_YES, ACTIONS },
    { CAP_OUTPUT_PORT, SUPPORT_UNKNOWN, NULL },
    { CAP_DROP, SUPPORT_YES, ACTIONS },
    { CAP_CHAIN, SUPPORT_YES, ACTIONS },
    { CAP_CT, SUPPORT_YES, ACTIONS },
    { CAP_CT_COMMIT, SUPPORT_YES, ACTIONS },
    { CAP_CT_TCP_UDP, SUPPORT_YES, ACTIONS },
    { CAP_CT_OTHER, SUPPORT_YES, ACTIONS },
    { CAP_SET_MAC, SUPPORT_YES, SET },
    { CAP_SET_TTL4, SUPPORT_YES, SET },
    { CAP_SET_TTL6, SUPPORT_YES, SET },
    { CAP_SET_DSCP4, SUPPORT_YES, SET },
    { CAP_SET_DSCP6, SUPPORT_YES, SET },
    { CAP_SET_ICMP6, SUPPORT_YES, CSUM },
    { CAP_SET_PROTOCOL, SUPPORT_NO, CSUM },
    { CAP_SET_OTHER, SUPPORT_NO, SET },
    { CAP_METER, SUPPORT_YES, METERS },
    { CAP_METER_PACKETS, SUPPORT_YES, METERS },
    { CAP_METER_DROP, SUPPORT_NO, ACTS },
    { CAP_METERS, SUPPORT_YES, ACTIONS },
    { CAP_METER_BURSTS, SUPPORT_NO, METERS },
    { CAP_ENCAP_VXLAN, SUPPORT_YES, TUNNEL },
    { CAP_ENCAP_GENEVE, SUPPORT_YES, TUNNEL },
    { CAP_DECAP, SUPPORT_YES, PUT },
    { CAP_SET_PRIORITY, SUPPORT_NO, SET },
    { CAP_CLONE, SUPPORT_NO, ACTIONS },
    { CAP_MARK, SUPPORT_NO, ACTIONS },
    { CAP_ACTION_OTHER, SUPPORT_NO, ACTIONS },
};

static const struct quota_fact quotas[] = {
    { QUOTA_FLOWS, 200000,
      "Open vSwitch 3.1: ovs-vswitchd.conf.db(5), \"flow-limit\"" },
};

const struct layer layer_ovs = {
    .name = "Open vSwitch",
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
    .quotas = quotas,
    .n_quotas = ARRAY_SIZE(quotas),
};
