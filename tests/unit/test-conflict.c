/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "unit.h"
#include "util.h"

/* Contradictions: each test changes one thing of an intent that is right,
 * and looks for the words and the place of the complaint. */

#define GOOD_RULES                                                      \
    RULE("r", LEFT, RIGHT, ", 'service': 'ssh', 'class': 'gold'")
#define GOOD_A TENANT("a", 1, ", 'peers': ['b'], 'rules': [" GOOD_RULES "]")
#define GOOD_B TENANT("b", 2, ", 'peers': ['a']")
#define PEERING(FROM, TO)                                               \
    ", 'peerings': {'p': {'from': {'tenant': '" FROM "'}, "             \
    "'to': {'tenant': '" TO "'}, 'service': 'ssh'}}"

static void
fine(const char *text)
{
    struct unit u;

    unit_init(&u);
    unit_resolve(&u, text);
    ck_assert_msg(u.policy && !u.diags.list.n, "%s", unit_diags(&u));
    unit_destroy(&u);
}

/* As fine(), but there may be warnings. */
static void
taken(const char *text)
{
    struct unit u;

    unit_init(&u);
    unit_resolve(&u, text);
    ck_assert_msg(u.policy && !u.diags.n_errors, "%s", unit_diags(&u));
    unit_destroy(&u);
}

/* 'text' must be refused with 'cause', once, at JSON pointer 'pointer'. */
static void
wrong(const char *text, const char *cause, const char *pointer)
{
    struct unit u;

    unit_init(&u);
    unit_resolve(&u, text);
    ck_assert_msg(u.intent, "%s", unit_diags(&u));
    ck_assert_msg(!u.policy, "this was taken: %s", text);
    unit_complains(&u, cause);
    unit_complains(&u, arena_printf(u.arena, "  at %s\n", pointer));
    ck_assert_msg(u.diags.n_errors == 1, "%s", unit_diags(&u));
    unit_destroy(&u);
}

START_TEST(test_consent)
{
    fine(INTENT(GOOD_A ", " GOOD_B, PEERING("a", "b")));
    fine(INTENT(GOOD_A ", " GOOD_B, PEERING("b", "a")));
    wrong(INTENT(TENANT("a", 1, "") ", " GOOD_B, PEERING("a", "b")),
          "tenant 'a' does not consent to this peering with 'b'",
          "/peerings/p");
    wrong(INTENT(GOOD_A ", " TENANT("b", 2, ""), PEERING("a", "b")),
          "tenant 'b' does not consent to this peering with 'a'",
          "/peerings/p");
    wrong(INTENT(TENANT("a", 1, "") ", " GOOD_B, PEERING("b", "a")),
          "tenant 'a' does not consent", "/peerings/p");
    /* Consent alone, without a peering, is fine. */
    fine(INTENT(GOOD_A ", " GOOD_B, ""));
}
END_TEST

START_TEST(test_peering_with_itself)
{
    struct unit u;

    unit_init(&u);
    unit_resolve(&u, INTENT(GOOD_A ", " GOOD_B, PEERING("a", "a")));
    ck_assert_ptr_null(u.policy);
    unit_complains(&u, "a peering joins two tenants");
    unit_destroy(&u);
}
END_TEST

#define TWO_RULES(A, B)                                                 \
    INTENT(TENANT("a", 1, ", 'rules': [" A ", " B "]"),                 \
           ", 'services': {"                                            \
           "'low': {'protocol': 'tcp', 'ports': ['100-200']},"          \
           "'mid': {'protocol': 'tcp', 'ports': [50, '200-300']},"      \
           "'high': {'protocol': 'tcp', 'ports': ['201-300']},"         \
           "'udp': {'protocol': 'udp', 'ports': ['100-300']}}")
#define GOLD(SERVICE) ", 'service': '" SERVICE "', 'class': 'gold'"
#define SILVER(SERVICE) ", 'service': '" SERVICE "', 'class': 'silver'"

