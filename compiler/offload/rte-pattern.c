/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/rte-flow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "flow.h"
#include "offload/walk.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* RTE_IPV4_HDR_OFFSET_MASK and RTE_IPV4_HDR_MF_FLAG. */
enum { FRAGMENT_BITS = 0x3fff };

/* Each function appends what it knows of a match, and takes it out of the
 * mask: what is left in the end has not been said. */

/* "NAME is VALUE ", or with a mask "NAME spec VALUE NAME mask MASK ". */
static void
put_field(struct ds *ds, const char *name, const char *value,
          const char *mask)
{
    if (mask) {
        ds_put_format(ds, "%s spec %s %s mask %s ", name, value, name, mask);
    } else {
        ds_put_format(ds, "%s is %s ", name, value);
    }
}

/* 'size' bytes, in hexadecimal or in decimal. */
static void
put_number(struct ds *ds, const char *name, uint16_t value, uint16_t mask,
           size_t size, bool hex)
{
    char v[8], m[8];

    if (mask) {
        snprintf(v, sizeof v, hex ? "%#x" : "%u", value & mask);
        snprintf(m, sizeof m, hex ? "%#x" : "%u", mask);
        put_field(ds, name, v, mask == (size == 1 ? UINT8_MAX : UINT16_MAX)
                  ? NULL : m);
    }
}

static void
put_byte(struct ds *ds, const char *name, uint8_t value, uint8_t *mask)
{
    put_number(ds, name, value, *mask, 1, true);
    *mask = 0;
}

static void
put_port(struct ds *ds, const char *name, ovs_be16 value, ovs_be16 *mask)
{
    put_number(ds, name, ntohs(value), ntohs(*mask), 2, false);
    *mask = 0;
}

static void
put_mac(struct ds *ds, const char *name, struct eth_addr value,
        struct eth_addr *mask)
{
    char v[ETH_ADDR_STRLEN + 1], m[ETH_ADDR_STRLEN + 1];

    if (!eth_addr_is_zero(*mask)) {
        for (size_t i = 0; i < ARRAY_SIZE(value.ea); i++) {
            value.ea[i] &= mask->ea[i];
        }
        snprintf(v, sizeof v, ETH_ADDR_FMT, ETH_ADDR_ARGS(value));
        snprintf(m, sizeof m, ETH_ADDR_FMT, ETH_ADDR_ARGS(*mask));
        put_field(ds, name, v, eth_mask_is_exact(*mask) ? NULL : m);
        *mask = eth_addr_zero;
    }
}

static void
put_ip4(struct ds *ds, const char *name, ovs_be32 value, ovs_be32 *mask)
{
    char v[INET_ADDRSTRLEN], m[INET_ADDRSTRLEN];

    if (*mask) {
        snprintf(v, sizeof v, IP_FMT, IP_ARGS(value & *mask));
        snprintf(m, sizeof m, IP_FMT, IP_ARGS(*mask));
        put_field(ds, name, v, *mask == OVS_BE32_MAX ? NULL : m);
        *mask = 0;
    }
}

static void
put_ip6(struct ds *ds, const char *name, const struct in6_addr *value,
        struct in6_addr *mask)
{
    char v[INET6_ADDRSTRLEN], m[INET6_ADDRSTRLEN];

    if (!ipv6_mask_is_any(mask)) {
        struct in6_addr masked = ipv6_addr_bitand(value, mask);

        inet_ntop(AF_INET6, &masked, v, sizeof v);
        inet_ntop(AF_INET6, mask, m, sizeof m);
        put_field(ds, name, v, ipv6_mask_is_exact(mask) ? NULL : m);
        *mask = in6addr_any;
    }
}

/* A packet without a tag is known by the type; none has one here. */
static void
put_eth(const struct flow *key, struct flow *mask, struct ds *ds)
{
    ds_put_cstr(ds, "eth ");
    put_mac(ds, "src", key->dl_src, &mask->dl_src);
    put_mac(ds, "dst", key->dl_dst, &mask->dl_dst);
    ds_put_format(ds, "type is 0x%04"PRIx16" has_vlan is 0 / ",
                  ntohs(key->dl_type));
    mask->dl_type = 0;
    if (!key->vlans[0].tci) {
        memset(&mask->vlans[0], 0, sizeof mask->vlans[0]);
    }
}

