/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/walk.h"

#include <string.h>

#include "hash.h"
#include "ir/ir.h"
#include "netlink.h"
#include "odp-util.h"
#include "offload/flow-tables.h"
#include "offload/wildcards.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "sema/ident.h"
#include "simap.h"
#include "util.h"

/* What Open vSwitch gives tunnels unless it is told otherwise. */
enum { TUNNEL_TTL = 64 };

/* Open vSwitch stops there too (MAX_RESUBMITS). */
enum { MAX_STEPS = 4096 };

/* What a packet that comes back from ct() has kept.  Packets that have kept
 * the same come to the same chain. */
struct frozen {
    struct hmap_node node;
    uint32_t chain;
    uint8_t table;
    ovs_be64 metadata;
    ofp_port_t in_port;
    uint32_t regs[FLOW_N_REGS];
};

struct walker {
    const struct ir_prog *prog;
    const struct plan *plan;
    struct flow_tables *tables;
    struct simap ports;         /* Their numbers, as in packets. */
    struct hmap frozen;         /* Contains "struct frozen"s. */
};

/* A pass. */
struct pass {
    struct walker *walker;
    struct walk *walk;
    struct arena *arena;
    enum walk_state state;
    struct flow flow, base;     /* As it is, and as the actions so far leave
                                 * it. */
    struct flow_wildcards wc;
    struct ofpbuf actions;
    int steps;
    bool comes_back;            /* To 'next'. */
    struct flow next;
    uint8_t next_table;
    uint32_t next_chain;
};

struct walker *
walker_create(const struct ir_prog *prog, const struct plan *plan,
              const char **reason)
{
    struct ofputil_port_map map = OFPUTIL_PORT_MAP_INITIALIZER(&map);
    struct walker *w = xzalloc(sizeof *w);

    w->prog = prog;
    w->plan = plan;
    hmap_init(&w->frozen);
    simap_init(&w->ports);
    for (size_t i = 0; i <= plan->ports.n; i++) {
        const char *name = walker_port_name(w, i + 1);

        simap_put(&w->ports, name, i + 1);
        ofputil_port_map_put(&map, u16_to_ofp(i + 1), name);
    }
    w->tables = flow_tables_create(plan, &map, reason);
    ofputil_port_map_destroy(&map);
    if (!w->tables) {
        walker_destroy(w);
        return NULL;
    }
    return w;
}

void
walker_destroy(struct walker *w)
{
    struct frozen *frozen;

    if (w) {
        HMAP_FOR_EACH_POP (frozen, node, &w->frozen) {
            free(frozen);
        }
        hmap_destroy(&w->frozen);
        flow_tables_destroy(w->tables);
        simap_destroy(&w->ports);
        free(w);
    }
}

uint32_t
walker_port(const struct walker *w, const char *name)
{
    return simap_get(&w->ports, name);
}

const char *
walker_port_name(const struct walker *w, uint32_t port)
{
    return (port && port <= w->plan->ports.n
            ? w->plan->ports.v[port - 1].interface
            : port == w->plan->ports.n + 1 ? PLAN_TUNNEL : NULL);
}

static uint32_t
freeze(struct walker *w, uint8_t table, const struct flow *flow)
{
    struct frozen key = {
        .table = table, .metadata = flow->metadata,
        .in_port = flow->in_port.ofp_port,
    };
    uint32_t hash = hash_bytes(flow->regs, sizeof flow->regs, table);
    struct frozen *frozen;

    memcpy(key.regs, flow->regs, sizeof key.regs);
    HMAP_FOR_EACH_WITH_HASH (frozen, node, hash, &w->frozen) {
        if (frozen->table == table && frozen->metadata == key.metadata
            && frozen->in_port == key.in_port
            && !memcmp(frozen->regs, key.regs, sizeof key.regs)) {
            return frozen->chain;
        }
    }
    key.chain = hmap_count(&w->frozen) + 1;
    frozen = xmemdup(&key, sizeof key);
    hmap_insert(&w->frozen, &frozen->node, hash);
    return frozen->chain;
}

