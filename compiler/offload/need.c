/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/need.h"

#include <string.h>

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "offload/walk.h"
#include "packets.h"
#include "plan/dpdk.h"
#include "plan/plan.h"
#include "util.h"

#define NEED(CAP) (UINT64_C(1) << CAP_##CAP)

/* If any bit of a field of the mask is set: takes it away, and is true. */
#define TAKE(MASK, FIELD)                                               \
    take(&(MASK)->FIELD, sizeof (MASK)->FIELD)

static bool
take(void *field, size_t size)
{
    bool any = !is_all_zeros(field, size);

    memset(field, 0, size);
    return any;
}

static cap_set
need_tunnel(const struct flow *key, struct flow *mask)
{
    if (!flow_tnl_dst_is_set(&key->tunnel)) {
        return 0;
    }
    memset(&mask->tunnel, 0, sizeof mask->tunnel);
    return key->tunnel.ip_dst ? NEED(MATCH_TUNNEL4) : NEED(MATCH_TUNNEL6);
}

static cap_set
need_transport(const struct flow *key, struct flow *mask)
{
    cap_set needs = 0;

    switch (key->nw_proto) {
    case IPPROTO_TCP:
        needs |= TAKE(mask, tcp_flags) ? NEED(MATCH_TCP_FLAGS) : 0;
        /* Fall through. */
    case IPPROTO_UDP:
        needs |= TAKE(mask, tp_src) ? NEED(MATCH_PORTS) : 0;
        needs |= TAKE(mask, tp_dst) ? NEED(MATCH_PORTS) : 0;
        break;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        needs |= TAKE(mask, tp_src) ? NEED(MATCH_ICMP) : 0;
        needs |= TAKE(mask, tp_dst) ? NEED(MATCH_ICMP) : 0;
        break;
    }
    if (key->nw_proto == IPPROTO_ICMPV6) {
        needs |= TAKE(mask, nd_target) ? NEED(MATCH_ND) : 0;
        needs |= TAKE(mask, arp_sha) ? NEED(MATCH_ND) : 0;
        needs |= TAKE(mask, arp_tha) ? NEED(MATCH_ND) : 0;
    }
    return needs;
}

static cap_set
need_ip(const struct flow *key, struct flow *mask)
{
    cap_set needs = 0;

    needs |= TAKE(mask, nw_proto) ? NEED(MATCH_PROTOCOL) : 0;
    needs |= TAKE(mask, nw_tos) ? NEED(MATCH_TOS) : 0;
    needs |= TAKE(mask, nw_ttl) ? NEED(MATCH_TTL) : 0;
    if (TAKE(mask, nw_frag)) {
        needs |= (key->nw_frag & FLOW_NW_FRAG_ANY ? NEED(MATCH_FRAGMENT)
                  : NEED(MATCH_WHOLE));
    }
    needs |= need_transport(key, mask);
    if (key->dl_type == htons(ETH_TYPE_IP)) {
        needs |= TAKE(mask, nw_src) ? NEED(MATCH_IP4) : 0;
        needs |= TAKE(mask, nw_dst) ? NEED(MATCH_IP4) : 0;
    } else {
        needs |= TAKE(mask, ipv6_src) ? NEED(MATCH_IP6) : 0;
        needs |= TAKE(mask, ipv6_dst) ? NEED(MATCH_IP6) : 0;
    }
    return needs;
}

static cap_set
need_arp(struct flow *mask)
{
    cap_set needs = 0;

    needs |= TAKE(mask, nw_src) ? NEED(MATCH_ARP) : 0;
    needs |= TAKE(mask, nw_dst) ? NEED(MATCH_ARP) : 0;
    needs |= TAKE(mask, nw_proto) ? NEED(MATCH_ARP) : 0;
    needs |= TAKE(mask, arp_sha) ? NEED(MATCH_ARP) : 0;
    needs |= TAKE(mask, arp_tha) ? NEED(MATCH_ARP) : 0;
    return needs;
}

static cap_set
need_conntrack(const struct flow *key, struct flow *mask)
{
    uint8_t on = key->ct_state & mask->ct_state;
    cap_set needs = 0;

    needs |= TAKE(mask, ct_state) ? NEED(MATCH_CT_STATE) : 0;
    needs |= on & CS_NEW ? NEED(MATCH_CT_NEW) : 0;
    needs |= on & CS_RELATED ? NEED(MATCH_CT_RELATED) : 0;
    needs |= on & CS_INVALID ? NEED(MATCH_CT_INVALID) : 0;
    needs |= TAKE(mask, ct_zone) ? NEED(MATCH_CT_ZONE) : 0;
    needs |= TAKE(mask, ct_mark) ? NEED(MATCH_CT_MARK) : 0;
    needs |= TAKE(mask, ct_nw_proto) ? NEED(MATCH_CT_TUPLE) : 0;
    needs |= TAKE(mask, ct_tp_src) ? NEED(MATCH_CT_TUPLE) : 0;
    needs |= TAKE(mask, ct_tp_dst) ? NEED(MATCH_CT_TUPLE) : 0;
    needs |= TAKE(mask, ct_nw_src) ? NEED(MATCH_CT_TUPLE) : 0;
    needs |= TAKE(mask, ct_nw_dst) ? NEED(MATCH_CT_TUPLE) : 0;
    needs |= TAKE(mask, ct_ipv6_src) ? NEED(MATCH_CT_TUPLE) : 0;
    needs |= TAKE(mask, ct_ipv6_dst) ? NEED(MATCH_CT_TUPLE) : 0;
    return needs;
}

