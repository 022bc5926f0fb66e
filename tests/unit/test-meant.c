/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/meant.h"

#include "unit.h"
#include "util.h"
#include "verify/base.h"

/* What of an intent is news (resident/meant.h). */

/* A tenant of three endpoints, the last of which is said to be 'z'. */
#define WHOLE(Z, RULES, MORE)                                               \
    "{" FABRIC ", " CLASSES ", 'services': {'web': {'protocol': 'tcp',"     \
    "'ports': [443]}}, 'tenants': {'t': {'networks': {" NETWORK(1) "},"     \
    "'endpoints': {" ENDPOINT("x", 1, 10, "left") ", "                      \
    ENDPOINT("y", 1, 11, "right") ", 'z': " Z "}, 'rules': [" RULES "]}}"   \
    MORE "}"
#define Z_OF(NODE, ROLE, MORE)                                              \
    "{'network': 'net', " NODE "'addresses': ['10.1.0.12'], "               \
    "'labels': {'role': '" ROLE "'}" MORE "}"
#define LIMIT(N)                                                            \
    ", 'bandwidth': {'limit': '" N "Gbps', 'burst': '64KiB'}"
#define HERE "'node': 'n1', 'interface': 'iz', 'mac': '02:00:00:00:01:12', "
#define Z Z_OF(HERE, "none", "")
#define ONE "{'name': 'one', 'from': " LEFT ", 'to': " RIGHT                \
            ", 'service': 'web', 'class': 'gold'}"
#define BOUND(INTERFACE)                                                    \
    ", 'bindings': {'t/z': {'node': 'n1', 'interface': '" INTERFACE "', "   \
    "'mac': '02:00:00:00:01:12'}}"

static struct unit before, after;
static struct meant *meant, *now;
static struct verify_news news;

static void
begin(const char *text)
{
    unit_init(&before);
    unit_resolve(&before, text);
    ck_assert_msg(before.policy != NULL, "%s", unit_diags(&before));
    meant = meant_create(before.policy);
}

static void
take_over(void)
{
    if (now) {
        meant_take_over(meant, now);
        now = NULL;
    }
}

/* Goes on with what 'text' says; its news are good until the next. */
static void
go_on(const char *text)
{
    take_over();
    unit_init(&after);
    unit_resolve(&after, text);
    ck_assert_msg(after.policy != NULL, "%s", unit_diags(&after));
    now = meant_compare(meant, after.policy, before.arena, &news);
    unit_destroy(&after);
}

static void
end(void)
{
    take_over();
    meant_destroy(meant);
    unit_destroy(&before);
}

static void
assert_nothing_new(void)
{
    ck_assert(news.known);
    ck_assert_uint_eq(news.rules.n, 0);
    ck_assert_ptr_null(news.endpoint);
}

START_TEST(test_nothing_new)
{
    static const char *const same[] = {
        WHOLE(Z, ONE, ""),
        WHOLE("  " Z, "\n" ONE "\n", ""),
        WHOLE(Z_OF(" " HERE, "none", " "), "{'name':'one','from': " LEFT ","
              "'to':" RIGHT ",'service':'w\\u0065b','class':'gold'}", ""),
        WHOLE(Z_OF(HERE, "none", ", 'description': 'The last.'"), ONE, ""),
        WHOLE(Z_OF(HERE, "none", LIMIT("1")), ONE, ""),
        WHOLE(Z_OF(HERE, "none", LIMIT("2")), ONE, ""),
    };

    begin(same[0]);
    for (size_t i = 0; i < 4; i++) {
        go_on(same[i]);
        assert_nothing_new();
    }
    go_on(same[4]);             /* It has a meter now. */
    ck_assert(!news.known);
    go_on(same[5]);
    assert_nothing_new();
    end();
}
END_TEST

START_TEST(test_rules)
{
    begin(WHOLE(Z, ONE, ""));
    go_on(WHOLE(Z, "{'name': 'one', 'from': " LEFT ", 'to': " RIGHT
                ", 'service': 'web', 'class': 'silver'}", ""));
    ck_assert(news.known);
    ck_assert_uint_eq(news.rules.n, 2);
    go_on(WHOLE(Z, "", ""));
    ck_assert(news.known);
    ck_assert_uint_eq(news.rules.n, 1);
    ck_assert_uint_eq(news.rules.v[0].endpoints.n, 2);
    end();
}
END_TEST

/* All that is written of the endpoint stays. */
START_TEST(test_bound)
{
    begin(WHOLE(Z_OF("", "none", ""), ONE, BOUND("i1")));
    go_on(WHOLE(Z_OF("", "none", ""), ONE, BOUND("i2")));
    ck_assert(!news.known);
    ck_assert_ptr_null(news.endpoint);
    go_on(WHOLE(Z_OF("", "none", ""), ONE, ""));
    ck_assert(!news.known);
    ck_assert_ptr_nonnull(news.endpoint);
    ck_assert(!news.endpoint->came);
    ck_assert_str_eq(news.endpoint->interface, "i2");
    end();
}
END_TEST

/* Of a rule that stays as it is, whom it is about must not. */
START_TEST(test_rule_speaks_of_others)
{
    begin(WHOLE(Z, ONE, ""));
    go_on(WHOLE(Z_OF(HERE, "right", ""), ONE, ""));
    ck_assert(!news.known);
    ck_assert_uint_eq(news.rules.n, 0);
    go_on(WHOLE(Z_OF(HERE, "right", ""), "", ""));
    ck_assert(news.known);
    ck_assert_uint_eq(news.rules.n, 1);
    ck_assert_uint_eq(news.rules.v[0].endpoints.n, 3);
    end();
}
END_TEST

Suite *
meant_suite(void)
{
    Suite *suite = suite_create("meant");
    TCase *tc = unit_case(suite, "what is news");

    tcase_add_test(tc, test_nothing_new);
    tcase_add_test(tc, test_rules);
    tcase_add_test(tc, test_bound);
    tcase_add_test(tc, test_rule_speaks_of_others);
    return suite;
}