static void
put_ipv4(const struct flow *key, struct flow *mask, struct ds *ds)
{
    ds_put_cstr(ds, "ipv4 ");
    put_ip4(ds, "src", key->nw_src, &mask->nw_src);
    put_ip4(ds, "dst", key->nw_dst, &mask->nw_dst);
    put_byte(ds, "proto", key->nw_proto, &mask->nw_proto);
    put_byte(ds, "tos", key->nw_tos, &mask->nw_tos);
    put_byte(ds, "ttl", key->nw_ttl, &mask->nw_ttl);
    if (mask->nw_frag & FLOW_NW_FRAG_ANY && !key->nw_frag) {
        put_number(ds, "fragment_offset", 0, FRAGMENT_BITS, 2, true);
        mask->nw_frag = 0;
    }
    ds_put_cstr(ds, "/ ");
}

static void
put_ipv6(const struct flow *key, struct flow *mask, struct ds *ds)
{
    ds_put_cstr(ds, "ipv6 ");
    put_ip6(ds, "src", &key->ipv6_src, &mask->ipv6_src);
    put_ip6(ds, "dst", &key->ipv6_dst, &mask->ipv6_dst);
    put_byte(ds, "proto", key->nw_proto, &mask->nw_proto);
    put_byte(ds, "tc", key->nw_tos, &mask->nw_tos);
    put_byte(ds, "hop", key->nw_ttl, &mask->nw_ttl);
    if (mask->nw_frag && !key->nw_frag) {
        ds_put_cstr(ds, "has_frag_ext is 0 ");
        mask->nw_frag = 0;
    }
    ds_put_cstr(ds, "/ ");
}

static void
put_transport(const struct flow *key, struct flow *mask, struct ds *ds)
{
    if (key->nw_proto == IPPROTO_TCP || key->nw_proto == IPPROTO_UDP) {
        bool tcp = key->nw_proto == IPPROTO_TCP;

        ds_put_cstr(ds, tcp ? "tcp " : "udp ");
        put_port(ds, "src", key->tp_src, &mask->tp_src);
        put_port(ds, "dst", key->tp_dst, &mask->tp_dst);
        /* The bits that are in the octet of the header. */
        if (tcp && !(mask->tcp_flags & htons(~UINT8_MAX))) {
            put_number(ds, "flags", ntohs(key->tcp_flags),
                       ntohs(mask->tcp_flags), 1, true);
            mask->tcp_flags = 0;
        }
        ds_put_cstr(ds, "/ ");
    } else if (key->nw_proto == IPPROTO_ICMP
               && key->dl_type == htons(ETH_TYPE_IP)) {
        ds_put_cstr(ds, "icmp ");
        put_number(ds, "icmp_type", ntohs(key->tp_src), ntohs(mask->tp_src),
                   1, false);
        put_number(ds, "icmp_code", ntohs(key->tp_dst), ntohs(mask->tp_dst),
                   1, false);
        mask->tp_src = mask->tp_dst = 0;
        ds_put_cstr(ds, "/ ");
    }
}

bool
rte_flow_put_pattern(const struct megaflow *megaflow, struct ds *ds)
{
    const struct flow *key = &megaflow->key;
    struct flow mask = megaflow->wc.masks;
    bool has_proto = mask.nw_proto == UINT8_MAX;

    /* The port; what comes back from ct() has no rule. */
    memset(&mask.in_port, 0, sizeof mask.in_port);
    mask.packet_type = 0;
    mask.recirc_id &= key->recirc_id;

    ds_put_cstr(ds, "pattern ");
    put_eth(key, &mask, ds);
    if (key->dl_type == htons(ETH_TYPE_IP)) {
        put_ipv4(key, &mask, ds);
    } else if (key->dl_type == htons(ETH_TYPE_IPV6)) {
        put_ipv6(key, &mask, ds);
    }
    if (is_ip_any(key) && has_proto) {
        put_transport(key, &mask, ds);
    }
    ds_put_cstr(ds, "end");
    return is_all_zeros(&mask, sizeof mask);
}
