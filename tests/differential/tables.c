/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "offload/flow-tables.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-port.h"
#include "packets.h"
#include "sema/ident.h"
#include "util.h"

enum { MAX_STEPS = 64 * MAX_ENDPOINTS };

struct tables {
    const struct ir_prog *prog;
    const struct plan *plan;
    bool whole;                 /* Does conntrack hand on whole packets? */
    struct flow_tables *flows;
};

/* A packet on its way. */
struct run {
    const struct tables *tables;
    const struct question *q;
    struct outcome *o;
    uint32_t queue;
    struct meters meters;
    int steps;
};

uint8_t
connection_ct_state(const struct question *q, enum connection connection)
{
    switch (connection) {
    case CONNECTION_FOREIGN: return connection_ct_state(q, q->foreign);
    case CONNECTION_NONE: return CS_TRACKED;
    case CONNECTION_NEW: return CS_TRACKED | CS_NEW;
    case CONNECTION_FORWARD: return CS_TRACKED | CS_ESTABLISHED;
    case CONNECTION_REPLY:
        return CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR;
    /* As of an ICMP error; lib/conntrack.c says neither new nor
     * established. */
    case CONNECTION_RELATED:
        return CS_TRACKED | CS_RELATED | CS_REPLY_DIR;
    case CONNECTION_INVALID: return CS_TRACKED | CS_INVALID;
    case N_CONNECTIONS: break;
    }
    OVS_NOT_REACHED();
}

struct tables *
tables_create(const struct ir_prog *prog, const struct plan *plan,
              const char **reason)
{
    struct tables *t = xzalloc(sizeof *t);
    struct ofputil_port_map ports = OFPUTIL_PORT_MAP_INITIALIZER(&ports);

    for (size_t i = 0; i < plan->ports.n; i++) {
        const char *name = plan->ports.v[i].interface;

        ofputil_port_map_put(&ports, u16_to_ofp(atoi(name + 1) + 1), name);
    }
    ofputil_port_map_put(&ports, u16_to_ofp(TUNNEL_PORT), PLAN_TUNNEL);
    t->prog = prog;
    t->plan = plan;
    t->whole = backend_find(plan->target)->caps->whole_packets;
    t->flows = flow_tables_create(plan, &ports, reason);
    ofputil_port_map_destroy(&ports);
    if (!t->flows) {
        tables_destroy(t);
        return NULL;
    }
    return t;
}

void
tables_destroy(struct tables *t)
{
    if (t) {
        flow_tables_destroy(t->flows);
        free(t);
    }
}

static void execute(struct run *, struct flow *, const struct ofpact *,
                    size_t ofpacts_len);

static void
run_table(struct run *run, struct flow *packet, uint8_t table)
{
    const struct flow_entry *flow = flow_tables_lookup(run->tables->flows,
                                                       table, packet, NULL);

    if (run->steps++ > MAX_STEPS) {
        run->o->broken = "it goes round in circles";
        return;
    }
    if (!flow) {
        run->o->broken = "it matches no flow of a table";
        return;
    }
    run->o->cookie = flow->cookie;
    if ((flow->cookie & ~COOKIE_MARK_MASK) >= IDENT_RESERVED) {
        run->o->rule = flow->cookie;
    }
    execute(run, packet, flow->ofpacts, flow->ofpacts_len);
}

/* What lib/conntrack.c notes in the packet: the state, and of the connection
 * its mark and the addresses that it was opened with. */
static void
set_ct_fields(struct flow *packet, const struct ir_prog *prog,
              const struct question *q, enum connection connection,
              uint16_t zone)
{
    bool swap = connection_is_backward(q, connection);
    struct in6_addr opened = question_opened(q, connection);

    packet->ct_state = connection_ct_state(q, connection);
    packet->ct_zone = zone;
    packet->ct_mark = 0;
    if (connection == CONNECTION_NONE || connection == CONNECTION_INVALID) {
        return;
    }
    packet->ct_mark = question_mark(q, prog, zone, connection);
    packet->ct_nw_proto = q->opener.protocol;
    packet->ct_tp_src = q->opener.source;
    packet->ct_tp_dst = q->opener.destination;
    if (packet->dl_type == htons(ETH_TYPE_IP)) {
        packet->ct_nw_src = swap ? packet->nw_dst : packet->nw_src;
        packet->ct_nw_dst = (swap ? in6_addr_get_mapped_ipv4(&opened)
                             : packet->nw_dst);
    } else {
        packet->ct_ipv6_src = swap ? packet->ipv6_dst : packet->ipv6_src;
        packet->ct_ipv6_dst = swap ? opened : packet->ipv6_dst;
    }
}

/* Of TCP or UDP; nobody asks about fragments of anything else. */
static void
make_whole(struct flow *packet)
{
    if (packet->nw_frag) {
        bool reply = packet->ct_state & CS_REPLY_DIR;

        packet->nw_frag = 0;
        packet->tp_src = reply ? packet->ct_tp_dst : packet->ct_tp_src;
        packet->tp_dst = reply ? packet->ct_tp_src : packet->ct_tp_dst;
    }
}

/* Does the plan limit the connections of the zone? */
static bool
is_limited(const struct tables *t, uint16_t zone)
{
    for (size_t i = 0; i < t->plan->limits.n; i++) {
        if (t->plan->limits.v[i].zone == zone) {
            return true;
        }
    }
    return false;
}

