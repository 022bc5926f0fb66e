/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/entry.h"

#include <string.h>

#include "bitmap.h"
#include "flow.h"
#include "sema/interface.h"
#include "util.h"
#include "verify/scope.h"

struct listing {
    const struct verify_task *task;
    struct arena *arena;
    struct verify_result *result;
    entry_vec *entries;
    unsigned long *listed;      /* 1-bits: ports. */
};

static struct entry *
add(struct listing *l, ofp_port_t port, const char *name)
{
    struct entry *entry = vec_push(l->arena, l->entries);

    *entry = (struct entry) {
        .name = name, .ingress.port = port, .asked = true, .probed = true,
        .within = DD_ALL,
    };
    bitmap_set1(l->listed, ofp_to_u16(port));
    return entry;
}

static bool
is_here(const struct listing *l, const struct intent_node *node)
{
    return !strcmp(node->name.s, l->task->node);
}

static void
add_endpoints(struct listing *l)
{
    const struct policy *policy = l->task->policy;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        size_t n_before = l->result->n_endpoints;

        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];

            if (e->bound && is_here(l, e->node)) {
                add(l, table_set_port(l->task->tables,
                                        e->intent->interface.s),
                    e->name)->endpoint = e;
                l->result->n_endpoints++;
            }
        }
        l->result->n_tenants += l->result->n_endpoints > n_before;
    }
}

static void
add_externals(struct listing *l)
{
    const struct policy *policy = l->task->policy;

    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *e = policy->externals.v[i];

        for (size_t k = 0; k < e->attachments.n; k++) {
            const struct policy_attachment *at = e->attachments.v[k];

            if (is_here(l, at->node)) {
                add(l, table_set_port(l->task->tables,
                                        at->intent->interface.s),
                    arena_printf(l->arena, "external:%s", e->name))->external
                    = at;
                l->result->n_externals++;
            }
        }
    }
}

/* A port that is nobody's, unless it is listed already. */
static void
add_nobodys(struct listing *l, ofp_port_t port, const char *name)
{
    if (!bitmap_is_set(l->listed, ofp_to_u16(port))) {
        add(l, port, name)->ingress.outer = true;
        l->result->n_ports++;
    }
}

/* The ports that flows match.  Returns NULL, or which of them could be any
 * interface. */
static const char *
add_matched(struct listing *l)
{
    struct table_set *tables = l->task->tables;

    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *flow = tables->flows.v[i];

        for (size_t k = 0; k < flow->n_conditions; k++) {
            ofp_port_t port = u16_to_ofp(flow->conditions[k].value);

            if (flow->conditions[k].field != F_IN_PORT
                || bitmap_is_set(l->listed, ofp_to_u16(port))) {
                continue;
            } else if (ofp_to_u16(port) < ofp_to_u16(OFPP_MAX)
                       && !tables->ports_known) {
                return arena_printf(
                    l->arena, "%s: it names port %"PRIu32" by its number, "
                    "which could be any interface's: ovs-ofctl has --names",
                    flow_place(tables, flow), port);
            }
            add_nobodys(l, port, arena_printf(l->arena, "port %"PRIu32,
                                              port));
        }
    }
    return NULL;
}

/* The ports of names that are nobody's, and those without one. */
static void
add_others(struct listing *l)
{
    struct table_set *tables = l->task->tables;
    struct namemap_node *node;

    HMAP_FOR_EACH (node, name_node, &tables->ports->map.by_name) {
        add_nobodys(l, u16_to_ofp(node->number),
                    arena_printf(l->arena, "port %s", node->name));
    }
    add_nobodys(l, OFPP_LOCAL, "port LOCAL");
    add_nobodys(l, OFPP_CONTROLLER, "a controller");
    add_nobodys(l, OFPP_NONE, "no port");
}

const char *
entries_list(const struct verify_task *task, const struct limits *limits,
             struct arena *arena, struct verify_result *result,
             entry_vec *entries)
{
    struct listing l = {
        .task = task, .arena = arena, .result = result, .entries = entries,
        .listed = arena_zalloc(arena, bitmap_n_bytes(UINT16_MAX + 1)),
    };
    const char *reason;
    struct entry *tunnel;
    ofp_port_t other;

    add_endpoints(&l);
    if (limits && limits->change) {
        for (size_t i = 0; i < limits->n_nobodys; i++) {
            add_nobodys(&l, limits->nobodys[i], "a port that was bound");
        }
        return (bitmap_is_set(l.listed, ofp_to_u16(OFPP_NONE))
                ? "there are more ports than numbers for them" : NULL);
    }
    add_externals(&l);
    tunnel = add(&l, table_set_port(task->tables, INTERFACE_TUNNEL),
                 "tunnel");
    tunnel->tunnel = tunnel->ingress.outer = true;
    result->n_tunnels = 1;
    if (bitmap_is_set(l.listed, ofp_to_u16(OFPP_NONE))) {
        return "there are more ports than numbers for them";
    }
    add_others(&l);
    reason = add_matched(&l);
    do {
        other = table_set_free_port(task->tables);
    } while (other != OFPP_NONE
             && bitmap_is_set(l.listed, ofp_to_u16(other)));
    if (!reason && other == OFPP_NONE) {
        reason = "no number of a port is left that no flow names";
    }
    add_nobodys(&l, other, "any other port");
    return reason;
}
