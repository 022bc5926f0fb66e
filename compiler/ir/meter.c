/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/meter.h"

#include <stdlib.h>
#include <string.h>

#include "sema/ident.h"
#include "sema/policy.h"

struct ir_place
ir_place_of(struct arena *arena, const struct value *at, bool key)
{
    if (!at) {
        return (struct ir_place) { .line = 0 };
    }
    return (struct ir_place) {
        .span = key ? at->key_span : at->span,
        .line = source_line_number(at->span.source, at->span.start),
        .pointer = value_pointer(at, arena),
    };
}

/* Does a network of the tenant that is here take the uplink? */
static bool
is_taken(const struct ir_prog *prog, const struct ir_tenant *tenant,
         const struct intent_uplink *uplink)
{
    for (size_t i = prog->networks.n; i-- > 0
         && prog->networks.v[i]->tenant == tenant; ) {
        const char *taken = prog->networks.v[i]->uplink;

        if (taken && !strcmp(taken, uplink->name.s)) {
            return true;
        }
    }
    return false;
}

static void
set_microburst(struct ir_meter *meter, const struct intent_microburst *intent)
{
    meter->microburst = intent->at != NULL;
    meter->mark_bytes = intent->mark.n;
    meter->depth_bytes = intent->depth.n;
    meter->limit_bytes = intent->limit.n;
    meter->exceed_ecn = intent->ecn;
}

static struct ir_meter *
add_meter(struct ir_prog *prog, const char *name,
          const struct intent_uplink *uplink, const struct ir_tenant *tenant,
          struct arena *arena)
{
    struct ir_meter *meter = arena_zalloc(arena, sizeof *meter);

    meter->name = name;
    meter->tenant = tenant;
    meter->uplink = uplink->name.s;
    *vec_push(arena, &prog->meters) = meter;
    return meter;
}

static void
set_bandwidth(struct ir_meter *meter, const struct intent_bandwidth *intent,
              struct arena *arena)
{
    const struct value *at = (intent->guarantee.at ? intent->guarantee.at
                              : intent->weight_at ? intent->weight_at
                              : intent->limit.at);

    meter->place = ir_place_of(arena, at, false);
    meter->guarantee_kbps = intent->guarantee.n / 1000;
    meter->weight = intent->weight_at ? intent->weight : 0;
    meter->no_borrow = intent->no_borrow != NULL;
    meter->rate_kbps = intent->limit.n / 1000;
    meter->burst_bytes = intent->burst.n;
}

/* Puts the meter below its uplink's, if tenants share that. */
static void
set_parent(struct ir_meter *meter, const struct ir_prog *prog)
{
    if (!meter->no_borrow) {
        meter->parent = ir_find_pool(prog, meter->uplink, meter->receive);
    }
}

/* Without "bandwidth" the uplink is the limit. */
static void
set_whole(struct ir_meter *meter, const struct intent_uplink *uplink,
          const struct intent_tenant *intent, struct arena *arena)
{
    meter->place = ir_place_of(arena, intent->name.at, true);
    meter->rate_kbps = uplink->rate.n / 1000;
    meter->burst_bytes = uplink->burst.n;
    meter->unlimited = true;
}

static void
add_send(struct ir_prog *prog, const struct intent_uplink *uplink,
         const struct intent_tenant *intent, const struct ir_tenant *tenant,
         struct arena *arena)
{
    struct ir_meter *meter = add_meter(
        prog, arena_printf(arena, "%s/send:%s", tenant->name, uplink->name.s),
        uplink, tenant, arena);

    if (intent->send.limit.at) {
        set_bandwidth(meter, &intent->send, arena);
    } else {
        set_whole(meter, uplink, intent, arena);
    }
    set_parent(meter, prog);
    set_microburst(meter, &intent->microburst);
}