static void
execute_ct(struct run *run, const struct flow *packet,
           const struct ofpact_conntrack *ct)
{
    uint16_t zone = (ct->zone_src.field
                     ? mf_get_subfield(&ct->zone_src, packet) : ct->zone_imm);

    bool commit = ct->flags & NX_CT_F_COMMIT;
    struct flow noted = *packet;

    noted.ct_mark = 0;
    execute(run, &noted, ct->actions, ofpact_ct_get_action_len(ct));
    if (ct->alg || ct->flags & ~NX_CT_F_COMMIT
        || (!commit && ofpact_ct_get_action_len(ct))) {
        run->o->broken = "an unknown kind of ct()";
    } else if (commit) {
        outcome_add_zone(run->o, &run->o->committed, zone, noted.ct_mark);
    } else {
        outcome_add_zone(run->o, &run->o->tracked, zone, 0);
    }
    if (!run->o->broken && ct->recirc_table != NX_CT_RECIRC_NONE) {
        struct flow clone = *packet;

        set_ct_fields(&clone, run->tables->prog, run->q,
                      run->o->tracked.n > 1 ? run->q->beyond
                      : run->q->connection, zone);
        if (commit) {           /* A zone that is full notes nothing. */
            clone.ct_mark = (run->q->full && is_limited(run->tables, zone)
                             ? 0 : noted.ct_mark);
        }
        if (run->tables->whole) {
            make_whole(&clone);
        }
        run_table(run, &clone, ct->recirc_table);
    }
}

static void
execute_output(struct run *run, const struct flow *packet, ofp_port_t port)
{
    struct outcome *o = run->o;

    /* A switch leaves that out, having metered it; only OFPP_IN_PORT sends
     * back. */
    if (port == packet->in_port.ofp_port) {
        o->broken = "it goes to the port that it came from";
        return;
    }
    outcome_deliver(o, port, &run->meters, run->queue)->packet = *packet;
}

static void
execute_set_field(struct run *run, struct flow *packet,
                  const struct ofpact_set_field *set)
{
    if (!mf_are_prereqs_ok(set->field, packet, NULL)) {
        run->o->broken = "a field is set that the packet does not have";
        return;
    }
    mf_set_flow_value_masked(set->field, set->value,
                             ofpact_set_field_mask(set), packet);
}

static void
execute_move(struct run *run, struct flow *packet,
             const struct ofpact_reg_move *move)
{
    if (!mf_are_prereqs_ok(move->src.field, packet, NULL)
        || !mf_are_prereqs_ok(move->dst.field, packet, NULL)) {
        run->o->broken = "a field is moved that the packet does not have";
        return;
    }
    mf_subfield_copy(&move->src, &move->dst, packet, NULL);
}

/* What the copy meets is its own. */
static void
execute_clone(struct run *run, const struct flow *packet,
              const struct ofpact_nest *clone)
{
    struct flow copy = *packet;
    struct meters meters = run->meters;
    uint32_t queue = run->queue;
    uint64_t rule = run->o->rule;
    size_t n_before = run->o->n_out;

    execute(run, &copy, clone->actions, ofpact_nest_get_action_len(clone));
    outcome_end_copy(run->o, n_before);
    run->queue = queue;
    run->meters = meters;
    run->o->rule = rule;
}

/* Executes one action.  Returns false if no more are to follow. */
static bool
execute_one(struct run *run, struct flow *packet, const struct ofpact *a)
{
    switch ((int) a->type) {
    case OFPACT_OUTPUT:
        execute_output(run, packet, ofpact_get_OUTPUT(a)->port);
        return true;
    case OFPACT_SET_FIELD:
        execute_set_field(run, packet, ofpact_get_SET_FIELD(a));
        return true;
    case OFPACT_REG_MOVE:
        execute_move(run, packet, ofpact_get_REG_MOVE(a));
        return true;
    case OFPACT_SET_QUEUE:
        run->queue = ofpact_get_SET_QUEUE(a)->queue_id;
        return true;
    case OFPACT_METER:
        outcome_call_meter(run->o, ofpact_get_METER(a)->meter_id,
                           &run->meters);
        return true;
    case OFPACT_DEC_TTL:
        if (packet->nw_ttl <= 1) {
            return false;
        }
        packet->nw_ttl--;
        return true;
    case OFPACT_CT:
        execute_ct(run, packet, ofpact_get_CT(a));
        return true;
    case OFPACT_RESUBMIT:
        if (ofpact_get_RESUBMIT(a)->in_port != OFPP_IN_PORT) {
            run->o->broken = "a resubmit with a port";
            return false;
        }
        run_table(run, packet, ofpact_get_RESUBMIT(a)->table_id);
        return true;
    case OFPACT_GOTO_TABLE:
        run_table(run, packet, ofpact_get_GOTO_TABLE(a)->table_id);
        return true;
    case OFPACT_CLONE:
        execute_clone(run, packet, ofpact_get_CLONE(a));
        return true;
    case OFPACT_NOTE:
        return true;
    default:
        run->o->broken = "an action that this test does not know";
        return false;
    }
}

static void
execute(struct run *run, struct flow *packet, const struct ofpact *ofpacts,
        size_t ofpacts_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (run->o->broken || !execute_one(run, packet, a)) {
            return;
        }
    }
}

void
tables_run(const struct tables *t, const struct question *q,
           struct outcome *o)
{
    struct run run = { .tables = t, .q = q, .o = o };
    struct flow packet = q->packet;

    memset(o, 0, sizeof *o);
    run_table(&run, &packet, 0);
}
