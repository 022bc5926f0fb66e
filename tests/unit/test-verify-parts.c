/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>

#include "unit.h"
#include "util.h"
#include "verify/compare.h"
#include "verify/dd.h"
#include "verify/term.h"

/* What is put together of parts: diagrams by shapes, terms by cases. */

static const uint8_t widths[] = { 3, 4, 1, 2 };
enum { N_DIGITS = 4, N_PARTS = 5 };

/* Any set, by digits from 'first' to 'last'. */
static dd_t
random_set(struct dd *dd, int first, int last)
{
    dd_t set = DD_NONE;

    for (int i = 0; i < 3; i++) {
        int a = first + rand() % (last - first + 1);
        int b = first + rand() % (last - first + 1);

        set = dd_or(dd, set, dd_and(dd, dd_bits(dd, a, rand(), rand()),
                                    dd_bits(dd, b, rand(), rand())));
    }
    return set;
}

/* Sets that have no packets in common, and all packets together. */
static void
random_parts(struct dd *dd, int last, dd_t sets[N_PARTS])
{
    dd_t left = DD_ALL;

    for (int i = 0; i < N_PARTS - 1; i++) {
        sets[i] = dd_and(dd, left, random_set(dd, 0, last));
        left = dd_and(dd, left, dd_not(dd, sets[i]));
    }
    sets[N_PARTS - 1] = left;
}

START_TEST(test_shape)
{
    struct dd *dd = dd_create(widths, N_DIGITS);

    srand(5);
    for (int n = 0; n < 200; n++) {
        dd_t sets[N_PARTS], v[N_PARTS], copy[N_PARTS], shape, filled;
        dd_t expected = DD_NONE;

        random_parts(dd, 1, sets);
        for (int i = 0; i < N_PARTS; i++) {
            copy[i] = sets[i];
            v[i] = dd_cut(dd, random_set(dd, 2, 3), DD_LEAF(i + 3));
            expected = dd_over(dd, expected, dd_cut(dd, sets[i], v[i]));
            ck_assert_int_le(dd_deepest(dd, sets[i]), 1);
            ck_assert_int_gt(dd_first(dd, v[i]), 1);
        }
        shape = dd_shape(dd, copy, N_PARTS);
        filled = dd_fill(dd, shape, v);
        ck_assert_uint_eq(filled, expected);
        /* The same again with others must not be what was before. */
        v[0] = DD_LEAF(9);
        expected = dd_over(dd, dd_cut(dd, sets[0], v[0]), expected);
        expected = dd_over(dd, dd_cut(dd, sets[0], v[0]), dd_cut(
                               dd, dd_not(dd, sets[0]), expected));
        ck_assert_uint_eq(dd_fill(dd, shape, v), expected);
    }
    dd_destroy(dd);
}
END_TEST

START_TEST(test_no_shape)
{
    struct dd *dd = dd_create(widths, N_DIGITS);
    dd_t sets[] = { dd_range(dd, 0, 1, 3), dd_range(dd, 0, 3, 5) };
    dd_t apart[] = { dd_range(dd, 0, 1, 2), dd_range(dd, 0, 3, 5) };

    /* A packet of both. */
    ck_assert_uint_eq(dd_shape(dd, sets, 2), DD_NONE);
    ck_assert_uint_ne(dd_shape(dd, apart, 2), DD_NONE);
    ck_assert_int_eq(dd_deepest(dd, DD_ALL), -1);
    ck_assert_int_eq(dd_deepest(dd, dd_and(dd, dd_range(dd, 0, 1, 2),
                                           dd_range(dd, 3, 1, 2))), 3);
    ck_assert_int_gt(dd_first(dd, DD_ALL), N_DIGITS);
    dd_destroy(dd);
}
END_TEST

START_TEST(test_unbind_all)
{
    struct dd *dd = dd_create(widths, N_DIGITS);
    dd_t shape, sets[] = { dd_range(dd, 2, 0, 0), dd_range(dd, 2, 1, 1) };
    dd_t f = dd_cut(dd, dd_range(dd, 3, 1, 2), DD_LEAF(7)), v[2];

    dd_bind_at(dd, 1);
    shape = dd_shape(dd, sets, 2);
    v[0] = dd_bind(dd, f, 4);
    v[1] = DD_LEAF(8);
    ck_assert_uint_eq(dd_unbind_all(dd, shape, v, 2), 4);
    ck_assert_uint_eq(v[0], f);
    ck_assert_uint_eq(v[1], DD_LEAF(8));
    /* Two numbers. */
    v[0] = dd_bind(dd, f, 4);
    v[1] = dd_bind(dd, f, 5);
    ck_assert_uint_eq(dd_unbind_all(dd, shape, v, 2), 0);
    ck_assert_uint_eq(v[0], dd_bind(dd, f, 4));
    /* What tells them apart is asked for before. */
    v[1] = DD_LEAF(8);
    sets[0] = dd_range(dd, 0, 0, 1);
    sets[1] = dd_range(dd, 0, 2, 3);
    shape = dd_shape(dd, sets, 2);
    ck_assert_uint_eq(dd_unbind_all(dd, shape, v, 2), 0);
    dd_destroy(dd);
}
END_TEST

/* Leaves below 10 leave something open. */
static dd_t
leaf_add(void *aux OVS_UNUSED, dd_t leaf, dd_t number)
{
    return (dd_leaf(leaf) < 10 ? DD_LEAF(dd_leaf(leaf) + dd_leaf(number))
            : leaf);
}

/* Numbers are added to these, but for odd ones. */
static bool
settle(void *dd, uint32_t number, dd_t *f)
{
    struct dd_op op = { leaf_add, NULL, NULL, true, false, DD_OP_USER };

    *f = dd_apply(dd, &op, *f, DD_LEAF(number));
    return number % 2 == 0;
}