/* What DPDK makes of a port; NULL: it is the system's.  Without DPDK the
 * intent says nothing of ports: all are taken to be of a NIC, and so is the
 * one for tunnels. */
static bool
find_port(const struct plan *plan, uint32_t port,
          const struct plan_dpdk_port **found)
{
    const struct plan_dpdk *dpdk = plan->dpdk;

    *found = NULL;
    if (!dpdk || !port || port > plan->ports.n) {
        return false;
    }
    for (size_t i = 0; i < dpdk->ports.n; i++) {
        if (!strcmp(dpdk->ports.v[i].interface,
                    plan->ports.v[port - 1].interface)) {
            *found = &dpdk->ports.v[i];
        }
    }
    return true;
}

static cap_set
need_port(const struct plan *plan, uint32_t port)
{
    const struct plan_dpdk_port *found;

    return (!find_port(plan, port, &found) ? 0
            : !found ? NEED(MATCH_SYSTEM)
            : found->socket ? NEED(MATCH_VHOST) : 0);
}

static cap_set
match_needs(const struct megaflow *megaflow, const struct plan *plan)
{
    const struct flow *key = &megaflow->key;
    struct flow mask = megaflow->wc.masks;
    cap_set needs = NEED(MATCH_ETH);

    needs |= need_port(plan, ofp_to_u16(key->in_port.ofp_port));
    /* The filter's device, chain and protocol. */
    memset(&mask.in_port, 0, sizeof mask.in_port);
    mask.recirc_id = 0;
    mask.packet_type = 0;
    mask.dl_type = 0;
    memset(&mask.dl_src, 0, sizeof mask.dl_src);
    memset(&mask.dl_dst, 0, sizeof mask.dl_dst);
    needs |= need_tunnel(key, &mask);
    needs |= TAKE(&mask, vlans) ? NEED(MATCH_VLAN) : 0;
    needs |= need_conntrack(key, &mask);
    if (is_ip_any(key)) {
        needs |= need_ip(key, &mask);
    } else if (key->dl_type == htons(ETH_TYPE_ARP)) {
        needs |= need_arp(&mask);
    }
    needs |= TAKE(&mask, pkt_mark) ? NEED(MATCH_MARK) : 0;
    needs |= TAKE(&mask, skb_priority) ? NEED(MATCH_PRIORITY) : 0;
    return needs | (is_all_zeros(&mask, sizeof mask) ? 0
                    : NEED(MATCH_OTHER));
}

/* What setting fields of IPv4 takes; 'mask' says which. */
static cap_set
set_ip4_needs(struct ovs_key_ipv4 mask)
{
    cap_set needs = 0;

    needs |= TAKE(&mask, ipv4_ttl) ? NEED(SET_TTL4) : 0;
    needs |= TAKE(&mask, ipv4_tos) ? NEED(SET_DSCP4) : 0;
    return needs | (is_all_zeros(&mask, sizeof mask) ? 0 : NEED(SET_OTHER));
}

static cap_set
set_ip6_needs(struct ovs_key_ipv6 mask)
{
    cap_set needs = 0;

    needs |= TAKE(&mask, ipv6_hlimit) ? NEED(SET_TTL6) : 0;
    needs |= TAKE(&mask, ipv6_tclass) ? NEED(SET_DSCP6) : 0;
    return needs | (is_all_zeros(&mask, sizeof mask) ? 0 : NEED(SET_OTHER));
}

/* What setting such fields takes of a packet's protocol: its checksum has to
 * be known. */
static cap_set
set_protocol_needs(const struct flow *key)
{
    switch (key->nw_proto) {
    case IPPROTO_TCP:
    case IPPROTO_UDP:
    case IPPROTO_ICMP:
        return 0;
    case IPPROTO_ICMPV6:
        return NEED(SET_ICMP6);
    default:
        return NEED(SET_PROTOCOL);
    }
}

/* 'a' is OVS_ACTION_ATTR_SET or OVS_ACTION_ATTR_SET_MASKED, which has the mask
 * behind the value. */
