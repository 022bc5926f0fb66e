/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/trace.h"

#include <inttypes.h>

#include "base/arena.h"
#include "sema/check.h"
#include "sema/meaning-legacy.h"
#include "sema/packet.h"
#include "sema/policy.h"

static unsigned int
vlan_of(const struct policy_endpoint *e)
{
    return e->network->intent->vlan.n;
}

/* Where the one is that the packet, which nobody gets, is addressed to. */
static const char *
find_place(const struct policy *policy, const struct meaning_question *q,
           struct arena *arena)
{
    const struct policy_endpoint *o
        = packet_find_owner(policy, q->from, q->packet, false);

    o = o ? o : packet_find_owner(policy, q->from, q->packet, true);
    if (!o || o == q->from) {
        return "where no other endpoint has the destination's MAC";
    } else if (!legacy_uplink(o)) {
        return arena_printf(arena, "where %s, which has the destination's "
                            "address, is not", o->name);
    } else if (o->network != q->from->network) {
        return arena_printf(arena, "and %s, which has the destination's "
                            "address, is in VLAN %u", o->name, vlan_of(o));
    }
    return arena_printf(arena, "where %s, which has the destination's "
                        "address, has another MAC", o->name);
}

const char *
trace_legacy_note(const struct policy *policy,
                  const struct meaning_question *q, const struct meaning *m,
                  struct arena *arena)
{
    unsigned int vlan = vlan_of(q->from);
    const char *does
        = (m->many ? arena_printf(arena, "brings it to all in VLAN %u, "
                                  "whatever rules say", vlan)
           : m->allow ? arena_printf(arena, "forwards by MAC within VLAN %u, "
                                     "whatever rules say", vlan)
           : m->reason == REASON_SPOOF ? "drops what has another source MAC"
           : m->reason == REASON_UNBOUND
           ? arena_printf(arena, "writes VLAN %u itself, and drops what has a "
                          "tag or puts its own before that", vlan)
           : arena_printf(arena, "forwards by MAC within VLAN %u only, %s",
                          vlan, find_place(policy, q, arena)));

    return arena_printf(arena, "no flow sees what %s, a VF in legacy mode, "
                        "sends: its NIC %s", q->from->name, does);
}

const char *
trace_to_legacy_note(const struct policy *policy,
                     const struct meaning_question *q,
                     const struct meaning *m, struct arena *arena)
{
    const struct policy_endpoint *o
        = (m->reason == REASON_UNREACHABLE || m->reason == REASON_UNANSWERED
           ? packet_find_owner(policy, q->from, q->packet, false) : NULL);

    return o && legacy_uplink(o)
           ? arena_printf(arena, "%s, which has that address, is a VF in "
                          "legacy mode: only what is in VLAN %u reaches it, "
                          "and no flow sends there", o->name, vlan_of(o))
           : NULL;
}