START_TEST(test_bound_to_two)
{
    struct dd *dd = dd_create(widths, N_DIGITS);
    dd_t low = dd_cut(dd, dd_range(dd, 2, 0, 3), DD_LEAF(7));
    dd_t high = dd_cut(dd, dd_range(dd, 2, 4, 6), DD_LEAF(9)), both;

    dd_bind_at(dd, 1);
    dd_settle_by(dd, settle, dd);
    both = dd_over(dd, dd_bind(dd, low, 20), dd_bind(dd, high, 40));
    ck_assert(!dd_is_mixed(dd));
    ck_assert_uint_eq(both, dd_over(
        dd, dd_cut(dd, dd_range(dd, 2, 0, 3), DD_LEAF(27)),
        dd_cut(dd, dd_range(dd, 2, 4, 6), DD_LEAF(49))));
    /* Of one number it is still asked once for all leaves. */
    ck_assert_uint_eq(dd_over(dd, dd_bind(dd, low, 20),
                              dd_bind(dd, high, 20)),
                      dd_bind(dd, dd_over(dd, low, high), 20));
    ck_assert(!dd_is_mixed(dd));
    dd_over(dd, dd_bind(dd, low, 20), dd_bind(dd, high, 41));
    ck_assert(dd_is_mixed(dd));
    dd_destroy(dd);
}
END_TEST

/* Cases are those of F_CONN1; what 't' holds there must be 'v[i]'. */
static void
assert_cases(struct terms *terms, struct space *space, term_t t,
             const uint8_t v[N_CASES], uint8_t value, uint8_t mask)
{
    u128 digits[160] = { 0 };
    dd_t set;

    ck_assert(term_match(terms, t, value, mask, space, &set));
    for (int i = 0; i < N_TRACKS; i++) {
        digits[space->begin[F_CONN1]] = i;
        digits[space->begin[F_TP_SRC]] = 77;
        ck_assert_int_eq(dd_eval(space->dd, set, digits) == DD_ALL,
                         !((v[i] ^ value) & mask));
    }
}

START_TEST(test_cases)
{
    struct terms *terms = terms_create();
    uint8_t held[N_CASES], shifted[N_CASES];
    term_t v[N_CASES], t, to, same;
    struct space space;
    dd_t set;

    space_init(&space, LAYOUT_WHOLE);
    for (int i = 0; i < N_CASES; i++) {
        space.cases[i] = (i < N_TRACKS ? space_is(&space, F_CONN1, i)
                          : DD_NONE);
        held[i] = i % 3 ? 10 + i : 77;
        v[i] = term_const(terms, 16, held[i]);
        if (i % 3 == 0) {
            /* Not known, but from the packet, which has 77. */
            v[i] = term_field(terms, F_TP_SRC);
        }
        shifted[i] = held[i] << 3;
    }
    t = term_cases(terms, v);
    to = term_const(terms, 16, 0);
    ck_assert(term_copy(terms, &to, 3, 8, t, 0));
    for (int value = 0; value < 128; value++) {
        assert_cases(terms, &space, t, held, value, 0xff);
        assert_cases(terms, &space, t, held, value, 0xfd);
        assert_cases(terms, &space, to, shifted, value, 0xf8);
    }
    /* The last case has no packets. */
    same = v[0];
    for (int i = 0; i < N_CASES; i++) {
        v[i] = same;
    }
    ck_assert_uint_eq(term_cases(terms, v), same);
    v[0] = term_unknown(terms, 16);
    t = term_cases(terms, v);
    ck_assert(!term_match(terms, t, 1, 1, &space, &set));
    space_destroy(&space);
    terms_destroy(terms);
}
END_TEST

static bool
is_near(uint32_t id, int step, uint32_t other)
{
    uint32_t near[COMPARE_MAX_NEAR];
    size_t n = compare_near(id, step, near);

    ck_assert_uint_eq(near[0], id);
    for (size_t i = 0; i < n; i++) {
        if (near[i] == other) {
            return true;
        }
    }
    return false;
}

/* Of which meters it depends on another whether they are named so: of either
 * id of a number, and of none that has a zone. */
START_TEST(test_near)
{
    const uint32_t send = 1u << COMPARE_NUMBER_BITS, receive = 2 * send;
    const int max = COMPARE_MAX_ALIKE;

    for (int i = -max - 2; i <= max + 2; i++) {
        uint32_t near = 1000 + i;

        ck_assert_int_eq(is_near(send | 1000, 1, send | near),
                         i >= 0 && i <= max);
        ck_assert_int_eq(is_near(send | 1000, 1, receive | near),
                         i >= 0 && i <= max);
        ck_assert_int_eq(is_near(receive | 1000, -1, send | near),
                         i <= 0 && i >= -max);
        ck_assert(!is_near(send | 1000, 1, near));
        ck_assert(!is_near(send | 1000, 1, 3 * send | near));
        ck_assert_int_eq(is_near(1000, 1, near), !i);
        ck_assert(!is_near(1000, 1, send | near));
    }
    ck_assert(is_near(receive - 1, 1, send));
    ck_assert(is_near(send, -1, receive | (send - 1)));
}
END_TEST

Suite *
verify_parts_suite(void)
{
    Suite *suite = suite_create("verify-parts");
    TCase *parts = unit_case(suite, "parts");

    tcase_add_test(parts, test_shape);
    tcase_add_test(parts, test_no_shape);
    tcase_add_test(parts, test_unbind_all);
    tcase_add_test(parts, test_bound_to_two);
    tcase_add_test(parts, test_cases);
    tcase_add_test(parts, test_near);
    return suite;
}
