/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/tc-batch.h"

#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "offload/walk.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Each function appends what it knows of a match, and takes it out of the
 * mask: what is left in the end has not been said. */

/* " NAME VALUE", in decimal, with the mask if that is not all ones. */
static void
put_number(struct ds *ds, const char *name, uint32_t value, uint32_t mask,
           uint32_t all)
{
    if (mask == all) {
        ds_put_format(ds, " %s %"PRIu32, name, value);
    } else if (mask) {
        ds_put_format(ds, " %s %#"PRIx32"/%#"PRIx32, name, value & mask, mask);
    }
}

static void
put_port(struct ds *ds, const char *name, ovs_be16 value, ovs_be16 *mask)
{
    put_number(ds, name, ntohs(value), ntohs(*mask), UINT16_MAX);
    *mask = 0;
}

/* flower_parse_u8() of iproute2 takes no hexadecimal, not in masks either. */
static void
put_octet(struct ds *ds, const char *name, uint8_t value, uint8_t mask)
{
    if (mask) {
        ds_put_format(ds, " %s %u", name, value & mask);
        if (mask != UINT8_MAX) {
            ds_put_format(ds, "/%u", mask);
        }
    }
}

static void
put_byte(struct ds *ds, const char *name, uint8_t value, uint8_t *mask)
{
    put_octet(ds, name, value, *mask);
    *mask = 0;
}

static void
put_mac(struct ds *ds, const char *name, struct eth_addr value,
        struct eth_addr *mask)
{
    if (!eth_addr_is_zero(*mask)) {
        ds_put_format(ds, " %s ", name);
        eth_format_masked(value, eth_mask_is_exact(*mask) ? NULL : mask, ds);
        *mask = eth_addr_zero;
    }
}

static void
put_ip4(struct ds *ds, const char *name, ovs_be32 value, ovs_be32 *mask)
{
    if (*mask) {
        ds_put_format(ds, " %s ", name);
        ip_format_masked(value & *mask, *mask, ds);
        *mask = 0;
    }
}

static void
put_ip6(struct ds *ds, const char *name, const struct in6_addr *value,
        struct in6_addr *mask)
{
    if (!ipv6_mask_is_any(mask)) {
        struct in6_addr ip = ipv6_addr_bitand(value, mask);

        ds_put_format(ds, " %s ", name);
        ipv6_format_masked(&ip, mask, ds);
        memset(mask, 0, sizeof *mask);
    }
}

/* Open vSwitch always asks for the UDP port, although the device gives it
 * away, as it does what flags there are. */
static void
put_tunnel(const struct flow *key, struct flow *mask, uint16_t port,
           struct ds *ds)
{
    const struct flow_tnl *t = &key->tunnel;

    if (!flow_tnl_dst_is_set(t)) {
        return;
    }
    ds_put_format(ds, " enc_key_id %"PRIu64, ntohll(t->tun_id));
    put_ip4(ds, "enc_src_ip", t->ip_src, &mask->tunnel.ip_src);
    put_ip4(ds, "enc_dst_ip", t->ip_dst, &mask->tunnel.ip_dst);
    put_ip6(ds, "enc_src_ip", &t->ipv6_src, &mask->tunnel.ipv6_src);
    put_ip6(ds, "enc_dst_ip", &t->ipv6_dst, &mask->tunnel.ipv6_dst);
    put_byte(ds, "enc_tos", t->ip_tos, &mask->tunnel.ip_tos);
    ds_put_format(ds, " enc_dst_port %u", port);
    mask->tunnel.tun_id = 0;
    mask->tunnel.flags = 0;
}

static void
put_conntrack(const struct flow *key, struct flow *mask, struct ds *ds)
{
    static const struct {
        uint8_t bit;
        const char *name;
    } states[] = {
        { CS_TRACKED, "trk" }, { CS_NEW, "new" }, { CS_ESTABLISHED, "est" },
        { CS_RELATED, "rel" }, { CS_REPLY_DIR, "rpl" }, { CS_INVALID, "inv" },
    };
    const char *begin = " ct_state ";

    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        if (mask->ct_state & states[i].bit) {
            ds_put_format(ds, "%s%c%s", begin,
                          key->ct_state & states[i].bit ? '+' : '-',
                          states[i].name);
            begin = "";
            mask->ct_state &= ~states[i].bit;
        }
    }
    put_number(ds, "ct_zone", key->ct_zone, mask->ct_zone, UINT16_MAX);
    put_number(ds, "ct_mark", key->ct_mark, mask->ct_mark, UINT32_MAX);
    mask->ct_zone = 0;
    mask->ct_mark = 0;
}

