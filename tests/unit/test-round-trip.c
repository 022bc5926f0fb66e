/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "openvswitch/dynamic-string.h"
#include "unit.h"
#include "util.h"

/* Programs and intents survive their text. */

/* The intent that is printed means the same, and prints the same. */
static void
assert_intent_round_trip(struct unit *u)
{
    struct ds first = DS_EMPTY_INITIALIZER, second = DS_EMPTY_INITIALIZER;
    struct unit again;

    intent_print(u->intent, &first);
    unit_init(&again);
    again.source = source_create(again.arena, "printed.json", ds_cstr(&first),
                                 first.length);
    again.intent = intent_parse(again.source, again.arena, &again.diags);
    ck_assert_msg(again.intent != NULL, "%s", unit_diags(&again));
    again.policy = policy_resolve(again.intent, again.arena, &again.diags);
    ck_assert_msg(again.policy != NULL, "%s", unit_diags(&again));
    unit_build(&again, u->prog->node);
    ck_assert_str_eq(unit_plan_text(&again), unit_plan_text(u));
    intent_print(again.intent, &second);
    ck_assert_str_eq(ds_cstr(&second), ds_cstr(&first));
    unit_destroy(&again);
    ds_destroy(&first);
    ds_destroy(&second);
}

/* Of all nodes of the intent in 'path'. */
static void
assert_file(const char *path)
{
    struct unit u;
    const char *reason;

    unit_init(&u);
    reason = source_read(u.arena, path, &u.source);
    ck_assert_msg(!reason, "%s: %s", path, reason);
    u.intent = intent_parse(u.source, u.arena, &u.diags);
    ck_assert_msg(u.intent != NULL, "%s", unit_diags(&u));
    u.policy = policy_resolve(u.intent, u.arena, &u.diags);
    for (size_t i = 0; i < u.intent->nodes.n; i++) {
        unit_build(&u, u.intent->nodes.v[i].name.s);
        unit_round_trip(&u);
        assert_intent_round_trip(&u);
    }
    unit_destroy(&u);
}

START_TEST(test_files)
{
    static const char *const folders[] = {
        "tests/golden/plan", "tests/golden/valid",
    };
    const char *srcdir = getenv("srcdir") ? getenv("srcdir") : ".";
    char *example = xasprintf("%s/examples/ai-cluster.json", srcdir);
    int n = 0;

    assert_file(example);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        char *folder = xasprintf("%s/%s", srcdir, folders[i]);
        DIR *dir = opendir(folder);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
            char *path = xasprintf("%s/%s/intent.json", folder,
                                   entry->d_name);
            struct stat s;

            if (!stat(path, &s)) {
                assert_file(path);
                n++;
            }
            free(path);
        }
        ck_assert_ptr_nonnull(dir);
        closedir(dir);
        free(folder);
    }
    free(example);
    ck_assert_int_gt(n, 3);
}
END_TEST

START_TEST(test_lots)
{
    int n = 0;

    for (unsigned int seed = 1; seed <= 100; seed++) {
        struct unit u;

        unit_init(&u);
        unit_resolve(&u, unit_lot(u.arena, seed));
        if (u.policy) {
            unit_build(&u, "n1");
            unit_round_trip(&u);
            n++;
        }
        unit_destroy(&u);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

Suite *
round_trip_suite(void)
{
    Suite *suite = suite_create("round-trip");
    TCase *tc = unit_case(suite, "text");

    tcase_add_test(tc, test_files);
    tcase_add_test(tc, test_lots);
    return suite;
}
