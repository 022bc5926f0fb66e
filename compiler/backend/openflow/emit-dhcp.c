/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* DHCP goes round connection tracking and policy: a client's broadcast and the
 * server's answer are no connection, and naming the server is what allows it.
 * The SPOOF table lets in what tells the truth about its sender, clients' only
 * towards the server's port and the server's only towards the clients'; the
 * DHCP table knows by that port who it is from. */

/* Addresses as text. */
VEC_TYPEDEF(ip_text_vec, const char *);

static const struct family {
    bool ip6;
    const char *udp, *address;  /* "ADDRESS_src" is a field. */
    int client, server;
    const char *group_mac, *group;      /* Where clients send to: RFC 2131
                                         * section 4.1, RFC 8415 section 7.1 */
} families[] = {
    { false, "udp", "nw", DHCP_CLIENT, DHCP_SERVER, "ff:ff:ff:ff:ff:ff",
      "255.255.255.255" },
    { true, "udp6", "ipv6", DHCPV6_CLIENT, DHCPV6_SERVER, "33:33:00:01:00:02",
      "ff02::1:2" },
};

/* The addresses of 'ep' in 'family', the link-local one of its MAC included.
 * None if it has none but that. */
static ip_text_vec
own_addresses(struct emitter *e, const struct ir_endpoint *ep,
              const struct family *family)
{
    ip_text_vec out = VEC_INIT;
    char s[INET6_ADDRSTRLEN + 1];

    for (size_t i = 0; i < ep->addresses.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&ep->addresses.v[i]) == family->ip6) {
            ipv6_string_mapped(s, &ep->addresses.v[i]);
            *vec_push(e->arena, &out) = arena_strdup(e->arena, s);
        }
    }
    if (out.n && family->ip6) {
        struct in6_addr link_local;

        in6_generate_lla(ep->mac, &link_local);
        ipv6_string_mapped(s, &link_local);
        *vec_push(e->arena, &out) = arena_strdup(e->arena, s);
    }
    return out;
}

static void
emit_source(struct emitter *e, const struct ir_endpoint *ep,
            const struct family *family, const char *source, int from, int to)
{
    emit_flow(e, TABLE_SPOOF, PRIORITY_DHCP, REASON_PIPELINE,
              FORMAT(e, REG_SOURCE"=%#"PRIx32",dl_src="ETH_ADDR_FMT
                     ",%s,%s_src=%s,tp_src=%d,tp_dst=%d", ep->number,
                     ETH_ADDR_ARGS(ep->mac), family->udp, family->address,
                     source, from, to),
              FORMAT(e, "goto_table:%d", TABLE_DHCP));
}

static void
emit_sources(struct emitter *e, const struct ir_endpoint *ep,
             const struct family *family)
{
    ip_text_vec addresses = own_addresses(e, ep, family);

    for (size_t i = 0; i < addresses.n; i++) {
        emit_source(e, ep, family, addresses.v[i], family->client,
                    family->server);
        if (ep->dhcp_server) {
            emit_source(e, ep, family, addresses.v[i], family->server,
                        family->client);
        }
    }
    if (addresses.n && !family->ip6) {
        emit_source(e, ep, family, "0.0.0.0", family->client, family->server);
    }
}

/* Best effort, for the sender's account. */
static const char *
deliver(struct emitter *e, const struct ir_endpoint *to)
{
    return FORMAT(e, "set_field:%#"PRIx32"->"REG_DEST, to->number);
}

static void
emit_delivery(struct emitter *e, const struct ir_network *network,
              const struct family *family, const char *mac, const char *ip,
              int port, const struct ir_endpoint *to)
{
    emit_flow(e, TABLE_DHCP, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, REG_NETWORK"=%#"PRIx32",dl_dst=%s,%s,%s_dst=%s,"
                     "tp_dst=%d", network->vni, mac, family->udp,
                     family->address, ip, port),
              FORMAT(e, "%s,goto_table:%d", deliver(e, to), TABLE_CLASS));
}

/* What is for 'to' by its MAC and address. */
static void
emit_unicast(struct emitter *e, const struct family *family, int port,
             const struct ir_endpoint *to)
{
    ip_text_vec addresses = own_addresses(e, to, family);
    const char *mac = FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(to->mac));

    for (size_t i = 0; i < addresses.n; i++) {
        emit_delivery(e, to->network, family, mac, addresses.v[i], port, to);
    }
}

static void
emit_requests(struct emitter *e, const struct family *family,
              const struct ir_endpoint *server)
{
    emit_delivery(e, server->network, family, family->group_mac,
                  family->group, family->server, server);
    emit_unicast(e, family, family->server, server);
    emit_flow(e, TABLE_DHCP, PRIORITY_DENY, REASON_UNREACHABLE,
              FORMAT(e, REG_SOURCE"=%#"PRIx32",%s,tp_dst=%d",
                     server->number, family->udp, family->server), "drop");
}

/* Answers, each to one client, and IPv4's to all of them by broadcast. */
static void
emit_answers(struct emitter *e, const struct family *family,
             const struct ir_endpoint *server)
{
    struct ds copies = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *to = e->prog->endpoints.v[i];

        if (to->network == server->network && !to->node && to != server) {
            emit_unicast(e, family, family->client, to);
            if (own_addresses(e, to, family).n) {
                put_copy(&copies, deliver(e, to), TABLE_CLASS);
            }
        }
    }
    if (copies.length && !family->ip6) {
        emit_flow(e, TABLE_DHCP, PRIORITY_ALLOW, REASON_PIPELINE,
                  FORMAT(e, REG_NETWORK"=%#"PRIx32",dl_dst=%s,%s,%s_dst=%s,"
                         "tp_dst=%d", server->network->vni,
                         family->group_mac, family->udp, family->address,
                         family->group, family->client),
                  arena_strdup(e->arena, ds_cstr(&copies)));
    }
    ds_destroy(&copies);
}

void
emit_dhcp(struct emitter *e)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        for (size_t j = 0; j < e->prog->endpoints.n; j++) {
            const struct ir_endpoint *ep = e->prog->endpoints.v[j];

            if (ep->node || !ep->network->dhcp) {
                continue;
            }
            emit_sources(e, ep, &families[i]);
            if (ep->dhcp_server && own_addresses(e, ep, &families[i]).n) {
                emit_requests(e, &families[i], ep);
                emit_answers(e, &families[i], ep);
            }
        }
    }
}
