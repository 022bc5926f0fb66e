/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* What is for a multicast group of the sender's network goes round connection
 * tracking: nothing answers to a group.  The GROUP table checks that the MAC
 * is the group's and notes what the packet is judged by; the COPY table makes
 * a copy for each endpoint of the network here, and each goes through SELF and
 * POLICY as if it were for that one alone.
 *
 * Open vSwitch follows up to 4096 resubmits for a packet (MAX_RESUBMITS in
 * ofproto/ofproto-dpif-xlate.c); MAX_RECEIVERS copies through all tables that
 * are left are well below that. */

static const struct family {
    const char *ip, *address;   /* "ADDRESS_dst" is a field. */
    const char *mac;            /* What the MACs of groups begin with (RFC 1112
                                 * section 6.4, RFC 2464 section 7); ... */
    int n_bits;                 /* ... they end with as many of the group. */
    uint32_t service;           /* In REG_SERVICE. */
} families[] = {
    { "ip", "nw", "01:00:5e:00:00:00/ff:ff:ff:80:00:00", 23, 0 },
    { "ipv6", "ipv6", "33:33:00:00:00:00/ff:ff:00:00:00:00", 32,
      SERVICE_IPV6 },
};

static bool
is_ip6(const struct family *family)
{
    return family->service != 0;
}

static const char *
udp(const struct family *family)
{
    return is_ip6(family) ? "udp6" : "udp";
}

/* A MAC and an address that end with 'bits'. */
static const char *
mac_text(struct emitter *e, uint32_t bits)
{
    return FORMAT(e, "00:00:%02x:%02x:%02x:%02x", bits >> 24,
                  bits >> 16 & 0xff, bits >> 8 & 0xff, bits & 0xff);
}

static const char *
address_text(struct emitter *e, const struct family *family, uint32_t bits)
{
    return (is_ip6(family)
            ? FORMAT(e, "::%x:%x", bits >> 16, bits & 0xffff)
            : FORMAT(e, IP_FMT, IP_ARGS(htonl(bits))));
}

/* Drops groups whose MAC is another's.  OpenFlow cannot compare two fields,
 * but they differ if and only if they differ in a bit. */
static void
emit_wrong_macs(struct emitter *e, const struct family *family)
{
    for (int i = 0; i < family->n_bits; i++) {
        uint32_t bit = UINT32_C(1) << i;

        for (int set = 0; set <= 1; set++) {
            emit_flow(e, TABLE_GROUP, PRIORITY_FORBIDDEN, REASON_UNREACHABLE,
                      FORMAT(e, "dl_dst=%s/%s,%s,%s_dst=%s/%s",
                             mac_text(e, set ? bit : 0), mac_text(e, bit),
                             family->ip, family->address,
                             address_text(e, family, set ? 0 : bit),
                             address_text(e, family, bit)), "drop");
        }
    }
}

static void
emit_judged(struct emitter *e, const struct family *family,
            enum of_priority priority, const char *match,
            enum of_direction direction, uint32_t service, const char *moves)
{
    emit_flow(e, TABLE_GROUP, priority, REASON_PIPELINE,
              FORMAT(e, "dl_dst=%s,%s", family->mac, match),
              FORMAT(e, "set_field:%d->"REG_DIRECTION",set_field:%#"PRIx32
                     "->"REG_SERVICE",%sgoto_table:%d", direction, service,
                     moves, TABLE_COPY));
}

/* What a packet for a group is judged by; see REG_SERVICE. */
static void
emit_services(struct emitter *e, const struct family *family)
{
    uint32_t tracked = SERVICE_TRACKED | family->service;

    for (size_t i = 0; i < e->prog->services.n; i++) {
        const struct ir_service *service = e->prog->services.v[i];

        for (size_t j = 0; service->symmetric && j < service->matches.n;
             j++) {
            const struct ir_match *m = &service->matches.v[j];

            emit_judged(e, family, PRIORITY_DENY,
                        FORMAT(e, "%s,tp_dst=%u", udp(family), m->first),
                        DIRECTION_STATELESS, SERVICE_STATELESS
                        | SERVICE_PROTOCOL(m->protocol) | m->first, "");
        }
    }
    emit_judged(e, family, PRIORITY_ALLOW, udp(family), DIRECTION_FORWARD,
                tracked | SERVICE_PROTOCOL(IPPROTO_UDP),
                "move:udp_dst->"REG_SERVICE"[0..15],");
    emit_judged(e, family, PRIORITY_ALLOW, is_ip6(family) ? "tcp6" : "tcp",
                DIRECTION_FORWARD, tracked | SERVICE_PROTOCOL(IPPROTO_TCP),
                "move:tcp_dst->"REG_SERVICE"[0..15],");
    emit_judged(e, family, PRIORITY_DEFAULT, family->ip, DIRECTION_FORWARD,
                tracked, "move:nw_proto->"REG_SERVICE"[16..23],");
    /* It has no port to judge it by. */
    emit_flow(e, TABLE_GROUP, PRIORITY_DENY, REASON_FRAGMENT,
              FORMAT(e, "dl_dst=%s,%s,nw_frag=yes", family->mac, family->ip),
              "drop");
}

/* Nothing from a tunnel: it would be copied on two nodes. */
static void
emit_groups(struct emitter *e, const struct ir_network *network)
{
    for (size_t i = 0; i < network->groups.n; i++) {
        const struct ir_prefix *group = &network->groups.v[i];
        int skip = IN6_IS_ADDR_V4MAPPED(&group->ip) ? 96 : 0;

        emit_flow(e, TABLE_TRACK, PRIORITY_DENY, REASON_PIPELINE,
                  FORMAT(e, REG_PEER"=0,"REG_NETWORK"=%#"PRIx32",%s/%d",
                         network->vni, match_address(e, &group->ip, "dst"),
                         group->plen - skip),
                  FORMAT(e, "goto_table:%d", TABLE_GROUP));
    }
}

static void
emit_copies(struct emitter *e, const struct ir_network *network)
{
    struct ds copies = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *to = e->prog->endpoints.v[i];

        if (to->network == network && !to->node) {
            put_copy(&copies, note_receiver(e, to), TABLE_SELF);
        }
    }
    emit_flow(e, TABLE_COPY, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, REG_NETWORK"=%#"PRIx32, network->vni),
              arena_strdup(e->arena, ds_cstr(&copies)));
    ds_destroy(&copies);
}

void
emit_multicast(struct emitter *e)
{
    bool used = false;

    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *network = e->prog->networks.v[i];

        if (network->here && network->groups.n) {
            emit_groups(e, network);
            emit_copies(e, network);
            used = true;
        }
    }
    if (!used) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        emit_wrong_macs(e, &families[i]);
        emit_services(e, &families[i]);
    }
    /* The sender's own copy is no loss. */
    emit_flow(e, TABLE_SELF, PRIORITY_DEFAULT, REASON_PIPELINE,
              "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", "drop");
}
