/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/wildcards.h"

#include <string.h>

#include "flow.h"
#include "packets.h"
#include "util.h"

void
wildcards_init(struct flow_wildcards *wc, const struct flow *flow)
{
    flow_wildcards_init_catchall(wc);
    WC_MASK_FIELD(wc, packet_type);
    WC_MASK_FIELD(wc, in_port);
    WC_MASK_FIELD(wc, dl_type);
    WC_MASK_FIELD(wc, recirc_id);
    if (is_ip_any(flow)) {
        WC_MASK_FIELD_MASK(wc, nw_frag, FLOW_NW_FRAG_MASK);
    }
    if (flow_tnl_dst_is_set(&flow->tunnel)) {
        wc->masks.tunnel.tun_id = OVS_BE64_MAX;
        if (flow->tunnel.ip_dst) {
            wc->masks.tunnel.ip_src = wc->masks.tunnel.ip_dst = OVS_BE32_MAX;
        } else {
            wc->masks.tunnel.ipv6_src = wc->masks.tunnel.ipv6_dst
                = in6addr_exact;
        }
        wc->masks.tunnel.flags = (FLOW_TNL_F_DONT_FRAGMENT | FLOW_TNL_F_CSUM
                                  | FLOW_TNL_F_KEY);
        wc->masks.tunnel.ip_tos = UINT8_MAX;
    }
}

void
wildcards_finish(struct flow_wildcards *wc, const struct flow *flow)
{
    flow_wildcards_clear_non_packet_fields(wc);
    if (is_icmpv4(flow, NULL) || is_icmpv6(flow, NULL)) {
        wc->masks.tp_src &= htons(UINT8_MAX);
        wc->masks.tp_dst &= htons(UINT8_MAX);
    }
    if (flow->nw_frag & FLOW_NW_FRAG_LATER) {
        wc->masks.tp_src = wc->masks.tp_dst = 0;
    }
    if (!eth_type_vlan(flow->vlans[0].tpid)) {
        memset(wc->masks.vlans, 0, sizeof wc->masks.vlans);
    }
    if (!flow_tnl_dst_is_set(&flow->tunnel)) {
        memset(&wc->masks.tunnel, 0, sizeof wc->masks.tunnel);
    }
}