static void
add_receive(struct ir_prog *prog, const struct intent_uplink *uplink,
            const struct intent_tenant *intent,
            const struct ir_tenant *tenant, struct arena *arena)
{
    struct ir_meter *meter;

    if (!intent->receive.limit.at && !ir_find_pool(prog, uplink->name.s,
                                                   true)) {
        return;
    }
    meter = add_meter(prog, arena_printf(arena, "%s/receive:%s", tenant->name,
                                         uplink->name.s), uplink, tenant,
                      arena);
    meter->receive = true;
    if (intent->receive.limit.at) {
        set_bandwidth(meter, &intent->receive, arena);
    } else {
        set_whole(meter, uplink, intent, arena);
    }
    set_parent(meter, prog);
}

static void
add_own(struct ir_prog *prog, const struct ir_endpoint *e,
        const struct intent_bandwidth *intent, bool receive,
        struct arena *arena)
{
    if (intent->limit.at) {
        struct ir_meter *meter = arena_zalloc(arena, sizeof *meter);

        meter->name = arena_printf(arena, "%s/%s:%s", e->name,
                                   receive ? "receive" : "send",
                                   e->network->uplink);
        meter->tenant = e->tenant;
        meter->uplink = e->network->uplink;
        meter->endpoint = e;
        meter->receive = receive;
        set_bandwidth(meter, intent, arena);
        *vec_push(arena, &prog->meters) = meter;
    }
}

/* Those of the tenant's endpoints on 'node', which stand last in the program.
 */
static void
add_owns(struct ir_prog *prog, const struct intent_node *node,
         const struct policy_tenant *policy, const struct ir_tenant *tenant,
         struct arena *arena)
{
    size_t j = policy->endpoints.n;

    for (size_t i = prog->endpoints.n; i-- > 0
         && prog->endpoints.v[i]->tenant == tenant; ) {
        const struct ir_endpoint *e = prog->endpoints.v[i];

        while (j > 0 && strcmp(policy->endpoints.v[--j]->name, e->name)) {
            continue;
        }
        if (!e->node || !strcmp(e->node->name, node->name.s)) {
            add_own(prog, e, &policy->endpoints.v[j]->intent->send, false,
                    arena);
            add_own(prog, e, &policy->endpoints.v[j]->intent->receive, true,
                    arena);
        }
    }
}

/* What is all of the tenant's comes first, then what is sent. */
static int
compare_meters(const void *a_, const void *b_)
{
    const struct ir_meter *const *a = a_, *const *b = b_;

    return (!(*a)->endpoint != !(*b)->endpoint
            ? !(*b)->endpoint - !(*a)->endpoint
            : (*a)->receive != (*b)->receive
            ? (*a)->receive - (*b)->receive
            : strcmp((*a)->name, (*b)->name));
}

void
ir_add_meters(struct ir_prog *prog, const struct intent_node *node,
              const struct policy_tenant *policy,
              const struct ir_tenant *tenant, struct ident_set *numbers)
{
    size_t first = prog->meters.n, n_uplinks = 0;

    for (size_t i = 0; i < node->uplinks.n; i++) {
        const struct intent_uplink *uplink = &node->uplinks.v[i];

        if (is_taken(prog, tenant, uplink)) {
            add_send(prog, uplink, policy->intent, tenant, numbers->arena);
            add_receive(prog, uplink, policy->intent, tenant, numbers->arena);
            n_uplinks++;
        }
    }

    add_owns(prog, node, policy, tenant, numbers->arena);

    struct ir_meter **own = &prog->meters.v[first];
    size_t n = prog->meters.n - first;
    qsort(own, n, sizeof *own, compare_meters);
    for (size_t i = 0; i < n; i++) {
        if (own[i]->endpoint || own[i]->receive || n_uplinks > 1) {
            own[i]->number = ident_take(numbers, "meter", own[i]->name, 28);
        }
    }
}

const struct ir_meter *
ir_find_meter(const struct ir_prog *prog, const struct ir_network *network,
              bool receive)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->tenant == network->tenant && meter->receive == receive
            && !meter->endpoint
            && !strcmp(meter->uplink, network->uplink)) {
            return meter;
        }
    }
    return NULL;
}

const struct ir_meter *
ir_own_meter(const struct ir_prog *prog, const struct ir_endpoint *e,
             bool receive)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->endpoint == e && meter->receive == receive) {
            return meter;
        }
    }
    return NULL;
}
