/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/bind.h"

#include <stdarg.h>
#include <string.h>

#include "intent/intent.h"
#include "push/attached.h"
#include "push/keep.h"
#include "util.h"

void
bound_init(struct bound *bound)
{
    smap_init(&bound->here);
    smap_init(&bound->missing);
}

void
bound_destroy(struct bound *bound)
{
    smap_destroy(&bound->here);
    smap_destroy(&bound->missing);
}

void
bound_swap(struct bound *a, struct bound *b)
{
    hmap_swap(&a->here.map, &b->here.map);
    hmap_swap(&a->missing.map, &b->missing.map);
}

/* Notes, by the name that the format gives, whether 'interface' is there. */
static bool OVS_PRINTF_FORMAT(4, 5)
is_here(const char *interface, const struct site *site, struct bound *bound,
        const char *format, ...)
{
    bool here = push_interface_is_fit(site->info, site->bridge, interface);
    va_list args;

    va_start(args, format);
    smap_add_nocopy(here ? &bound->here : &bound->missing, xstrdup(interface),
                    xvasprintf(format, args));
    va_end(args);
    return here;
}

/* Looks for the interface of an endpoint that is bound to the node. */
static bool
is_missing(const struct intent_tenant *tenant,
           const struct intent_endpoint *endpoint, const struct site *site,
           struct bound *bound)
{
    return (endpoint->node.s && !strcmp(endpoint->node.s, site->node)
            && endpoint->interface.s
            && !is_here(endpoint->interface.s, site, bound, "%s/%s",
                        tenant->name.s, endpoint->name.s));
}

const struct intent_tenant *
bind_tenant(const struct intent_tenant *tenant, const struct site *site,
            struct arena *arena, struct bound *bound, struct diags *diags)
{
    struct intent_tenant *copy = arena_zalloc(arena, sizeof *copy);
    bool changed = false;

    *copy = *tenant;
    memset(&copy->endpoints, 0, sizeof copy->endpoints);
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        struct intent_endpoint *e = vec_push(arena, &copy->endpoints);

        *e = tenant->endpoints.v[i];
        changed = attached_join(site->attached, tenant->name.s, e, arena,
                                diags) || changed;
        if (is_missing(tenant, e, site, bound)) {
            e->interface = (struct text) { NULL, NULL };
            changed = true;
        }
    }
    return changed ? copy : tenant;
}

void
bind_externals(const struct intent *intent, const struct site *site,
               struct arena *arena, struct bound *bound, struct intent *whole)
{
    memset(&whole->externals, 0, sizeof whole->externals);
    for (size_t i = 0; i < intent->externals.n; i++) {
        const struct intent_external *external = &intent->externals.v[i];
        struct intent_external *copy = vec_push(arena, &whole->externals);

        *copy = *external;
        memset(&copy->attachments, 0, sizeof copy->attachments);
        for (size_t j = 0; j < external->attachments.n; j++) {
            const struct intent_attachment *a = &external->attachments.v[j];

            if (strcmp(a->node.s, site->node)
                || is_here(a->interface.s, site, bound, "external %s",
                           external->name.s)) {
                *vec_push(arena, &copy->attachments) = *a;
            }
        }
    }
}

bool
bound_has_changed(const struct bound *bound, const struct site *site)
{
    const struct smap_node *node;

    SMAP_FOR_EACH (node, &bound->here) {
        if (!push_interface_is_fit(site->info, site->bridge, node->key)) {
            return true;
        }
    }
    SMAP_FOR_EACH (node, &bound->missing) {
        if (push_interface_is_fit(site->info, site->bridge, node->key)) {
            return true;
        }
    }
    return false;
}

void
bound_missing(const struct bound *bound, struct arena *arena,
              plan_names *names)
{
    const struct smap_node *node;

    SMAP_FOR_EACH (node, &bound->missing) {
        *vec_push(arena, names) = arena_printf(arena, "%s (%s)", node->value,
                                               node->key);
    }
}
