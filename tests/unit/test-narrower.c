/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "unit.h"
#include "util.h"

/* Which of two rules with different classes decides, whatever labels and
 * addresses endpoints have at the time. */

enum wanted { R, S, NEITHER };

static const struct {
    const char *r, *s;          /* From, to and service, of both rules. */
    enum wanted narrower;
} cases[] = {
    { "'from': {}, 'to': {}", "'from': {}, 'to': {}", NEITHER },
    { "'from': {}, 'to': {'labels': {'l': 'a'}}", "'from': {}, 'to': {}", R },
    { "'from': {}, 'to': {}", "'from': {'network': 'n'}, 'to': {}", S },
    { "'from': {'network': 'n'}, 'to': {}",
      "'from': {}, 'to': {'network': 'n'}", NEITHER },
    { "'from': {'network': 'n'}, 'to': {'network': ['n', 'm']}",
      "'from': {}, 'to': {'network': 'n'}", NEITHER },
    { "'from': {'network': ['m', 'n']}, 'to': {}",
      "'from': {'network': 'n'}, 'to': {}", S },
    { "'from': {'labels': {'l': ['a', 'b']}}, 'to': {}",
      "'from': {'labels': {'l': 'b'}}, 'to': {}", S },
    { "'from': {'labels': {'l': ['a', 'b']}}, 'to': {}",
      "'from': {'labels': {'l': ['b', 'c']}}, 'to': {}", NEITHER },
    { "'from': {'labels': {'l': 'a'}}, 'to': {}",
      "'from': {'labels': {'l': 'a', 'k': 'x'}}, 'to': {}", S },
    { "'from': {'labels': {'l': 'a'}}, 'to': {}",
      "'from': {'labels': {'k': 'x'}}, 'to': {}", NEITHER },
    /* Alternatives. */
    { "'from': [{'labels': {'l': 'a'}}, {'network': 'm'}], 'to': {}",
      "'from': {'labels': {'l': 'a'}, 'network': 'n'}, 'to': {}", S },
    { "'from': [{'labels': {'l': 'a'}}, {'network': 'm'}], 'to': {}",
      "'from': [{'labels': {'l': 'a'}}, {'network': 'n'}], 'to': {}",
      NEITHER },
    /* Prefixes. */
    { "'from': {'cidr': '10.1.0.0/24'}, 'to': {}",
      "'from': {'cidr': ['10.1.0.0/25', '10.1.0.128/26']}, 'to': {}", S },
    { "'from': {'cidr': '10.1.0.0/25'}, 'to': {}",
      "'from': {'cidr': ['10.1.0.0/26', '10.1.0.128/25']}, 'to': {}",
      NEITHER },
    { "'from': {'cidr': '10.1.0.0/24'}, 'to': {}",
      "'from': {'endpoint': 'x'}, 'to': {}", NEITHER },
    /* What is taken away. */
    { "'from': {'except': {'labels': {'l': 'c'}}}, 'to': {}",
      "'from': {}, 'to': {}", R },
    { "'from': {'except': {'labels': {'l': 'c'}}}, 'to': {}",
      "'from': {'labels': {'l': ['a', 'b']}}, 'to': {}", S },
    { "'from': {'except': {'labels': {'l': 'c'}}}, 'to': {}",
      "'from': {'labels': {'l': ['b', 'c']}}, 'to': {}", NEITHER },
    { "'from': {'except': {'labels': {'l': 'c'}}}, 'to': {}",
      "'from': {'labels': {'k': 'x'}, 'except': {'labels': {'l': ['c',"
      "'d']}}}, 'to': {}", S },
    { "'from': {'except': {'endpoint': 'z'}}, 'to': {}",
      "'from': {'endpoint': ['x', 'y']}, 'to': {}", S },
    { "'from': {'except': {'endpoint': 'z'}}, 'to': {}",
      "'from': {'network': 'n', 'except': {'network': 'm'}}, 'to': {}",
      NEITHER },
    /* Endpoints by name. */
    { "'from': {'endpoint': ['x', 'y']}, 'to': {}",
      "'from': {'endpoint': 'y'}, 'to': {}", S },
    { "'from': {'endpoint': 'x'}, 'to': {}",
      "'from': {'network': 'n'}, 'to': {}", R },
    { "'from': {'endpoint': ['x', 'z']}, 'to': {}",
      "'from': {'network': 'n'}, 'to': {}", NEITHER },
    { "'from': {'endpoint': ['x', 'z']}, 'to': {}",
      "'from': [{'network': 'n'}, {'network': 'm'}], 'to': {}", R },
    { "'from': {'endpoint': 'x'}, 'to': {}",
      "'from': {'network': 'n', 'except': {'endpoint': 'y'}}, 'to': {}", R },
    { "'from': [{'endpoint': 'x'}, {'network': 'n'}], 'to': {}",
      "'from': {'network': 'n'}, 'to': {}", NEITHER },
    { "'from': [{'endpoint': 'x'}, {'labels': {'l': ['a', 'b']}}], 'to': {}",
      "'from': [{'endpoint': 'y'}, {'labels': {'l': ['a', 'b']}}], 'to': {}",
      NEITHER },
    /* The first is inside of the second today, and could be the other way
     * round tomorrow. */
    { "'from': [{'endpoint': 'x'}, {'labels': {'l': 'a'}}], 'to': {}",
      "'from': [{'endpoint': 'y'}, {'labels': {'l': 'a'}}], 'to': {}",
      NEITHER },
    /* Services. */
    { "'from': {}, 'to': {}, 'service': 'wide'",
      "'from': {}, 'to': {}, 'service': 'inside'", S },
    { "'from': {}, 'to': {}, 'service': 'inside'",
      "'from': {}, 'to': {}", R },
    { "'from': {}, 'to': {}, 'service': 'wide'",
      "'from': {}, 'to': {}, 'service': 'across'", NEITHER },
    { "'from': {}, 'to': {}, 'service': 'wide'",
      "'from': {'network': 'n'}, 'to': {}, 'service': 'same'", S },
    { "'from': {}, 'to': {}, 'service': 'icmp'",
      "'from': {}, 'to': {'network': 'm'}, 'service': 'icmp'", S },
    /* Both ways. */
    { "'from': {'network': 'n'}, 'to': {'network': 'm'}",
      "'from': {'endpoint': 'z'}, 'to': {'network': 'n'}, "
      "'service': 'rocev2'", S },
    { "'from': {'network': 'n'}, 'to': {'network': 'm'}, "
      "'service': 'rocev2'",
      "'from': {'network': 'm'}, 'to': {'network': 'n'}, "
      "'service': 'rocev2'", NEITHER },
    { "'from': {'network': 'n'}, 'to': {'network': 'm'}, "
      "'service': 'rocev2'",
      "'from': {'network': 'm'}, 'to': {'network': 'n'}", R },
    { "'from': {'network': 'n'}, 'to': {'network': 'm'}",
      "'from': {'network': 'm'}, 'to': {'network': 'n'}", NEITHER },
    { "'from': {'network': 'n'}, 'to': {}, 'service': 'wide'",
      "'from': {}, 'to': {'network': 'n', 'labels': {'l': 'a'}}, "
      "'service': 'inside'", NEITHER },
    /* Stateless. */
    { "'from': {'network': 'n'}, 'to': {}, 'stateful': false",
      "'from': {}, 'to': {}", R },
    { "'from': {'network': 'n'}, 'to': {}", "'from': {}, 'to': {}, "
      "'stateful': false", NEITHER },
    { "'from': {'network': 'n'}, 'to': {}, 'service': 'rocev2'",
      "'from': {}, 'to': {}, 'stateful': false", R },
    { "'from': {'network': 'n'}, 'to': {}, 'stateful': false",
      "'from': {}, 'to': {}, 'stateful': false", R },
};

