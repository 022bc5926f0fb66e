/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/attached.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "push/keep.h"
#include "push/ovsdb.h"
#include "push/push.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

/* What interfaces say by now, beside what a plan of before has of them. */

#define CLAIMS "against: "      /* Begins attached_claims(). */

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

static bool
is_of(const struct bridge_info *info, size_t i, const char *endpoint)
{
    return (i < info->attachments.n
            && !strcmp(info->attachments.v[i].endpoint, endpoint));
}

/* The endpoint that the interface says it is, if that is another; or NULL. */
static const char *
find_another(const struct bridge_info *info, const char *interface,
             const char *endpoint)
{
    const char *is = smap_get(&info->endpoints, interface);

    return is && !nullable_string_is_equal(is, endpoint) ? is : NULL;
}

static void
put_claim(struct ds *ds, const char *name)
{
    ds_put_cstr(ds, ds->length ? " " : CLAIMS);
    json_string_escape(name, ds);
}

const char *
attached_claims(const char *interface, const char *endpoint,
                const struct bridge_info *info, struct arena *arena)
{
    const char *another = find_another(info, interface, endpoint);
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *claims;

    if (another) {
        put_claim(&ds, another);
    }
    for (size_t i = find_first(info, endpoint); is_of(info, i, endpoint);
         i++) {
        if (strcmp(info->attachments.v[i].interface, interface)) {
            put_claim(&ds, info->attachments.v[i].interface);
        }
    }
    claims = ds.length ? arena_strdup(arena, ds_cstr(&ds)) : NULL;
    ds_destroy(&ds);
    return claims;
}

static bool
has_claims(const struct plan_port *port)
{
    return port->said && !strncmp(port->said, CLAIMS, strlen(CLAIMS));
}

/* Did 'name', which speaks against 'port' by now, do so when the plan was
 * made? */
static bool
spoke_before(const struct plan_port *port, const char *name)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    bool before;

    json_string_escape(name, &ds);
    before = has_claims(port) && strstr(port->said, ds_cstr(&ds));
    ds_destroy(&ds);
    return before;
}

/* What the interface of 'port' says, if it says that it is its endpoint; or
 * NULL.  Stores which other one says so that did not then, or NULL. */
static const struct bridge_attachment *
find_said(const struct bridge_info *info, const struct plan_port *port,
          const char **other)
{
    const struct bridge_attachment *said = NULL;

    *other = NULL;
    for (size_t i = find_first(info, port->endpoint);
         is_of(info, i, port->endpoint); i++) {
        const struct bridge_attachment *a = &info->attachments.v[i];

        if (!strcmp(a->interface, port->interface)) {
            said = a;
        } else if (!spoke_before(port, a->interface)) {
            *other = a->interface;
        }
    }
    return said;
}

const char *
attached_differs(const struct plan_port *port, const struct bridge_info *info,
                 struct arena *arena)
{
    const char *another = find_another(info, port->interface, port->endpoint);
    const struct bridge_attachment *a = NULL;
    const char *other = NULL;

    if (port->endpoint) {
        a = find_said(info, port, &other);
    }
    if (another && !spoke_before(port, another)) {
        return arena_printf(arena, "it is attached as %s by now", another);
    } else if (other) {
        return arena_printf(arena, "interface %s says so%s", other,
                            a ? " too" : "");
    }
    return (!port->said || has_claims(port) ? NULL
            : !a ? "it is attached no more"
            : strcmp(port->said, attached_said(a->mac, a->addresses, arena))
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
