/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "backend/openflow/openflow.h"

#include <inttypes.h>

#include "backend/openflow/emit.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "pass/pass.h"
#include "sema/ident.h"
#include "util.h"

void
emit_flow(struct emitter *e, enum of_table table, enum of_priority priority,
          uint64_t id, const char *match, const char *actions)
{
    plan_add_flow(e->plan, table, priority, COOKIE_MARK | id, match, actions);
}

const char *
match_address(struct emitter *e, const struct in6_addr *ip,
              const char *field)
{
    char s[INET6_ADDRSTRLEN + 1];
    bool is_ip4 = IN6_IS_ADDR_V4MAPPED(ip);

    ipv6_string_mapped(s, ip);
    return FORMAT(e, "%s_%s=%s", is_ip4 ? "ip,nw" : "ipv6,ipv6", field, s);
}

void
put_copy(struct ds *list, const char *actions, enum of_table table)
{
    /* clone() takes back what each copy does to packet and registers. */
    ds_put_format(list, "%sclone(%s,resubmit(,%d))", list->length ? "," : "",
                  actions, table);
}

/* The drop that counts what no other flow of a table takes. */
static void
emit_misses(struct emitter *e)
{
    static const enum reason misses[N_TABLES] = {
        [TABLE_ADMIT] = REASON_UNBOUND,
        [TABLE_TUNNEL] = REASON_UNKNOWN_PEER,
        [TABLE_SPOOF] = REASON_SPOOF,
        [TABLE_NEIGHBOR] = REASON_UNANSWERED,
        [TABLE_NEIGHBOR_ADVERT] = REASON_UNANSWERED,
        [TABLE_DHCP] = REASON_UNREACHABLE,
        [TABLE_TRACK] = REASON_CT_INVALID,
        [TABLE_OWNER] = REASON_CT_INVALID,
        [TABLE_STATE] = REASON_CT_INVALID,
        [TABLE_GROUP] = REASON_UNREACHABLE,
        [TABLE_COPY] = REASON_UNREACHABLE,
        [TABLE_ROUTE] = REASON_UNREACHABLE,
        [TABLE_GATEWAY] = REASON_UNREACHABLE,
        [TABLE_SELF] = REASON_DEFAULT,
        [TABLE_SIDES] = REASON_CT_INVALID,
        [TABLE_POLICY] = REASON_DEFAULT,
        [TABLE_COMMIT] = REASON_CT_INVALID,
        [TABLE_PEER] = REASON_CT_INVALID,
        [TABLE_PEER_OWNER] = REASON_CT_INVALID,
        [TABLE_PEER_STATE] = REASON_CT_INVALID,
        [TABLE_CLASS] = REASON_DEFAULT,
        [TABLE_METER] = REASON_NO_METER,
        [TABLE_OUTPUT] = REASON_NO_PORT,
        [TABLE_SHARE] = REASON_NO_METER,
        [TABLE_DELIVER] = REASON_NO_PORT,
        [TABLE_NOTED] = REASON_CONNECTIONS,
    };
    bool long_paths = has_long_paths(e->prog);
    bool unlimited = !has_connection_limits(e->prog);

    for (int table = 0; table < N_TABLES; table++) {
        if ((table != TABLE_SHARE || long_paths)
            && (table != TABLE_DELIVER || long_paths || has_tenant_queues(e))
            && (table != TABLE_NOTED || !unlimited)) {
            emit_flow(e, table, PRIORITY_MISS, misses[table], "", "drop");
        }
    }
}

static void
add_cookies(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->rules.n; i++) {
        const struct ir_rule *rule = e->prog->rules.v[i];

        *vec_push(e->arena, &e->plan->cookies) = (struct plan_cookie) {
            COOKIE_MARK | rule->id, rule_kind_name(rule->kind), rule->name,
            ir_place_text(e->prog, &rule->place, e->arena),
        };
    }
    for (size_t i = 0; i < n_reason_infos; i++) {
        const struct reason_info *info = &reason_infos[i];

        if (info->reason == REASON_CONNECTIONS
            && !has_connection_limits(e->prog)) {
            continue;
        }
        *vec_push(e->arena, &e->plan->cookies) = (struct plan_cookie) {
            COOKIE_MARK | info->reason, "implicit", info->name, info->text,
        };
    }
}

/* 'place' is that of who has the port, and 'at' where that is said, perhaps in
 * a file of its own; or NULL. */
static void
add_port(struct emitter *e, const struct plan_port *port,
         const struct ir_place *place, const struct value *at)
{
    struct ir_place member = (at ? ir_place_of(e->arena, at, false)
                              : ir_place_member(e->arena, place,
                                                "interface"));
    const struct source *file = member.span.source;
    const char *text = ir_place_text(e->prog, &member, e->arena);

    if (file && file != place->span.source && !e->prog->several_files) {
        text = arena_printf(e->arena, "%s, %s", file->name, text);
    }
    *vec_push(e->arena, &e->plan->ports) = (struct plan_port) {
        port->interface, port->endpoint, port->said, text,
    };
}