/* tc knows ports, types and codes of protocols that stand before them only. */
static void
put_transport(const struct flow *key, struct flow *mask, struct ds *ds)
{
    ovs_be16 flags = mask->tcp_flags & htons(0x0fff);

    switch (key->nw_proto) {
    case IPPROTO_TCP:
        if (flags) {
            ds_put_format(ds, " tcp_flags %#x/%#x",
                          ntohs(key->tcp_flags & flags), ntohs(flags));
            mask->tcp_flags = 0;
        }
        /* Fall through. */
    case IPPROTO_UDP:
        put_port(ds, "src_port", key->tp_src, &mask->tp_src);
        put_port(ds, "dst_port", key->tp_dst, &mask->tp_dst);
        break;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        put_octet(ds, "type", ntohs(key->tp_src), ntohs(mask->tp_src));
        put_octet(ds, "code", ntohs(key->tp_dst), ntohs(mask->tp_dst));
        mask->tp_src = mask->tp_dst = 0;
        break;
    }
}

static void
put_protocol(uint8_t protocol, uint8_t *mask, struct ds *ds)
{
    static const struct {
        uint8_t number;
        const char *name;
    } known[] = {
        { IPPROTO_TCP, "tcp" }, { IPPROTO_UDP, "udp" },
        { IPPROTO_ICMP, "icmp" }, { IPPROTO_ICMPV6, "icmpv6" },
    };

    if (*mask != UINT8_MAX) {
        return;
    }
    *mask = 0;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (known[i].number == protocol) {
            ds_put_format(ds, " ip_proto %s", known[i].name);
            return;
        }
    }
    /* tc takes it as hexadecimal. */
    ds_put_format(ds, " ip_proto %x", protocol);
}

static void
put_ip(const struct flow *key, struct flow *mask, struct ds *ds)
{
    put_protocol(key->nw_proto, &mask->nw_proto, ds);
    if (mask->nw_tos) {
        ds_put_format(ds, " ip_tos %#x/%#x", key->nw_tos & mask->nw_tos,
                      mask->nw_tos);
        mask->nw_tos = 0;
    }
    put_byte(ds, "ip_ttl", key->nw_ttl, &mask->nw_ttl);
    if (mask->nw_frag) {
        ds_put_format(ds, " ip_flags %s",
                      !(key->nw_frag & FLOW_NW_FRAG_ANY) ? "nofrag"
                      : key->nw_frag & FLOW_NW_FRAG_LATER ? "frag/nofirstfrag"
                      : "frag/firstfrag");
        mask->nw_frag = 0;
    }
    if (key->dl_type == htons(ETH_TYPE_IP)) {
        put_ip4(ds, "src_ip", key->nw_src, &mask->nw_src);
        put_ip4(ds, "dst_ip", key->nw_dst, &mask->nw_dst);
    } else {
        put_ip6(ds, "src_ip", &key->ipv6_src, &mask->ipv6_src);
        put_ip6(ds, "dst_ip", &key->ipv6_dst, &mask->ipv6_dst);
    }
    put_transport(key, mask, ds);
}

static void
put_arp(const struct flow *key, struct flow *mask, struct ds *ds)
{
    put_ip4(ds, "arp_sip", key->nw_src, &mask->nw_src);
    put_ip4(ds, "arp_tip", key->nw_dst, &mask->nw_dst);
    put_byte(ds, "arp_op", key->nw_proto, &mask->nw_proto);
    put_mac(ds, "arp_sha", key->arp_sha, &mask->arp_sha);
    put_mac(ds, "arp_tha", key->arp_tha, &mask->arp_tha);
}

bool
tc_put_match(const struct megaflow *megaflow, uint16_t tunnel_port,
             struct ds *ds)
{
    const struct flow *key = &megaflow->key;
    struct flow mask = megaflow->wc.masks;
    bool ip4 = key->dl_type == htons(ETH_TYPE_IP);
    bool ip6 = key->dl_type == htons(ETH_TYPE_IPV6);
    bool arp = key->dl_type == htons(ETH_TYPE_ARP);

    /* get_prio_for_tc_flower(): one for a protocol; those of IP are fixed. */
    ds_put_format(ds, " protocol %s prio %d flower",
                  ip4 ? "ip" : ip6 ? "ipv6" : arp ? "arp" : "all",
                  ip4 ? 2 : ip6 ? 3 : 4);
    memset(&mask.in_port, 0, sizeof mask.in_port);
    mask.recirc_id = 0;
    mask.packet_type = 0;
    mask.dl_type = 0;
    put_tunnel(key, &mask, tunnel_port, ds);
    put_mac(ds, "src_mac", key->dl_src, &mask.dl_src);
    put_mac(ds, "dst_mac", key->dl_dst, &mask.dl_dst);
    put_conntrack(key, &mask, ds);
    if (ip4 || ip6) {
        put_ip(key, &mask, ds);
    } else if (arp) {
        put_arp(key, &mask, ds);
    }
    return (ip4 || ip6 || arp) && is_all_zeros(&mask, sizeof mask);
}
