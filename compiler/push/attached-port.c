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
#include "timeval.h"
#include "util.h"

/* What interfaces say by now, beside what a plan of before has of them. */

const char *
attached_said(const char *mac, const char *addresses, struct arena *arena)
{
    return arena_printf(arena, "mac=%s addresses=%s", mac ? mac : "",
                        addresses ? addresses : "");
}

/* What 'interface' says, which says that it is 'endpoint'; NULL if another one
 * says so too. */
static const struct bridge_attachment *
find_said(const struct bridge_info *info, const char *interface,
          const char *endpoint)
{
    size_t low = 0, high = info->attachments.n;

    while (low < high) {
        size_t i = low + (high - low) / 2;
        const struct bridge_attachment *a = &info->attachments.v[i];
        int order = strcmp(a->endpoint, endpoint);

        order = order ? order : strcmp(a->interface, interface);
        if (!order) {
            bool twice = ((i && !strcmp(a[-1].endpoint, endpoint))
                          || (i + 1 < info->attachments.n
                              && !strcmp(a[1].endpoint, endpoint)));

            return twice ? NULL : a;
        } else if (order < 0) {
            low = i + 1;
        } else {
            high = i;
        }
    }
    return NULL;
}

const char *
attached_differs(const struct plan_port *port, const struct bridge_info *info,
                 struct arena *arena)
{
    const char *is = smap_get(&info->endpoints, port->interface);
    const struct bridge_attachment *a;

    if (!is) {
        return port->said ? "it is attached no more" : NULL;
    } else if (!nullable_string_is_equal(is, port->endpoint)) {
        return arena_printf(arena, "it is attached as %s by now", is);
    }
    a = find_said(info, port->interface, is);
    return (!a ? "another interface says so too"
            : port->said
            && strcmp(port->said, attached_said(a->mac, a->addresses, arena))
            ? "it has another MAC or other addresses by now" : NULL);
}

const char *
attached_leave_out(const struct push_target *target, const struct plan **plan,
                   bool unfit, struct arena *arena, plan_names *left_out)
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
