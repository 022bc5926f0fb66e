/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "unit.h"

/* What one rule less changes: of the two plans of a tenant by itself, and in
 * the whole. */

#define ONE RULE("r", LEFT, RIGHT, ", 'service': 'ssh', 'class': 'gold'")
#define TWO RULE("s", RIGHT, LEFT, ", 'service': 'dns'")
#define TENANT_A(RULES, LIMIT)                                          \
    TENANT("a", 1, ", 'bandwidth': {'send': {'limit': '" LIMIT "',"     \
           "'burst': '64KiB'}}, 'rules': [" RULES "]")
#define TENANT_B TENANT("b", 2, ", 'default': 'allow'")

static struct plan_diff
compare(struct unit *old, struct unit *new, const char *old_text,
        const char *new_text)
{
    unit_init(old);
    unit_compile(old, old_text, "n1");
    unit_init(new);
    unit_compile(new, new_text, "n1");
    return plan_compare(&old->plan, &new->plan);
}

static void
assert_diff(const char *old_text, const char *new_text, size_t n_added,
            size_t n_changed, size_t n_deleted, size_t n_meters)
{
    struct unit old, new;
    struct plan_diff diff = compare(&old, &new, old_text, new_text);

    ck_assert_uint_eq(diff.added.n, n_added);
    ck_assert_uint_eq(diff.changed.n, n_changed);
    ck_assert_uint_eq(diff.deleted.n, n_deleted);
    ck_assert_uint_eq(diff.meters_added, n_meters);
    ck_assert_uint_eq(diff.meters_deleted, n_meters);
    unit_destroy(&old);
    unit_destroy(&new);
}

START_TEST(test_compare)
{
    /* DNS is a flow for UDP and one for TCP. */
    assert_diff(INTENT(TENANT_A(ONE ", " TWO, "1Gbps"), ""),
                INTENT(TENANT_A(ONE, "1Gbps"), ""), 0, 0, 2, 0);
    assert_diff(INTENT(TENANT_A(ONE ", " TWO, "1Gbps") ", " TENANT_B, ""),
                INTENT(TENANT_A(ONE, "1Gbps") ", " TENANT_B, ""), 0, 0, 2, 0);
    assert_diff(INTENT(TENANT_A(ONE, "1Gbps") ", " TENANT_B, ""),
                INTENT(TENANT_A(ONE ", " TWO, "1Gbps") ", " TENANT_B, ""),
                2, 0, 0, 0);
    assert_diff(INTENT(TENANT_A(ONE, "1Gbps"), ""),
                INTENT(TENANT_A(ONE, "1Gbps"), ""), 0, 0, 0, 0);
    assert_diff(INTENT(TENANT_A(ONE, "1Gbps"), ""),
                INTENT(TENANT_A(ONE, "2Gbps"), ""), 0, 0, 0, 1);
}
END_TEST

START_TEST(test_changed)
{
    struct unit old, new;
    struct plan_diff diff = compare(
        &old, &new, INTENT(TENANT_A(ONE, "1Gbps"), ""),
        INTENT(TENANT_A(RULE("r", LEFT, RIGHT, ", 'service': 'ssh', 'class':"
                             "'silver'"), "1Gbps"), ""));

    /* The rule's flow, and what the classes' flows do. */
    ck_assert_uint_eq(diff.changed.n, 1);
    ck_assert_uint_eq(diff.changed.v[0]->cookie & UINT64_C(0xffffffffffff),
                      unit_rule(&new, "a/r")->id);
    ck_assert_uint_eq(diff.added.n, 2);
    ck_assert_uint_eq(diff.deleted.n, 2);
    unit_destroy(&old);
    unit_destroy(&new);
}
END_TEST

Suite *
plan_suite(void)
{
    Suite *suite = suite_create("plan");
    TCase *tc = unit_case(suite, "compare");

    tcase_add_test(tc, test_compare);
    tcase_add_test(tc, test_changed);
    return suite;
}