START_TEST(test_classes)
{
    static const char cause[] = "this allows packets that rule 'a/r' allows "
                                "with another class";
    static const char place[] = "/tenants/a/rules/1/name";

    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, SILVER("low"))), cause, place);
    /* One port in common is enough, and so is "any service". */
    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, SILVER("mid"))), cause, place);
    wrong(TWO_RULES(RULE("r", LEFT, "{}", GOLD("low")),
                    RULE("s", LEFT, RIGHT, ", 'class': 'silver'")), cause,
          place);
    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("icmp")),
                    RULE("s", LEFT, RIGHT, SILVER("icmp"))), cause, place);
    /* No class is best-effort, which is a class as well. */
    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, ", 'service': 'low'")), cause,
          place);
    wrong(TWO_RULES(RULE("r", LEFT, "{}", GOLD("low")),
                    RULE("s", LEFT, RIGHT, ", 'class': 'best-effort'")), cause,
          place);
    taken(TWO_RULES(RULE("r", LEFT, RIGHT, ", 'service': 'low'"),
                    RULE("s", LEFT, "{}", ", 'class': 'best-effort'")));

    /* RoCEv2 and "any service" match both ways, ports only one. */
    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("rocev2")),
                    RULE("s", RIGHT, LEFT, SILVER("rocev2"))), cause, place);
    wrong(TWO_RULES(RULE("r", LEFT, "{}", GOLD("rocev2")),
                    RULE("s", RIGHT, LEFT, ", 'class': 'silver'")), cause,
          place);
    taken(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", RIGHT, LEFT, ", 'class': 'silver'")));
    /* Nobody sends to itself. */
    taken(TWO_RULES(RULE("r", LEFT, LEFT, GOLD("low")),
                    RULE("s", LEFT, "{}", SILVER("low"))));

    taken(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, GOLD("mid"))));
    taken(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, SILVER("high"))));
    taken(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, SILVER("udp"))));
    taken(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", RIGHT, LEFT, SILVER("low"))));
    /* A deny has no class to contradict. */
    taken(TWO_RULES(RULE("r", LEFT, RIGHT, GOLD("low")),
                    RULE("s", LEFT, RIGHT, ", 'service': 'low',"
                         "'action': 'deny'")));
}
END_TEST

START_TEST(test_rule_names)
{
    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, ""), RULE("r", RIGHT, LEFT, "")),
          "rule 'a/r' stands twice", "/tenants/a/rules/1/name");
    wrong(TWO_RULES(RULE("r", LEFT, RIGHT, ""),
                    RULE("s", RIGHT, LEFT, ", 'action': 'deny',"
                         "'class': 'gold'")),
          "a rule that denies has no class", "/tenants/a/rules/1/class");
}
END_TEST

START_TEST(test_dangling)
{
#define ONE_RULE(FROM, MORE)                                            \
    INTENT(TENANT("a", 1, ", 'rules': [" RULE("r", FROM, RIGHT, MORE) "]"), \
           "")
    wrong(ONE_RULE(LEFT, ", 'service': 'shh'"), "no service 'shh'",
          "/tenants/a/rules/0/service");
    wrong(ONE_RULE(LEFT, ", 'class': 'glod'"), "did you mean 'gold'?",
          "/tenants/a/rules/0/class");
    wrong(ONE_RULE("{'network': 'nett'}", ""), "'nett'",
          "/tenants/a/rules/0/from/network");
    wrong(ONE_RULE("{'endpoint': 'w'}", ""), "'w'",
          "/tenants/a/rules/0/from/endpoint");
    wrong(INTENT(TENANT("a", 1, ", 'peers': ['c']"), ""), "no tenant 'c'",
          "/tenants/a/peers/0");
    wrong(INTENT(GOOD_A ", " GOOD_B, PEERING("a", "bb")), "no tenant 'bb'",
          "/peerings/p/to/tenant");
    wrong(INTENT("'a': {'networks': {" NETWORK(1) "}, 'endpoints': {'x':"
                 "{'network': 'new'}}}", ""), "'new'",
          "/tenants/a/endpoints/x/network");
    wrong(INTENT("'a': {'networks': {" NETWORK(1) "}, 'endpoints': {'x':"
                 "{'network': 'net', 'node': 'n3'}}}", ""), "no node 'n3'",
          "/tenants/a/endpoints/x/node");
    wrong(INTENT("", ", 'services': {'ssh': {'protocol': 'tcp', 'ports':"
                 "[23]}}"), "service 'ssh' is built in", "/services/ssh");
}
END_TEST

/* Tenant "a" with one network, and the endpoints "x" and "y" as given. */
#define PAIR(X, Y)                                                      \
    INTENT("'a': {'networks': {" NETWORK(1) "}, 'endpoints': {'x':"     \
           "{'network': 'net', " X "}, 'y': {'network': 'net', " Y "}}}", "")

