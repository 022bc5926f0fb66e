/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* What the driver of ConnectX and BlueField takes for the switch of its NIC,
 * if the device has what it asks for. */

#define MLX5 "Linux: drivers/net/ethernet/mellanox/mlx5/core/"
#define FLOWER MLX5 "en_tc.c, __parse_cls_flower()"
#define CT_MATCH MLX5 "en/tc_ct.c, mlx5_tc_ct_match_add()"
/* Linux 6.3 and above take it: the commit f869bcb0d28e, "net/mlx5e: Allow
 * offloading of ct 'new' match".  No source says what comes of it with what
 * Open vSwitch asks, which is to commit, too. */
#define CT_NEW                                                          \
    "Linux up to 6.2: drivers/net/ethernet/mellanox/mlx5/core/"         \
    "en/tc_ct.c, mlx5_tc_ct_match_add()"
#define CT_ACT MLX5 "en/tc/act/ct.c, tc_act_parse_ct()"
#define CT_TUPLE MLX5 "en/tc_ct.c, mlx5_tc_ct_rule_to_tuple()"
#define FDB MLX5 "en/tc/act/act.c, tc_acts_fdb"
#define MIRRED MLX5 "en/tc/act/mirred.c, parse_mirred()"
#define PEDIT MLX5 "en_tc.c, fields of offload_pedit_fields()"
#define REWRITE                                                         \
    MLX5 "en_tc.c, modify_header_match_supported(): of more than the TTL"
#define CSUM                                                            \
    MLX5 "en/tc/act/csum.c, csum_offload_supported(), and of more than " \
    "the TTL en_tc.c, modify_header_match_supported()"
#define ROUNDS                                                          \
    "Linux 6.0: the commit \"net/mlx5e: TC, Support offloading police "  \
    "action\": one round of metering for each"
#define POLICE                                                          \
    "Linux 6.0: drivers/net/ethernet/mellanox/mlx5/core/"               \
    "en/tc/act/police.c, tc_act_parse_police()"

static const struct cap_fact facts[] = {
    { CAP_MATCH_ETH, SUPPORT_YES, FLOWER },
    { CAP_MATCH_VLAN, SUPPORT_YES, FLOWER },
    { CAP_MATCH_ARP, SUPPORT_NO, FLOWER },
    { CAP_MATCH_PROTOCOL, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TOS, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TTL, SUPPORT_YES, FLOWER },
    { CAP_MATCH_WHOLE, SUPPORT_YES, FLOWER },
    { CAP_MATCH_FRAGMENT, SUPPORT_NO, FLOWER },
    { CAP_MATCH_IP4, SUPPORT_YES, FLOWER },
    { CAP_MATCH_IP6, SUPPORT_YES, FLOWER },
    { CAP_MATCH_PORTS, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TCP_FLAGS, SUPPORT_YES, FLOWER },
    { CAP_MATCH_ICMP, SUPPORT_YES, FLOWER },
    { CAP_MATCH_ND, SUPPORT_NO, FLOWER },
    { CAP_MATCH_TUNNEL4, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TUNNEL6, SUPPORT_YES, FLOWER },
    { CAP_MATCH_CT_STATE, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_NEW, SUPPORT_NO, CT_NEW },
    { CAP_MATCH_CT_RELATED, SUPPORT_NO, CT_MATCH },
    { CAP_MATCH_CT_INVALID, SUPPORT_NO, CT_MATCH },
    { CAP_MATCH_CT_ZONE, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_MARK, SUPPORT_YES, CT_MATCH },
    { CAP_MATCH_CT_TUPLE, SUPPORT_NO, FLOWER },
    { CAP_MATCH_MARK, SUPPORT_NO, FLOWER },
    { CAP_MATCH_PRIORITY, SUPPORT_NO, FLOWER },
    { CAP_MATCH_VHOST, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_SYSTEM, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT, SUPPORT_YES, MIRRED },
    { CAP_OUTPUTS, SUPPORT_UNKNOWN, NULL },
    { CAP_OUTPUT_BACK, SUPPORT_NO, MIRRED },
    { CAP_OUTPUT_PORT, SUPPORT_UNKNOWN, NULL },
    { CAP_DROP, SUPPORT_YES, FDB },
    { CAP_CHAIN, SUPPORT_YES, FDB },
    { CAP_CT, SUPPORT_YES, CT_ACT },
    { CAP_CT_COMMIT, SUPPORT_UNKNOWN, NULL },
    { CAP_CT_TCP_UDP, SUPPORT_YES, CT_TUPLE },
    { CAP_CT_OTHER, SUPPORT_NO, CT_TUPLE },
    { CAP_SET_MAC, SUPPORT_YES, PEDIT },
    { CAP_SET_TTL4, SUPPORT_YES, PEDIT },
    { CAP_SET_TTL6, SUPPORT_YES, PEDIT },
    { CAP_SET_DSCP4, SUPPORT_YES, PEDIT },
    { CAP_SET_DSCP6, SUPPORT_YES, PEDIT },
    { CAP_SET_ICMP6, SUPPORT_NO, CSUM },
    { CAP_SET_PROTOCOL, SUPPORT_NO, REWRITE },
    { CAP_SET_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_METER, SUPPORT_YES, POLICE },
    { CAP_METER_PACKETS, SUPPORT_YES, POLICE },
    { CAP_METER_DROP, SUPPORT_UNKNOWN, NULL },
    { CAP_METERS, SUPPORT_YES, ROUNDS },
    { CAP_METER_BURSTS, SUPPORT_NO, POLICE },
    { CAP_ENCAP_VXLAN, SUPPORT_YES, FDB },
    { CAP_ENCAP_GENEVE, SUPPORT_YES, FDB },
    { CAP_DECAP, SUPPORT_YES, FDB },
    { CAP_SET_PRIORITY, SUPPORT_NO, FDB },
    { CAP_CLONE, SUPPORT_UNKNOWN, NULL },
    { CAP_MARK, SUPPORT_UNKNOWN, NULL },
    { CAP_ACTION_OTHER, SUPPORT_UNKNOWN, NULL },
};

static const struct quota_fact quotas[] = {
    { QUOTA_FLOWS, 16777216,
      MLX5 "fs_ft_pool.c, FT_SIZE: of each size of table" },
};

const struct layer layer_mlx5 = {
    .name = "the driver mlx5",
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
    .quotas = quotas,
    .n_quotas = ARRAY_SIZE(quotas),
};
