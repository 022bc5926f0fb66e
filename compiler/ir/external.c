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
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* Ranges of addresses are a forest: two of them are apart, or one holds the
 * other.  Sorted by address and then by length, each comes after those that
 * hold it, and an address belongs where the longest one that holds it does. */

struct range {
    struct address prefix;
    const struct policy_external *owner;        /* NULL: nobody. */
    bool kept;
};

struct ranges {
    struct arena *arena;
    const struct policy *policy;
    const struct intent_node *node;
    range_vec named;            /* By rules, each once. */
    VEC(struct range) all;
};

static int
compare_ranges(const void *a_, const void *b_)
{
    const struct range *a = a_, *b = b_;
    bool a_ip4 = IN6_IS_ADDR_V4MAPPED(&a->prefix.ip);
    bool b_ip4 = IN6_IS_ADDR_V4MAPPED(&b->prefix.ip);
    int cmp = memcmp(&a->prefix.ip, &b->prefix.ip, sizeof a->prefix.ip);

    /* "::/0" holds no IPv4 address. */
    return (a_ip4 != b_ip4 ? (a_ip4 ? -1 : 1) : cmp ? cmp
            : a->prefix.plen - b->prefix.plen);
}

static void
add_range(struct ranges *r, const struct address *prefix)
{
    *vec_push(r->arena, &r->all) = (struct range) { .prefix = *prefix };
}

static void
add_named(struct ranges *r, const range_vec *ranges)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const struct policy_range *range = &ranges->v[i];
        bool known = !range->cidr;

        for (size_t j = 0; j < r->named.n && !known; j++) {
            const struct policy_range *other = &r->named.v[j];

            known = (range->external == other->external
                     && range->cidr->plen == other->cidr->plen
                     && ipv6_addr_equals(&range->cidr->ip, &other->cidr->ip));
        }
        if (!known) {
            *vec_push(r->arena, &r->named) = *range;
            add_range(r, range->cidr);
        }
    }
}

static void
add_all(struct ranges *r)
{
    for (size_t i = 0; i < r->policy->externals.n; i++) {
        const struct policy_external *e = r->policy->externals.v[i];

        for (size_t j = 0; j < e->intent->addresses.n; j++) {
            add_range(r, &e->intent->addresses.v[j]);
        }
        for (size_t j = 0; j < e->intent->excepts.n; j++) {
            add_range(r, &e->intent->excepts.v[j]);
        }
        for (size_t j = 0; j < e->inside.n; j++) {
            add_range(r, e->inside.v[j]);
        }
    }
    for (size_t i = 0; i < r->policy->intent->nodes.n; i++) {
        const struct address *tunnel = &r->policy->intent->nodes.v[i].tunnel;

        if (tunnel->at) {
            add_range(r, tunnel);
        }
    }
    for (size_t i = 0; i < n_unroutable; i++) {
        add_range(r, &unroutable[i]);
    }
    for (size_t i = 0; i < r->policy->rules.n; i++) {
        add_named(r, &r->policy->rules.v[i]->from_ranges);
        add_named(r, &r->policy->rules.v[i]->to_ranges);
    }
    qsort(r->all.v, r->all.n, sizeof *r->all.v, compare_ranges);
}

/* Do all rules treat the two alike?  They are of the same external. */
static bool
are_alike(const struct ranges *r, const struct range *a, const struct range *b)
{
    for (size_t i = 0; i < r->named.n && a->owner; i++) {
        const struct policy_range *named = &r->named.v[i];

        if (named->external == a->owner
            && (range_holds(named->cidr, &a->prefix)
                != range_holds(named->cidr, &b->prefix))) {
            return false;
        }
    }
    return true;
}

/* Keeps what differs from the longest one that holds it. */
static void
keep_ranges(struct ranges *r)
{
    size_t *stack = arena_zalloc(r->arena, r->all.n * sizeof *stack);
    size_t depth = 0;

    for (size_t i = 0; i < r->all.n; i++) {
        struct range *range = &r->all.v[i];
        const struct range *outer;

        range->owner = external_of(r->policy, &range->prefix);
        if (range->owner && !external_at(range->owner, r->node)) {
            range->owner = NULL;
        }
        while (depth && !range_holds(&r->all.v[stack[depth - 1]].prefix,
                               &range->prefix)) {
            depth--;
        }
        outer = depth ? &r->all.v[stack[depth - 1]] : NULL;
        range->kept = (outer ? range->owner != outer->owner
                       || !are_alike(r, range, outer) : range->owner != NULL);
        if (range->kept) {
            stack[depth++] = i;
        }
    }
}

static const struct ir_tenant *
find_tenant(const struct ir_prog *prog, const char *name)
{
    for (size_t i = 0; i < prog->tenants.n; i++) {
        if (!strcmp(prog->tenants.v[i]->name, name)) {
            return prog->tenants.v[i];
        }
    }
    return NULL;
}

/* Adds the users that are here, and notes their endpoints if it is not
 * attached to the node. */
static void
add_users(struct ir_prog *prog, const struct policy_external *policy,
          const struct intent_node *node, struct ir_external *e,
          struct arena *arena)
{
    for (size_t i = 0; i < policy->users.n; i++) {
        const struct policy_tenant *user = policy->users.v[i];
        const struct ir_tenant *tenant = find_tenant(prog, user->name);

        if (e && tenant && tenant->here) {
            *vec_push(arena, &e->tenants) = tenant;
        }
        for (size_t j = 0; !e && j < user->endpoints.n; j++) {
            if (user->endpoints.v[j]->bound
                && user->endpoints.v[j]->node == node) {
                *vec_push(arena, &prog->cut_off) = arena_printf(
                    arena, "%s:%s", policy->name, user->endpoints.v[j]->name);
            }
        }
    }
}

