/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/packet.h"

#include <inttypes.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-parse.h"
#include "packets.h"
#include "sema/check.h"
#include "sema/meaning-packet.h"
#include "sema/packet-value.h"
#include "sema/policy.h"
#include "util.h"

enum { HOST_TTL = 64, NEIGHBOR_TTL = 255 };     /* RFC 1700; RFC 4861. */

/* The names of fields that ovs-ofctl understands for any protocol but
 * parse_ofp_exact_flow() for one only. */
static const struct {
    uint8_t protocol;
    const char *general, *exact;
} synonyms[] = {
    { IPPROTO_UDP, "tp_src", "udp_src" },
    { IPPROTO_UDP, "tp_dst", "udp_dst" },
    { IPPROTO_SCTP, "tp_src", "sctp_src" },
    { IPPROTO_SCTP, "tp_dst", "sctp_dst" },
    { IPPROTO_ICMPV6, "icmp_type", "icmpv6_type" },
    { IPPROTO_ICMPV6, "icmp_code", "icmpv6_code" },
};

static const char *
exact_name(uint8_t protocol, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++) {
        if (synonyms[i].protocol == protocol
            && !strcmp(synonyms[i].general, name)) {
            return synonyms[i].exact;
        }
    }
    return name;
}

/* A field of one family after the protocol 'p' of the other; 'p' is NULL if
 * there was none so far. */
static char *
check_family(const char *key, const struct ofp_protocol *p)
{
    bool ip6 = !strncmp(key, "ipv6_", 5);
    bool ip4 = !strncmp(key, "nw_src", 6) || !strncmp(key, "nw_dst", 6)
               || !strncmp(key, "ip_", 3);

    if (!p || !(ip6 || ip4)) {
        return NULL;
    } else if (ip6 && p->dl_type == ETH_TYPE_IP) {
        return xasprintf("%s after %s, which is IPv4; write %s", key, p->name,
                         p->nw_proto ? "the protocol with a 6, as in tcp6"
                         : "ipv6");
    } else if (ip4 && p->dl_type == ETH_TYPE_IPV6) {
        return xasprintf("%s after %s, which is IPv6; write %s", key, p->name,
                         p->nw_proto ? "the protocol without 6, as in tcp"
                         : "ip");
    }
    return NULL;
}

/* "+syn+ack" as "syn|ack": in a packet, what is not set is not there.  The
 * caller must free it. */
static char *
plain_flags(const char *value)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    while (*value == '+' || *value == '-') {
        size_t n = 1 + strcspn(value + 1, "+-");

        if (*value == '+') {
            ds_put_format(&ds, "%s%.*s", ds.length ? "|" : "", (int) n - 1,
                          value + 1);
        }
        value += n;
    }
    ds_put_cstr(&ds, ds.length || *value ? value : "0");
    return ds_steal_cstr(&ds);
}

static void
put_field(struct ds *exact, uint8_t protocol, const char *key,
          const char *value)
{
    char *flags = strcmp(key, "tcp_flags") ? NULL : plain_flags(value);

    ds_put_format(exact, "%s%s%s%s", exact->length ? "," : "",
                  exact_name(protocol, key), value[0] ? "=" : "",
                  flags ? flags : value);
    free(flags);
}

char *
packet_parse(const char *text, struct flow *packet,
             struct flow_wildcards *given)
{
    struct ds exact = DS_EMPTY_INITIALIZER;
    char *copy = xstrdup(text), *pos = copy, *key, *value, *error = NULL;
    const struct ofp_protocol *named = NULL;
    uint8_t protocol = 0;
    bool alien = false;         /* What no packet has in it? */

    while (!error && ofputil_parse_key_value(&pos, &key, &value)) {
        const struct ofp_protocol *p;

        error = packet_check_value(key, value);
        error = error ? error : check_family(key, named);
        if (!strncmp(key, "ct_", 3)) {
            alien = true;
        }

        if (ofp_parse_protocol(key, &p)) {
            protocol = p->nw_proto;
            named = p;
        } else if (packet_parse_protocol(key, &p)) {
            ds_put_format(&exact, "%s%s,nw_proto=%"PRIu8, exact.length ? ","
                          : "", p->dl_type == ETH_TYPE_IP ? "ip" : "ipv6",
                          p->nw_proto);
            protocol = p->nw_proto;
            named = p;
            continue;
        } else if (!strcmp(key, "nw_proto") || !strcmp(key, "ip_proto")) {
            protocol = atoi(value);
        }
        put_field(&exact, protocol, key, value);
    }
    if (!error) {
        char *why = parse_ofp_exact_flow(packet, given, NULL, ds_cstr(&exact),
                                         NULL);

        error = why ? xasprintf("%s; write it as in 'tcp,nw_dst=10.1.0.11,"
                                "tp_dst=443'", why) : NULL;
        free(why);
    }
    if (!error && !given->masks.dl_type) {
        error = xstrdup("it says no protocol; begin with ip, tcp, udp, icmp, "
                        "tcp6, udp6, icmp6, arp or another one");
    }
    /* In struct flow, what surrounds a packet comes before what is in it. */
    if (!error
        && (alien || !is_all_zeros(&given->masks,
                                   offsetof(struct flow, dl_dst)))) {
        error = xstrdup("a port, a register, a tunnel or the state of a "
                        "connection is not in a packet");
    }
    if (!error && packet->vlans[0].tci
        && !(packet->vlans[0].tci & htons(VLAN_CFI))) {
        error = xstrdup("without its bit 0x1000, vlan_vid or vlan_tci is no "
                        "VLAN tag; write it as in dl_vlan=5");
    }
    ds_destroy(&exact);
    free(copy);
    return error;
}

