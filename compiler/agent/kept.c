/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "push/attached.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

/* What the node keeps is put as long as nothing is proved since the start. */

/* Adds, by interface, as whom its packets are let in. */
static void
find_admission(const struct plan *plan, struct smap *admission)
{
    char *interface, *is;

    for (size_t i = 0; i < plan->flows.n; i++) {
        if (push_admits(&plan->flows.v[i], &interface, &is)) {
            char *all = xasprintf("%s%s\n", smap_get_def(admission, interface,
                                                         ""), is);

            smap_remove(admission, interface);
            smap_add_nocopy(admission, interface, all);
            free(is);
        }
    }
}

/* Adds, by interface, the ports of the plan. */
static void
find_ports(const struct plan *plan, struct shash *ports)
{
    for (size_t i = 0; i < plan->ports.n; i++) {
        shash_add_once(ports, plan->ports.v[i].interface, &plan->ports.v[i]);
    }
}

/* Is what is kept as 'kept' the same endpoint now?  If the intent binds it by
 * now, it does not matter what the interface says. */
static bool
is_same_port(const struct plan_port *kept, const struct plan_port *now)
{
    return (now && nullable_string_is_equal(kept->endpoint, now->endpoint)
            && (!now->said
                || nullable_string_is_equal(kept->said, now->said)));
}

/* Is known now who is who: leaves out interfaces that are not let in as the
 * same any more. */
static void
put_bound(struct agent *a)
{
    struct gate *g = &a->gate;
    struct arena *arena = arena_create();
    struct sset gone = SSET_INITIALIZER(&gone);
    struct smap is = SMAP_INITIALIZER(&is), was = SMAP_INITIALIZER(&was);
    struct shash ports = SHASH_INITIALIZER(&ports);
    bool news = a->bridge_seqno != keeper_bridge_seqno(a->keeper);
    struct plan plan;

    compiled_plan(a->compiled, &plan, arena);
    find_admission(&plan, &is);
    find_admission(&g->kept, &was);
    find_ports(&plan, &ports);
    gate_note_bound(a, &gone);
    for (size_t i = 0; i < g->kept.ports.n; i++) {
        const struct plan_port *kept = &g->kept.ports.v[i];
        const char *port = kept->interface;
        const char *now = smap_get(&is, port);

        if (!smap_get(&g->admitted.as, port)
            || !nullable_string_is_equal(smap_get(&was, port), now)
            || !is_same_port(kept, shash_find_data(&ports, port))
            || (news && attached_differs(kept, keeper_bridge(a->keeper),
                                         arena))) {
            admitted_drop(&g->admitted, port);
            sset_add(&gone, port);
        }
    }
    push_leave_out(&g->kept, &gone);
    keeper_put_kept(a->keeper, &g->kept);
    g->anew = true;
    smap_destroy(&is);
    smap_destroy(&was);
    shash_destroy(&ports);
    sset_destroy(&gone);
    arena_destroy(arena);
}

/* May the interface be let in as it was, as far as the bridge says?  One that
 * has said whose it is must say so still; of one that says nothing the last
 * good intent did. */
static bool
is_as_kept(const struct agent *a, const struct plan_port *port,
           struct arena *arena)
{
    const struct bridge_info *info = keeper_bridge(a->keeper);
    const char *endpoint = smap_get(&info->endpoints, port->interface);
    const char *said = smap_get(&a->gate.said, port->interface);

    return (push_interface_is_fit(info, a->options->target.bridge,
                                  port->interface)
            && !attached_differs(port, info, arena)
            && (!said || nullable_string_is_equal(said, endpoint)));
}

/* Finds interfaces of what is kept that are not as they were, and notes what
 * all say. */
static void
find_gone(struct agent *a, struct sset *gone)
{
    const struct plan *kept = &a->gate.kept;
    struct arena *arena = arena_create();
    const struct smap_node *node;

    for (size_t i = 0; i < kept->ports.n; i++) {
        if (!is_as_kept(a, &kept->ports.v[i], arena)) {
            sset_add(gone, kept->ports.v[i].interface);
        }
    }
    SMAP_FOR_EACH (node, &keeper_bridge(a->keeper)->endpoints) {
        smap_add_once(&a->gate.said, node->key, node->value);
    }
    arena_destroy(arena);
}

/* No intent has been good since the start.  Puts all of what is kept but what
 * has 'gone', which may come back. */
static void
put_unbound(struct agent *a, const struct sset *gone)
{
    struct gate *g = &a->gate;
    struct arena *arena = arena_create();
    struct plan plan = push_without(&g->kept, gone, arena);

    sset_destroy(&g->gone);
    sset_clone(&g->gone, gone);
    g->unbound = true;
    keeper_put_kept(a->keeper, &plan);
    arena_destroy(arena);
}

bool
kept_is_due(const struct agent *a)
{
    const struct gate *g = &a->gate;

    return (!compiled_is_ready(a->compiled) ? keeper_wants_plan(a->keeper)
            : g->held && (g->unbound || keeper_wants_plan(a->keeper)));
}

/* Are the same interfaces the same endpoints, by the same word? */
static bool
has_same_ports(const struct plan *kept, const struct plan *plan)
{
    struct shash ports = SHASH_INITIALIZER(&ports);
    bool same = kept->ports.n == plan->ports.n;

    find_ports(plan, &ports);
    for (size_t i = 0; i < kept->ports.n && same; i++) {
        const struct plan_port *was = &kept->ports.v[i];
        const struct plan_port *is = shash_find_data(&ports, was->interface);

        same = (is && nullable_string_is_equal(was->endpoint, is->endpoint)
                && nullable_string_is_equal(was->said, is->said));
    }
    shash_destroy(&ports);
    return same;
}

bool
kept_is_meant(const struct agent *a)
{
    const struct plan *kept = &a->gate.kept;
    struct arena *arena;
    struct plan plan;
    bool same;

    if (!a->gate.has_kept) {
        return false;
    }
    arena = arena_create();
    compiled_plan(a->compiled, &plan, arena);
    same = (plan_same(kept, &plan) && has_same_ports(kept, &plan)
            && nullable_string_is_equal(kept->tunnel.type, plan.tunnel.type)
            && nullable_string_is_equal(kept->tunnel.local_ip,
                                        plan.tunnel.local_ip));
    arena_destroy(arena);
    return same;
}

void
kept_put(struct agent *a)
{
    if (compiled_is_ready(a->compiled)) {
        a->gate.unbound = false;
        put_bound(a);
    } else {
        struct sset gone = SSET_INITIALIZER(&gone);

        find_gone(a, &gone);
        put_unbound(a, &gone);
        sset_destroy(&gone);
    }
}

void
kept_follow(struct agent *a)
{
    struct gate *g = &a->gate;
    struct sset gone = SSET_INITIALIZER(&gone);

    if (g->unbound && g->has_kept && !compiled_is_ready(a->compiled)) {
        find_gone(a, &gone);
        if (!sset_equals(&gone, &g->gone)) {
            put_unbound(a, &gone);
        }
    }
    sset_destroy(&gone);
}