static void
commit(struct pass *pass)
{
    commit_odp_actions(&pass->flow, &pass->base, &pass->actions, &pass->wc,
                       true, false, false, NULL);
}

static void execute(struct pass *, const struct ofpact *, size_t ofpacts_len);

static void
run_table(struct pass *pass, uint8_t table)
{
    const struct flow_entry *flow;

    if (pass->steps++ > MAX_STEPS) {
        pass->walk->broken = "it goes round in circles";
        return;
    }
    flow = flow_tables_lookup(pass->walker->tables, table, &pass->flow,
                              &pass->wc);
    if (!flow) {
        pass->walk->broken = "it matches no flow of a table";
        return;
    }
    pass->walk->cookie = flow->cookie;
    if ((flow->cookie & ~COOKIE_MARK_MASK) >= IDENT_RESERVED) {
        pass->walk->rule = flow->cookie;
    }
    execute(pass, flow->ofpacts, flow->ofpacts_len);
}

/* As tnl_port_send() and compose_output_action__() do. */
static void
output_to_tunnel(struct pass *pass, ofp_port_t port)
{
    const char *type = pass->walker->plan->tunnel.type;
    struct flow_tnl before = pass->flow.tunnel;
    struct flow_tnl *t = &pass->flow.tunnel;
    struct in6_addr local = pass->walker->prog->tunnel_address;

    if (IN6_IS_ADDR_V4MAPPED(&local)) {
        t->ip_src = in6_addr_get_mapped_ipv4(&local);
    } else {
        t->ipv6_src = local;
    }
    t->tp_dst = htons(walker_tunnel_port(pass->walker->plan));
    t->ip_ttl = TUNNEL_TTL;
    if (is_ip_any(&pass->flow)) {
        /* ECN always is inherited, DSCP by plan_tunnel_options(). */
        pass->wc.masks.nw_tos = UINT8_MAX;
        t->ip_tos = pass->flow.nw_tos;
    }
    t->flags = FLOW_TNL_F_DONT_FRAGMENT | FLOW_TNL_F_KEY;
    commit(pass);
    commit_odp_tunnel_action(&pass->flow, &pass->base, &pass->actions,
                             type);
    nl_msg_put_odp_port(&pass->actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(ofp_to_u16(port)));
    *t = before;
}

static void
execute_output(struct pass *pass, ofp_port_t port)
{
    if (port == OFPP_IN_PORT) {
        port = pass->flow.in_port.ofp_port;
    } else if (port == pass->flow.in_port.ofp_port) {
        return;
    }
    if (ofp_to_u16(port) >= ofp_to_u16(OFPP_MAX) && port != OFPP_LOCAL) {
        pass->walk->broken = "it meets an action that is not known here";
        return;
    }
    pass->walk->n_outputs++;
    if (ofp_to_u16(port) == walker_port(pass->walker, PLAN_TUNNEL)) {
        output_to_tunnel(pass, port);
        return;
    }
    commit(pass);
    nl_msg_put_odp_port(&pass->actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(ofp_to_u16(port)));
}

/* The number of the tenant that has 'zone'. */
static uint32_t
zone_mark(const struct ir_prog *prog, uint16_t zone)
{
    for (size_t i = 0; i < prog->tenants.n; i++) {
        if (prog->tenants.v[i]->zone == zone) {
            return prog->tenants.v[i]->number;
        }
    }
    return 0;
}

/* What conntrack notes in a packet that comes back. */
static void
set_ct_fields(struct flow *flow, const struct pass *pass, uint16_t zone,
              bool noted)
{
    bool opens = pass->state == WALK_OPENS, reply = pass->state == WALK_REPLY;

    flow->ct_zone = zone;
    flow->ct_state = CS_TRACKED | (opens ? CS_NEW : CS_ESTABLISHED)
                     | (reply ? CS_REPLY_DIR : 0);
    flow->ct_mark = (opens && !noted ? 0
                     : zone_mark(pass->walker->prog, zone));
    flow->ct_nw_proto = flow->nw_proto;
    flow->ct_tp_src = reply ? flow->tp_dst : flow->tp_src;
    flow->ct_tp_dst = reply ? flow->tp_src : flow->tp_dst;
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        flow->ct_nw_src = reply ? flow->nw_dst : flow->nw_src;
        flow->ct_nw_dst = reply ? flow->nw_src : flow->nw_dst;
    } else {
        flow->ct_ipv6_src = reply ? flow->ipv6_dst : flow->ipv6_src;
        flow->ct_ipv6_dst = reply ? flow->ipv6_src : flow->ipv6_dst;
    }
}

