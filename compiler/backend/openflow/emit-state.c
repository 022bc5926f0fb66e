/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/emit.h"

#include <inttypes.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include "util.h"

/* The STATE table: what connection tracking knows of a packet becomes its
 * direction, and the tuple that opened its connection what it is judged by.
 *
 * That tuple is in ct_nw_proto and ct_tp_*, of any packet; where conntrack
 * hands on whole packets, it is also in the packet's own ports, of TCP and UDP
 * ("backend_caps.whole_packets").  Megaflows that match those can be carried
 * by hardware, which has no match for the former; so there no flow that a
 * packet of TCP or UDP can meet may look at the former: Open vSwitch's
 * classifier looks at the fields of all flows that are not weaker than the one
 * that matches. */

static const char *const families[] = { "ip", "ipv6" };

/* Fragments of services that are not tracked: they had no port to be told by
 * until conntrack had seen them whole. */
static void
emit_untracked_fragments(struct emitter *e, const struct ir_match *m)
{
    if (e->caps->whole_packets) {
        static const char *const udp[] = { "udp", "udp6" };

        for (size_t i = 0; i < ARRAY_SIZE(udp); i++) {
            emit_flow(e, TABLE_STATE, PRIORITY_DENY, REASON_FRAGMENT,
                      FORMAT(e, "%s,ct_state=+trk-rpl-inv,tp_dst=%u", udp[i],
                             m->first), "drop");
            emit_flow(e, TABLE_STATE, PRIORITY_DENY, REASON_FRAGMENT,
                      FORMAT(e, "%s,ct_state=+trk-rel+rpl-inv,tp_dst=%u",
                             udp[i], m->first), "drop");
        }
        return;
    }
    emit_flow(e, TABLE_STATE, PRIORITY_DENY, REASON_FRAGMENT,
              FORMAT(e, "ct_state=+trk-rpl-inv,ct_nw_proto=%d,ct_tp_dst=%u",
                     m->protocol, m->first), "drop");
    emit_flow(e, TABLE_STATE, PRIORITY_DENY, REASON_FRAGMENT,
              FORMAT(e, "ct_state=+trk-rel+rpl-inv,ct_nw_proto=%d,"
                     "ct_tp_src=%u", m->protocol, m->first), "drop");
}

static void
emit_untracked(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->services.n; i++) {
        const struct ir_service *service = e->prog->services.v[i];

        for (size_t j = 0; service->symmetric && j < service->matches.n;
             j++) {
            emit_untracked_fragments(e, &service->matches.v[j]);
        }
    }
}

/* ICMP errors in fragments: nobody sees which of them are redirects.  They are
 * too short to need any (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4).
 * Where there are no fragments, whatever is still one. */
static void
emit_fragmented_errors(struct emitter *e)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        emit_flow(e, TABLE_STATE, PRIORITY_DENY, REASON_FRAGMENT,
                  FORMAT(e, "%s,nw_frag=yes,ct_state=+trk%s", families[i],
                         e->caps->whole_packets ? "-inv" : "+rel-inv"),
                  "drop");
    }
}

/* DHCP replies in fragments, which the SPOOF table cannot know. */
static void
emit_forbidden_fragments(struct emitter *e)
{
    static const struct {
        const char *udp, *field, *other;
        int port;
    } ports[] = {
        { "udp", "src", "dst", DHCP_SERVER },
        { "udp6", "src", "dst", DHCPV6_SERVER },
        { "udp", "dst", "src", DHCP_CLIENT },
        { "udp6", "dst", "src", DHCPV6_CLIENT },
    };

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        if (e->caps->whole_packets) {
            emit_flow(e, TABLE_STATE, PRIORITY_FORBIDDEN,
                      REASON_FORBIDDEN_REPLY,
                      FORMAT(e, "%s,ct_state=+trk-rel-inv,tp_%s=%d",
                             ports[i].udp, ports[i].field, ports[i].port),
                      "drop");
            continue;
        }
        emit_flow(e, TABLE_STATE, PRIORITY_FORBIDDEN, REASON_FORBIDDEN_REPLY,
                  FORMAT(e, "%s,ct_state=+trk-rel-rpl-inv,ct_nw_proto=%d,"
                         "ct_tp_%s=%d", families[i % 2], IPPROTO_UDP,
                         ports[i].field, ports[i].port), "drop");
        emit_flow(e, TABLE_STATE, PRIORITY_FORBIDDEN, REASON_FORBIDDEN_REPLY,
                  FORMAT(e, "%s,ct_state=+trk-rel+rpl-inv,ct_nw_proto=%d,"
                         "ct_tp_%s=%d", families[i % 2], IPPROTO_UDP,
                         ports[i].other, ports[i].port), "drop");
    }
}

