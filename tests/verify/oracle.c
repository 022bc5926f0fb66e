/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Random tables, looked up with the verifier's diagrams and with BuDDy, a
 * library of binary decision diagrams that shares no code with them.
 *
 * Flows match ranges and bits of fields; a packet takes the strongest that
 * matches it.  For each table and layout the packets of each flow must be the
 * same sets in both, and two sets one diagram if and only if they are one in
 * BuDDy.  A variable there is a bit of a field, whatever digits a layout cuts
 * the field into. */

#include <bdd.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/random.h"
#include "packets.h"
#include "util.h"
#include "verify/dd-private.h"
#include "verify/field.h"

enum {
    N_FLOWS = 12,               /* Of a table. */
    MAX_WILD = 6,               /* Bits between others that are matched, so
                                 * that no match scatters. */
    N_SETS = 3 * N_FLOWS,       /* Those compared two by two. */
};

/* Fields that are matched, wide and narrow ones, and the first and the last
 * digits; their bits are variables from 'first' on, high ones first. */
static struct {
    enum field field;
    int first;
} matched[] = {
    { F_VLAN_TCI, 0 }, { F_TUN_ID, 0 }, { F_ETH_TYPE, 0 }, { F_ETH_SRC, 0 },
    { F_IPV6_SRC, 0 }, { F_ETH_DST, 0 }, { F_NW_DST, 0 }, { F_IPV6_DST, 0 },
    { F_CONN1, 0 }, { F_MARK1, 0 }, { F_NW_PROTO, 0 }, { F_TP_DST, 0 },
    { F_IP_ECN, 0 },
};

/* A match: of bits, or of a range. */
struct match_of {
    size_t i;                   /* In 'matched'. */
    bool range;
    u128 a, b;                  /* Value and mask; first and last. */
};

struct flow_of {
    struct match_of matches[3];
    size_t n;
};

/* Sets of packets in both. */
struct set {
    dd_t dd;
    BDD bdd;
};

static int
variable(enum field f, int bit)
{
    size_t i = 0;

    while (matched[i].field != f) {
        i++;
        ovs_assert(i < ARRAY_SIZE(matched));
    }
    return matched[i].first + fields[f].width - 1 - bit;
}

/* The packets of which 'width' bits of 'f', from 'ofs' on, are at most
 * 'last'. */
static BDD
at_most(enum field f, int ofs, int width, u128 last)
{
    BDD set = bddtrue;

    for (int bit = 0; bit < width; bit++) {
        BDD low = bdd_nithvar(variable(f, ofs + bit)), wider;

        wider = (last >> bit & 1 ? bdd_apply(low, set, bddop_or)
                 : bdd_apply(low, set, bddop_and));
        set = bdd_addref(wider);
    }
    return set;
}

static BDD
in_range(enum field f, int ofs, int width, u128 first, u128 last)
{
    BDD set = at_most(f, ofs, width, last);

    return bdd_addref(first ? bdd_apply(set, at_most(f, ofs, width,
                                                     first - 1), bddop_diff)
                      : set);
}

static BDD
with_bits(enum field f, u128 value, u128 mask)
{
    BDD set = bddtrue;

    for (int bit = 0; bit < fields[f].width; bit++) {
        if (mask >> bit & 1) {
            set = bdd_addref(bdd_apply(
                set, value >> bit & 1 ? bdd_ithvar(variable(f, bit))
                : bdd_nithvar(variable(f, bit)), bddop_and));
        }
    }
    return set;
}

/* The packets to which 'f' gives 'leaf'; 'known' has what is known of
 * diagrams already. */
static BDD
translate(const struct space *space, dd_t f, dd_t leaf, BDD known[])
{
    const struct dd *dd = space->dd;
    const struct digit *digit;
    BDD set = bddfalse;
    u128 first = 0;

    if (dd_is_leaf(f)) {
        return f == leaf ? bddtrue : bddfalse;
    } else if (known[f] != -1) {
        return known[f];
    }
    digit = &space->digits[node_of(dd, f)->digit];
    for (uint32_t i = 0; i < node_of(dd, f)->n; i++) {
        struct edge e = node_of(dd, f)->edges[i];
        u128 last = dd_value(dd, node_of(dd, f)->digit, e.last);
        BDD below = translate(space, e.to, leaf, known);

        if (below != bddfalse) {
            BDD part = bdd_addref(bdd_apply(
                in_range(digit->field, digit->ofs, digit->width, first,
                         last), below, bddop_and));

            set = bdd_addref(bdd_apply(set, part, bddop_or));
        }
        first = last + 1;
    }
    known[f] = set;
    return set;
}

/* What is known of diagrams, for one leaf. */
struct known {
    BDD *v;                     /* -1: nothing. */
    size_t n;
};

static BDD
packets_of(const struct space *space, dd_t f, dd_t leaf, struct known *known)
{
    size_t n = space->dd->n_room;

    known->v = xrealloc(known->v, MAX(n, 1) * sizeof *known->v);
    for (; known->n < n; known->n++) {
        known->v[known->n] = -1;
    }
    return translate(space, f, leaf, known->v);
}

/* Values that flows share, so that they overlap. */
static u128
draw_value(struct rng *rng, int width)
{
    u128 value = rng_below(rng, 4);

    switch (rng_below(rng, 3)) {
    case 0: return value & field_ones(width);
    case 1: return field_ones(width) - (value & field_ones(width));
    default: return ((u128) rng_next(rng) << 64 | rng_next(rng))
                    & field_ones(width);
    }
}

