/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ovn/ovn.h"
#include "openvswitch/dynamic-string.h"
#include "plan/row.h"
#include "sema/northbound.h"
#include "unit.h"
#include "util.h"

/* The program of the fabric, and the rows that the target ovn makes of it.
 * What the rows mean, tests/system/ovn-test.sh asks OVN. */

#define NODE(NAME, ADDRESS)                                             \
    "'" NAME "': {'tunnel_address': '192.0.2." ADDRESS "', 'uplinks': "  \
    "{'up': {'interface': 'p0', 'rate': '10Gbps', 'burst': '64KiB'}}}"
#define NODES "'fabric': {'encapsulation': 'geneve', 'nodes': {"        \
    NODE("n1", "1") ", " NODE("n2", "2") "}}"
#define AT(NAME, NODE, N)                                               \
    "'" NAME "': {'network': 'net', 'node': '" NODE "', 'interface': "  \
    "'i" N "', 'mac': '02:00:00:00:00:0" N "', "                        \
    "'addresses': ['10.0.0." N "']}"
#define HOME(NAME, VNI, MEMBERS, ENDPOINTS)                             \
    "'" NAME "': {" MEMBERS "'networks': {'net': {'vni': " VNI ", "     \
    "'subnets': ['10.0.0.0/24'], 'gateway': '10.0.0.1'}}, "             \
    "'endpoints': {" ENDPOINTS "}}"
#define FABRIC_INTENT(TENANTS, REST)                                    \
    "{'version': 1, " NODES ", 'tenants': {" TENANTS "}" REST "}"

static struct unit u;

static bool
compile(const char *text)
{
    unit_init(&u);
    unit_resolve(&u, text);
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, NULL, u.arena);
    ck_assert_msg(ir_validate(u.prog, &u.diags), "%s", unit_diags(&u));
    return backend_compile(&ovn_backend, u.prog, u.arena, &u.diags, &u.plan);
}

