/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <netinet/in.h>
#include <string.h>

#include "openvswitch/types.h"
#include "packets.h"
#include "unit.h"

/* An intent of one tenant, "a", with MORE members. */
#define ONE(MORE) INTENT(TENANT("a", 1, MORE), "")

static void
good_intent(struct unit *u, const char *text)
{
    unit_init(u);
    unit_parse(u, text);
    ck_assert_msg(u->intent && !u->diags.list.n, "%s", unit_diags(u));
}

START_TEST(test_example)
{
    struct unit u;

    unit_init(&u);
    u.source = unit_example(u.arena, "ai-cluster");
    u.intent = intent_parse(u.source, u.arena, &u.diags);
    ck_assert_msg(u.intent && !u.diags.list.n, "%s", unit_diags(&u));
    ck_assert_uint_eq(u.intent->nodes.n, 1);
    ck_assert_uint_eq(u.intent->classes.n, 3);
    ck_assert_uint_eq(u.intent->services.n, 1);
    ck_assert_uint_eq(u.intent->tenants.n, 4);
    ck_assert_uint_eq(u.intent->peerings.n, 1);

    const struct intent_tenant *tenant = &u.intent->tenants.v[2];
    ck_assert_str_eq(tenant->name.s, "llm-training");
    ck_assert(!tenant->default_allow);
    ck_assert_uint_eq(tenant->send.limit.n, UINT64_C(60000000000));
    ck_assert_uint_eq(tenant->send.burst.n, 256 * 1024);
    ck_assert_uint_eq(tenant->networks.n, 1);
    ck_assert_uint_eq(tenant->networks.v[0].vni, 5001);
    ck_assert_int_eq(tenant->networks.v[0].subnets.v[0].plen, 96 + 16);
    ck_assert_int_eq(tenant->networks.v[0].subnets.v[1].plen, 64);
    ck_assert_uint_eq(tenant->endpoints.n, 2);
    ck_assert_uint_eq(tenant->rules.n, 2);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_members)
{
    struct unit u;

    good_intent(&u, INTENT(
        TENANT("a", 1, ", 'default': 'allow', 'peers': ['b'],"
               "'rules': [" RULE("r", "[" LEFT ", {'endpoint': 'y',"
                                 "'network': 'net'}]", RIGHT,
                                 ", 'action': 'deny', 'service': 'ssh'") "]"),
        ", 'services': {'s': {'protocol': 'tcp', 'ports':"
        "[80, '8000-8100']}}"
        ", 'peerings': {'p': {'from': {'tenant': 'a'}, 'to':"
        "{'tenant': 'b'}, 'service': 's', 'class': 'gold'}}"));

    const struct intent_service *service = &u.intent->services.v[0];
    ck_assert_uint_eq(service->protocol, IPPROTO_TCP);
    ck_assert_uint_eq(service->ports.n, 2);
    ck_assert_uint_eq(service->ports.v[0].first, 80);
    ck_assert_uint_eq(service->ports.v[0].last, 80);
    ck_assert_uint_eq(service->ports.v[1].first, 8000);
    ck_assert_uint_eq(service->ports.v[1].last, 8100);
    ck_assert_uint_eq(u.intent->classes.v[0].dscp, 46);
    ck_assert_uint_eq(u.intent->classes.v[0].queue, 5);

    const struct intent_tenant *tenant = &u.intent->tenants.v[0];
    ck_assert(tenant->default_allow);
    ck_assert_str_eq(tenant->peers.v[0].s, "b");
    ck_assert_ptr_null(tenant->send.limit.at);
    const struct intent_rule *rule = &tenant->rules.v[0];
    ck_assert(rule->deny);
    ck_assert_uint_eq(rule->from.n, 2);
    ck_assert_str_eq(rule->from.v[0].labels.v[0].name.s, "role");
    ck_assert_str_eq(rule->from.v[0].labels.v[0].values.v[0].s, "left");
    ck_assert_str_eq(rule->from.v[1].endpoints.v[0].s, "y");
    ck_assert_str_eq(rule->from.v[1].networks.v[0].s, "net");
    ck_assert_str_eq(rule->service.s, "ssh");
    ck_assert_ptr_null(rule->class.s);

    const struct intent_rule *peering = &u.intent->peerings.v[0];
    ck_assert_str_eq(peering->name.s, "p");
    ck_assert_str_eq(peering->from.v[0].tenant.s, "a");
    ck_assert_str_eq(peering->class.s, "gold");

    const struct intent_endpoint *e = &tenant->endpoints.v[1];
    const struct eth_addr mac = ETH_ADDR_C(02,00,00,00,01,11);
    ck_assert_mem_eq(&e->mac, &mac, sizeof mac);
    ck_assert(in6_addr_get_mapped_ipv4(&e->addresses.v[0].ip)
              == htonl(0x0a01000b));
    unit_destroy(&u);
}
END_TEST

