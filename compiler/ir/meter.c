/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/meter.h"

#include <stdlib.h>
#include <string.h>

#include "sema/charge.h"
#include "sema/ident.h"
#include "sema/policy.h"
#include "sema/tree.h"

/* Does a network of the tenant that is here take the uplink, or does it pay
 * for others that do? */
static bool
is_taken(const struct ir_prog *prog, const struct ir_tenant *tenant,
         const struct policy_tenant *policy, const struct intent_node *node,
         const struct intent_uplink *uplink)
{
    for (size_t i = prog->networks.n; i-- > 0
         && prog->networks.v[i]->tenant == tenant; ) {
        const char *taken = prog->networks.v[i]->uplink;

        if (taken && !strcmp(taken, uplink->name.s)) {
            return true;
        }
    }
    return !ir_is_fabric(prog) && find_payer(policy, node, uplink);
}

static void
set_microburst(struct ir_meter *meter, const struct intent_microburst *intent)
{
    meter->microburst = intent->at != NULL;
    meter->mark_bytes = intent->mark.n;
    meter->depth_bytes = intent->depth.n;
    meter->limit_bytes = intent->limit.n;
    meter->exceed = intent->exceed;
}

static struct ir_meter *
new_meter(const char *name, const char *uplink,
          const struct ir_tenant *tenant, bool receive, struct arena *arena)
{
    struct ir_meter *meter = arena_zalloc(arena, sizeof *meter);

    meter->name = name;
    meter->tenant = tenant;
    meter->uplink = uplink;
    meter->receive = receive;
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

/* Adds that of a class. */
static void
add_part(struct ir_prog *prog, const struct ir_meter *all,
         const struct policy_part *policy, struct arena *arena)
{
    struct ir_meter *meter = new_meter(
        arena_printf(arena, "%s/class/%s", all->name, policy->class->name),
        all->uplink, all->tenant, all->receive, arena);

    meter->class = ir_find_class(prog, policy->class->name);
    set_bandwidth(meter, policy->bandwidth, arena);
    ir_join_split(prog, meter);
    *vec_push(arena, &prog->meters) = meter;
}

/* Adds that of all of the tenant's, below its uplink's if tenants share
 * that. */
static void
add_whole(struct ir_prog *prog, const struct intent_node *node,
          const struct intent_uplink *uplink,
          const struct policy_tenant *policy, const struct ir_tenant *tenant,
          bool receive, struct arena *arena)
{
    const struct intent_bandwidth *intent = tenant_bandwidth(policy, receive);
    struct ir_meter *meter = new_meter(
        arena_printf(arena, "%s/%s:%s", tenant->name,
                     receive ? "receive" : "send", uplink->name.s),
        uplink->name.s, tenant, receive, arena);

    if (intent->limit.at) {
        set_bandwidth(meter, intent, arena);
    } else {
        set_whole(meter, uplink, policy->intent, arena);
    }
    if (!meter->no_borrow) {
        meter->parent = ir_find_pool(prog, meter->uplink, receive);
    }
    if (!receive) {
        set_microburst(meter, &policy->intent->microburst);
    }
    if (!ir_is_fabric(prog)
        && tenant_is_split(policy, node, uplink, receive)) {
        ir_split_meter(prog, meter, policy, node, uplink, arena);
    } else {
        *vec_push(arena, &prog->meters) = meter;
    }
    for (size_t i = 0; i < policy->parts[receive].n; i++) {
        add_part(prog, meter, &policy->parts[receive].v[i], arena);
    }
}

static void
add_own(struct ir_prog *prog, const struct ir_endpoint *e,
        const struct intent_bandwidth *intent, bool receive,
        struct arena *arena)
{
    if (intent->limit.at) {
        struct ir_meter *meter = new_meter(
            arena_printf(arena, "%s/%s:%s", e->name,
                         receive ? "receive" : "send", e->network->uplink),
            e->network->uplink, e->tenant, receive, arena);

        meter->endpoint = e;
        set_bandwidth(meter, intent, arena);
        ir_join_split(prog, meter);
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

/* A parent keeps what is borrowed within its rate, not what is owed to those
 * below it: so a tenant below an uplink lends twice, what it gets there, and
 * its limit. */
static bool
has_limit_beside(const struct ir_meter *meter)
{
    const struct ir_meter *all = meter->split ? meter : meter->parent;

    return all && all->split && all->parent && !all->unlimited;
}

void
ir_add_meters(struct ir_prog *prog, const struct intent_node *node,
              const struct policy_tenant *policy,
              const struct ir_tenant *tenant, struct ident_set *numbers)
{
    size_t first = prog->meters.n, n_uplinks = 0;

    for (size_t i = 0; i < node->uplinks.n; i++) {
        const struct intent_uplink *uplink = &node->uplinks.v[i];

        if (is_taken(prog, tenant, policy, node, uplink)) {
            add_whole(prog, node, uplink, policy, tenant, false,
                      numbers->arena);
            if (ir_is_fabric(prog) ? policy->intent->receive.limit.at != NULL
                : tree_receives(policy, node, uplink)) {
                add_whole(prog, node, uplink, policy, tenant, true,
                          numbers->arena);
            }
            n_uplinks++;
        }
    }

    add_owns(prog, node, policy, tenant, numbers->arena);

    size_t n = prog->meters.n - first;
    struct ir_meter **own = n ? &prog->meters.v[first] : NULL;
    if (n) {
        qsort(own, n, sizeof *own, compare_meters);
    }
    for (size_t i = 0; i < n; i++) {
        if (own[i]->endpoint || own[i]->class || own[i]->receive
            || own[i]->split || ir_meter_is_rest(own[i]) || n_uplinks > 1
            || !tenant->here) {
            own[i]->number = ident_take(numbers, "meter", own[i]->name, 28);
        }
        if (has_limit_beside(own[i])) {
            own[i]->limit_number = ident_take(
                numbers, "meter", arena_printf(numbers->arena, "%s/limit",
                                               own[i]->name), 28);
        }
    }
}

struct ir_account
ir_account_of(const struct ir_network *network)
{
    return (struct ir_account) { network->tenant, network->uplink };
}

bool
ir_meter_is_of(const struct ir_meter *meter, struct ir_account account,
               bool receive)
{
    return (meter->tenant == account.tenant && meter->receive == receive
            && !strcmp(meter->uplink, account.uplink));
}

const struct ir_meter *
ir_find_meter(const struct ir_prog *prog, struct ir_account account,
              bool receive)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (!meter->endpoint && !meter->class && !meter->split
            && ir_meter_is_of(meter, account, receive)) {
            return meter;
        }
    }
    return NULL;
}

const struct ir_meter *
ir_class_meter(const struct ir_prog *prog, struct ir_account account,
               const struct ir_class *class, bool receive)
{
    for (size_t i = 0; i < prog->meters.n; i++) {
        const struct ir_meter *meter = prog->meters.v[i];

        if (meter->class == class
            && ir_meter_is_of(meter, account, receive)) {
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