static void
add_names(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *ep = e->prog->endpoints.v[i];

        if (ep->node) {
            *vec_push(e->arena, &e->plan->by_tunnel) = ep->name;
        } else {
            const struct plan_port port = {
                ep->interface, ep->name, ep->said, NULL,
            };

            add_port(e, &port, &ep->place, ep->interface_at);
        }
    }
    for (size_t i = 0; i < e->prog->externals.n; i++) {
        const struct plan_port port = {
            .interface = e->prog->externals.v[i]->interface,
        };

        add_port(e, &port, &e->prog->externals.v[i]->place, NULL);
    }
    for (size_t i = 0; i < e->prog->cut_off.n; i++) {
        *vec_push(e->arena, &e->plan->cut_off) = e->prog->cut_off.v[i];
    }
    for (size_t i = 0; i < e->prog->unbound.n; i++) {
        *vec_push(e->arena, &e->plan->unbound) = e->prog->unbound.v[i];
    }
    for (size_t i = 0; i < e->prog->elsewhere.n; i++) {
        *vec_push(e->arena, &e->plan->elsewhere) = e->prog->elsewhere.v[i];
    }
}

static void
add_numbers(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->tenants.n; i++) {
        const struct ir_tenant *t = e->prog->tenants.v[i];

        *vec_push(e->arena, &e->plan->tenants)
            = (struct plan_number) { t->name, t->number, t->zone };
    }
    for (size_t i = 0; i < e->prog->endpoints.n; i++) {
        const struct ir_endpoint *ep = e->prog->endpoints.v[i];

        *vec_push(e->arena, &e->plan->endpoints)
            = (struct plan_number) { ep->name, ep->number, 0 };
    }
}

static void
add_networks(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->networks.n; i++) {
        const struct ir_network *n = e->prog->networks.v[i];

        if (n->here) {
            *vec_push(e->arena, &e->plan->networks)
                = (struct plan_network) { n->name, n->vni, n->mtu };
        }
    }
}

static void
add_externals(struct emitter *e)
{
    for (size_t i = 0; i < e->prog->externals.n; i++) {
        const struct ir_external *x = e->prog->externals.v[i];

        *vec_push(e->arena, &e->plan->externals) = (struct plan_external) {
            x->name, x->interface,
            FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(x->mac)),
            FORMAT(e, ETH_ADDR_FMT, ETH_ADDR_ARGS(x->gateway_mac)),
            x->number,
        };
    }
}

static void
add_tunnel(struct emitter *e)
{
    char s[INET6_ADDRSTRLEN + 1];

    if (e->prog->encapsulation) {
        ipv6_string_mapped(s, &e->prog->tunnel_address);
        e->plan->tunnel = (struct plan_tunnel) {
            e->prog->encapsulation, arena_strdup(e->arena, s),
        };
    }
}

void
openflow_emit(const struct ir_prog *prog, const struct backend_caps *caps,
              struct plan *plan, struct diags *diags)
{
    struct emitter e = {
        .prog = prog, .plan = plan, .arena = plan->arena, .caps = caps,
        .diags = diags,
    };

    plan->kernel = caps->kernel;
    plan->telemetry = prog->telemetry;
    emit_misses(&e);
    emit_limits(&e);
    emit_upcalls(&e);
    emit_ports(&e);
    emit_dhcp(&e);
    emit_conntrack(&e);
    emit_connections(&e);
    emit_state(&e);
    emit_stateless_rules(&e);
    emit_multicast(&e);
    emit_routes(&e);
    emit_tunnels(&e);
    emit_externals(&e);
    emit_sides(&e);
    emit_policy(&e);
    emit_qos(&e);
    add_cookies(&e);
    add_names(&e);
    add_numbers(&e);
    add_networks(&e);
    add_externals(&e);
    add_tunnel(&e);
    plan_finish(plan);
    plan->n_rule_flows = e.n_policy_flows;
    plan->n_conjunctions = e.n_conjunctions;
    check_tables(&e);
    openflow_set_vfs(prog, plan);
}

/* Open vSwitch 3.1: OFPTT_MAX; max_entries and max_meter of its features'
 * replies; OFPP_MAX.  Zones are 16 bits, less IDENT_RESERVED.  Changed meters
 * stand beside the old ones for a while (plan_meter_other()), also below a
 * parent, which has BORROW_MAX_MEMBERS.  A message has less than 64 kB, and
 * holds the match of a flow too. */
static const struct backend_caps userspace_caps = {
    .n_tables = 255,
    .n_flows = 1000000,
    .n_ports = 0xfeff,
    .n_zones = UINT16_MAX + 1 - IDENT_RESERVED,
    .n_meters = 262144 / 2,
    .n_members = 1024 / 2,
    .n_conjunctions = UINT32_MAX - IDENT_RESERVED,
    .action_bytes = 64000,
    .queues = true,
};

static void
userspace_emit(const struct ir_prog *prog, const struct backend_caps *caps,
               struct plan *plan, struct diags *diags)
{
    openflow_emit(prog, caps, plan, diags);
    openflow_set_dpdk(prog, plan);
}

const struct backend openflow_backend = {
    .name = "userspace",
    .caps = &userspace_caps,
    .check = openflow_check,
    .lower = pass_group,
    .emit = userspace_emit,
};