START_TEST(test_used_twice)
{
    wrong(INTENT(TENANT("a", 1, "") ", 'b': {'networks': {'n': {'vni': 1,"
                 "'subnets': ['10.2.0.0/16']}}}", ""),
          "VNI 1 is used twice", "/tenants/b/networks/n/vni");

    wrong(PAIR("'addresses': ['10.1.0.9']", "'addresses': ['10.1.0.9']"),
          "address 10.1.0.9 is used twice", "/tenants/a/endpoints/y/addresses"
          "/0");
    wrong(PAIR("'addresses': ['10.1.0.9']", "'addresses': ['10.1.0.1']"),
          "address 10.1.0.1 is used twice", "/tenants/a/endpoints/y/addresses"
          "/0");
    wrong(PAIR("'mac': '02:00:00:00:00:ab'", "'mac': '02:00:00:00:00:AB'"),
          "MAC address 02:00:00:00:00:ab is used twice",
          "/tenants/a/endpoints/y/mac");
    wrong(PAIR("'mac': '02:00:00:00:00:ab'", "'mac': '0a:b1:7d:00:00:01'"),
          "the MAC address of the network's gateway",
          "/tenants/a/endpoints/y/mac");
    wrong(PAIR("'node': 'n1', 'interface': 'e0'",
               "'node': 'n1', 'interface': 'e0'"),
          "interface e0 on node n1 is used twice",
          "/tenants/a/endpoints/y/interface");
    wrong(PAIR("'node': 'n1', 'interface': 'e0'",
               "'node': 'n1', 'interface': 'p0'"),
          "interface p0 on node n1 is used twice",
          "/tenants/a/endpoints/y/interface");

    fine(PAIR("'node': 'n1', 'interface': 'e0'",
              "'node': 'n2', 'interface': 'e0'"));
    /* Tenants may use the same addresses and MAC addresses. */
    fine(INTENT(TENANT("a", 1, "") ", 'b': {'networks': {'n': {'vni': 2,"
                "'subnets': ['10.1.0.0/16']}}, 'endpoints': {'x':"
                "{'network': 'n', 'addresses': ['10.1.0.10'],"
                "'mac': '02:00:00:00:01:10'}}}", ""));
}
END_TEST

START_TEST(test_addressing)
{
    static const char *const no_station[] = {
        "0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "::", "::1",
        "ff02::1", "fe80::1",
    };
    struct unit u;

    for (size_t i = 0; i < sizeof no_station / sizeof *no_station; i++) {
        unit_init(&u);
        wrong(arena_printf(u.arena, PAIR("'addresses': ['%s']",
                                         "'labels': {}"), no_station[i]),
              "not the address of a station",
              "/tenants/a/endpoints/x/addresses/0");
        unit_destroy(&u);
    }
    wrong(PAIR("'addresses': ['10.2.0.9']", "'labels': {}"),
          "this address is in no subnet of network 'net'",
          "/tenants/a/endpoints/x/addresses/0");
    wrong(INTENT("'a': {'networks': {" NETWORK(1) ", 'two': {'vni': 2,"
                 "'subnets': ['10.1.128.0/17']}}}", ""),
          "this subnet overlaps another", "/tenants/a/networks/two/subnets"
          "/0");
    wrong(INTENT("'a': {'networks': {'net': {'vni': 2, 'subnets': []}}}",
                 ""), "without subnets", "/tenants/a/networks/net");
    wrong(INTENT(GOOD_A ", 'b': {'peers': ['a'], 'networks': {'n':"
                 "{'vni': 2, 'subnets': ['10.0.0.0/8'], 'gateway':"
                 "'10.0.0.1'}}, 'endpoints':"
                 "{'z': {'network': 'n', 'addresses': ['10.1.0.10']},"
                 "'v': {'network': 'n', 'addresses': ['10.9.0.1']}}}",
                 ", 'peerings': {'p': {'from': {'tenant': 'a', 'endpoint':"
                 "'y'}, 'to': {'tenant': 'b', 'endpoint': 'z'}, 'service':"
                 "'ssh'}}"),
          "tenant 'a' cannot route to 'b/z': 'a/x' has this address too",
          "/tenants/b/endpoints/z/addresses/0");
}
END_TEST

START_TEST(test_bandwidth)
{
#define BANDWIDTH(LIMIT, BURST)                                         \
    INTENT(TENANT("a", 1, ", 'bandwidth': {'limit': '" LIMIT "', "      \
                  "'burst': '" BURST "'}"), "")
    static const char limit[] = "/tenants/a/bandwidth/limit";
    static const char burst[] = "/tenants/a/bandwidth/burst";

    fine(BANDWIDTH("100Gbps", "1518B"));
    fine(BANDWIDTH("1kbps", "1GiB"));
    wrong(BANDWIDTH("100.000001Gbps", "64KiB"), "above the rate", limit);
    wrong(BANDWIDTH("999bps", "64KiB"), "a meter cannot hold this", limit);
    wrong(BANDWIDTH("1500bps", "64KiB"), "a meter cannot hold this", limit);
    wrong(BANDWIDTH("1Gbps", "1517B"), "full frame of 1518 bytes", burst);
    wrong(BANDWIDTH("1Gbps", "1.5GiB"), "more than any buffer", burst);
}
END_TEST

