/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/build.h"

#include <stdlib.h>
#include <string.h>

#include "ir/meter.h"
#include "sema/check.h"
#include "util.h"

struct builder {
    struct arena *arena;
    struct ir_prog *prog;
    const struct policy *policy;
    const struct intent_node *node;     /* NULL: the whole fabric. */
    const bool *concerned;      /* See ir_concerned(). */
    const struct policy_endpoint **twins;   /* See ir_find_twins(). */
    uint32_t *numbers;          /* Of endpoints, by index, once they have
                                 * one. */
    struct ir_node **peers;     /* By index of the node in the intent. */
    struct ident_set tenant_numbers, zones, endpoint_numbers, node_numbers;
    struct ident_set meter_numbers;
};

void
ir_copy_addresses(struct arena *arena, const address_vec *from,
                  ir_addresses *to)
{
    for (size_t i = 0; i < from->n; i++) {
        *vec_push(arena, to) = from->v[i].ip;
    }
}

static void
add_class(struct builder *b, const struct policy_class *policy)
{
    struct ir_class *class = arena_zalloc(b->arena, sizeof *class);

    class->name = policy->name;
    class->place = ir_place_of(b->arena, policy->at, true);
    class->dscp = policy->dscp;
    class->queue = policy->queue;
    class->lossless = policy->lossless != NULL;
    class->buffer_bytes = policy->buffer.n;
    class->delay_bound_ns = policy->delay_bound.n;
    if (policy->dscp_in) {
        class->dscp_in = policy->dscp_in->dscp;
        class->queue_in = policy->dscp_in->queue;
        class->in_kbps = policy->dscp_in->limit.n / 1000;
        class->in_burst_bytes = policy->dscp_in->burst.n;
    }
    *vec_push(b->arena, &b->prog->classes) = class;
}

static void
add_service(struct builder *b, const struct policy_service *policy)
{
    struct ir_service *service = arena_zalloc(b->arena, sizeof *service);

    service->name = policy->name;
    service->place = ir_place_of(b->arena, policy->at, true);
    service->symmetric = policy->symmetric;
    for (size_t i = 0; i < policy->matches.n; i++) {
        const struct service_match *m = &policy->matches.v[i];

        *vec_push(b->arena, &service->matches) = (struct ir_match) {
            m->protocol, m->ports.first, m->ports.last,
        };
    }
    *vec_push(b->arena, &b->prog->services) = service;
}

/* The counterparts in the program: classes and services stand in the policy's
 * order. */
static const struct ir_class *
get_class(const struct builder *b, const struct policy_class *policy)
{
    for (size_t i = 0; i < b->policy->classes.n; i++) {
        if (b->policy->classes.v[i] == policy) {
            return b->prog->classes.v[i];
        }
    }
    return NULL;
}

static const struct ir_service *
get_service(const struct builder *b, const struct policy_service *policy)
{
    for (size_t i = 0; i < b->policy->services.n; i++) {
        if (b->policy->services.v[i] == policy) {
            return b->prog->services.v[i];
        }
    }
    return NULL;
}

/* The tenant is 'here' once an endpoint of it is. */
static struct ir_tenant *
add_tenant(struct builder *b, const struct policy_tenant *policy)
{
    const struct intent_tenant *intent = policy->intent;
    struct ir_tenant *tenant = arena_zalloc(b->arena, sizeof *tenant);

    tenant->name = policy->name;
    tenant->place = ir_place_of(b->arena, intent->name.at, true);
    tenant->number = ident_take(&b->tenant_numbers, "tenant",
                                policy->name, 32);
    tenant->packet_rate = intent->packet_rate.n;
    tenant->packet_burst = intent->packet_burst.n;
    tenant->upcall_rate = intent->upcall_rate.n;
    tenant->upcall_burst = intent->upcall_burst.n;
    tenant->connections = intent->connections;
    *vec_push(b->arena, &b->prog->tenants) = tenant;
    return tenant;
}

