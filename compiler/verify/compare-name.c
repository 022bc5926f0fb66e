/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Whose a meter is, its id says: docs/pipeline.md, "Meters".  So a tenant does
 * not pass that of another, not even one that nobody else passes. */

#include "sema/charge.h"
#include "sema/ident.h"
#include "sema/tree.h"
#include "util.h"
#include "verify/compare.h"

enum { ZONE_BITS = 16 };

/* In the place of the number of a meter that has the zone's. */
#define HAS_ZONE (UINT32_C(1) << COMPARE_NUMBER_BITS)

size_t
compare_near(uint32_t id, int step, uint32_t near[COMPARE_MAX_NEAR])
{
    const uint32_t mask = (UINT32_C(1) << COMPARE_NUMBER_BITS) - 1;
    size_t n = 0;

    near[n++] = id;
    if (!(id & ~mask)) {
        return n;               /* It has no number, but a zone. */
    }
    for (int i = 0; i <= COMPARE_MAX_ALIKE; i++) {
        for (uint32_t which = 1; which <= 2; which++) {
            near[n++] = which << COMPARE_NUMBER_BITS | ((id + i * step)
                                                        & mask);
        }
    }
    return n;
}

/* Has a meter the number, in either of its two ids? */
static bool
is_taken(struct comparison *c, uint32_t number)
{
    return (compare_has_meter(c, UINT64_C(1) << COMPARE_NUMBER_BITS | number)
            || compare_has_meter(c, UINT64_C(2) << COMPARE_NUMBER_BITS
                                 | number));
}

static bool
has_number(struct comparison *c, uint64_t id, uint32_t number)
{
    uint32_t mask = (1u << COMPARE_NUMBER_BITS) - 1;
    uint64_t which = id >> COMPARE_NUMBER_BITS;

    for (int i = 0; i < COMPARE_MAX_ALIKE; i++) {
        if (number == (id & mask)) {
            return which == 1 || which == 2;
        } else if (!is_taken(c, number)) {
            return false;
        }
        number = (number + 1) & mask;
    }
    return false;
}

/* Is it 'first', or the one above, with the zone of the tenant? */
static bool
has_zone(const struct comparison *c, const struct usage *usage,
         uint64_t first)
{
    const struct policy_tenant *tenant = usage->tenant;
    struct usage zone = { .kind = USE_ZONE, .tenant = tenant };
    uint64_t which = usage->value >> ZONE_BITS, value;

    if (!usage_winner(c, &zone, &value)) {
        value = ident("zone", tenant->name, ZONE_BITS);
    }
    return ((which == first || which == first + 1)
            && (usage->value & UINT16_MAX) == value);
}

/* Does the tenant take several uplinks here, or has it no zone, since it only
 * pays for others? */
static bool
is_numbered(const struct comparison *c, const struct policy_tenant *tenant)
{
    bool here = false;
    int n = 0;

    for (size_t i = 0; i < c->node->uplinks.n; i++) {
        const struct intent_uplink *uplink = &c->node->uplinks.v[i];
        bool taken = find_payer(tenant, c->node, uplink) != NULL;

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            const struct policy_endpoint *e = tenant->endpoints.v[k];

            if (e->bound && endpoint_takes(e, c->node, uplink)) {
                taken = here = true;
            }
        }
        n += taken;
    }
    return n > 1 || !here;
}

/* Of a meter of bits: what its number is made of.  NULL if it has the zone
 * instead. */
static const char *
name_of(const struct comparison *c, const struct usage *usage)
{
    const struct policy_tenant *tenant = usage->tenant;
    const struct policy_endpoint *e = usage->endpoint;
    const struct policy_class *class = usage->class;
    const struct intent_uplink *uplink
        = e ? network_uplink(e->network, c->node) : usage->uplink;
    bool receive = usage->kind == USE_RECEIVE;
    const char *name;

    if (usage->kind == USE_TAG) {
        return arena_printf(c->arena, "%s/tag", tenant->name);
    } else if (usage->kind == USE_DSCP_IN) {
        return arena_printf(c->arena, "%s/dscp_in/%s", tenant->name,
                            class->name);
    }
    name = arena_printf(c->arena, "%s/%s:%s", e ? e->name : tenant->name,
                        receive ? "receive" : "send", uplink->name.s);
    if (class) {
        name = arena_printf(c->arena, "%s/class/%s", name, class->name);
    } else if (!e && tenant_is_split(tenant, c->node, uplink, receive)) {
        name = arena_printf(c->arena, "%s/rest", name);
    } else if (!e && !receive && !usage->limit && !is_numbered(c, tenant)) {
        return NULL;
    }
    return usage->limit ? arena_printf(c->arena, "%s/limit", name) : name;
}

/* Of such a meter the number that its name gives, or HAS_ZONE. */
static uint32_t
number_of(struct comparison *c, const struct usage *usage)
{
    const void *key[] = {
        usage->tenant, usage->endpoint, usage->uplink, usage->class,
        (const void *) (uintptr_t) (2 * usage->kind + usage->limit),
    };
    uint32_t *number = memo_find(&c->numbers, key, sizeof key);

    if (*number == DD_NONE) {
        const char *name = name_of(c, usage);

        *number = name ? ident("meter", name, COMPARE_NUMBER_BITS) : HAS_ZONE;
    }
    return *number;
}

bool
compare_is_named(struct comparison *c, const struct usage *usage)
{
    uint32_t number = (usage->kind == USE_COUNTER ? HAS_ZONE
                       : number_of(c, usage));

    return (number != HAS_ZONE ? has_number(c, usage->value, number)
            : has_zone(c, usage, usage->kind == USE_COUNTER ? 3 : 1));
}
