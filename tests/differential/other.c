/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "other.h"

#include <string.h>

#include "backend/asap2/asap2.h"
#include "backend/kernel/kernel.h"
#include "base/diag.h"
#include "ir/ir.h"
#include "plan/htb.h"
#include "sema/policy.h"

static const char *
init(struct other *a, const struct backend *backend, struct compiled *c)
{
    struct diags diags;
    const char *reason = NULL;

    memset(a, 0, sizeof *a);
    a->backend = backend;
    a->prog = ir_build(c->policy, c->prog->node, c->arena);
    diags_init(&diags, c->arena);
    if (backend_compile(backend, a->prog, c->arena, &diags, &a->plan)) {
        a->tables = tables_create(a->prog, &a->plan, &reason);
    }
    return a->plan.conflict ? a->plan.conflict : reason;
}

const char *
others_init(struct other others[N_OTHERS], struct compiled *c)
{
    const char *asap2 = init(&others[0], &asap2_backend, c);
    const char *kernel = init(&others[1], &kernel_backend, c);

    return asap2 ? asap2 : kernel;
}

void
others_destroy(struct other others[N_OTHERS])
{
    for (size_t i = 0; i < N_OTHERS; i++) {
        tables_destroy(others[i].tables);
    }
}

static bool
zones_differ(const struct zones *a, const struct zones *b)
{
    return (a->n != b->n || memcmp(a->v, b->v, a->n * sizeof *a->v)
            || memcmp(a->marks, b->marks, a->n * sizeof *a->marks));
}

/* ICMP errors in fragments pass once they are whole, and nobody says what type
 * of ICMP a fragment is of. */
static bool
is_asked(const struct question *q)
{
    uint8_t protocol = q->packet.nw_proto;

    return (!q->packet.nw_frag
            || ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)
                && q->connection != CONNECTION_RELATED
                && q->beyond != CONNECTION_RELATED));
}

/* Where nothing can write advertisements, nobody is told who is who. */
static bool
asks_for_neighbor(const struct question *q)
{
    return (q->packet.dl_type == htons(ETH_TYPE_IPV6)
            && q->packet.nw_proto == IPPROTO_ICMPV6
            && ntohs(q->packet.tp_src) == ND_NEIGHBOR_SOLICIT);
}

/* That of the sender's tenant at the uplink of the sender's network, as qos.sh
 * makes it; 'got' if it makes none. */
static uint32_t
tunnel_queue(const struct other *a, const struct compiled *c,
             const struct question *q, uint32_t got)
{
    const struct policy_endpoint *from = compiled_endpoint(c, q->from);
    const char *uplink = network_uplink(from->network, from->node)->name.s;

    for (size_t i = 0; i < a->plan.htb->ports.n; i++) {
        const struct plan_htb_port *port = &a->plan.htb->ports.v[i];

        for (size_t j = 1; port->uplink && !strcmp(port->uplink, uplink)
             && j < port->queues.n; j++) {
            if (!strcmp(port->queues.v[j].tenant,
                        from->network->tenant->intent->name.s)) {
                return port->queues.v[j].number;
            }
        }
    }
    return got;
}

/* 'o' is what the target userspace does. */
static const char *
delivery_differs(const struct other *a, const struct compiled *c,
                 const struct question *q, const struct delivery *o,
                 const struct delivery *got)
{
    const char *difference = packets_differ(&o->packet, &got->packet, true);
    uint32_t queue = (!a->plan.htb ? 0
                      : !q->tunnel && flow_tnl_dst_is_set(&got->packet.tunnel)
                      ? tunnel_queue(a, c, q, got->queue) : o->queue);

    return (got->port != o->port ? "it goes to another port"
            : difference ? difference
            : got->queue != queue ? "its queue is another" : NULL);
}

static const char *
compare(const struct other *a, const struct compiled *c,
        const struct question *q, const struct outcome *o,
        struct arena *arena)
{
    struct outcome got;

    tables_run(a->tables, q, &got);
    if (asks_for_neighbor(q)) {
        return (got.broken || got.n_out
                ? arena_printf(arena, "the target %s has %s",
                               a->backend->name, outcome_text(&got, arena))
                : NULL);
    }
    if (got.broken || got.n_out != o->n_out
        || cookies_differ(c, got.rule, o->rule)
        || got.n_dropped != o->n_dropped
        || (!o->n_out && cookies_differ(c, got.cookie, o->cookie))
        || zones_differ(&got.tracked, &o->tracked)
        || zones_differ(&got.committed, &o->committed)) {
        return arena_printf(arena, "the target %s has %s", a->backend->name,
                            outcome_text(&got, arena));
    }
    for (size_t i = 0; i < o->n_out; i++) {
        const char *difference = delivery_differs(a, c, q, &o->out[i],
                                                  &got.out[i]);

        if (difference) {
            return arena_printf(arena, "the target %s: %s", a->backend->name,
                                difference);
        }
    }
    return NULL;
}

const char *
others_compare(const struct other others[N_OTHERS], const struct compiled *c,
               const struct question *q, const struct outcome *o,
               struct arena *arena)
{
    const char *difference = NULL;

    for (size_t i = 0; !difference && i < N_OTHERS; i++) {
        if (others[i].tables && is_asked(q)) {
            difference = compare(&others[i], c, q, o, arena);
        }
    }
    return difference;
}
