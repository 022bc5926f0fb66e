/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What is expected of packets between two but what rules say of them: a base,
 * which has a number, and is joined with a verdict. */

#include <string.h>

#include "sema/meaning-meters.h"
#include "util.h"
#include "verify/expect-private.h"

enum { OP_BASE = DD_OP_USER + 19 };

struct expect
expect_base(const struct judge *j, const struct origin *s,
            const struct seen *seen, const struct policy_endpoint *to,
            const struct policy_attachment *out, bool routed)
{
    const struct policy_endpoint *from = s->q.from;
    bool here = to && is_here(j, to);
    struct expect e;

    memset(&e, 0, sizeof e);
    e.counted = s->counted;
    e.from = from;
    e.to = to;
    e.external = out;
    e.node = to && !here ? to->node : NULL;
    e.routed = routed;
    if (from && !s->q.tunnel) {
        e.charged = from->tenant;
        e.uplink = network_uplink(from->network, from->node);
    } else if (!from && !pays_for_getting(to)) {
        e.charged = to->tenant;
        e.uplink = network_uplink(to->network, to->node);
    }
    if (!seen->stateless) {
        e.zones[0] = from && !s->q.tunnel ? from->tenant : to->tenant;
        e.commit[0] = seen->track == TRACK_NEW;
        if (from && !s->q.tunnel && here && to->tenant != from->tenant) {
            e.zones[1] = to->tenant;
            e.conditional = true;
        }
    }
    return e;
}

/* From 1, odd: those of effects are even. */
static uint32_t
base_number(struct judge *j, const struct expect *base)
{
    return 2 * pool_add(&j->bases, base, sizeof *base) + 1;
}

dd_t
expect_based(struct judge *j, uint32_t number, dd_t leaf)
{
    const struct expect *verdict;
    struct expect e;
    size_t size;

    if (!number || leaf == DD_NONE) {
        return leaf;
    }
    verdict = expect_get(j, leaf);
    if (!verdict->open) {
        return leaf;
    }
    memcpy(&e, pool_get(&j->bases, number / 2, &size), sizeof e);
    e.zones[0] = verdict->zones[0];
    e.commit[0] = verdict->commit[0];
    e.rank = verdict->rank;
    e.rules = verdict->rules;
    e.reason = verdict->reason;
    e.allow = verdict->allow;
    e.kept = verdict->kept;
    e.dscp = verdict->dscp;
    e.queue = verdict->queue;
    e.asked = verdict->asked;
    e.conditional &= e.allow;
    expect_payer(j, &e);
    return expect_leaf(j, &e);
}

bool
expect_denies(const struct judge *j, dd_t leaf)
{
    const struct expect *e = expect_get(j, leaf);

    return e->open && !e->allow;
}

/* What is dropped has been counted, and may have been tracked. */
uint32_t
expect_denial_base(struct judge *j, uint32_t number)
{
    struct expect denial, base;
    size_t size;

    if (!number) {
        return 0;
    }
    memcpy(&base, pool_get(&j->bases, number / 2, &size), sizeof base);
    memset(&denial, 0, sizeof denial);
    denial.counted = base.counted;
    denial.zones[1] = base.zones[1];
    return base_number(j, &denial);
}

/* In the place of a leaf that is not there. */
#define NO_LEAF DD_ALL

static dd_t
settle(struct judge *j, dd_t leaf)
{
    struct expect settled = *expect_get(j, leaf);
    size_t n;
    const struct policy_rule *const *rules = expect_rules(j, settled.rules,
                                                          &n);

    for (size_t i = 0; i < n; i++) {
        if (rules[i]->charge != CHARGE_SENDER) {
            return NO_LEAF;
        }
    }
    settled.rules = settled.reason = settled.rank = 0;
    return settled.open ? expect_leaf(j, &settled) : NO_LEAF;
}

dd_t
expect_settled(struct judge *j, dd_t leaf)
{
    dd_t *known = memo_find(&j->settled, &leaf, sizeof leaf);

    *known = *known == DD_NONE ? settle(j, leaf) : *known;
    return *known == NO_LEAF ? DD_NONE : *known;
}

/* A verdict with all else that is known: a number of a base. */
struct basing {
    struct judge *judge;
    uint32_t number;
};

static dd_t
leaf_base(void *basing_, dd_t leaf, dd_t number OVS_UNUSED)
{
    const struct basing *basing = basing_;

    return expect_based(basing->judge, basing->number, leaf);
}

dd_t
expect_base_each(struct judge *j, dd_t verdict, uint32_t number)
{
    struct basing basing = { j, number };
    struct dd_op op = { leaf_base, NULL, &basing, true, false, OP_BASE };

    return dd_apply(j->space->dd, &op, verdict, DD_LEAF(number));
}

uint32_t
expect_base_number(struct judge *j, const struct expect *base)
{
    struct expect of_all = *base;

    of_all.zones[0] = NULL;
    of_all.commit[0] = false;
    return base_number(j, &of_all);
}