static const char *
plan_text(struct plan *plan)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    plan_print(plan, &ds);
    text = arena_strdup(u.arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

/* The row of a table with this id, or NULL. */
static const struct plan_row *
find_row(const char *table, const char *id)
{
    for (size_t i = 0; i < u.plan.rows.n; i++) {
        if (!strcmp(u.plan.rows.v[i]->table, table)
            && !strcmp(u.plan.rows.v[i]->id, id)) {
            return u.plan.rows.v[i];
        }
    }
    return NULL;
}

START_TEST(test_round_trip)
{
    int n = 0;

    for (unsigned int seed = 1; seed <= 100; seed++) {
        struct ir_prog *prog;
        struct plan plan;
        const char *text;

        unit_init(&u);
        unit_resolve(&u, unit_lot(u.arena, seed));
        if (u.policy) {
            u.prog = ir_build(u.policy, NULL, u.arena);
            ck_assert_msg(ir_validate(u.prog, &u.diags), "%s",
                          unit_diags(&u));
            text = unit_prog_text(u.arena, u.prog);
            prog = unit_parse_prog(&u, text);
            ck_assert_msg(prog != NULL, "%s", unit_diags(&u));
            ck_assert_str_eq(unit_prog_text(u.arena, prog), text);
            ck_assert(backend_compile(&ovn_backend, prog, u.arena, &u.diags,
                                      &plan)
                      == backend_compile(&ovn_backend, u.prog, u.arena,
                                         &u.diags, &u.plan));
            if (u.plan.northbound) {
                ck_assert_str_eq(plan_text(&plan), plan_text(&u.plan));
                n++;
            }
        }
        unit_destroy(&u);
    }
    ck_assert_int_gt(n, 5);
}
END_TEST

/* Ids are unique, or a row could not be found again. */
static void
assert_ids(void)
{
    for (size_t i = 0; i < u.plan.rows.n; i++) {
        ck_assert_ptr_eq(find_row(u.plan.rows.v[i]->table,
                                  u.plan.rows.v[i]->id),
                         u.plan.rows.v[i]);
    }
}

static const char *
row_string(const struct plan_row *row, const char *name)
{
    const struct plan_column *column = plan_row_column(row, name);

    return column ? column->atoms.v[0].value : "";
}

/* c has the addresses of a, and only b reaches both of a and itself. */
START_TEST(test_reach)
{
    ck_assert_msg(compile(FABRIC_INTENT(
        HOME("a", "1", "'peers': ['b'], ", AT("x", "n1", "2") ", "
             AT("y", "n2", "3")) ", "
        HOME("b", "2", "'peers': ['a'], ", AT("x", "n1", "4")) ", "
        HOME("c", "3", "", AT("x", "n1", "5") ", " AT("y", "n2", "6")),
        ", 'peerings': {'p': {'from': {'tenant': 'a', 'endpoint': 'x'}, "
        "'to': {'tenant': 'b'}, 'service': 'http'}}, 'guardrails': "
        "{'g': {'from': {'tenant': '*'}, 'to': {'tenant': '*'}, "
        "'service': 'ssh'}}")),
        "%s", unit_diags(&u));
    assert_ids();
    ck_assert_ptr_nonnull(find_row("Logical_Router_Static_Route",
                                   "a/b/link 10.0.0.4/32"));
    ck_assert_ptr_nonnull(find_row("Logical_Router_Static_Route",
                                   "b/a/link 10.0.0.2/32"));
    ck_assert_ptr_null(find_row("Logical_Router_Static_Route",
                                "b/a/link 10.0.0.3/32"));
    ck_assert_ptr_null(find_row("Logical_Router_Port", "a/c/link"));
    ck_assert_ptr_nonnull(find_row("ACL", "guardrail:g tracked from-lport "
                                   "bulkhead.tenant.c"));
    ck_assert(!strstr(plan_text(&u.plan), "tenant.c_ip4, $"));
    unit_destroy(&u);
}
END_TEST


#define CLIENT(NAME, VNI)                                               \
    "'" NAME "': {'peers': ['dns'], 'networks': {'net': {'vni': " VNI   \
    ", 'subnets': ['10." VNI ".0.0/24'], 'gateway': '10." VNI ".0.1'}}, " \
    "'endpoints': {'x': {'network': 'net', 'node': 'n1', "              \
    "'interface': 'c" VNI "', 'mac': '02:00:00:00:00:0" VNI "', "       \
    "'addresses': ['10." VNI ".0.2']}}}, "
#define SHARED(CLIENTS)                                                 \
    FABRIC_INTENT(CLIENTS HOME("dns", "9", "'peers': '*', ",            \
                               AT("s", "n1", "9")),                     \
                  ", 'peerings': {'r': {'from': {'tenant': '*'}, "      \
                  "'to': {'tenant': 'dns'}, 'service': 'dns'}}")

/* The match of what reaches the server, and the addresses that may. */
static const char *
served(const char *text, size_t *n)
{
    static const char id[] = "bulkhead.from.dns_cpeering_cr_ip4";
    const struct plan_row *set;
    const char *match;

    ck_assert_msg(compile(text), "%s", unit_diags(&u));
    assert_ids();
    match = xstrdup(row_string(find_row("ACL", "peering:r tracked to-lport "
                                        "bulkhead.tenant.dns"), "match"));
    set = find_row("Address_Set", id);
    *n = set ? plan_row_column(set, "addresses")->atoms.n : 0;
    if (set) {
        ck_assert_str_eq(row_string(set, "name"), id);
        ck_assert_str_eq(row_string(set, "addresses"), "10.1.0.2");
        ck_assert_ptr_null(find_row("Address_Set",
                                    "bulkhead.from.dns_cpeering_cr_ip6"));
    }
    unit_destroy(&u);
    return match;
}

/* Many tenants are one Address_Set, which changes if there is one more; the
 * rules that name it do not. */
START_TEST(test_sets)
{
    size_t n[3];
    const char *three = served(SHARED(CLIENT("a", "1") CLIENT("b", "2")
                                      CLIENT("c", "3")), &n[0]);
    const char *four = served(SHARED(CLIENT("a", "1") CLIENT("b", "2")
                                     CLIENT("c", "3") CLIENT("d", "4")),
                              &n[1]);
    const char *five = served(SHARED(CLIENT("a", "1") CLIENT("b", "2")
                                     CLIENT("c", "3") CLIENT("d", "4")
                                     CLIENT("e", "5")), &n[2]);

    ck_assert_uint_eq(n[0], 0);
    ck_assert_ptr_nonnull(strstr(three, "{$bulkhead.tenant.a_ip4, "));
    ck_assert_uint_eq(n[1], 4);
    ck_assert_uint_eq(n[2], 5);
    ck_assert_ptr_nonnull(
        strstr(four, " == $bulkhead.from.dns_cpeering_cr_ip4 && "));
    ck_assert_str_eq(four, five);
    free(CONST_CAST(char *, three));
    free(CONST_CAST(char *, four));
    free(CONST_CAST(char *, five));
}
END_TEST

static const char *
option(const char *id, const char *name)
{
    const struct plan_row *row = find_row("DHCP_Options", id);
    const struct plan_column *column
        = row ? plan_row_column(row, "options") : NULL;

    for (size_t i = 0; column && i < column->atoms.n; i++) {
        if (!strcmp(column->atoms.v[i].key, name)) {
            return column->atoms.v[i].value;
        }
    }
    return "";
}

#define LEASED(ENDPOINTS)                                               \
    "'a': {'networks': {'net': {'vni': 1, 'dhcp': 'native', "           \
    "'subnets': ['10.1.0.0/16', '10.2.0.0/16', 'fd00::/64'], "          \
    "'gateway': ['10.2.0.1', '10.1.0.1', 'fd00::1']}}, "                \
    "'endpoints': {" ENDPOINTS "}}"
#define LEASE(NAME, NODE, ADDRESSES)                                    \
    "'" NAME "': {'network': 'net', 'node': '" NODE "', 'interface': 'i" \
    NAME "', 'mac': '02:00:00:00:00:0" NAME "', 'addresses': ["         \
    ADDRESSES "]}"

/* Each endpoint is given an address by the options of its subnet, and those
 * that nobody needs are not there. */
START_TEST(test_dhcp)
{
    static const char first[] = "dhcp a/net 10.1.0.0/16";
    static const char second[] = "dhcp a/net 10.2.0.0/16";
    static const char sixth[] = "dhcp a/net fd00::/64";
    const struct plan_row *x, *y, *leases;

    ck_assert_msg(compile(FABRIC_INTENT(LEASED(
        LEASE("1", "n1", "'10.1.0.2', '10.2.0.2'") ", "
        LEASE("2", "n2", "'fd00::2', '10.2.0.3'")), "")), "%s",
        unit_diags(&u));
    assert_ids();
    x = find_row("Logical_Switch_Port", "a/1");
    y = find_row("Logical_Switch_Port", "a/2");
    ck_assert(plan_row_refers(x, "dhcpv4_options",
                              find_row("DHCP_Options", first)));
    ck_assert_ptr_null(plan_row_column(x, "dhcpv6_options"));
    ck_assert(plan_row_refers(y, "dhcpv4_options",
                              find_row("DHCP_Options", second)));
    ck_assert(plan_row_refers(y, "dhcpv6_options",
                              find_row("DHCP_Options", sixth)));
    ck_assert_str_eq(option(first, "router"), "10.1.0.1");
    ck_assert_str_eq(option(second, "server_id"), "10.2.0.1");
    ck_assert_str_eq(option(second, "mtu"), "1442");
    ck_assert_str_eq(option(sixth, "server_id"), "0a:b1:7d:00:00:01");
    leases = find_row("Address_Set", "dhcp a/net leases");
    ck_assert_uint_eq(plan_row_column(leases, "addresses")->atoms.n, 2);
    unit_destroy(&u);
    ck_assert(compile(FABRIC_INTENT(LEASED(
        LEASE("1", "n1", "'10.1.0.2'")), "")));
    ck_assert_str_eq(option(first, "mtu"), "1450");
    ck_assert_ptr_null(find_row("DHCP_Options", second));
    ck_assert_ptr_null(find_row("ACL", "dhcp a/net dhcpv6 from-lport 3001"));
    unit_destroy(&u);
}
END_TEST

/* What is dropped is told, but for what stands below all that speaks; one
 * meter is for the limit of a tenant. */
START_TEST(test_control)
{
    const struct plan_row *copp, *meter;
    size_t logs = 0;

    ck_assert_msg(compile(FABRIC_INTENT(
        HOME("a", "1", "'limits': {'upcalls': {'rate': '5pps', 'burst': "
             "'40pkt'}}, 'rules': [{'name': 'no', 'action': 'deny', 'from': "
             "{}, 'to': {}, 'service': 'ssh'}], ", AT("x", "n1", "2")) ", "
        HOME("b", "2", "", AT("x", "n1", "4")), "")), "%s", unit_diags(&u));
    assert_ids();
    for (size_t i = 0; i < u.plan.rows.n; i++) {
        const struct plan_row *row = u.plan.rows.v[i];
        bool drop = (!strcmp(row->table, "ACL")
                     && !strcmp(row_string(row, "action"), "drop")
                     && strcmp(row_string(row, "priority"), "0"));

        ck_assert_str_eq(row_string(row, "log"), drop ? "true" : "");
        ck_assert_str_eq(row_string(row, "meter"),
                         drop ? "bulkhead.log" : "");
        logs += drop;
    }
    ck_assert_int_gt(logs, 6);
    ck_assert_str_eq(row_string(find_row("Meter", "log"), "fair"), "true");
    copp = find_row("Copp", "control a");
    meter = find_row("Meter", "control a");
    ck_assert_str_eq(row_string(copp, "meters"), row_string(meter, "name"));
    ck_assert(plan_row_refers(find_row("Logical_Switch", "a/net"), "copp",
                              copp));
    ck_assert(plan_row_refers(find_row("Logical_Router", "a"), "copp", copp));
    ck_assert_ptr_null(find_row("Copp", "control b"));
    ck_assert_ptr_null(plan_row_column(find_row("Logical_Router", "b"),
                                       "copp"));
    ck_assert_str_eq(row_string(find_row("Meter_Band", "control a"),
                                "rate"), "5");
    unit_destroy(&u);
}
END_TEST

/* Of the meters of a chassis, which count whole milliseconds. */
/* What the row says of the burst that was asked for, or NULL. */
static const char *
asked_burst(const char *table, const char *id)
{
    const struct plan_column *column
        = plan_row_column(find_row(table, id), "external_ids");

    for (size_t i = 0; i < column->atoms.n; i++) {
        if (!strcmp(column->atoms.v[i].key, NB_BURST_KEY)) {
            return column->atoms.v[i].value;
        }
    }
    return NULL;
}

START_TEST(test_burst_strings)
{
    static const char *const wrong[] = {
        "", "/", "1", "1/", "/2", "1/3", "1/2/", "1//2", "-1/2", "+1/2",
        " 1/2", "1/ 2", "1/2 ", "0x1/2", "99999999999999999999/2",
        "1/99999999999999999999",
    };
    uint64_t asked = 7;

    unit_init(&u);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        ck_assert_msg(!nb_burst_parse(wrong[i], 2, 0, UINT64_MAX, &asked),
                      "%s", wrong[i]);
    }
    ck_assert(!nb_burst_parse(NULL, 2, 0, UINT64_MAX, &asked));
    ck_assert(!nb_burst_parse("4/2", 2, 5, 9, &asked));
    ck_assert(!nb_burst_parse("10/2", 2, 5, 9, &asked));
    ck_assert(nb_burst_parse(nb_burst_string(u.arena, 5, 2), 2, 5, 9,
                             &asked));
    ck_assert_uint_eq(asked, 5);
    ck_assert(nb_burst_parse("9/2", 2, 5, 9, &asked));
    ck_assert_uint_eq(asked, 9);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_bursts)
{
    static const char warning[] = "OVN's meters count whole milliseconds: "
        "bursts that are less than the rate gives in one become that, here "
        "and once more";
    const struct plan_column *bandwidth;

    ck_assert_msg(compile(FABRIC_INTENT(
        HOME("a", "1", "'limits': {'upcalls': {'rate': '33001pps', 'burst': "
             "'33pkt'}}, 'bandwidth': {'limit': '1Gbps', 'burst': '64KiB'}, ",
             AT("x", "n1", "2") ", " AT("y", "n2", "3")), "")), "%s",
        unit_diags(&u));
    ck_assert_ptr_nonnull(strstr(unit_diags(&u), warning));
    bandwidth = plan_row_column(find_row("QoS", "limit a/send:n1:up"),
                                "bandwidth");
    ck_assert_str_eq(bandwidth->atoms.v[0].value, "1000000");
    ck_assert_str_eq(bandwidth->atoms.v[1].value, "1000");
    ck_assert_str_eq(row_string(find_row("Meter_Band", "control a"),
                                "burst_size"), "34");
    ck_assert_str_eq(asked_burst("QoS", "limit a/send:n1:up"), "65536/1000");
    ck_assert_str_eq(asked_burst("Meter", "control a"), "33/34");
    unit_destroy(&u);
    ck_assert_msg(compile(FABRIC_INTENT(
        HOME("a", "1", "'limits': {'upcalls': {'rate': '33kpps', 'burst': "
             "'33pkt'}}, 'bandwidth': {'limit': '1Gbps', 'burst': '125kB'}, ",
             AT("x", "n1", "2")), "")), "%s", unit_diags(&u));
    ck_assert_ptr_null(strstr(unit_diags(&u), "milliseconds"));
    ck_assert_ptr_null(asked_burst("QoS", "limit a/send:n1:up"));
    ck_assert_ptr_null(asked_burst("Meter", "control a"));
    unit_destroy(&u);
}
END_TEST

