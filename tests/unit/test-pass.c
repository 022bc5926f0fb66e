/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "pass/pass.h"
#include "unit.h"

/* The pass keeps a program valid, has nothing to do the second time, and does
 * the same to a program that was parsed. */
START_TEST(test_group_pass)
{
    int n_merged = 0;

    for (unsigned int seed = 1; seed <= 50; seed++) {
        struct unit u;

        unit_init(&u);
        unit_resolve(&u, unit_lot(u.arena, seed));
        if (u.policy) {
            struct ir_prog *prog, *again;
            const char *before, *after;

            prog = ir_build(u.policy, "n1", u.arena);
            ck_assert(ir_validate(prog, &u.diags));
            before = unit_prog_text(u.arena, prog);
            again = unit_parse_prog(&u, before);
            pass_group(prog, u.arena);
            ck_assert(ir_validate(prog, &u.diags));
            after = unit_prog_text(u.arena, prog);
            pass_group(prog, u.arena);
            ck_assert_str_eq(unit_prog_text(u.arena, prog), after);
            pass_group(again, u.arena);
            ck_assert_str_eq(unit_prog_text(u.arena, again), after);
            n_merged += strcmp(before, after) != 0;
        }
        unit_destroy(&u);
    }
    ck_assert_int_gt(n_merged, 5);
}
END_TEST

Suite *
pass_suite(void)
{
    Suite *suite = suite_create("pass");
    TCase *tc = unit_case(suite, "pass");

    tcase_add_test(tc, test_group_pass);
    return suite;
}