/* Labels of the endpoints x, y and z; the first are those of the cases. */
static const char *const labels[][3] = {
    { "{'l': 'a', 'k': 'x'}", "{'l': 'b', 'k': 'x'}",
      "{'l': 'c', 'k': 'x'}" },
    { "{'l': 'b', 'k': 'x'}", "{'l': 'a'}", "{'l': 'b', 'k': 'x'}" },
    { "{'l': 'c', 'k': 'x'}", "{'l': 'b', 'k': 'x'}", "{'l': 'a'}" },
    { "{'l': 'd'}", "{'l': 'd'}", "{'l': 'a', 'k': 'x'}" },
};

static const char *
endpoint(struct unit *u, const char *name, const char *network, int host,
         const char *text)
{
    return arena_printf(u->arena, "'%s': {'network': '%s', 'node': 'n1',"
                        "'interface': 'i%s', 'mac': '02:00:00:00:00:%02d',"
                        "'addresses': ['10.%d.0.%d'], 'labels': %s}", name,
                        network, name, host, *network == 'n' ? 1 : 2, host,
                        text);
}

static const struct policy_rule *
find(const struct unit *u, const char *name)
{
    for (size_t i = 0; i < u->policy->rules.n; i++) {
        if (!strcmp(u->policy->rules.v[i]->name, name)) {
            return u->policy->rules.v[i];
        }
    }
    return NULL;
}