static struct ir_external *
add_external(struct ir_prog *prog, const struct policy_attachment *policy,
             struct arena *arena, struct ident_set *tenant_numbers,
             struct ident_set *endpoint_numbers)
{
    struct ir_external *e = arena_zalloc(arena, sizeof *e);
    const struct intent_attachment *intent = policy->intent;
    const char *name = policy->external->name;

    e->name = name;
    e->place = ir_place_of(arena, intent->node.at, true);
    e->number = ident_take(tenant_numbers, "external", name, 32);
    e->port = ident_take(endpoint_numbers, "external", name, 32);
    e->interface = intent->interface.s;
    e->mac = intent->mac;
    e->gateway_mac = policy->gateway_mac;
    ir_copy_addresses(arena, &intent->gateways, &e->gateways);
    *vec_push(arena, &prog->externals) = e;
    return e;
}

static const char *
part_name(struct arena *arena, const struct ir_external *e,
          const struct address *first)
{
    int skip = IN6_IS_ADDR_V4MAPPED(&first->ip) ? 96 : 0;
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *name;

    ipv6_format_mapped(&first->ip, &ds);
    name = arena_printf(arena, "%s/%s/%d", e->name, ds_cstr(&ds),
                        first->plen - skip);
    ds_destroy(&ds);
    return name;
}

/* The part of 'e' from 'first' on that rules treat as they do 'range'; a new
 * one if there is none. */
static struct ir_part *
get_part(struct ir_prog *prog, const struct ranges *r,
         struct ir_external *e, size_t first, const struct range *range,
         struct ident_set *endpoint_numbers)
{
    struct ir_part *part;

    for (size_t i = first; i < prog->parts.n; i++) {
        struct range other = {
            .prefix.ip = prog->parts.v[i]->prefixes.v[0].ip,
            .prefix.plen = prog->parts.v[i]->prefixes.v[0].plen,
            .owner = range->owner,
        };

        if (are_alike(r, range, &other)) {
            return prog->parts.v[i];
        }
    }
    part = arena_zalloc(r->arena, sizeof *part);
    part->name = part_name(r->arena, e, &range->prefix);
    part->index = prog->parts.n;
    part->external = e;
    part->number = ident_take(endpoint_numbers, "part", part->name, 32);
    e->n_parts++;
    *vec_push(r->arena, &prog->parts) = part;
    return part;
}

static void
add_parts(struct ir_prog *prog, struct ranges *r,
          const struct policy_external *policy, struct ir_external *e,
          struct ident_set *endpoint_numbers)
{
    size_t first = prog->parts.n;

    for (size_t i = 0; i < r->all.n; i++) {
        const struct range *range = &r->all.v[i];

        if (range->kept && range->owner == policy) {
            struct ir_part *part = get_part(prog, r, e, first, range,
                                            endpoint_numbers);

            *vec_push(r->arena, &part->prefixes) = (struct ir_prefix) {
                range->prefix.ip, range->prefix.plen,
            };
        }
    }
}

void
ir_add_externals(struct ir_prog *prog, const struct policy *policy,
                 const struct intent_node *node, struct arena *arena,
                 struct ident_set *tenant_numbers,
                 struct ident_set *endpoint_numbers)
{
    struct ranges r = { .arena = arena, .policy = policy, .node = node };

    for (size_t i = 0; i < policy->externals.n; i++) {
        const struct policy_external *external = policy->externals.v[i];
        const struct policy_attachment *a = external_at(external, node);
        struct ir_external *e = NULL;

        if (a && !r.all.n) {
            add_all(&r);
            keep_ranges(&r);
        }
        if (a) {
            e = add_external(prog, a, arena, tenant_numbers,
                             endpoint_numbers);
            add_parts(prog, &r, external, e, endpoint_numbers);
        }
        add_users(prog, external, node, e, arena);
    }
    for (size_t i = 0; i < r.all.n; i++) {
        if (r.all.v[i].kept && !r.all.v[i].owner) {
            *vec_push(arena, &prog->holes) = (struct ir_prefix) {
                r.all.v[i].prefix.ip, r.all.v[i].prefix.plen,
            };
        }
    }
}

/* Is the part of the external, and in the range? */
static bool
is_in(const struct ir_part *part, const struct policy_range *range)
{
    struct address prefix = {
        .ip = part->prefixes.v[0].ip, .plen = part->prefixes.v[0].plen,
    };

    return (!strcmp(part->external->name, range->external->name)
            && (!range->cidr || range_holds(range->cidr, &prefix)));
}

void
ir_add_ranges(const struct ir_prog *prog, const range_vec *ranges,
              struct ir_side *side, struct arena *arena)
{
    for (size_t i = 0; i < prog->parts.n; i++) {
        bool found = false;

        for (size_t j = 0; j < ranges->n && !found; j++) {
            found = is_in(prog->parts.v[i], &ranges->v[j]);
        }
        if (found) {
            *vec_push(arena, &side->parts) = prog->parts.v[i];
        }
    }
}