/* Is it what every packet says, or none can? */
static bool
is_noise(const char *key, const char *value)
{
    static const char *const noise[][2] = {
        { "in_port", "ANY" }, { "vlan_tci", "0x0000" },
        { "vlan_tci1", "0x0000" }, { "nw_frag", "no" },
        { "tcp_flags", "0" }, { "nd_sll", "00:00:00:00:00:00" },
        { "nd_tll", "00:00:00:00:00:00" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
        if (!strcmp(key, noise[i][0]) && !strcmp(value, noise[i][1])) {
            return true;
        }
    }
    return false;
}

char *
packet_format(const struct flow *packet)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct flow inner = *packet;
    char *text, *pos, *key, *value;

    memset(&inner.tunnel, 0, sizeof inner.tunnel);
    pos = text = flow_to_string(&inner, NULL);
    while (ofputil_parse_key_value(&pos, &key, &value)) {
        if (!is_noise(key, value)) {
            put_field(&ds, packet->nw_proto, key, value);
        }
    }
    free(text);
    return ds_steal_cstr(&ds);
}

void
packet_put_outer(struct ds *ds, const struct flow_tnl *outer)
{
    if (outer->ip_dst || outer->ip_src) {
        ds_put_format(ds, "tun_src="IP_FMT",tun_dst="IP_FMT,
                      IP_ARGS(outer->ip_src), IP_ARGS(outer->ip_dst));
    } else {
        ds_put_cstr(ds, "tun_ipv6_src=");
        ipv6_format_addr(&outer->ipv6_src, ds);
        ds_put_cstr(ds, ",tun_ipv6_dst=");
        ipv6_format_addr(&outer->ipv6_dst, ds);
    }
    ds_put_format(ds, ",tun_id=%"PRIu64, ntohll(outer->tun_id));
    if (outer->ip_tos) {
        ds_put_format(ds, ",tun_tos=%u", outer->ip_tos);
    }
}

/* Does network 'n' have 'ip' in a subnet of its own? */
static bool
is_on_link(const struct intent_network *n, const struct in6_addr *ip)
{
    for (size_t i = 0; i < n->subnets.n; i++) {
        if (subnet_holds(&n->subnets.v[i], ip)) {
            return true;
        }
    }
    return false;
}

static const struct in6_addr *
own_address(const struct policy_endpoint *from, bool ip4)
{
    for (size_t i = 0; i < from->intent->addresses.n; i++) {
        const struct in6_addr *ip = &from->intent->addresses.v[i].ip;

        if (!IN6_IS_ADDR_V4MAPPED(ip) == !ip4) {
            return ip;
        }
    }
    return NULL;
}

static bool
has_address(const struct policy_endpoint *e, const struct in6_addr *ip)
{
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (ipv6_addr_equals(&e->intent->addresses.v[i].ip, ip)) {
            return true;
        }
    }
    return false;
}

/* Whom the node answers for: the network's endpoints, by their addresses.  VFs
 * in legacy mode answer each other, and nobody else does. */
static const struct policy_endpoint *
find_neighbor(const struct policy_endpoint *from, const struct in6_addr *ip)
{
    const struct policy_tenant *tenant = from->tenant;

    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *e = tenant->endpoints.v[i];

        if (e->network == from->network && has_address(e, ip)
            && (from->legacy ? legacy_uplink(e) != NULL : e->bound)) {
            return e;
        }
    }
    return NULL;
}

static bool
is_gateway(const struct intent_network *n, const struct in6_addr *ip)
{
    for (size_t i = 0; i < n->gateways.n; i++) {
        if (ipv6_addr_equals(&n->gateways.v[i].ip, ip)) {
            return true;
        }
    }
    return false;
}

static void
complete_ethernet(const struct policy_endpoint *from, struct flow *packet)
{
    const struct policy_network *network = from->network;
    struct in6_addr ip = packet_destination(packet);
    const struct policy_endpoint *to = find_neighbor(from, &ip);

    if (packet->dl_type == htons(ETH_TYPE_ARP)) {
        packet->dl_dst = eth_addr_broadcast;
    } else if (ipv6_addr_is_multicast(&ip)) {
        ipv6_multicast_to_ethernet(&packet->dl_dst, &ip);
    } else if (ip_is_multicast(packet->nw_dst)) {
        /* RFC 1112 section 6.4. */
        eth_addr_from_uint64(UINT64_C(0x01005e000000)
                             | (ntohl(packet->nw_dst) & 0x7fffff),
                             &packet->dl_dst);
    } else if (packet->nw_dst == htonl(INADDR_BROADCAST)) {
        packet->dl_dst = eth_addr_broadcast;
    } else if (to) {
        packet->dl_dst = to->intent->mac;
    } else if (!from->legacy
               && (is_gateway(network->intent, &ip)
                   || (network->intent->gateways.n
                       && !is_on_link(network->intent, &ip)))) {
        packet->dl_dst = network->gateway_mac;
    }
}

