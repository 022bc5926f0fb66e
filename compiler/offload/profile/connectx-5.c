/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* The NIC NVIDIA ConnectX-5, its switch in mode switchdev. */

/* No question to the device: all that the driver drives do it. */
#define ANY                                                             \
    "Linux: drivers/net/ethernet/mellanox/mlx5/core/en_tc.c, "          \
    "__parse_cls_flower(), which asks the device for no capability"
#define CT_ANY                                                          \
    "Linux: drivers/net/ethernet/mellanox/mlx5/core/en/tc_ct.c, "       \
    "mlx5_tc_ct_match_add(), which asks the device for no capability"
#define TTL                                                             \
    "Linux: the commit \"net/mlx5e: Offload TC matching on ip ttl\" "   \
    "names ConnectX-5"
#define DPDK "DPDK 22.11: doc/guides/nics/mlx5.rst, E-Switch, "
#define OFED54                                                          \
    "NVIDIA MLNX_OFED 5.4-1.0.3.0, Changes and New Features, ConnectX-5 " \
    "and above: "
#define METER                                                           \
    DPDK "ASO Metering: ConnectX-6 Dx; Linux 6.0: en/tc/meter.c, "      \
    "mlx5e_flow_meters_init(), asks for such meters"

static const struct cap_fact facts[] = {
    { CAP_MATCH_ETH, SUPPORT_YES, ANY },
    { CAP_MATCH_VLAN, SUPPORT_YES, ANY },
    { CAP_MATCH_PROTOCOL, SUPPORT_YES, ANY },
    { CAP_MATCH_TOS, SUPPORT_YES, ANY },
    { CAP_MATCH_WHOLE, SUPPORT_YES, ANY },
    { CAP_MATCH_IP4, SUPPORT_YES, ANY },
    { CAP_MATCH_IP6, SUPPORT_YES, ANY },
    { CAP_MATCH_PORTS, SUPPORT_YES, ANY },
    { CAP_MATCH_TCP_FLAGS, SUPPORT_YES, ANY },
    { CAP_MATCH_TTL, SUPPORT_YES, TTL },
    { CAP_MATCH_ARP, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_FRAGMENT, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_ICMP, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_ND, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_TUNNEL4, SUPPORT_YES,
      DPDK "VXLAN and GENEVE: ConnectX-5, for GENEVE with the firmware's "
      "FLEX_PARSER_PROFILE_ENABLE" },
    { CAP_MATCH_TUNNEL6, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_STATE, SUPPORT_YES,
      OFED54 "Offloading Extended ct_state Flags" },
    { CAP_MATCH_CT_NEW, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_RELATED, SUPPORT_NO, OFED54 "-rel only" },
    { CAP_MATCH_CT_INVALID, SUPPORT_NO, OFED54 "-inv only" },
    { CAP_MATCH_CT_ZONE, SUPPORT_YES, CT_ANY },
    { CAP_MATCH_CT_MARK, SUPPORT_YES, CT_ANY },
    { CAP_MATCH_CT_TUPLE, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_MARK, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_PRIORITY, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_VHOST, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_SYSTEM, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT, SUPPORT_YES, DPDK "Port ID: ConnectX-5" },
    { CAP_OUTPUTS, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT_BACK, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT_PORT, SUPPORT_UNKNOWN, NULL },
    { CAP_DROP, SUPPORT_YES, DPDK "Drop: ConnectX-5" },
    { CAP_CHAIN, SUPPORT_YES, DPDK "Jump: ConnectX-5" },
    { CAP_CT, SUPPORT_YES, OFED54 "Offloading Extended ct_state Flags" },
    { CAP_CT_COMMIT, SUPPORT_UNKNOWN, NULL },
    { CAP_CT_TCP_UDP, SUPPORT_YES,
      OFED54 "Offloading Extended ct_state Flags" },
    { CAP_CT_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_SET_MAC, SUPPORT_YES, DPDK "Header rewrite: ConnectX-5" },
    { CAP_SET_TTL4, SUPPORT_YES, DPDK "Header rewrite: ConnectX-5" },
    { CAP_SET_TTL6, SUPPORT_YES, DPDK "Header rewrite: ConnectX-5" },
    { CAP_SET_DSCP4, SUPPORT_YES,
      DPDK "Header rewrite (set_dscp): ConnectX-5" },
    { CAP_SET_DSCP6, SUPPORT_YES,
      DPDK "Header rewrite (set_dscp): ConnectX-5" },
    { CAP_SET_ICMP6, SUPPORT_UNKNOWN, NULL },
    { CAP_SET_PROTOCOL, SUPPORT_UNKNOWN, NULL },
    { CAP_SET_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_METER, SUPPORT_NO, METER },
    { CAP_METER_PACKETS, SUPPORT_NO, METER },
    { CAP_METER_DROP, SUPPORT_UNKNOWN, NULL },
    { CAP_METERS, SUPPORT_NO, METER },
    { CAP_METER_BURSTS, SUPPORT_UNKNOWN, NULL },
    { CAP_ENCAP_VXLAN, SUPPORT_YES, DPDK "VXLAN: ConnectX-5" },
    { CAP_ENCAP_GENEVE, SUPPORT_YES,
      "DPDK 25.11: doc/guides/nics/mlx5.rst, Raw Header, E-Switch: "
      "ConnectX-5; Linux: en/tc_tun_geneve.c asks for no more than for "
      "VXLAN" },
    { CAP_DECAP, SUPPORT_YES, DPDK "VXLAN: ConnectX-5" },
    { CAP_SET_PRIORITY, SUPPORT_UNKNOWN, NULL },
    { CAP_CLONE, SUPPORT_UNKNOWN, NULL },
    { CAP_MARK, SUPPORT_UNKNOWN, NULL },
    { CAP_ACTION_OTHER, SUPPORT_UNKNOWN, NULL },
};

static const struct quota_fact quotas[] = {
    { QUOTA_FLOWS, 16777216,
      OFED54 "Enlarge Switchdev Tables, 16M entries a group" },
};

const struct layer layer_connectx5 = {
    .name = "ConnectX-5",
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
    .quotas = quotas,
    .n_quotas = ARRAY_SIZE(quotas),
};

const struct profile profile_connectx5 = {
    .name = "connectx-5",
    .title = "NVIDIA ConnectX-5",
    .target = "asap2",
    .hardware = true,
    .layers = { &layer_ovs, &layer_tc, &layer_mlx5, &layer_connectx5 },
};