static struct ir_network *
get_network(struct builder *b, const struct ir_tenant *tenant,
            const struct policy_network *policy)
{
    /* Those of the tenant are the last, and VNIs are unique. */
    for (size_t i = b->prog->networks.n; i-- > 0
         && b->prog->networks.v[i]->tenant == tenant; ) {
        if (b->prog->networks.v[i]->vni == policy->intent->vni) {
            return b->prog->networks.v[i];
        }
    }

    struct ir_network *network = arena_zalloc(b->arena, sizeof *network);
    network->name = arena_printf(b->arena, "%s/%s", tenant->name,
                                 policy->intent->name.s);
    network->place = ir_place_of(b->arena, policy->intent->name.at, true);
    network->tenant = tenant;
    network->vni = policy->intent->vni;
    network->mtu = network_mtu(b->policy, policy);
    network->fixed_mtu = policy->intent->mtu.at != NULL;
    network->gateway_mac = policy->gateway_mac;
    ir_copy_addresses(b->arena, &policy->intent->gateways, &network->gateways);
    network->dhcp = policy->dhcp_server != NULL;
    network->native_dhcp = policy->intent->native_dhcp != NULL;
    for (size_t i = 0; i < policy->intent->groups.n; i++) {
        const struct address *group = &policy->intent->groups.v[i];

        *vec_push(b->arena, &network->groups) = (struct ir_prefix) {
            group->ip, group->plen,
        };
    }
    for (size_t i = 0; !b->node && i < policy->intent->subnets.n; i++) {
        const struct address *subnet = &policy->intent->subnets.v[i];

        *vec_push(b->arena, &network->subnets) = (struct ir_prefix) {
            subnet->ip, subnet->plen,
        };
    }
    *vec_push(b->arena, &b->prog->networks) = network;
    return network;
}

static const struct ir_node *
get_peer(struct builder *b, const struct intent_node *intent)
{
    struct ir_node **peer = &b->peers[intent - b->policy->intent->nodes.v];

    if (!*peer) {
        *peer = arena_zalloc(b->arena, sizeof **peer);
        (*peer)->name = intent->name.s;
        (*peer)->place = ir_place_of(b->arena, intent->name.at, true);
        (*peer)->number = ident_take(&b->node_numbers, "node", intent->name.s,
                                     32);
        (*peer)->address = intent->tunnel.ip;
        (*peer)->telemetry = !b->node && intent->telemetry;
        *vec_push(b->arena, &b->prog->peers) = *peer;
    }
    return *peer;
}

static uint32_t
take_number(struct builder *b, const struct policy_endpoint *e)
{
    uint32_t *number = &b->numbers[e->index];

    if (!*number) {
        *number = ident_take(&b->endpoint_numbers, "endpoint", e->name, 32);
    }
    return *number;
}

/* By tunnel; the fabric's program leaves that to its backend. */
static bool
is_reached(const struct builder *b, const struct policy_endpoint *e)
{
    return !b->node || (b->prog->encapsulation && e->node->tunnel.at);
}

/* Is it in the program, which has its own node or NULL? */
static bool
is_in(const struct builder *b, const struct policy_endpoint *e)
{
    return (e->bound && !legacy_uplink(e)
            && (e->node == b->node
                || ((!b->node || b->concerned[e->index])
                    && is_reached(b, e))));
}

/* 'node' is NULL for this one. */
static void
add_endpoint(struct builder *b, struct ir_tenant *tenant,
             const struct policy_endpoint *policy, const struct ir_node *node)
{
    const struct intent_endpoint *intent = policy->intent;
    struct ir_endpoint *e = arena_zalloc(b->arena, sizeof *e);
    struct ir_network *network = get_network(b, tenant, policy->network);
    struct ir_group *group = arena_zalloc(b->arena, sizeof *group);

    tenant->n_endpoints++;
    if (!node) {
        network->here = tenant->here = true;
        network->uplink = network_uplink(policy->network, b->node)->name.s;
        e->interface = intent->interface.s;
        e->interface_at = intent->interface.at;
        e->said = intent->said;
    } else if (!b->node) {
        e->interface = intent->interface.s;
        e->uplink = network_uplink(policy->network, policy->node)->name.s;
    }
    e->name = policy->name;
    e->place = ir_place_of(b->arena, intent->name.at, true);
    e->index = b->prog->endpoints.n;
    e->number = take_number(b, policy);
    if (!is_in(b, b->twins[policy->index])) {
        e->twin = take_number(b, b->twins[policy->index]);
    }
    group->number = e->number;
    group->first = e;
    group->n_endpoints = 1;
    e->group = group;
    e->tenant = tenant;
    e->network = network;
    e->node = node;
    e->dhcp_server = policy == policy->network->dhcp_server;
    e->mac = intent->mac;
    ir_copy_addresses(b->arena, &intent->addresses, &e->addresses);
    *vec_push(b->arena, &b->prog->endpoints) = e;
}