/* Which of the two is found to be the narrower?  Stores whether a packet comes
 * under both at all. */
static enum wanted
resolve(const char *r, const char *s, const char *const l[3], bool *meet)
{
    struct unit u;
    enum wanted found = NEITHER;

    unit_init(&u);
    unit_resolve(&u, arena_printf(
        u.arena, "{'version': 1, 'fabric': {'nodes': {'n1': {'uplinks': "
        "{'u': {'interface': 'p', 'rate': '1Gbps', 'burst': '64KiB'}}}}}, "
        "'classes': {'gold': {'dscp': 46}, 'silver': {'dscp': 18}}, "
        "'services': {'wide': {'protocol': 'tcp', 'ports': ['1-5', '6-9']},"
        "'same': {'protocol': 'tcp', 'ports': ['1-9']},"
        "'inside': {'protocol': 'tcp', 'ports': ['4-7']},"
        "'across': {'protocol': 'tcp', 'ports': ['4-10']}},"
        "'tenants': {'a': {'networks': {"
        "'n': {'vni': 1, 'subnets': '10.1.0.0/16', 'gateway': '10.1.0.1'},"
        "'m': {'vni': 2, 'subnets': '10.2.0.0/16', 'gateway': '10.2.0.1'}},"
        "'endpoints': {%s, %s, %s}, 'rules': ["
        "{'name': 'r', 'class': 'gold', %s},"
        "{'name': 's', 'class': 'silver', %s}]}}}",
        endpoint(&u, "x", "n", 10, l[0]), endpoint(&u, "y", "n", 11, l[1]),
        endpoint(&u, "z", "m", 12, l[2]), r, s));
    *meet = !u.policy;
    if (!u.policy) {
        ck_assert_int_eq(u.diags.n_errors, 1);
        unit_complains(&u, "with another class");
    } else if (find(&u, "a/r")->depth || find(&u, "a/s")->depth) {
        found = find(&u, "a/r")->depth ? R : S;
        ck_assert_int_eq(find(&u, "a/r")->depth + find(&u, "a/s")->depth, 1);
        *meet = true;
    }
    unit_destroy(&u);
    return found;
}

START_TEST(test_cases)
{
    bool meet;
    enum wanted found = resolve(cases[_i].r, cases[_i].s, labels[0], &meet);

    ck_assert_msg(meet && found == cases[_i].narrower,
                  "%s and %s: %s", cases[_i].r, cases[_i].s,
                  !meet ? "apart" : found == R ? "the first is narrower"
                  : found == S ? "the second is narrower"
                  : "neither is narrower");
    /* The order in the file does not matter. */
    found = resolve(cases[_i].s, cases[_i].r, labels[0], &meet);
    ck_assert_int_eq(found, cases[_i].narrower == R ? S
                     : cases[_i].narrower == S ? R : NEITHER);
}
END_TEST

/* Whatever labels there are, it is never turned round. */
START_TEST(test_never_turned)
{
    enum wanted ever = NEITHER;

    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        bool meet;
        enum wanted found = resolve(cases[_i].r, cases[_i].s, labels[i],
                                    &meet);

        ck_assert_msg(found == NEITHER || ever == NEITHER || found == ever,
                      "%s and %s are turned round", cases[_i].r,
                      cases[_i].s);
        ever = found == NEITHER ? ever : found;
    }
}
END_TEST

Suite *
narrower_suite(void)
{
    Suite *suite = suite_create("narrower");

    tcase_add_loop_test(unit_case(suite, "cases"), test_cases, 0,
                        ARRAY_SIZE(cases));
    tcase_add_loop_test(unit_case(suite, "turns"), test_never_turned, 0,
                        ARRAY_SIZE(cases));
    return suite;
}