static void
complete_arp(const struct policy_endpoint *from,
             const struct flow_wildcards *given, struct flow *packet)
{
    if (!given->masks.nw_proto) {
        packet->nw_proto = ARP_OP_REQUEST;
    }
    if (eth_addr_is_zero(given->masks.arp_sha)) {
        packet->arp_sha = from->intent->mac;
    }
}

static void
complete_nd(const struct policy_endpoint *from,
            const struct flow_wildcards *given, struct flow *packet)
{
    if (ipv6_is_zero(&given->masks.ipv6_dst)) {
        in6_addr_solicited_node(&packet->ipv6_dst, &packet->nd_target);
    }
    if (eth_addr_is_zero(given->masks.arp_sha)
        && packet->tp_src == htons(ND_NEIGHBOR_SOLICIT)) {
        packet->arp_sha = from->intent->mac;
    }
}

/* RFC 4291 section 2.7. */
static bool
is_link_scope(const struct in6_addr *ip)
{
    return (IN6_IS_ADDR_LINKLOCAL(ip)
            || (ipv6_addr_is_multicast(ip) && (ip->s6_addr[1] & 0xf) == 2));
}

static bool
complete_source(const struct policy_endpoint *from,
                const struct flow_wildcards *given, struct flow *packet)
{
    bool ip6 = packet->dl_type == htons(ETH_TYPE_IPV6);
    const struct in6_addr *ip = own_address(from, !ip6);

    if (ip && ip6 && ipv6_is_zero(&given->masks.ipv6_src)) {
        packet->ipv6_src = *ip;
        if (is_link_scope(&packet->ipv6_dst) && !is_nd(packet, NULL)) {
            in6_generate_lla(from->intent->mac, &packet->ipv6_src);
        }
    } else if (ip && !ip6 && !given->masks.nw_src) {
        packet->nw_src = in6_addr_get_mapped_ipv4(ip);
    }
    return ip || (ip6 ? !ipv6_is_zero(&given->masks.ipv6_src)
                  : given->masks.nw_src);
}

bool
packet_complete(const struct policy_endpoint *from,
                const struct flow_wildcards *given, struct flow *packet)
{
    bool arp = packet->dl_type == htons(ETH_TYPE_ARP);
    bool has_source = true;

    if (!from->bound && !legacy_uplink(from)) {
        return true;
    }
    if (eth_addr_is_zero(given->masks.dl_src)) {
        packet->dl_src = from->intent->mac;
    }
    if (is_icmpv4(packet, NULL) && !given->masks.tp_src) {
        packet->tp_src = htons(8 /* Echo request. */);
    } else if (is_icmpv6(packet, NULL) && !given->masks.tp_src) {
        packet->tp_src = htons(ICMP6_ECHO_REQUEST);
    }
    if (arp) {
        complete_arp(from, given, packet);
    } else if (is_nd(packet, NULL)) {
        complete_nd(from, given, packet);
    }
    if (arp || is_ip_any(packet)) {
        has_source = complete_source(from, given, packet);
    }
    if (is_ip_any(packet) && !given->masks.nw_ttl) {
        packet->nw_ttl = is_nd(packet, NULL) ? NEIGHBOR_TTL : HOST_TTL;
    }
    if (eth_addr_is_zero(given->masks.dl_dst)) {
        complete_ethernet(from, packet);
    }
    return has_source;
}

const struct policy_endpoint *
packet_find_owner(const struct policy *policy,
                  const struct policy_endpoint *from,
                  const struct flow *packet, bool bound)
{
    struct in6_addr ip = (is_nd(packet, NULL) ? packet->nd_target
                          : packet_destination(packet));
    const struct policy_endpoint *found = NULL;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            const struct policy_endpoint *e = tenant->endpoints.v[j];

            if (e->bound == bound && has_address(e, &ip)
                && (!found || (from && tenant == from->tenant))) {
                found = e;
            }
        }
    }
    return found;
}

const char *
packet_missing_binding(const struct policy_endpoint *e)
{
    return (!e->intent->node.s ? "node"
            : !e->intent->interface.s && !e->legacy ? "interface"
            : !e->intent->mac_text.s ? "mac" : "addresses");
}

void
packet_encapsulate(struct flow *packet, const struct in6_addr *source,
                   const struct in6_addr *destination, uint32_t vni)
{
    struct flow_tnl *outer = &packet->tunnel;

    outer->tun_id = htonll(vni);
    if (IN6_IS_ADDR_V4MAPPED(destination)) {
        outer->ip_src = in6_addr_get_mapped_ipv4(source);
        outer->ip_dst = in6_addr_get_mapped_ipv4(destination);
    } else {
        outer->ipv6_src = *source;
        outer->ipv6_dst = *destination;
    }
}
