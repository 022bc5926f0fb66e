/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* What Open vSwitch gives to rte_flow for a port of DPDK when "hw-offload" is
 * on, as of the version that Bulkhead patches, built as Debian and Bulkhead
 * build it: without ALLOW_EXPERIMENTAL_API. */

#define MATCH                                                           \
    "Open vSwitch 3.1: lib/netdev-offload-dpdk.c, parse_flow_match()"
#define LEFT MATCH ", which refuses a mask that it has not consumed"
#define TUNNEL MATCH ", which has tunnels with ALLOW_EXPERIMENTAL_API only"
#define API                                                             \
    "Open vSwitch 3.1: lib/netdev-dpdk.c, netdev_dpdk_flow_api_supported()"
#define OUT                                                             \
    "Open vSwitch 3.1: lib/netdev-offload-dpdk.c, add_output_action()"
#define SET                                                             \
    "Open vSwitch 3.1: lib/netdev-offload-dpdk.c, parse_set_actions()"
#define ACTIONS                                                         \
    "Open vSwitch 3.1: lib/netdev-offload-dpdk.c, parse_flow_actions()"
#define MARK                                                            \
    "Open vSwitch 3.1: lib/netdev-offload-dpdk.c, "                     \
    "netdev_offload_dpdk_mark_rss()"

/* That Open vSwitch knows vxlan_encap does not say what it would make of a
 * packet: neighbors and the bridge of the underlay decide that, of which an
 * intent says nothing. */
static const struct cap_fact facts[] = {
    { CAP_MATCH_ETH, SUPPORT_YES, MATCH },
    { CAP_MATCH_VLAN, SUPPORT_YES, MATCH },
    { CAP_MATCH_ARP, SUPPORT_NO, LEFT },
    { CAP_MATCH_PROTOCOL, SUPPORT_YES, MATCH },
    { CAP_MATCH_TOS, SUPPORT_YES, MATCH },
    { CAP_MATCH_TTL, SUPPORT_YES, MATCH },
    { CAP_MATCH_WHOLE, SUPPORT_YES, MATCH },
    { CAP_MATCH_FRAGMENT, SUPPORT_YES, MATCH },
    { CAP_MATCH_IP4, SUPPORT_YES, MATCH },
    { CAP_MATCH_IP6, SUPPORT_YES, MATCH },
    { CAP_MATCH_PORTS, SUPPORT_YES, MATCH },
    { CAP_MATCH_TCP_FLAGS, SUPPORT_YES, MATCH },
    { CAP_MATCH_ICMP, SUPPORT_YES, MATCH ", of IPv4" },
    { CAP_MATCH_ND, SUPPORT_NO, LEFT },
    { CAP_MATCH_TUNNEL4, SUPPORT_NO, TUNNEL },
    { CAP_MATCH_TUNNEL6, SUPPORT_NO, TUNNEL },
    { CAP_MATCH_CT_STATE, SUPPORT_NO, LEFT },
    { CAP_MATCH_CT_NEW, SUPPORT_NO, LEFT },
    { CAP_MATCH_CT_RELATED, SUPPORT_NO, LEFT },
    { CAP_MATCH_CT_INVALID, SUPPORT_NO, LEFT },
    { CAP_MATCH_CT_ZONE, SUPPORT_NO, LEFT },
    { CAP_MATCH_CT_MARK, SUPPORT_NO, LEFT },
    { CAP_MATCH_CT_TUPLE, SUPPORT_NO, LEFT },
    { CAP_MATCH_MARK, SUPPORT_NO, LEFT },
    { CAP_MATCH_PRIORITY, SUPPORT_NO, LEFT },
    { CAP_MATCH_VHOST, SUPPORT_NO, API },
    { CAP_MATCH_SYSTEM, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_OTHER, SUPPORT_NO, LEFT },
    { CAP_OUTPUT, SUPPORT_YES, OUT },
    { CAP_OUTPUTS, SUPPORT_YES, OUT },
    { CAP_OUTPUT_BACK, SUPPORT_YES, OUT },
    { CAP_OUTPUT_PORT, SUPPORT_NO, OUT
      ", which asks netdev_flow_api_equals()" },
    { CAP_DROP, SUPPORT_YES, ACTIONS },
    { CAP_CHAIN, SUPPORT_NO, ACTIONS },
    { CAP_CT, SUPPORT_NO, ACTIONS },
    { CAP_CT_COMMIT, SUPPORT_NO, ACTIONS },
    { CAP_CT_TCP_UDP, SUPPORT_NO, ACTIONS },
    { CAP_CT_OTHER, SUPPORT_NO, ACTIONS },
    { CAP_SET_MAC, SUPPORT_YES, SET },
    { CAP_SET_TTL4, SUPPORT_YES, SET },
    { CAP_SET_TTL6, SUPPORT_YES, SET },
    { CAP_SET_DSCP4, SUPPORT_NO, SET },
    { CAP_SET_DSCP6, SUPPORT_NO, SET },
    { CAP_SET_ICMP6, SUPPORT_YES, SET },
    { CAP_SET_PROTOCOL, SUPPORT_YES, SET },
    { CAP_SET_OTHER, SUPPORT_NO, SET },
    { CAP_METER, SUPPORT_NO, ACTIONS },
    { CAP_METER_PACKETS, SUPPORT_NO, ACTIONS },
    { CAP_METER_DROP, SUPPORT_NO, ACTIONS },
    { CAP_METERS, SUPPORT_NO, ACTIONS },
    { CAP_METER_BURSTS, SUPPORT_NO, ACTIONS },
    { CAP_ENCAP_VXLAN, SUPPORT_UNKNOWN, NULL },
    { CAP_ENCAP_GENEVE, SUPPORT_UNKNOWN, NULL },
    { CAP_DECAP, SUPPORT_NO, ACTIONS
      ", which has tunnel_pop with ALLOW_EXPERIMENTAL_API only" },
    { CAP_SET_PRIORITY, SUPPORT_NO, SET },
    { CAP_CLONE, SUPPORT_UNKNOWN, NULL },
    { CAP_MARK, SUPPORT_YES, MARK },
    { CAP_ACTION_OTHER, SUPPORT_NO, ACTIONS },
};

static const struct quota_fact quotas[] = {
    { QUOTA_FLOWS, 200000,
      "Open vSwitch 3.1: ovs-vswitchd.conf.db(5), \"flow-limit\"" },
};

const struct layer layer_ovs_dpdk = {
    .name = "Open vSwitch on DPDK",
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
    .quotas = quotas,
    .n_quotas = ARRAY_SIZE(quotas),
};