static u128
draw_mask(struct rng *rng, int width)
{
    u128 mask = field_ones(width);

    if (rng_chance(rng, 40)) {
        mask &= ~field_ones(rng_below(rng, width));
    }
    for (unsigned int n = rng_below(rng, MAX_WILD); n; n--) {
        mask &= ~((u128) 1 << rng_below(rng, width));
    }
    return mask;
}

static void
draw_flow(struct rng *rng, struct flow_of *flow)
{
    flow->n = 1 + rng_below(rng, ARRAY_SIZE(flow->matches));
    for (size_t k = 0; k < flow->n; k++) {
        struct match_of *m = &flow->matches[k];
        int width;

        m->i = rng_below(rng, ARRAY_SIZE(matched));
        width = fields[matched[m->i].field].width;
        m->a = draw_value(rng, width);
        /* Fields of many digits have no ranges. */
        m->range = (matched[m->i].field == F_TP_DST
                    || matched[m->i].field == F_CONN1);
        m->b = m->range ? draw_value(rng, width) : draw_mask(rng, width);
        if (m->range && m->b < m->a) {
            u128 swap = m->a;

            m->a = m->b;
            m->b = swap;
        }
    }
}

static struct set
match_flow(struct space *space, const struct flow_of *flow)
{
    struct set set = { DD_ALL, bddtrue };

    for (size_t k = 0; k < flow->n; k++) {
        const struct match_of *m = &flow->matches[k];
        enum field f = matched[m->i].field;

        set.dd = dd_and(space->dd, set.dd, m->range
                        ? space_range(space, f, m->a, m->b)
                        : space_bits(space, f, m->a, m->b));
        set.bdd = bdd_addref(bdd_apply(
            set.bdd, m->range ? in_range(f, 0, fields[f].width, m->a, m->b)
            : with_bits(f, m->a, m->b), bddop_and));
    }
    return set;
}

/* Is each set the same in both, and one diagram where it is one in BuDDy? */
static bool
agree(const struct space *space, const struct set sets[], size_t n)
{
    struct known known = { NULL, 0 };
    bool same = true;

    for (size_t i = 0; i < n && same; i++) {
        same = packets_of(space, sets[i].dd, DD_ALL, &known) == sets[i].bdd;
        for (size_t k = 0; k < i && same; k++) {
            same = ((sets[i].dd == sets[k].dd)
                    == (sets[i].bdd == sets[k].bdd));
        }
    }
    free(known.v);
    return same;
}

/* The strongest flow is the first.  Each does what its number says, and every
 * other one what the one before does, which makes them one. */
static bool
look_up(struct space *space, const struct flow_of flows[])
{
    dd_t left = DD_ALL, parts[N_FLOWS], result, chosen = DD_NONE;
    struct set sets[N_SETS];
    struct dd *dd = space->dd;
    BDD rest = bddtrue;
    size_t n = 0;

    for (size_t i = 0; i < N_FLOWS; i++) {
        struct set match = match_flow(space, &flows[i]);
        struct set taken = {
            dd_and(dd, left, match.dd),
            bdd_addref(bdd_apply(rest, match.bdd, bddop_and)),
        };

        sets[n++] = match;
        sets[n++] = taken;
        parts[i] = dd_cut(dd, taken.dd, DD_LEAF(2 + i / 2));
        left = dd_and(dd, left, dd_not(dd, match.dd));
        rest = bdd_addref(bdd_apply(rest, match.bdd, bddop_diff));
        sets[n++] = (struct set) { left, rest };
    }
    for (size_t i = N_FLOWS; i > 0; i--) {
        chosen = dd_choose(dd, sets[3 * (i - 1)].dd,
                           DD_LEAF(2 + (i - 1) / 2), chosen);
    }
    result = dd_over_all(dd, parts, N_FLOWS);
    for (size_t i = 0; i < N_FLOWS; i += 2) {
        BDD both = bdd_addref(bdd_apply(sets[3 * i + 1].bdd,
                                        sets[3 * i + 4].bdd, bddop_or));
        struct known known = { NULL, 0 };
        bool same = packets_of(space, result, DD_LEAF(2 + i / 2),
                               &known) == both;

        free(known.v);
        if (!same) {
            return false;
        }
    }
    return result == chosen && !dd_is_refused(dd) && agree(space, sets, n);
}

static bool
try_table(uint64_t seed)
{
    struct flow_of flows[N_FLOWS];
    struct rng rng = { seed };
    bool ok = true;

    for (size_t i = 0; i < N_FLOWS; i++) {
        draw_flow(&rng, &flows[i]);
    }
    for (enum layout layout = 0; layout < N_LAYOUTS; layout++) {
        struct space space;

        space_init(&space, layout);
        ok &= look_up(&space, flows);
        space_destroy(&space);
    }
    return ok;
}

static void
start_buddy(void)
{
    int n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(matched); i++) {
        matched[i].first = n;
        n += fields[matched[i].field].width;
    }
    bdd_init(1 << 20, 1 << 16);
    bdd_setvarnum(n);
    bdd_setcacheratio(16);
    bdd_gbc_hook(NULL);
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    bool ok = true;

    printf("# seed %"PRIu64"\n", seed);
    for (uint64_t i = 0; i < n && ok; i++) {
        start_buddy();
        ok = try_table(seed + i);
        bdd_done();
        if (!ok) {
            printf("not ok - seed %"PRIu64" differs from BuDDy\n", seed + i);
        }
    }
    if (ok) {
        printf("ok - %"PRIu64" tables as BuDDy has them, in %d layouts\n", n,
               N_LAYOUTS);
    }
    return ok ? 0 : 1;
}