/* As compose_conntrack_action() does. */
static void
execute_ct(struct pass *pass, const struct ofpact_conntrack *ct)
{
    uint32_t mark = pass->flow.ct_mark, mask = pass->wc.masks.ct_mark;
    uint16_t zone = (ct->zone_src.field
                     ? mf_get_subfield(&ct->zone_src, &pass->flow)
                     : ct->zone_imm);
    size_t offset;

    commit(pass);
    pass->wc.masks.ct_mark = 0;
    execute(pass, ct->actions, ofpact_ct_get_action_len(ct));
    offset = nl_msg_start_nested(&pass->actions, OVS_ACTION_ATTR_CT);
    if (ct->flags & NX_CT_F_COMMIT) {
        nl_msg_put_flag(&pass->actions, OVS_CT_ATTR_COMMIT);
    }
    nl_msg_put_u16(&pass->actions, OVS_CT_ATTR_ZONE, zone);
    if (pass->wc.masks.ct_mark) {
        uint32_t noted[] = { pass->flow.ct_mark, pass->wc.masks.ct_mark };

        nl_msg_put_unspec(&pass->actions, OVS_CT_ATTR_MARK, noted,
                          sizeof noted);
    }
    nl_msg_end_nested(&pass->actions, offset);
    pass->wc.masks.ct_mark = mask;
    if (ct->recirc_table == NX_CT_RECIRC_NONE) {
        pass->flow.ct_mark = mark;
        return;
    }
    pass->walk->tracked = true;
    if (pass->comes_back) {
        pass->walk->broken = "it is tracked twice in one pass";
        return;
    }
    pass->comes_back = true;
    pass->next = pass->flow;
    pass->next_table = ct->recirc_table;
    pass->next_chain = freeze(pass->walker, ct->recirc_table, &pass->flow);
    set_ct_fields(&pass->next, pass, zone, ct->flags & NX_CT_F_COMMIT);
    nl_msg_put_u32(&pass->actions, OVS_ACTION_ATTR_RECIRC, pass->next_chain);
    flow_clear_conntrack(&pass->flow);
}

/* Can what they do be taken back (reversible_actions())? */
static bool
are_reversible(const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_CT || a->type == OFPACT_METER) {
            return false;
        }
    }
    return true;
}

/* As clone_xlate_actions() does. */
static void
execute_clone(struct pass *pass, const struct ofpact_nest *clone)
{
    size_t len = ofpact_nest_get_action_len(clone);
    struct flow before = pass->flow;

    if (are_reversible(clone->actions, len)) {
        execute(pass, clone->actions, len);
    } else {
        struct flow base;
        size_t offset;

        commit(pass);
        base = pass->base;
        offset = nl_msg_start_nested(&pass->actions, OVS_ACTION_ATTR_CLONE);
        execute(pass, clone->actions, len);
        nl_msg_end_non_empty_nested(&pass->actions, offset);
        pass->base = base;
    }
    pass->flow = before;
}

static void
execute_set_field(struct pass *pass, const struct ofpact_set_field *set)
{
    if (mf_are_prereqs_ok(set->field, &pass->flow, &pass->wc)) {
        mf_mask_field_masked(set->field, ofpact_set_field_mask(set),
                             &pass->wc);
        mf_set_flow_value_masked(set->field, set->value,
                                 ofpact_set_field_mask(set), &pass->flow);
    }
}

/* As dpif_netdev_queue_to_priority() has it, or dpif-netlink, which says
 * TC_H_MAKE(1 << 16, queue + 1). */
