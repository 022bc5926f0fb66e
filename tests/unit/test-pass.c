/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "pass/pass.h"
#include "unit.h"
#include "util.h"

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

#define TWIN(NAME, N, ROLE, BINDING)                                    \
    "'" NAME "': {'network': 'net', 'labels': {'role': '" ROLE "'}, "   \
    "'mac': '02:00:00:00:01:0" #N "', 'addresses': ['10.1.0.1" #N       \
    "'], " BINDING "}"
#define HERE(INTERFACE) "'node': 'n1', 'interface': '" INTERFACE "'"
#define TWINS(BINDING)                                                  \
    INTENT("'a': {'networks': {" NETWORK(1) "}, 'endpoints': {"         \
           TWIN("s", 9, "server", HERE("i9")) ", "                      \
           TWIN("w0", 0, "worker", BINDING) ", "                        \
           TWIN("w1", 1, "worker", HERE("i1")) ", "                     \
           TWIN("w2", 2, "worker", HERE("i2")) "}, 'rules': ["          \
           RULE("r", "{'labels': {'role': 'worker'}}",                  \
                "{'labels': {'role': 'server'}}", "") "]}", "")

/* The number of the group of 'name', and of how many it is. */
static uint32_t
group_of(const char *text, const char *name, size_t n)
{
    const struct ir_endpoint *e = NULL;
    struct unit u;
    uint32_t number;

    unit_init(&u);
    unit_resolve(&u, text);
    u.prog = ir_build(u.policy, "n1", u.arena);
    u.prog = unit_parse_prog(&u, unit_prog_text(u.arena, u.prog));
    ck_assert_msg(u.prog != NULL, "%s", unit_diags(&u));
    pass_group(u.prog, u.arena);
    ck_assert(ir_validate(u.prog, &u.diags));
    for (size_t i = 0; i < u.prog->endpoints.n; i++) {
        if (!strcmp(u.prog->endpoints.v[i]->name, name)) {
            e = u.prog->endpoints.v[i];
        }
    }
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->group->n_endpoints, n);
    number = e->group->number;
    unit_destroy(&u);
    return number;
}

/* A group keeps its number when the first of it is bound. */
START_TEST(test_twins)
{
    uint32_t bound = group_of(TWINS(HERE("i0")), "a/w2", 3);
    uint32_t number = group_of(TWINS("'node': 'n1'"), "a/w2", 2);
    uint32_t other = group_of(TWINS("'node': 'n1'"), "a/s", 1);

    ck_assert_uint_eq(number, bound);
    ck_assert_uint_ne(other, number);
}
END_TEST

/* No two groups have a number, even if a program says that those whom its
 * rules tell apart are twins. */
START_TEST(test_false_twins)
{
    struct unit u;
    char *text, *at;

    unit_init(&u);
    unit_resolve(&u, TWINS("'node': 'n1'"));
    u.prog = ir_build(u.policy, "n1", u.arena);
    text = CONST_CAST(char *, unit_prog_text(u.arena, u.prog));
    at = strstr(text, "endpoint a/s ");
    ck_assert_ptr_nonnull(at);
    at = strstr(at, " group ");
    text = arena_printf(u.arena, "%.*s twin %#"PRIx32"%s", (int) (at - text),
                        text, u.prog->endpoints.v[1]->twin, at);
    u.prog = unit_parse_prog(&u, text);
    ck_assert_msg(u.prog != NULL, "%s", unit_diags(&u));
    pass_group(u.prog, u.arena);
    ck_assert_uint_eq(u.prog->endpoints.v[1]->group->n_endpoints, 2);
    ck_assert_uint_ne(u.prog->endpoints.v[0]->group->number,
                      u.prog->endpoints.v[1]->group->number);
    unit_destroy(&u);
}
END_TEST

Suite *
pass_suite(void)
{
    Suite *suite = suite_create("pass");
    TCase *tc = unit_case(suite, "pass");

    tcase_add_test(tc, test_group_pass);
    tcase_add_test(tc, test_twins);
    tcase_add_test(tc, test_false_twins);
    return suite;
}