/* Redirects whose fragments the SPOOF table could not know as such.  What else
 * it forbids is no connection's to conntrack. */
static void
emit_forbidden_redirects(struct emitter *e)
{
    emit_flow(e, TABLE_STATE, PRIORITY_FORBIDDEN, REASON_FORBIDDEN_REPLY,
              FORMAT(e, "icmp,icmp_type=%d,ct_state=+trk-inv", ICMP_REDIRECT),
              "drop");
    emit_flow(e, TABLE_STATE, PRIORITY_FORBIDDEN, REASON_FORBIDDEN_REPLY,
              FORMAT(e, "icmp6,icmp_type=%d,ct_state=+trk-inv", ND_REDIRECT),
              "drop");
}

/* What a packet of TCP or UDP itself says of who opened its connection. */
static void
emit_own_ports(struct emitter *e, const char *ct_state,
               enum of_direction direction)
{
    static const struct {
        const char *match, *field;
        uint8_t protocol;
    } transports[] = {
        { "tcp", "tcp", IPPROTO_TCP }, { "tcp6", "tcp", IPPROTO_TCP },
        { "udp", "udp", IPPROTO_UDP }, { "udp6", "udp", IPPROTO_UDP },
    };
    bool reply = direction == DIRECTION_REPLY;
    uint32_t value = SERVICE_TRACKED | (reply ? SERVICE_REPLY : 0);
    uint32_t mask = (SERVICE_TRACKED | SERVICE_REPLY | SERVICE_PROTOCOL_BITS);

    for (size_t i = 0; i < ARRAY_SIZE(transports); i++) {
        emit_flow(e, TABLE_STATE, PRIORITY_OWN, REASON_PIPELINE,
                  FORMAT(e, "%s,nw_frag=no,ct_state=%s", transports[i].match,
                         ct_state),
                  FORMAT(e, "set_field:%d->"REG_DIRECTION","
                         "set_field:%#"PRIx32"/%#"PRIx32"->"REG_SERVICE","
                         "move:%s_%s->"REG_SERVICE"[0..15],goto_table:%d",
                         direction,
                         value | SERVICE_PROTOCOL(transports[i].protocol),
                         mask, transports[i].field, reply ? "src" : "dst",
                         TABLE_ROUTE));
    }
}

static void
emit_direction(struct emitter *e, const char *ct_state,
               enum of_direction direction)
{
    emit_flow(e, TABLE_STATE, PRIORITY_ALLOW, REASON_PIPELINE,
              FORMAT(e, "ct_state=%s", ct_state),
              FORMAT(e, "set_field:%d->"REG_DIRECTION","
                     "set_field:%#"PRIx32"/%#"PRIx32"->"REG_SERVICE","
                     "move:ct_nw_proto->"REG_SERVICE"[16..23],"
                     "move:ct_tp_dst->"REG_SERVICE"[0..15],goto_table:%d",
                     direction, SERVICE_TRACKED
                     | (direction == DIRECTION_REPLY ? SERVICE_REPLY : 0),
                     SERVICE_TRACKED | SERVICE_REPLY,
                     TABLE_ROUTE));
}

void
emit_state(struct emitter *e)
{
    static const struct {
        const char *ct_state;
        enum of_direction direction;
    } tracked[] = {
        { "+trk+new-rel-inv", DIRECTION_FORWARD },
        { "+trk+est-rpl-inv", DIRECTION_FORWARD },
        { "+trk+est+rpl-inv", DIRECTION_REPLY },
    };

    emit_untracked(e);
    emit_fragmented_errors(e);
    emit_forbidden_fragments(e);
    if (e->caps->whole_packets) {
        emit_forbidden_redirects(e);
    }
    for (size_t i = 0; i < ARRAY_SIZE(tracked); i++) {
        emit_direction(e, tracked[i].ct_state, tracked[i].direction);
        if (e->caps->whole_packets) {
            emit_own_ports(e, tracked[i].ct_state, tracked[i].direction);
        }
    }
    /* ICMP errors for the opener.  One for the other side has a state that
     * Open vSwitch takes for no connection's (is_ct_valid()), and so no tuple
     * to be judged by. */
    emit_direction(e, "+trk+rel+rpl-new-est-inv", DIRECTION_REPLY);
}
