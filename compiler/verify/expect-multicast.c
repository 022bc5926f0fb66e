/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Packets for many. */

#include <string.h>

#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/expect-private.h"

const struct expect_copy *
expect_copies(const struct judge *j, uint32_t copies, size_t *n)
{
    size_t size = 0;
    const void *v = copies ? pool_get(&j->copies, copies - 1, &size) : NULL;

    *n = size / sizeof(struct expect_copy);
    return v;
}

uint32_t
expect_add_copies(struct judge *j, const struct expect_copy *copies, size_t n)
{
    return n ? pool_add(&j->copies, copies, n * sizeof *copies) + 1 : 0;
}

/* Of a packet for many, and what one more gets. */
dd_t
expect_add_copy(void *judge, dd_t a, dd_t b)
{
    struct judge *j = judge;
    struct expect many = *expect_get(j, a);
    const struct expect *one = expect_get(j, b);
    struct expect_copy copies[MAX_RECEIVERS];
    size_t n;
    const struct expect_copy *old = expect_copies(j, many.copies, &n);

    memset(copies, 0, sizeof copies);
    memcpy(copies, old ? old : copies, n * sizeof *copies);
    copies[n++] = (struct expect_copy) {
        .to = one->to, .kept = one->kept, .rules = one->rules,
        .allow = one->allow, .dscp = one->dscp, .queue = one->queue,
        .reason = one->reason,
    };
    many.copies = expect_add_copies(j, copies, n);
    if (one->allow) {
        many.allow = true;
        many.reason = 0;
    }
    return expect_leaf(j, &many);
}

/* Is the MAC that of the group (RFC 1112 section 6.4, RFC 2464 section 7)? */
static dd_t
has_group_mac(struct judge *j, bool ip6)
{
    struct space *space = j->space;
    struct dd *dd = space->dd;
    int n_bits = ip6 ? 32 : 23;
    uint64_t prefix = ip6 ? UINT64_C(0x333300000000)
                      : UINT64_C(0x01005e000000);
    dd_t set = dd_and(dd, is_family(j, ip6), space_bits(
        space, F_ETH_DST, prefix, field_ones(48) & ~field_ones(n_bits)));

    for (int i = 0; i < n_bits; i++) {
        enum field field = ip6 ? F_IPV6_DST : F_NW_DST;
        u128 bit = (u128) 1 << i;
        dd_t ones = dd_and(dd, space_bits(space, F_ETH_DST, bit, bit),
                           space_bits(space, field, bit, bit));
        dd_t zeros = dd_and(dd, space_bits(space, F_ETH_DST, 0, bit),
                            space_bits(space, field, 0, bit));

        set = dd_and(dd, set, dd_or(dd, ones, zeros));
    }
    return set;
}

/* What one of the network gets of a packet for many. */
static dd_t
expect_copy(struct judge *j, const struct origin *s,
            const struct policy_endpoint *to)
{
    struct seen stateless = { TRACK_NONE, true, false, F_NW_PROTO, F_TP_DST };
    struct seen first = { TRACK_NEW, false, false, F_NW_PROTO, F_TP_DST };
    struct expect base = { .from = s->q.from, .to = to };
    struct dd *dd = j->space->dd;

    if (to == s->q.from) {
        base.reason = REASON_PIPELINE;
        return expect_leaf(j, &base);
    }
    return dd_choose(dd, is_for_symmetric(j, F_NW_PROTO, F_TP_DST),
                     expect_between(j, &stateless, &base),
                     expect_between(j, &first, &base));
}

dd_t
expect_multicast(struct judge *j, const struct origin *s)
{
    const struct policy_tenant *tenant = s->network->tenant;
    struct dd *dd = j->space->dd;
    struct expect many;
    dd_t result;

    memset(&many, 0, sizeof many);
    many.many = true;
    many.counted = s->counted;
    many.from = s->q.from;
    many.charged = tenant;
    many.uplink = network_uplink(s->network, s->q.from->node);
    many.reason = REASON_DEFAULT;
    result = expect_leaf(j, &many);
    for (size_t i = 0; i < tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = tenant->endpoints.v[i];

        if (to->network == s->network && is_here(j, to)) {
            result = dd_apply(dd, &j->add_copy, result,
                              expect_copy(j, s, to));
        }
    }
    result = dd_choose(dd, is_fragment(j),
                       expect_deny(j, s, REASON_FRAGMENT), result);
    return dd_choose(dd, dd_or(dd, has_group_mac(j, false),
                               has_group_mac(j, true)),
                     result, expect_deny(j, s, REASON_UNREACHABLE));
}