static cap_set
set_needs(const struct nlattr *a, const struct flow *key,
          const struct plan *plan)
{
    const struct nlattr *field = nl_attr_get(a);
    bool masked = nl_attr_type(a) == OVS_ACTION_ATTR_SET_MASKED;
    size_t size = nl_attr_get_size(field) / (masked ? 2 : 1);
    const void *mask = (const char *) nl_attr_get(field) + size;

    switch (nl_attr_type(field)) {
    case OVS_KEY_ATTR_ETHERNET:
        return NEED(SET_MAC);
    case OVS_KEY_ATTR_IPV4:
        return (masked ? set_ip4_needs(*(const struct ovs_key_ipv4 *) mask)
                         | set_protocol_needs(key) : NEED(SET_OTHER));
    case OVS_KEY_ATTR_IPV6:
        return (masked ? set_ip6_needs(*(const struct ovs_key_ipv6 *) mask)
                         | set_protocol_needs(key) : NEED(SET_OTHER));
    case OVS_KEY_ATTR_PRIORITY:
        return NEED(SET_PRIORITY);
    case OVS_KEY_ATTR_TUNNEL:
        return (plan->tunnel.type && !strcmp(plan->tunnel.type, "geneve")
                ? NEED(ENCAP_GENEVE) : NEED(ENCAP_VXLAN));
    default:
        return NEED(SET_OTHER);
    }
}

static cap_set
meter_needs(uint32_t id, const struct plan *plan)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *meter = &plan->meters.v[i];

        if (meter->id == id) {
            return (meter->packets ? NEED(METER_PACKETS)
                    : meter->microburst ? NEED(METER_BURSTS) : NEED(METER));
        }
    }
    return NEED(ACTION_OTHER);
}

static cap_set
ct_needs(const struct nlattr *a, const struct flow *key)
{
    const struct nlattr *ct;
    cap_set needs = NEED(CT);
    size_t left;

    needs |= (key->nw_proto == IPPROTO_TCP || key->nw_proto == IPPROTO_UDP
              ? NEED(CT_TCP_UDP) : NEED(CT_OTHER));
    NL_NESTED_FOR_EACH (ct, left, a) {
        if (nl_attr_type(ct) == OVS_CT_ATTR_COMMIT) {
            needs |= NEED(CT_COMMIT);
        }
    }
    return needs;
}

static cap_set
output_needs(uint32_t port, const struct megaflow *megaflow,
             const struct plan *plan)
{
    return ((port == ofp_to_u16(megaflow->key.in_port.ofp_port)
             ? NEED(OUTPUT_BACK) : NEED(OUTPUT))
            | (need_port(plan, port) ? NEED(OUTPUT_PORT) : 0));
}

/* Counts of what one filter may not have several of. */
struct counts {
    size_t outputs, meters;
};

static cap_set
action_needs(const struct nlattr *a, const struct megaflow *megaflow,
             const struct plan *plan, struct counts *counts)
{
    switch (nl_attr_type(a)) {
    case OVS_ACTION_ATTR_OUTPUT:
        counts->outputs++;
        return output_needs(odp_to_u32(nl_attr_get_odp_port(a)), megaflow,
                            plan);
    case OVS_ACTION_ATTR_SET:
    case OVS_ACTION_ATTR_SET_MASKED:
        return set_needs(a, &megaflow->key, plan);
    case OVS_ACTION_ATTR_METER:
        counts->meters++;
        return meter_needs(nl_attr_get_u32(a), plan);
    case OVS_ACTION_ATTR_CT:
        return ct_needs(a, &megaflow->key);
    case OVS_ACTION_ATTR_RECIRC:
        counts->outputs++;
        return NEED(CHAIN);
    case OVS_ACTION_ATTR_CLONE:
        counts->outputs++;
        return NEED(CLONE);
    default:
        return NEED(ACTION_OTHER);
    }
}

cap_set
megaflow_needs(const struct megaflow *megaflow, const struct plan *plan)
{
    cap_set needs = match_needs(megaflow, plan);
    struct counts counts = { 0, 0 };
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, megaflow->actions, megaflow->actions_len) {
        needs |= action_needs(a, megaflow, plan, &counts);
    }
    needs |= megaflow->chain ? NEED(CHAIN) : 0;
    needs |= counts.outputs ? 0 : NEED(DROP);
    needs |= counts.outputs > 1 ? NEED(OUTPUTS) : 0;
    needs |= counts.meters && !counts.outputs ? NEED(METER_DROP) : 0;
    needs |= counts.meters > 1 ? NEED(METERS) : 0;
    needs |= (!megaflow->chain && flow_tnl_dst_is_set(&megaflow->key.tunnel)
              ? NEED(DECAP) : 0);
    return needs;
}