static uint32_t
queue_to_priority(const struct plan *plan, uint32_t queue)
{
    return plan->kernel ? 0x10000 | (queue + 1) : queue;
}

/* Returns false if no more actions are to follow. */
static bool
execute_one(struct pass *pass, const struct ofpact *a)
{
    switch ((int) a->type) {
    case OFPACT_OUTPUT:
        execute_output(pass, ofpact_get_OUTPUT(a)->port);
        return true;
    case OFPACT_SET_FIELD:
        execute_set_field(pass, ofpact_get_SET_FIELD(a));
        return true;
    case OFPACT_REG_MOVE:
        mf_subfield_copy(&ofpact_get_REG_MOVE(a)->src,
                         &ofpact_get_REG_MOVE(a)->dst, &pass->flow,
                         &pass->wc);
        return true;
    case OFPACT_SET_QUEUE:
        pass->wc.masks.skb_priority = UINT32_MAX;
        pass->flow.skb_priority
            = queue_to_priority(pass->walker->plan,
                                ofpact_get_SET_QUEUE(a)->queue_id);
        return true;
    case OFPACT_METER:
        /* What it counts has been rewritten, as a patch of the series has
         * it. */
        commit(pass);
        nl_msg_put_u32(&pass->actions, OVS_ACTION_ATTR_METER,
                       ofpact_get_METER(a)->meter_id);
        return true;
    case OFPACT_DEC_TTL:
        pass->wc.masks.nw_ttl = UINT8_MAX;
        if (pass->flow.nw_ttl <= 1) {
            return false;
        }
        pass->flow.nw_ttl--;
        return true;
    case OFPACT_CT:
        execute_ct(pass, ofpact_get_CT(a));
        return true;
    case OFPACT_RESUBMIT:
        run_table(pass, ofpact_get_RESUBMIT(a)->table_id);
        return true;
    case OFPACT_GOTO_TABLE:
        run_table(pass, ofpact_get_GOTO_TABLE(a)->table_id);
        return true;
    case OFPACT_CLONE:
        execute_clone(pass, ofpact_get_CLONE(a));
        return true;
    case OFPACT_NOTE:
        return true;
    default:
        pass->walk->broken = "it meets an action that is not known here";
        return false;
    }
}

static void
execute(struct pass *pass, const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        if (pass->walk->broken || !execute_one(pass, a)) {
            return;
        }
    }
}

/* The actions of the pass, in its arena; without any there is no data. */
static const struct nlattr *
keep_actions(const struct pass *pass)
{
    void *actions = arena_zalloc(pass->arena, pass->actions.size + 1);

    if (pass->actions.size) {
        memcpy(actions, pass->actions.data, pass->actions.size);
    }
    return actions;
}

/* One pass, from 'table' on; returns whether another follows. */
static bool
run_pass(struct pass *pass, const struct flow *packet, uint8_t table,
         uint32_t chain)
{
    struct megaflow *megaflow;

    pass->flow = pass->base = *packet;
    pass->comes_back = false;
    ofpbuf_clear(&pass->actions);
    wildcards_init(&pass->wc, packet);
    run_table(pass, table);
    wildcards_finish(&pass->wc, packet);

    megaflow = vec_push(pass->arena, &pass->walk->megaflows);
    megaflow->key = *packet;
    megaflow->wc = pass->wc;
    megaflow->chain = chain;
    megaflow->actions_len = pass->actions.size;
    megaflow->actions = keep_actions(pass);
    return pass->comes_back && !pass->walk->broken;
}

void
walker_run(struct walker *w, const struct flow *packet, enum walk_state state,
           struct arena *arena, struct walk *walk)
{
    struct pass pass = {
        .walker = w, .walk = walk, .arena = arena, .state = state,
    };
    struct flow next = *packet;
    uint32_t chain = 0;
    uint8_t table = 0;

    memset(walk, 0, sizeof *walk);
    ofpbuf_init(&pass.actions, 0);
    while (run_pass(&pass, &next, table, chain)) {
        next = pass.next;
        table = pass.next_table;
        chain = next.recirc_id = pass.next_chain;
    }
    ofpbuf_uninit(&pass.actions);
}
