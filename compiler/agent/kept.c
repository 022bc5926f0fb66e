/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <stdlib.h>
#include <string.h>

#include "sema/ident.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

/* What the node keeps is put as long as nothing is proved since the start. */

/* Adds, by interface, as what its packets are let in. */
static void
find_admission(const struct plan *plan, struct smap *admission)
{
    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];
        const char *name = (flow->table == 0
                            ? strstr(flow->match, "in_port=\"") : NULL);

        if (name) {
            char *key, *was;

            name += strlen("in_port=\"");
            key = xmemdup0(name, strcspn(name, "\""));
            was = xstrdup(smap_get_def(admission, key, ""));
            smap_remove(admission, key);
            smap_add_nocopy(admission, key,
                            xasprintf("%s%s %s\n", was, flow->match,
                                      flow->actions));
            free(was);
        }
    }
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
    struct plan plan;

    compiled_plan(a->compiled, &plan, arena);
    find_admission(&plan, &is);
    find_admission(&g->kept, &was);
    gate_note_bound(a, &gone);
    for (size_t i = 0; i < g->kept.ports.n; i++) {
        const char *port = g->kept.ports.v[i];
        const char *now = smap_get(&is, port);

        if (!smap_get(&g->admitted.as, port)
            || !nullable_string_is_equal(smap_get(&was, port), now)) {
            admitted_drop(&g->admitted, port);
            sset_add(&gone, port);
        }
    }
    push_leave_out(&g->kept, &gone);
    keeper_put(a->keeper, &g->kept);
    g->anew = true;
    smap_destroy(&is);
    smap_destroy(&was);
    sset_destroy(&gone);
    arena_destroy(arena);
}

/* Whose interfaces say that they are, by interface. */
static void
find_attached(const struct bridge_info *info, struct smap *attached)
{
    for (size_t i = 0; i < info->attachments.n; i++) {
        smap_replace(attached, info->attachments.v[i].interface,
                     info->attachments.v[i].endpoint);
    }
}

/* May the interface be let in as it was, as far as the bridge says?  One that
 * says whose it is must be that endpoint's, by its number; of others the last
 * good intent said so. */
static bool
is_as_kept(const struct agent *a, const char *interface, const char *was,
           const struct smap *attached)
{
    const char *endpoint = smap_get(attached, interface);
    char *number;
    bool same;

    if (!push_interface_is_fit(keeper_bridge(a->keeper),
                               a->options->target.bridge, interface)) {
        return false;
    } else if (!endpoint) {
        return true;
    }
    number = xasprintf("set_field:%#"PRIx64"->reg1,",
                       ident("endpoint", endpoint, 32));
    same = was && strstr(was, number);
    free(number);
    return same;
}

/* Takes interfaces out of what is kept that are not as they were. */
static void
find_gone(struct agent *a, struct sset *gone)
{
    struct plan *kept = &a->gate.kept;
    struct smap was = SMAP_INITIALIZER(&was);
    struct smap attached = SMAP_INITIALIZER(&attached);

    find_admission(kept, &was);
    find_attached(keeper_bridge(a->keeper), &attached);
    for (size_t i = 0; i < kept->ports.n; i++) {
        const char *port = kept->ports.v[i];

        if (!is_as_kept(a, port, smap_get(&was, port), &attached)) {
            sset_add(gone, port);
        }
    }
    push_leave_out(kept, gone);
    smap_destroy(&was);
    smap_destroy(&attached);
}

/* No intent has been good since the start. */
static void
put_unbound(struct agent *a)
{
    struct sset gone = SSET_INITIALIZER(&gone);

    find_gone(a, &gone);
    a->gate.unbound = true;
    keeper_put(a->keeper, &a->gate.kept);
    sset_destroy(&gone);
}

bool
kept_is_due(const struct agent *a)
{
    const struct gate *g = &a->gate;

    return (!compiled_is_ready(a->compiled) ? keeper_wants_plan(a->keeper)
            : g->held && (g->unbound || keeper_wants_plan(a->keeper)));
}

void
kept_put(struct agent *a)
{
    if (compiled_is_ready(a->compiled)) {
        a->gate.unbound = false;
        put_bound(a);
    } else {
        put_unbound(a);
    }
}

void
kept_follow(struct agent *a)
{
    struct sset gone = SSET_INITIALIZER(&gone);

    if (a->gate.unbound && a->gate.has_kept
        && !compiled_is_ready(a->compiled)) {
        find_gone(a, &gone);
        keeper_withdraw(a->keeper, &gone);
    }
    sset_destroy(&gone);
}
