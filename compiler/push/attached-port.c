/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/attached.h"

#include <string.h>

#include "push/keep.h"
#include "push/ovsdb.h"
#include "push/push.h"
#include "sset.h"
#include "svec.h"
#include "timeval.h"
#include "util.h"

/* What interfaces say by now, beside what a plan of before has of them. */

const char *
attached_said(const char *mac, const char *addresses, struct arena *arena)
{
    return arena_printf(arena, "mac=%s addresses=%s", mac ? mac : "",
                        addresses ? addresses : "");
}

/* The place of the first interface that says that it is 'endpoint', or of what
 * comes after. */
static size_t
find_first(const struct bridge_info *info, const char *endpoint)
{
    size_t low = 0, high = info->attachments.n;

    while (low < high) {
        size_t i = low + (high - low) / 2;

        if (strcmp(info->attachments.v[i].endpoint, endpoint) < 0) {
            low = i + 1;
        } else {
            high = i;
        }
    }
    return low;
}

/* What 'interface' says, which says that it is 'endpoint'; or if it is NULL,
 * nothing.  Stores which other one says that it is, or NULL. */
static const struct bridge_attachment *
find_said(const struct bridge_info *info, const char *interface,
          const char *endpoint, const char **other)
{
    const struct bridge_attachment *said = NULL;

    *other = NULL;
    for (size_t i = find_first(info, endpoint); i < info->attachments.n
         && !strcmp(info->attachments.v[i].endpoint, endpoint); i++) {
        const struct bridge_attachment *a = &info->attachments.v[i];

        if (!strcmp(a->interface, interface)) {
            said = a;
        } else {
            *other = a->interface;
        }
    }
    return said;
}

const char *
attached_differs(const struct plan_port *port, const struct bridge_info *info,
                 struct arena *arena)
{
    const char *is = smap_get(&info->endpoints, port->interface);
    const struct bridge_attachment *a = NULL;
    const char *other = NULL;

    if (port->endpoint) {
        a = find_said(info, port->interface, port->endpoint, &other);
    }
    if (is && !nullable_string_is_equal(is, port->endpoint)) {
        return arena_printf(arena, "it is attached as %s by now", is);
    } else if (other) {
        return arena_printf(arena, "interface %s says so%s", other,
                            a ? " too" : "");
    }
    return (!port->said ? NULL
            : !a ? "it is attached no more"
            : strcmp(port->said, attached_said(a->mac, a->addresses, arena))
            ? "it has another MAC or other addresses by now" : NULL);
}

/* Adds as whom the plan lets in by 'interface'. */
static void
add_admissions(const struct plan *plan, const char *interface,
               struct svec *admissions)
{
    char *name, *admission;

    for (size_t i = 0; i < plan->flows.n; i++) {
        if (push_admits(&plan->flows.v[i], &name, &admission)) {
            if (!strcmp(name, interface)) {
                svec_add(admissions, admission);
            }
            free(name);
            free(admission);
        }
    }
    svec_sort(admissions);
}

/* Do both plans let in by the interface as the same?  Of an external, a port
 * has no name. */
static bool
admit_alike(const struct plan *a, const struct plan *b, const char *interface)
{
    struct svec x = SVEC_EMPTY_INITIALIZER, y = SVEC_EMPTY_INITIALIZER;
    bool alike;

    add_admissions(a, interface, &x);
    add_admissions(b, interface, &y);
    alike = x.n && svec_equal(&x, &y);
    svec_destroy(&x);
    svec_destroy(&y);
    return alike;
}

/* Do both plans bind the interface to the same, whatever interfaces say? */
static bool
is_bound_now(const struct plan_port *port, const struct plan *plan,
             const struct plan *now)
{
    for (size_t i = 0; now && !port->said && i < now->ports.n; i++) {
        const struct plan_port *is = &now->ports.v[i];

        if (!strcmp(is->interface, port->interface)) {
            return (!is->said && nullable_string_is_equal(is->endpoint,
                                                          port->endpoint)
                    && admit_alike(plan, now, port->interface));
        }
    }
    return false;
}

const char *
attached_leave_out(const struct push_target *target, const struct plan **plan,
                   const struct plan *now, bool unfit, struct arena *arena,
                   plan_names *left_out)
{
    struct sset interfaces = SSET_INITIALIZER(&interfaces);
    struct bridge_info info;
    const char *reason;

    bridge_info_init(&info);
    reason = bridge_info_read(target->db, target->bridge,
                              time_msec() + target->timeout_ms, arena, &info);
    for (size_t i = 0; !reason && i < (*plan)->ports.n; i++) {
        const struct plan_port *port = &(*plan)->ports.v[i];
        const char *differs = attached_differs(port, &info, arena);

        if (differs && is_bound_now(port, *plan, now)) {
            differs = NULL;
        }
        if (unfit && !differs
            && !push_interface_is_fit(&info, target->bridge,
                                      port->interface)) {
            differs = "the bridge lacks it, or it is of no endpoint's type";
        }
        if (differs) {
            sset_add(&interfaces, port->interface);
            *vec_push(arena, left_out) = arena_printf(
                arena, "interface %s as %s: %s", port->interface,
                port->endpoint ? port->endpoint : "it was", differs);
        }
    }
    if (!sset_is_empty(&interfaces)) {
        struct plan *without = arena_zalloc(arena, sizeof *without);

        *without = push_without(*plan, &interfaces, arena);
        *plan = without;
    }
    sset_destroy(&interfaces);
    bridge_info_destroy(&info);
    return reason;
}