static void
add_endpoints(struct builder *b, const struct policy_tenant *policy)
{
    struct ir_tenant *tenant = NULL;

    for (size_t i = 0; i < policy->endpoints.n; i++) {
        const struct policy_endpoint *e = policy->endpoints.v[i];

        bool here = e->node == b->node;
        bool concerned = !b->node || b->concerned[e->index];

        if (legacy_uplink(e)) {
            continue;           /* See ir_add_vfs(). */
        } else if (!e->bound) {
            *vec_push(b->arena, &b->prog->unbound) = e->name;
        } else if (!here && concerned && !is_reached(b, e)) {
            *vec_push(b->arena, &b->prog->elsewhere) = e->name;
        } else if (here || concerned) {
            if (!tenant) {
                tenant = add_tenant(b, policy);
            }
            add_endpoint(b, tenant, e, here ? NULL : get_peer(b, e->node));
        }
    }
    if (tenant && !b->node) {
        ir_add_fabric_meters(b->prog, b->policy, b->peers, policy, tenant,
                             b->arena);
    } else if (tenant) {
        if (tenant->here) {
            tenant->zone = ident_take(&b->zones, "zone", policy->name, 16);
        }
        ir_add_meters(b->prog, b->node, policy, tenant,
                      &b->meter_numbers);
    }
}

static int
compare_endpoint_policy(const void *key, const void *e_)
{
    const struct policy_endpoint *policy = key;
    const struct ir_endpoint *const *e = e_;
    int cmp = strcmp(policy->tenant->name, (*e)->tenant->name);

    return cmp ? cmp : strcmp(policy->name, (*e)->name);
}

/* The endpoints of 'all' that are in the program.  Returns true if one of them
 * is here. */
static bool
localize(struct builder *b, const endpoint_vec *all, ir_endpoint_vec *local)
{
    bool here = false;

    for (size_t i = 0; i < all->n && b->prog->endpoints.n; i++) {
        struct ir_endpoint **e = bsearch(
            all->v[i], b->prog->endpoints.v, b->prog->endpoints.n,
            sizeof *b->prog->endpoints.v, compare_endpoint_policy);

        if (e) {
            *vec_push(b->arena, local) = *e;
            here |= !(*e)->node;
        }
    }
    return here;
}

static void
add_rule(struct builder *b, const struct policy_rule *policy)
{
    ir_endpoint_vec from = VEC_INIT, to = VEC_INIT;

    bool from_here = localize(b, &policy->from, &from);
    bool to_here = localize(b, &policy->to, &to);
    struct ir_side from_outside = { .endpoints = VEC_INIT };
    struct ir_side to_outside = { .endpoints = VEC_INIT };

    ir_add_ranges(b->prog, &policy->from_ranges, &from_outside, b->arena);
    ir_add_ranges(b->prog, &policy->to_ranges, &to_outside, b->arena);
    if ((from.n && to.n && (from_here || to_here || !b->node))
        || (from_here && to_outside.parts.n)
        || (to_here && from_outside.parts.n)) {
        struct ir_rule *rule = arena_zalloc(b->arena, sizeof *rule);

        rule->from = from_outside;
        rule->to = to_outside;
        rule->name = policy->name;
        rule->id = policy->id;
        rule->kind = policy->kind;
        rule->depth = policy->depth;
        rule->from.endpoints = from;
        rule->to.endpoints = to;
        rule->from_every = policy->from_every;
        rule->to_every = policy->to_every;
        rule->service = get_service(b, policy->service);
        rule->class = get_class(b, policy->class);
        rule->replies = policy->reply_class != policy->class;
        rule->reply_class = (rule->replies ? get_class(b, policy->reply_class)
                             : NULL);
        rule->stateless = policy->stateless != NULL;
        rule->charge_from = policy->charge == CHARGE_FROM;
        rule->charge_to = policy->charge == CHARGE_TO;
        rule->place = ir_place_of(b->arena, policy->at,
                                  rule_kind_is_operators(policy->kind)
                                  || policy->kind == RULE_DEFAULT);
        *vec_push(b->arena, &b->prog->rules) = rule;
    }
}

