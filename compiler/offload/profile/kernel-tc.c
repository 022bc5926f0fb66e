/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/profile.h"

#include "util.h"

/* What tc-flower and its actions do in software, in a kernel that has them. */

#define FLOWER "Linux 6.1: net/sched/cls_flower.c, fl_set_key()"
#define FLOWER_CT "Linux 6.1: net/sched/cls_flower.c, fl_set_key_ct()"
#define MIRRED "Linux 6.1: net/sched/act_mirred.c, tcf_mirred_act()"
#define GACT "Linux 6.1: net/sched/act_gact.c, tcf_gact_act()"
#define CT_ACT "Linux 6.1: net/sched/act_ct.c, tcf_ct_act()"
#define PEDIT "Linux 6.1: net/sched/act_pedit.c, tcf_pedit_act()"
#define CSUM "Linux 6.1: net/sched/act_csum.c, tcf_csum_ipv6()"
#define POLICE "Linux 6.1: net/sched/act_police.c, tcf_police_act()"
#define TUNNEL "Linux 6.1: net/sched/act_tunnel_key.c, tunnel_key_act()"
#define SKBEDIT "Linux 6.1: net/sched/act_skbedit.c, tcf_skbedit_act()"

static const struct cap_fact facts[] = {
    { CAP_MATCH_ETH, SUPPORT_YES, FLOWER },
    { CAP_MATCH_VLAN, SUPPORT_YES, FLOWER },
    { CAP_MATCH_ARP, SUPPORT_YES, FLOWER },
    { CAP_MATCH_PROTOCOL, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TOS, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TTL, SUPPORT_YES, FLOWER },
    { CAP_MATCH_WHOLE, SUPPORT_YES, FLOWER },
    { CAP_MATCH_FRAGMENT, SUPPORT_YES, FLOWER },
    { CAP_MATCH_IP4, SUPPORT_YES, FLOWER },
    { CAP_MATCH_IP6, SUPPORT_YES, FLOWER },
    { CAP_MATCH_PORTS, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TCP_FLAGS, SUPPORT_YES, FLOWER },
    { CAP_MATCH_ICMP, SUPPORT_YES, FLOWER },
    { CAP_MATCH_ND, SUPPORT_NO, FLOWER },
    { CAP_MATCH_TUNNEL4, SUPPORT_YES, FLOWER },
    { CAP_MATCH_TUNNEL6, SUPPORT_YES, FLOWER },
    { CAP_MATCH_CT_STATE, SUPPORT_YES, FLOWER_CT },
    { CAP_MATCH_CT_NEW, SUPPORT_YES, FLOWER_CT },
    { CAP_MATCH_CT_RELATED, SUPPORT_YES, FLOWER_CT },
    { CAP_MATCH_CT_INVALID, SUPPORT_YES, FLOWER_CT },
    { CAP_MATCH_CT_ZONE, SUPPORT_YES, FLOWER_CT },
    { CAP_MATCH_CT_MARK, SUPPORT_YES, FLOWER_CT },
    { CAP_MATCH_CT_TUPLE, SUPPORT_NO, FLOWER_CT },
    { CAP_MATCH_MARK, SUPPORT_NO, FLOWER },
    { CAP_MATCH_PRIORITY, SUPPORT_NO, FLOWER },
    { CAP_MATCH_VHOST, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_SYSTEM, SUPPORT_UNKNOWN, NULL },
    { CAP_MATCH_OTHER, SUPPORT_NO, FLOWER },
    { CAP_OUTPUT, SUPPORT_YES, MIRRED },
    { CAP_OUTPUTS, SUPPORT_YES, MIRRED },
    { CAP_OUTPUT_BACK, SUPPORT_YES, MIRRED },
    { CAP_OUTPUT_PORT, SUPPORT_UNKNOWN, NULL },
    { CAP_DROP, SUPPORT_YES, GACT },
    { CAP_CHAIN, SUPPORT_YES, GACT },
    { CAP_CT, SUPPORT_YES, CT_ACT },
    { CAP_CT_COMMIT, SUPPORT_YES, CT_ACT },
    { CAP_CT_TCP_UDP, SUPPORT_YES, CT_ACT },
    { CAP_CT_OTHER, SUPPORT_YES, CT_ACT },
    { CAP_SET_MAC, SUPPORT_YES, PEDIT },
    { CAP_SET_TTL4, SUPPORT_YES, PEDIT },
    { CAP_SET_TTL6, SUPPORT_YES, PEDIT },
    { CAP_SET_DSCP4, SUPPORT_YES, PEDIT },
    { CAP_SET_DSCP6, SUPPORT_YES, PEDIT },
    { CAP_SET_ICMP6, SUPPORT_YES, CSUM },
    { CAP_SET_PROTOCOL, SUPPORT_YES, PEDIT },
    { CAP_SET_OTHER, SUPPORT_UNKNOWN, NULL },
    { CAP_METER, SUPPORT_YES, POLICE },
    { CAP_METER_PACKETS, SUPPORT_YES, POLICE },
    { CAP_METER_DROP, SUPPORT_NO, POLICE },
    { CAP_METERS, SUPPORT_YES, POLICE },
    { CAP_METER_BURSTS, SUPPORT_NO, POLICE },
    { CAP_ENCAP_VXLAN, SUPPORT_YES, TUNNEL },
    { CAP_ENCAP_GENEVE, SUPPORT_YES, TUNNEL },
    { CAP_DECAP, SUPPORT_YES, TUNNEL },
    { CAP_SET_PRIORITY, SUPPORT_YES, SKBEDIT },
    { CAP_CLONE, SUPPORT_UNKNOWN, NULL },
    { CAP_MARK, SUPPORT_UNKNOWN, NULL },
    { CAP_ACTION_OTHER, SUPPORT_UNKNOWN, NULL },
};

const struct layer layer_tc = {
    .name = "tc-flower",
    .facts = facts,
    .n_facts = ARRAY_SIZE(facts),
};

/* As Debian builds its kernels: packets cannot go from tc back to Open vSwitch
 * with the chain that they have reached, so Open vSwitch keeps all that is
 * tracked to itself. */
static const struct cap_fact debian_facts[] = {
    { CAP_CHAIN, SUPPORT_NO,
      "Linux 6.1: net/sched/Kconfig, NET_TC_SKB_EXT, which Debian 12 leaves "
      "out (/boot/config-*), and Open vSwitch 3.1: lib/netdev-offload-tc.c, "
      "netdev_tc_flow_put(), which wants it (recirc_id_shared_with_tc)" },
};

static const struct layer layer_debian = {
    .name = "the kernel of Debian 12",
    .base = &layer_tc,
    .facts = debian_facts,
    .n_facts = ARRAY_SIZE(debian_facts),
};

const struct profile profile_kernel_tc = {
    .name = "kernel-tc",
    .title = "stock Linux, tc-flower without a NIC that offloads",
    .target = "asap2",
    .layers = { &layer_ovs, &layer_debian },
};

const struct profile profile_kernel_tc_ext = {
    .name = "kernel-tc-ext",
    .title = "Linux with NET_TC_SKB_EXT, tc-flower without a NIC that "
             "offloads",
    .target = "asap2",
    .layers = { &layer_ovs, &layer_tc },
};