/* A network with 'n' endpoints on n1 and 100 on another node, whose 'member'
 * makes the node copy packets to them. */
static const char *
crowd(struct arena *arena, const char *member, int n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "'a': {'networks': {'net': {'vni': 1, 'subnets': "
                  "['10.1.0.0/16'], %s}}, 'endpoints': {", member);
    for (int i = 0; i < n + 100; i++) {
        ds_put_format(&ds, "%s'e%d': {'network': 'net', 'node': '%s', "
                      "'interface': 'i%d', 'mac': '02:00:00:00:%02x:%02x', "
                      "'addresses': ['10.1.%d.%d']}", i ? "," : "", i,
                      i < n ? "n1" : "n2", i, i / 200, i % 200, i / 200,
                      i % 200 + 1);
    }
    const char *s = arena_printf(arena, INTENT("%s}}", ""), ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

START_TEST(test_groups)
{
    static const struct {
        const char *group, *words;      /* NULL: it is fine. */
    } cases[] = {
        { "224.0.1.0/24", NULL }, { "239.255.255.255/32", NULL },
        { "225.0.0.0/8", NULL }, { "232.0.0.0/5", NULL },
        { "ff03::/16", NULL }, { "ff1e::/16", NULL }, { "ff3e::1/128", NULL },
        { "224.0.0.0/24", "the link's" }, { "224.0.0.251/32", "the link's" },
        { "224.0.0.0/4", "the link's" }, { "224.0.0.0/23", "the link's" },
        { "224.0.0.0/3", "not multicast" }, { "0.0.0.0/0", "not multicast" },
        { "10.1.0.0/16", "not multicast" }, { "::/0", "not multicast" },
        { "fd00::/8", "not multicast" }, { "fe00::/7", "not multicast" },
        { "ff00::/8", "several scopes" }, { "ff14::/15", "several scopes" },
        { "ff02::/16", "leave a link" }, { "ff11::1/128", "leave a link" },
        { "ff30::/16", "leave a link" }, { "ff0f::/16", "leave a link" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct unit u;
        const char *text;

        unit_init(&u);
        text = crowd(u.arena, arena_printf(u.arena, "'multicast': ['%s']",
                                           cases[i].group), 2);
        if (cases[i].words) {
            wrong(text, cases[i].words, "/tenants/a/networks/net/multicast/0");
        } else {
            taken(text);
        }
        unit_destroy(&u);
    }
}
END_TEST

START_TEST(test_receivers)
{
    static const char dhcp[] = "'dhcp': {'server': 'e7'}";
    struct unit u;

    unit_init(&u);
    taken(crowd(u.arena, dhcp, MAX_RECEIVERS));
    fine(crowd(u.arena, "'gateway': []", MAX_RECEIVERS + 1));
    wrong(crowd(u.arena, dhcp, MAX_RECEIVERS + 1),
          "129 endpoints on node 'n1'", "/tenants/a/networks/net/dhcp/server");
    taken(crowd(u.arena, "'multicast': '239.0.0.0/8'", MAX_RECEIVERS));
    wrong(crowd(u.arena, "'multicast': '239.0.0.0/8'", MAX_RECEIVERS + 1),
          "129 endpoints on node 'n1'", "/tenants/a/networks/net/multicast");
    unit_destroy(&u);
}
END_TEST

Suite *
conflict_suite(void)
{
    Suite *suite = suite_create("conflict");
    TCase *tc = unit_case(suite, "rules");

    tcase_add_test(tc, test_consent);
    tcase_add_test(tc, test_peering_with_itself);
    tcase_add_test(tc, test_classes);
    tcase_add_test(tc, test_rule_names);
    tcase_add_test(tc, test_dangling);
    tc = unit_case(suite, "addressing");
    tcase_add_test(tc, test_used_twice);
    tcase_add_test(tc, test_addressing);
    tcase_add_test(tc, test_bandwidth);
    tcase_add_test(tc, test_receivers);
    tcase_add_test(tc, test_groups);
    return suite;
}