START_TEST(test_description_and_schema_anywhere)
{
    struct unit u;

    good_intent(&u, "{'$schema': 's', 'description': 'd', 'version': 1,"
                "'fabric': {'description': 'd', 'nodes': {}},"
                "'tenants': {'a': {'description': 'd', 'networks': {},"
                "'rules': [{'description': 'd', 'name': 'r',"
                "'from': {'description': 'd'}, 'to': {}}]}}}");
    unit_destroy(&u);
}
END_TEST

static void
bad_intent(const char *text, const char *needle)
{
    struct unit u;

    unit_init(&u);
    unit_parse(&u, text);
    ck_assert_msg(!u.intent, "this was taken: %s", text);
    unit_complains(&u, needle);
    unit_destroy(&u);
}

START_TEST(test_names)
{
    static const char *const bad[] = {
        "", "-a", ".a", "a b", "a;reboot", "$(id)", "`id`", "a/b", "a\\n",
        "a\\u00fc", "a|b", "a&", "*", "a,b", "a=b",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    struct unit u;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        unit_init(&u);
        bad_intent(arena_printf(u.arena, "{" FABRIC ", 'tenants': {'%s':"
                                "{'networks': {}}}}", bad[i]),
                   "error: this is not a valid name");
        bad_intent(arena_printf(u.arena, INTENT(TENANT("a", 1,
                                ", 'rules': [" RULE("%s", "{}", "{}", "")
                                "]"), ""), bad[i]),
                   "error: this is not a valid name");
        unit_destroy(&u);
    }
    good_intent(&u, "{" FABRIC ", 'tenants': {'0aZ_.-': {'networks': {}},"
                "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                "aaaa': {'networks': {}}}}");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_interfaces)
{
    static const char endpoint[] =
        "{" FABRIC ", 'tenants': {'a': {'networks': {}, 'endpoints':"
        "{'e': {'network': 'n', 'interface': '%s'}}}}}";
    struct unit u;

    unit_init(&u);
    bad_intent(arena_printf(u.arena, endpoint, "sixteen-letters-"),
               "use 1 to 15 letters");
    bad_intent(arena_printf(u.arena, endpoint, "eth0;id"),
               "this is not a valid name");
    unit_parse(&u, arena_printf(u.arena, endpoint, "fifteen-letters"));
    ck_assert_msg(u.intent, "%s", unit_diags(&u));
    unit_destroy(&u);
}
END_TEST

/* "-" comes before "/", and a name may begin with another. */
START_TEST(test_bindings_of)
{
    static const struct { const char *tenant, *names; } cases[] = {
        { "a", "a/x a/y " }, { "a-b", "a-b/x " }, { "ab", "ab/y " },
        { "c", "" }, { "", "" }, { "ab/", "" }, { "zz", "" },
    };
    struct unit u;

    good_intent(&u, INTENT(
        TENANT("ab", 1, "") ", " TENANT("a", 2, "") ", "
        TENANT("a-b", 3, "") ", " TENANT("z", 4, ""),
        ", 'bindings': {'ab/y': {}, 'a/y': {}, 'a-b/x': {}, 'a/x': {}}"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct intent_endpoint *const *bindings;
        const char *names = "";
        size_t n;

        bindings = intent_bindings_of(u.intent, cases[i].tenant, &n);
        for (size_t j = 0; j < n; j++) {
            names = arena_printf(u.arena, "%s%s ", names,
                                 bindings[j]->name.s);
        }
        ck_assert_str_eq(names, cases[i].names);
    }
    unit_destroy(&u);
}
END_TEST

START_TEST(test_wrong_shapes)
{
    bad_intent("3", "this must be an object");
    bad_intent("{" FABRIC ", 'tenants': []}", "a map of tenants");
    bad_intent("{" FABRIC ", 'tennants': {}}", "did you mean 'tenants'?");
    bad_intent("{'version': 2, 'tenants': {}}", "this must be 1");
    bad_intent("{'version': 1.5, 'tenants': {}}", "this must be 1");
    bad_intent("{'version': 1, 'tenants': {}}", "needs a member 'fabric'");
    bad_intent("{'version': 1, 'fabric': {'nodes': {'n': {'uplinks': {}}}},"
               "'tenants': {}}", "a node without uplinks has no rates");
    bad_intent(ONE(", 'rules': {}"), "this must be a list of rules");
    bad_intent(ONE(", 'rules': [3]"), "this must be an object");
    bad_intent(ONE(", 'rules': [" RULE("r", "[]", "{}", "") "]"),
               "an empty list selects nothing");
    bad_intent(ONE(", 'rules': [" RULE("r", "{'tenants': 'b'}", "{}", "")
                   "]"), "a selector has no member 'tenants'");
    bad_intent(ONE(", 'peers': 'b'"), "this must be a list of names");
    bad_intent(ONE(", 'default': 'maybe'"), "\"deny\" or \"allow\"");
    bad_intent(ONE(", 'bandwidth': {'limit': '1Gbps'}"),
               "bandwidth needs a member 'burst'");
    bad_intent(ONE(", 'bandwidth': {'limit': 5, 'burst': '64KiB'}"),
               "the unit must be written");
    bad_intent(ONE(", 'bandwidth': {'limit': '0Gbps', 'burst': '64KiB'}"),
               "a rate of zero is none");
}
END_TEST

START_TEST(test_addresses)
{
    static const char network[] =
        "{" FABRIC ", 'tenants': {'a': {'networks':"
        "{'net': {'vni': 1, 'subnets': ['%s']}}}}}";
    static const char endpoint[] =
        "{" FABRIC ", 'tenants': {'a': {'networks': {}, 'endpoints':"
        "{'e': {'network': 'n', 'addresses': ['%s']}}}}}";
    struct unit u;

    unit_init(&u);
    bad_intent(arena_printf(u.arena, network, "10.1.0.0"),
               "the prefix length is missing");
    bad_intent(arena_printf(u.arena, network, "10.1.0.1/16"),
               "bits behind the prefix are set");
    bad_intent(arena_printf(u.arena, network, "fd00::1/64"),
               "bits behind the prefix are set");
    bad_intent(arena_printf(u.arena, network, "10.1.0.0/33"),
               "the prefix length is not one");
    bad_intent(arena_printf(u.arena, network, "::ffff:10.0.0.0/104"),
               "write an IPv4 address as one");
    bad_intent(arena_printf(u.arena, endpoint, "10.1.0.1/32"),
               "a prefix length has no place here");
    bad_intent(arena_printf(u.arena, endpoint, "example.com"),
               "neither IPv4 nor IPv6");
    bad_intent(arena_printf(u.arena, endpoint, "10.1.0"),
               "neither IPv4 nor IPv6");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_ports)
{
    static const char *const bad[] = {
        "0", "65536", "-1", "1.5", "true", "'80'", "''", "'80-'", "'-80'",
        "'0-5'", "'5-4'", "'1-65536'", "'1-4294967297'", "'80 - 81'",
        "'1-2-3'", "'http'",
    };
    struct unit u;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        unit_init(&u);
        unit_parse(&u, arena_printf(
            u.arena, "{" FABRIC ", 'tenants': {}, 'services': {'s':"
            "{'protocol': 'tcp', 'ports': [%s]}}}", bad[i]));
        ck_assert_msg(!u.intent, "port %s was taken", bad[i]);
        unit_destroy(&u);
    }
    bad_intent("{" FABRIC ", 'tenants': {}, 'services': {'s':"
               "{'protocol': 'tcp', 'ports': []}}}", "without ports");
}
END_TEST

Suite *
intent_suite(void)
{
    Suite *suite = suite_create("intent");
    TCase *tc = unit_case(suite, "decoded");

    tcase_add_test(tc, test_example);
    tcase_add_test(tc, test_members);
    tcase_add_test(tc, test_description_and_schema_anywhere);
    tc = unit_case(suite, "refused");
    tcase_add_test(tc, test_names);
    tcase_add_test(tc, test_interfaces);
    tcase_add_test(tc, test_bindings_of);
    tcase_add_test(tc, test_wrong_shapes);
    tcase_add_test(tc, test_addresses);
    tcase_add_test(tc, test_ports);
    return suite;
}