static void
assert_refused(const char *text, const char *cause)
{
    ck_assert(!compile(text));
    ck_assert_msg(strstr(unit_diags(&u), cause) != NULL, "%s",
                  unit_diags(&u));
    ck_assert_ptr_nonnull(u.diags.list.v[0].span.source);
    unit_destroy(&u);
}

START_TEST(test_refused)
{
    assert_refused(FABRIC_INTENT(HOME("a", "1", "'limits': {'packets': "
        "{'rate': '1Mpps', 'burst': '1kpkt'}}, ", AT("x", "n1", "2")), ""),
        "cannot limit a tenant's packets");
    assert_refused(FABRIC_INTENT(HOME("a", "1", "'bandwidth': {'limit': "
        "'1Gbps', 'burst': '64KiB', 'guarantee': '1Mbps'}, ",
        AT("x", "n1", "2")), ""), "guarantees or lends nothing");
    assert_refused(
        "{'version': 1, 'fabric': {'nodes': {'n1': {'uplinks': {'up': "
        "{'interface': 'p0', 'rate': '10Gbps', 'burst': '64KiB'}}}, "
        "'n2': {'uplinks': {'up': {'interface': 'p0', 'rate': '10Gbps', "
        "'burst': '64KiB'}}}}}, 'tenants': {"
        HOME("a", "1", "", AT("x", "n1", "2") ", " AT("y", "n2", "3")) "}}",
        "this one has none in the intent");
}
END_TEST

