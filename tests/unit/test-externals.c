/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "unit.h"
#include "util.h"

/* What a program may say of externals: that of the example, with one thing
 * wrong. */

static const char *
program(struct unit *u)
{
    const struct source *source = unit_example(u->arena, "internet-gateway");

    unit_compile_raw(u, source->text, source->len, "gw-node-1");
    return unit_prog_text(u->arena, u->prog);
}

/* The program is refused with 'new' in place of 'old', for 'cause'. */
static void
refused(const char *old, const char *new, const char *cause)
{
    const char *text, *at;
    struct unit u;

    unit_init(&u);
    text = program(&u);
    at = strstr(text, old);
    ck_assert_msg(at != NULL, "%s", old);
    text = arena_printf(u.arena, "%.*s%s%s", (int) (at - text), text, new,
                        at + strlen(old));
    ck_assert_msg(!unit_parse_prog(&u, text), "%s", new);
    unit_complains(&u, cause);
    unit_destroy(&u);
}

START_TEST(test_bad_externals)
{
    refused("interface ext1", "interface ext0",
            "interface ext0 is there twice");
    refused("interface ext1", "interface web0",
            "interface web0 is there twice");
    refused("interface ext1", "interface 70000", "interface 70000: ");
    refused("gateway-mac 02:00:00:00:ee:f3", "gateway-mac 02:00:00:00:ee:03",
            "the router has the node's MAC address");
    refused("gateways 10.64.255.1 ", "", "'gateways' is missing");
    refused("tenants crawler,web", "tenants crawler,crawler",
            "tenant 'crawler' of external 'internet' is there twice");
    refused("tenants crawler,web", "tenants crawler,nobody",
            "there is no such tenant above");
}
END_TEST

START_TEST(test_bad_parts)
{
    refused("prefixes 45.95.0.0/16", "prefixes 151.101.0.0/16",
            "range 151.101.0.0/112 is there twice");
    refused("prefixes 45.95.0.0/16", "prefixes 45.95.0.0/33",
            "this is not ADDRESS/PLEN");
    refused("prefixes 45.95.0.0/16", "", "'prefixes' is missing");
    refused("part management/192.168.10.69/32 external management",
            "part management/192.168.10.69/32 external internet",
            "first part of 'internet' is there twice");
    refused("part management/192.168.10.69/32 external management",
            "part management/192.168.10.69/32 external manager",
            "there is no such external above");
}
END_TEST

START_TEST(test_bad_rules)
{
    refused("from internet/45.95.0.0/16 to web/db,web/www",
            "from internet/45.95.0.0/16 to internet/151.101.0.0/16",
            "it has no endpoints");
    refused("to internet/151.101.0.0/16,internet/2a04:4e42::/32",
            "to internet/2a04:4e42::/32,internet/151.101.0.0/16",
            "'to' is not made of whole groups");
    refused("to internet/151.101.0.0/16,internet/2a04:4e42::/32",
            "to internet/151.101.0.0/17", "there is no such endpoint above");
    refused("rule web/blocked kind deny",
            "rule web/blocked kind default-allow",
            "it names externals, and is a default");
    refused("host0 to management/192.168.10.51/32",
            "host0 to crawler/bot0,management/192.168.10.51/32",
            "it joins neither tenants nor one with externals");
    refused("from bare-metal/host0 to management/192.168.10.51/32",
            "from management/192.168.10.69/32 to management/192.168.10.51/32",
            "it joins neither tenants nor one with externals");
    refused("service syslog at", "service syslog charge-from at",
            "it charges both sides, or is no peering of tenants");
}
END_TEST

static size_t
n_flows_with(const struct unit *u, const char *match)
{
    size_t n = 0;

    for (size_t i = 0; i < u->plan.flows.n; i++) {
        n += strstr(u->plan.flows.v[i].match, match) != NULL;
    }
    return n;
}

/* What no rule tells apart is one part, whatever the number of ranges: a rule
 * about all of an external is one flow. */
START_TEST(test_parts)
{
    struct unit u;

    unit_init(&u);
    ck_assert_str_ne(program(&u), "");
    ck_assert_uint_eq(u.prog->externals.n, 3);
    ck_assert_str_eq(u.prog->parts.v[0]->name, "campus/10.64.0.0/10");
    ck_assert_uint_eq(u.prog->parts.v[0]->prefixes.n, 2);
    ck_assert_uint_eq(u.prog->parts.v[0]->external->n_parts, 1);
    ck_assert_uint_eq(
        n_flows_with(&u, arena_printf(u.arena, "reg11=%#"PRIx32",",
                                      u.prog->externals.v[0]->number)), 1);
    unit_destroy(&u);
}
END_TEST

Suite *
externals_suite(void)
{
    Suite *suite = suite_create("externals");
    TCase *tc = unit_case(suite, "programs");

    tcase_add_test(tc, test_bad_externals);
    tcase_add_test(tc, test_bad_parts);
    tcase_add_test(tc, test_bad_rules);
    tcase_add_test(tc, test_parts);
    return suite;
}