/* Says whose program it is. */
static void
begin_prog(struct builder *b)
{
    const struct intent *intent = b->policy->intent;
    struct ir_prog *prog = b->prog;

    prog->claims = b->policy->claims;
    if (b->node) {
        prog->node = b->node->name.s;
        prog->place = ir_place_of(b->arena, b->node->name.at, true);
        prog->telemetry = b->node->telemetry != NULL;
    } else {
        prog->node = IR_FABRIC;
    }
    if (!b->node || b->node->tunnel.at) {
        prog->encapsulation = intent->encapsulation.s;
    }
    if (b->node && b->node->tunnel.at) {
        prog->tunnel_address = b->node->tunnel.ip;
    }
    b->concerned = ir_concerned(b->policy, prog->node, b->arena);
    b->twins = ir_find_twins(b->policy, b->arena);
    b->numbers = arena_zalloc(b->arena, (policy_n_endpoints(b->policy) + 1)
                                        * sizeof *b->numbers);
    b->peers = arena_zalloc(b->arena, intent->nodes.n * sizeof *b->peers);
}

static void
add_records(struct builder *b)
{
    const struct policy *policy = b->policy;

    if (b->node) {
        ir_add_pools(b->prog, policy, b->node, &b->meter_numbers);
    }
    for (size_t i = 0; i < policy->classes.n; i++) {
        add_class(b, policy->classes.v[i]);
    }
    for (size_t i = 0; i < policy->services.n; i++) {
        add_service(b, policy->services.v[i]);
    }
    for (size_t i = 0; i < policy->tenants.n; i++) {
        add_endpoints(b, policy->tenants.v[i]);
    }
    if (b->node) {
        ir_add_uplinks(b->prog, b->node, b->arena);
        ir_add_dpdk(b->prog, policy, b->node, b->arena);
        ir_add_vfs(b->prog, policy, b->node, b->arena);
        ir_add_externals(b->prog, policy, b->node, b->arena,
                         &b->tenant_numbers, &b->endpoint_numbers);
    } else {
        ir_add_attachments(b->prog, policy, b->arena, &b->tenant_numbers,
                           &b->endpoint_numbers);
    }
    for (size_t i = 0; i < policy->rules.n; i++) {
        add_rule(b, policy->rules.v[i]);
    }
    ir_name_sides(b->prog, b->arena);
    ir_add_caps(b->prog, &b->meter_numbers);
    ir_add_tags(b->prog, &b->meter_numbers);
}

struct ir_prog *
ir_build(const struct policy *policy, const char *node, struct arena *arena)
{
    struct builder b = {
        .arena = arena, .policy = policy,
        .prog = arena_zalloc(arena, sizeof *b.prog),
    };
    struct ident_set *const sets[] = {
        &b.tenant_numbers, &b.zones, &b.endpoint_numbers, &b.node_numbers,
        &b.meter_numbers,
    };

    for (size_t i = 0; node && i < policy->intent->nodes.n; i++) {
        if (!strcmp(policy->intent->nodes.v[i].name.s, node)) {
            b.node = &policy->intent->nodes.v[i];
        }
    }
    if (node && !b.node) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        ident_set_init(sets[i], arena, policy->claims);
    }
    begin_prog(&b);
    add_records(&b);
    ir_find_files(b.prog);
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        ident_set_destroy(sets[i]);
    }
    return b.prog;
}

bool
ir_has_ip6(const struct ir_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->addresses.n; i++) {
        if (!IN6_IS_ADDR_V4MAPPED(&endpoint->addresses.v[i])) {
            return true;
        }
    }
    return false;
}

struct ir_class *
ir_find_class(const struct ir_prog *prog, const char *name)
{
    for (size_t i = 0; i < prog->classes.n; i++) {
        if (!strcmp(prog->classes.v[i]->name, name)) {
            return prog->classes.v[i];
        }
    }
    return NULL;
}

bool
ir_uses_class(const struct ir_prog *prog, const struct ir_class *class)
{
    for (size_t i = 0; i < prog->rules.n; i++) {
        if (prog->rules.v[i]->class == class
            || prog->rules.v[i]->reply_class == class) {
            return true;
        }
    }
    return false;
}
