/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BACKEND_OPENFLOW_EMIT_H
#define BACKEND_OPENFLOW_EMIT_H 1

/* The rooms behind openflow_backend: each emits the flows of some tables. */

#include <stdint.h>

#include "backend/backend.h"
#include "backend/openflow/pipeline.h"
#include "ir/ir.h"
#include "plan/plan.h"

/* UDP ports of DHCP (RFC 2131 section 4.1, RFC 8415 section 7.2). */
enum {
    DHCP_CLIENT = 68, DHCP_SERVER = 67,
    DHCPV6_CLIENT = 546, DHCPV6_SERVER = 547,
};

/* Of ICMPv6 (RFC 3810 section 5.2). */
enum { MLD2_LISTENER_REPORT = 143 };

struct ds;

struct emitter {
    const struct ir_prog *prog;
    struct plan *plan;
    struct arena *arena;
    const struct backend_caps *caps;
    struct diags *diags;
    size_t n_policy_flows, n_conjunctions;      /* So far. */
    size_t n_routes, n_checked; /* GATEWAY flows among so many of the plan. */
    bool full;                  /* Some limit is passed, and reported. */
};

/* Is there room for 'n' more POLICY flows, or a conjunction, of the rule?
 * Adds an error if not, the first time. */
bool has_room_for_flows(struct emitter *, const struct ir_rule *, size_t n);
bool has_room_for_conjunction(struct emitter *, const struct ir_rule *);

/* Adds an error if the GATEWAY table has too many flows with those of this
 * peering. */
void check_routes(struct emitter *, const struct ir_rule *peering);

/* Adds an error if a table of the finished plan has too many flows. */
void check_tables(struct emitter *);

/* ADMIT to NEIGHBOR_ADVERT. */
void emit_ports(struct emitter *);

/* DHCP, and what of SPOOF lets it in. */
void emit_dhcp(struct emitter *);

/* The call of the meter that counts the packets of 'tenant', with a comma, or
 * "".  OpenFlow 1.3 wants it before all other actions of a flow.
 * emit_limits() adds these meters to the plan. */
const char *limit_call(struct emitter *, const struct ir_tenant *);
void emit_limits(struct emitter *);

/* The action, with a comma, by which push finds the limit of upcalls of the
 * tenant of a port, or "" (plan_upcalls_note()).  emit_upcalls() adds these
 * limits to the plan. */
const char *upcalls_note(struct emitter *, const struct ir_tenant *);
void emit_upcalls(struct emitter *);

/* Has a tenant of the node a limit of connections? */
bool has_connection_limits(const struct ir_prog *);

/* The action, with a comma, by which push finds the limit of the tenant's
 * zone, or "" (plan_limit_note()). */
const char *connections_note(struct emitter *, const struct ir_tenant *);

/* NOTED, and what leads there; and the limits of the plan. */
void emit_connections(struct emitter *);

/* A ct() that notes a connection in the zone of the field ZONE for the tenant
 * whose number is in OWNER. */
#define COMMIT(ZONE, OWNER)                                             \
    "ct(commit,zone="ZONE",exec(move:"OWNER"->ct_mark))"

/* Adds a flow whose actions call ct() for IPv4 and one for IPv6: OpenFlow
 * wants to see in the match that the packet is one of them. */
void emit_ct_flow(struct emitter *, enum of_table, enum of_priority,
                  const char *match, const char *actions);

/* STATE. */
void emit_state(struct emitter *);

/* TRACK, OWNER, COMMIT, PEER, PEER_OWNER, PEER_STATE. */
void emit_conntrack(struct emitter *);

/* What of TRACK is about rules that are not stateful. */
void emit_stateless_rules(struct emitter *);

/* GROUP and COPY, and what of TRACK goes there. */
void emit_multicast(struct emitter *);

/* Actions that note the receiver. */
const char *note_receiver(struct emitter *, const struct ir_endpoint *to);

/* ROUTE, GATEWAY and OUTPUT. */
void emit_routes(struct emitter *);

/* TUNNEL, and what packets from and for other nodes need in ADMIT, SPOOF,
 * METER and OUTPUT. */
void emit_tunnels(struct emitter *);

/* SPOOF, for packets of 'from' that its node routed to 'to'. */
void emit_routed_source(struct emitter *, const struct ir_endpoint *from,
                        const struct ir_tenant *to);

/* What packets from and for externals need in all tables but SELF, SIDES,
 * POLICY and COMMIT. */