/* A backend takes one kind of program, and says so to others. */
START_TEST(test_kinds)
{
    ck_assert(compile(FABRIC_INTENT(HOME("a", "1", "", AT("x", "n1", "2")),
                                    "")));
    ck_assert(!backend_compile(backends[0], u.prog, u.arena, &u.diags,
                               &u.plan));
    u.prog = ir_build(u.policy, "n1", u.arena);
    ck_assert(!backend_compile(&ovn_backend, u.prog, u.arena, &u.diags,
                               &u.plan));
    unit_destroy(&u);
}
END_TEST

/* What no intent can say gets no further than its quotes all the same. */
START_TEST(test_quotes)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct plan_row *row;

    unit_init(&u);
    plan_init(&u.plan, u.arena, IR_FABRIC, "ovn");
    row = plan_add_row(&u.plan, "ACL", "a'b");
    plan_row_string(&u.plan, row, "match", "\"$(x)\" '; rm\n");
    plan_format_nbctl(&u.plan, &ds);
    ck_assert(strstr(ds_cstr(&ds), "\"bulkhead-id\"=\"a'\\''b\"'"));
    ck_assert(strstr(ds_cstr(&ds),
                     "'match=\"\\\"$(x)\\\" '\\''; rm\\n\"'"));
    ds_destroy(&ds);
    unit_destroy(&u);
}
END_TEST

Suite *
ovn_suite(void)
{
    Suite *suite = suite_create("ovn");
    TCase *tc = unit_case(suite, "ovn");

    tcase_add_test(tc, test_round_trip);
    tcase_add_test(tc, test_reach);
    tcase_add_test(tc, test_sets);
    tcase_add_test(tc, test_dhcp);
    tcase_add_test(tc, test_control);
    tcase_add_test(tc, test_burst_strings);
    tcase_add_test(tc, test_bursts);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_kinds);
    tcase_add_test(tc, test_quotes);
    return suite;
}
