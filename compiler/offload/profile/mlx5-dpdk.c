/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* The driver mlx5 of DPDK, of the version that Debian 12 has, with the flow
 * engine DV (dv_flow_en=1, its default).  What it asks of the device, all of
 * ConnectX-5 and above have, so the devices are no layer of their own here. */

#define MLX5 "DPDK 22.11: drivers/net/mlx5/"
#define ETH MLX5 "mlx5_flow.c, mlx5_flow_validate_item_eth()"
#define VLAN MLX5 "mlx5_flow_dv.c, flow_dv_validate_item_vlan()"
#define IPV4 MLX5 "mlx5_flow_dv.c, flow_dv_validate_item_ipv4()"
#define IPV6 MLX5 "mlx5_flow_dv.c, flow_dv_validate(), nic_ipv6_mask"
#define TCP MLX5 "mlx5_flow_dv.c, flow_dv_validate(), nic_tcp_mask"
#define ITEMS MLX5 "mlx5_flow_dv.c, flow_dv_validate()"
#define ONE_FATE MLX5 "mlx5_flow_dv.c, flow_dv_validate_action_port_id()"
#define ICMP                                                            \
    "DPDK 22.11: doc/guides/platform/mlx5.rst, Firmware Configuration: " \
    "FLEX_PARSER_PROFILE_ENABLE=2, without which it does not"
#define TABLE                                                           \
    "DPDK 22.11: doc/guides/nics/mlx5.rst, Minimal SW/HW versions for " \
    "rte_flow offloads, with E-Switch, "

static const struct cap_fact facts[] = {
    { CAP_MATCH_ETH, SUPPORT_YES, ETH },
    { CAP_MATCH_VLAN, SUPPORT_YES, VLAN },
    { CAP_MATCH_ARP, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_PROTOCOL, SUPPORT_YES, ITEMS },
    { CAP_MATCH_TOS, SUPPORT_YES, ITEMS },
    { CAP_MATCH_TTL, SUPPORT_YES, ITEMS },
    { CAP_MATCH_WHOLE, SUPPORT_YES, ITEMS },
    { CAP_MATCH_FRAGMENT, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_IP4, SUPPORT_YES, IPV4 },
    { CAP_MATCH_IP6, SUPPORT_YES, IPV6 },
    { CAP_MATCH_PORTS, SUPPORT_YES, ITEMS },
    { CAP_MATCH_TCP_FLAGS, SUPPORT_YES, TCP },
    { CAP_MATCH_ICMP, SUPPORT_NO, ICMP },
    { CAP_MATCH_ND, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_TUNNEL4, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_TUNNEL6, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_STATE, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_NEW, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_RELATED, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_INVALID, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_ZONE, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_MARK, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_CT_TUPLE, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_MARK, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_PRIORITY, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_VHOST, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_SYSTEM, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT, SUPPORT_YES, TABLE "Count and Port ID: ConnectX-5" },
    { CAP_OUTPUTS, SUPPORT_NO, ONE_FATE },
    { CAP_OUTPUT_BACK, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT_PORT, SUPPORT_UNKNOWN, NULL },
    { CAP_DROP, SUPPORT_YES, TABLE "Count and Drop: ConnectX-5" },
    { CAP_CHAIN, SUPPORT_UNKNOWN, NULL },
    { CAP_CT, SUPPORT_NO, TABLE "Connection tracking: N/A" },
    { CAP_CT_COMMIT, SUPPORT_NO, TABLE "Connection tracking: N/A" },
    { CAP_CT_TCP_UDP, SUPPORT_NO, TABLE "Connection tracking: N/A" },
    { CAP_CT_OTHER, SUPPORT_NO, TABLE "Connection tracking: N/A" },
    { CAP_SET_MAC, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_TTL4, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_TTL6, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_DSCP4, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_DSCP6, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_ICMP6, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_PROTOCOL, SUPPORT_YES, TABLE "Header rewrite: ConnectX-5" },
    { CAP_SET_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_METER, SUPPORT_UNKNOWN, NULL },
    { CAP_METER_PACKETS, SUPPORT_UNKNOWN, NULL },
    { CAP_METER_DROP, SUPPORT_UNKNOWN, NULL },
    { CAP_METERS, SUPPORT_UNKNOWN, NULL },
    { CAP_METER_BURSTS, SUPPORT_UNKNOWN, NULL },
    { CAP_ENCAP_VXLAN, SUPPORT_YES, TABLE "Encapsulation: ConnectX-5" },
    { CAP_ENCAP_GENEVE, SUPPORT_YES,
      TABLE "Encapsulation GENEVE: ConnectX-5" },
    { CAP_DECAP, SUPPORT_YES, TABLE "Tunnel Offload: ConnectX-5" },
    { CAP_SET_PRIORITY, SUPPORT_UNKNOWN, NULL },
    { CAP_CLONE, SUPPORT_UNKNOWN, NULL },
    { CAP_MARK, SUPPORT_YES,
      "DPDK 22.11: doc/guides/nics/mlx5.rst, Minimal SW/HW versions for "
      "rte_flow offloads, with NIC, Mark and RSS: ConnectX-4" },
    { CAP_ACTION_OTHER, SUPPORT_UNKNOWN, NULL },
};

static const struct layer layer_mlx5_dpdk = {
    .name = "DPDK's driver mlx5",
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
};

#define PROFILE(NAME, TITLE)                                    \
    {                                                           \
        .name = NAME,                                           \
        .title = TITLE " beneath DPDK",                         \
        .target = "userspace",                                  \
        .hardware = true,                                       \
        .rte_flow = true,                                       \
        .layers = { &layer_ovs_dpdk, &layer_mlx5_dpdk },        \
    }

const struct profile profile_connectx5_dpdk
    = PROFILE("connectx-5", "NVIDIA ConnectX-5");
const struct profile profile_connectx6dx_dpdk
    = PROFILE("connectx-6-dx", "NVIDIA ConnectX-6 Dx");
const struct profile profile_connectx7_dpdk
    = PROFILE("connectx-7", "NVIDIA ConnectX-7");
const struct profile profile_bluefield3_dpdk
    = PROFILE("bluefield-3", "NVIDIA BlueField-3");
