/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "alike.h"
#include "util.h"

/* Which proofs are by others like the endpoint that came or went. */

static struct proving t;

static void
begin(struct alike tenant)
{
    alike_begin(&t, tenant, NULL);
}

static enum proving_by
change(struct alike tenant)
{
    return alike_change(&t, tenant, NULL);
}

/* As many others as a packet has places for names. */
START_TEST(test_coming)
{
    begin((struct alike) { .n = 1 });
    ck_assert_int_eq(change((struct alike) { .n = 2 }), BY_ALL);
    ck_assert_int_eq(change((struct alike) { .n = 3 }), BY_LIKENESS);
    ck_assert_int_eq(change((struct alike) { .n = 4 }), BY_LIKENESS);
    proving_end(&t);
}
END_TEST

START_TEST(test_coming_ip6)
{
    begin((struct alike) { .n = 2, .ip6 = true });
    ck_assert_int_eq(change((struct alike) { .n = 3, .ip6 = true }), BY_ALL);
    ck_assert_int_eq(change((struct alike) { .n = 4, .ip6 = true }),
                     BY_LIKENESS);
    proving_end(&t);
}
END_TEST

START_TEST(test_going)
{
    for (int ip6 = 0; ip6 <= 1; ip6++) {
        begin((struct alike) { .n = 4, .ip6 = ip6 });
        ck_assert_int_eq(change((struct alike) { .n = 3, .ip6 = ip6 }),
                         BY_LIKENESS);
        ck_assert_int_eq(change((struct alike) { .n = 2, .ip6 = ip6 }),
                         BY_LIKENESS);
        proving_end(&t);
    }
}
END_TEST

/* Which the intent knows all the while. */
START_TEST(test_attached)
{
    static const struct alike apart[] = {
        { .n = 4, .apart = true }, { .n = 4, .first_apart = true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(apart); i++) {
        begin(apart[i]);
        ck_assert_int_eq(change((struct alike) { .n = 4 }), BY_LIKENESS);
        ck_assert_int_eq(change(apart[i]), BY_LIKENESS);
        proving_end(&t);
    }
}
END_TEST

/* One that is not like others. */
START_TEST(test_unlike)
{
    static const struct alike unlike[] = {
        { .n = 4, .last = "" },
        { .n = 4, .rules = ", {'name': 'three', 'from': {'endpoint': 's'}, "
          "'to': {'labels': {'rank': ['12', '13']}}, 'service': 'web', "
          "'class': 'gold'}" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(unlike); i++) {
        begin((struct alike) { .n = 3, .rules = unlike[i].rules });
        ck_assert_int_eq(change(unlike[i]), BY_ALL);
        proving_end(&t);
    }
}
END_TEST

Suite *
symmetry_suite(void)
{
    Suite *suite = suite_create("symmetry");
    TCase *tc = unit_case(suite, "proofs by those who are alike");

    tcase_add_test(tc, test_coming);
    tcase_add_test(tc, test_coming_ip6);
    tcase_add_test(tc, test_going);
    tcase_add_test(tc, test_attached);
    tcase_add_test(tc, test_unlike);
    return suite;
}