void emit_externals(struct emitter *);

/* NEIGHBOR: turns a request that matches 'where' into the reply that 'ip' is
 * at 'mac'. */
void emit_answer(struct emitter *, const char *where,
                 const struct in6_addr *ip, struct eth_addr mac, bool router);

/* SELF and SIDES. */
void emit_sides(struct emitter *);

/* POLICY. */
void emit_policy(struct emitter *);

/* The meters that packets pass at the cost of the account, in 'class' or from
 * or to 'ep' if those are not NULL, first to last: at most one in METER and
 * one in SHARE, or one in OUTPUT and one in DELIVER. */
struct meter_path {
    uint32_t ids[2];
    size_t n;
};
struct meter_path meter_path(const struct emitter *, struct ir_account,
                             const struct ir_endpoint *ep,
                             const struct ir_class *, bool receive);

/* Of what the match matches, which is at the cost of the account: what METER
 * and perhaps SHARE do, or for 'ep', which is here, OUTPUT and perhaps
 * DELIVER.  The account's classes with meters of their own have
 * 'class_priority'. */
struct charged {
    struct ir_account account;
    const char *match;
    enum of_priority priority, class_priority;
};
void emit_charged(struct emitter *, const struct charged *);
void emit_charged_delivery(struct emitter *, const struct ir_endpoint *ep,
                           const struct charged *);

/* The same of what endpoints here send or get at the cost of others. */
void emit_payers(struct emitter *);

/* Does a packet pass two meters one after the other, the second in SHARE or
 * DELIVER? */
bool has_long_paths(const struct ir_prog *);

/* What the tenant of 'network' sends by the uplink of that, whose meter is
 * 'meter'. */
const char *match_sender(struct emitter *, const struct ir_network *network,
                         const struct ir_meter *meter);

/* Has what goes by tunnel the queue of its sender's tenant?  DELIVER sets
 * it. */
bool has_tenant_queues(const struct emitter *);
void emit_tunnel_queues(struct emitter *);

/* Adds all meters of bits to the plan. */
void add_meters(struct emitter *);

/* What of CLASS is for packets that keep their DSCP, and its meters. */
void emit_dscp_in(struct emitter *);

/* What of METER is for packets that pass no meter of what anybody sends here:
 * with telemetry they get the tag of a tenant by meters that let all pass. */
void add_tag_meters(struct emitter *);
void emit_arrived(struct emitter *);
void emit_tagged(struct emitter *, enum of_priority, const char *match,
                 const struct ir_tenant *);

/* CLASS and METER, and all meters of bits. */
void emit_qos(struct emitter *);

/* The flow of OUTPUT, and perhaps of DELIVER, for an endpoint that is here. */
void emit_port_output(struct emitter *, const struct ir_endpoint *);

VEC_TYPEDEF(match_vec, const char *);

/* Of what is tracked: all, or one direction of it. */
enum tracked_part { TRACKED_ALL, TRACKED_FORWARD, TRACKED_REPLIES };

/* The matches of 'service' (NULL: any) on REG_SERVICE: of what is tracked, and
 * of the ports of symmetric services, whose packets go round conntrack
 * whatever the service that a rule names. */
match_vec match_tracked(struct emitter *, const struct ir_service *,
                        enum tracked_part);
match_vec match_stateless(struct emitter *, const struct ir_service *);

/* Ports of a range: those that are 'port' in the bits of 'mask'. */
struct port_mask {
    uint16_t port, mask;
};
VEC_TYPEDEF(port_masks, struct port_mask);

/* The fewest masks that hold the ports of the match, which has some, and no
 * others. */
port_masks cover_ports(struct emitter *, const struct ir_match *);

/* Adds one flow; 'id' is the rule's or a REASON_*. */
void emit_flow(struct emitter *, enum of_table, enum of_priority, uint64_t id,
               const char *match, const char *actions);

/* A string in the arena. */
#define FORMAT(E, ...) arena_printf((E)->arena, __VA_ARGS__)

/* Appends to 'list' the actions that make a copy of the packet, do 'actions'
 * with it and send it to 'table'. */
void put_copy(struct ds *list, const char *actions, enum of_table);

/* "ip,nw_FIELD=ADDRESS" or "ipv6,ipv6_FIELD=ADDRESS"; 'field' is "src" or
 * "dst". */
const char *match_address(struct emitter *, const struct in6_addr *,
                          const char *field);

#endif /* backend/openflow/emit.h */
