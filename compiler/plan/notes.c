/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* All of a plan but its flows and meters. */

static const char *
copy(const struct plan *plan, const char *s)
{
    return s ? arena_strdup(plan->arena, s) : NULL;
}

static void
copy_names(struct plan *to, plan_names *names, const plan_names *from)
{
    for (size_t i = 0; i < from->n; i++) {
        *vec_push(to->arena, names) = copy(to, from->v[i]);
    }
}

static void
copy_cookies(struct plan *to, const struct plan *from)
{
    for (size_t i = 0; i < from->cookies.n; i++) {
        const struct plan_cookie *c = &from->cookies.v[i];

        *vec_push(to->arena, &to->cookies) = (struct plan_cookie) {
            c->cookie, copy(to, c->kind), copy(to, c->name), copy(to, c->text),
        };
    }
}

static void
copy_numbers(struct plan *to, const struct plan *from)
{
    for (size_t i = 0; i < from->tenants.n; i++) {
        const struct plan_number *n = &from->tenants.v[i];

        *vec_push(to->arena, &to->tenants) = (struct plan_number) {
            copy(to, n->name), n->number, n->zone,
        };
    }
    for (size_t i = 0; i < from->endpoints.n; i++) {
        const struct plan_number *n = &from->endpoints.v[i];

        *vec_push(to->arena, &to->endpoints) = (struct plan_number) {
            copy(to, n->name), n->number, n->zone,
        };
    }
}

static void
copy_places(struct plan *to, const struct plan *from)
{
    for (size_t i = 0; i < from->networks.n; i++) {
        const struct plan_network *n = &from->networks.v[i];

        *vec_push(to->arena, &to->networks) = (struct plan_network) {
            copy(to, n->name), n->vni, n->mtu,
        };
    }
    for (size_t i = 0; i < from->externals.n; i++) {
        const struct plan_external *e = &from->externals.v[i];

        *vec_push(to->arena, &to->externals) = (struct plan_external) {
            copy(to, e->name), copy(to, e->interface), copy(to, e->mac),
            copy(to, e->gateway_mac), e->number,
        };
    }
}

static void
copy_ports(struct plan *to, const struct plan *from)
{
    for (size_t i = 0; i < from->ports.n; i++) {
        const struct plan_port *p = &from->ports.v[i];

        *vec_push(to->arena, &to->ports) = (struct plan_port) {
            copy(to, p->interface), copy(to, p->endpoint), copy(to, p->said),
            copy(to, p->place),
        };
    }
}

static void
copy_differences(struct plan *to, const struct plan *from)
{
    for (size_t i = 0; i < from->differences.n; i++) {
        const struct plan_difference *d = &from->differences.v[i];
        struct plan_difference *copied = vec_push(to->arena,
                                                  &to->differences);

        *copied = (struct plan_difference) {
            .tenant = copy(to, d->tenant), .uplink = copy(to, d->uplink),
            .place = copy(to, d->place), .asked = copy(to, d->asked),
            .held = copy(to, d->held),
        };
        copy_names(to, &copied->lost, &d->lost);
    }
}

void
plan_copy_notes(struct plan *to, const struct plan *from)
{
    if (from->tunnel.type) {
        to->tunnel.type = copy(to, from->tunnel.type);
        to->tunnel.local_ip = copy(to, from->tunnel.local_ip);
    }
    to->kernel |= from->kernel;
    to->telemetry |= from->telemetry;
    copy_cookies(to, from);
    copy_numbers(to, from);
    copy_places(to, from);
    copy_ports(to, from);
    copy_differences(to, from);
    copy_names(to, &to->in_hardware, &from->in_hardware);
    copy_names(to, &to->by_tunnel, &from->by_tunnel);
    copy_names(to, &to->elsewhere, &from->elsewhere);
    copy_names(to, &to->cut_off, &from->cut_off);
    copy_names(to, &to->unbound, &from->unbound);
}

static int
compare_cookies(const void *a_, const void *b_)
{
    const struct plan_cookie *a = a_, *b = b_;

    return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

void
plan_finish_notes(struct plan *plan)
{
    struct plan_cookie *v = plan->cookies.v;
    size_t n = 0;

    if (plan->cookies.n) {
        qsort(v, plan->cookies.n, sizeof *v, compare_cookies);
    }
    for (size_t i = 0; i < plan->cookies.n; i++) {
        if (!i || v[i].cookie != v[n - 1].cookie) {
            v[n++] = v[i];
        }
    }
    plan->cookies.n = n;
}
