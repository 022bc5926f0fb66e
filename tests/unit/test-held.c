/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/asap2/asap2.h"
#include "backend/openflow/openflow.h"
#include "offload/held.h"
#include "unit.h"
#include "util.h"

/* What a switch says of its megaflows, against a profile.  The lines are of
 * the form that "dpctl/dump-flows -m --no-names" has in Open vSwitch 3.1. */

static const char text[] =
    "{'version': 1, 'fabric': {'encapsulation': 'vxlan', 'nodes': {"
    "'n1': {'tunnel_address': '192.0.2.1', 'uplinks': {'up': {"
    "'interface': 'p0', 'rate': '10Gbps', 'burst': '64KiB'}}}}}, "
    "'externals': {'out': {'addresses': ['0.0.0.0/0'], 'tenants': ['*'], "
    "'nodes': {'n1': {'interface': 'wan', 'mac': '02:00:00:00:01:01', "
    "'gateway': '203.0.113.1'}}}}, "
    "'tenants': {"
    "'t': {'limits': {'packets': {'rate': '1kpps', 'burst': '64pkt'}}, "
    "'networks': {'net': {'vni': 7, 'subnets': ['10.0.0.0/24'], "
    "'gateway': '10.0.0.1'}}, 'endpoints': {'a': {'network': 'net', "
    "'node': 'n1', 'interface': 'ia', 'mac': '02:00:00:00:00:02', "
    "'addresses': ['10.0.0.2']}}}, "
    "'v': {'networks': {'net': {'vni': 8, 'subnets': ['10.0.0.0/24'], "
    "'gateway': '10.0.0.1'}}, 'endpoints': {'b': {'network': 'net', "
    "'node': 'n1', 'interface': 'ib', 'mac': '02:00:00:00:00:03', "
    "'addresses': ['10.0.0.3']}}}}}";

static const char show[] =
    "system@ovs-system:\n  lookups: hit:1 missed:2 lost:0\n"
    "  port 0: ovs-system (internal)\n  port 2: ia\n  port 3: ib\n"
    "  port 4: wan\n  port 5: vxlan_sys_4789 (vxlan: packet_type=ptap)\n"
    "  port 6: ia2\n";

#define UFID "ufid:00000000-0000-0000-0000-00000000000a, "
#define FROM(PORT) "recirc_id(0),in_port(" PORT "),"
#define ROCE "eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:09),"            \
    "eth_type(0x0800),ipv4(src=10.0.0.3,dst=10.0.0.9,proto=17,"              \
    "tos=0/0xfc,frag=no),udp(dst=4791)"
#define STATS ", packets:1, bytes:64, used:0.5s, "
#define HARD "offloaded:yes, dp:tc, actions:"
#define TC "dp:tc, actions:"
#define SOFT "dp:ovs, actions:"
#define SEND "meter(0),set(ipv4(tos=0x68/0xfc)),2\n"

static struct unit u;
static struct held_report report;

static void
hold(const struct backend *backend, const struct profile *profile,
     const char *dump)
{
    struct ir_prog *prog;

    unit_init(&u);
    unit_resolve(&u, text);
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    prog = ir_build(u.policy, "n1", u.arena);
    ck_assert_msg(backend_compile(backend, prog, u.arena, &u.diags, &u.plan),
                  "%s", unit_diags(&u));
    offload_hold(ir_build(u.policy, "n1", u.arena), &u.plan, profile, show,
                 dump, u.arena, &report);
}

static const struct held_row *
row(const char *name)
{
    for (size_t i = 0; i < report.rows.n; i++) {
        if (!strcmp(report.rows.v[i].name, name)) {
            return &report.rows.v[i];
        }
    }
    ck_abort_msg("no row %s", name);
}

START_TEST(what_is_where_it_was_to_be)
{
    hold(&asap2_backend, &profile_connectx7,
         UFID FROM("3") ROCE STATS HARD SEND
         UFID FROM("3") ROCE STATS SOFT "userspace(pid=1)\n");
    ck_assert_uint_eq(row("v")->predicted[HELD_HARDWARE], 1);
    ck_assert_uint_eq(row("v")->predicted[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(row("v")->actual[HELD_HARDWARE], 1);
    ck_assert_uint_eq(row("v")->actual[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(report.all.n_lost + report.all.n_gained, 0);
    ck_assert_uint_eq(report.flows.n, 0);
    unit_destroy(&u);
}
END_TEST

START_TEST(what_is_lost_and_gained)
{
    hold(&asap2_backend, &profile_connectx7,
         UFID FROM("3") ROCE STATS SOFT SEND
         UFID FROM("3") ROCE STATS TC SEND
         UFID FROM("3") ROCE STATS HARD "userspace(pid=1)\n");
    ck_assert_uint_eq(row("v")->n_lost, 2);
    ck_assert_uint_eq(row("v")->n_gained, 1);
    ck_assert_uint_eq(row("t")->n_lost, 0);
    ck_assert_uint_eq(report.flows.n, 3);
    ck_assert_str_eq(report.flows.v[0].tenant, "v");
    ck_assert_int_eq(report.flows.v[0].predicted, HELD_HARDWARE);
    ck_assert_int_eq(report.flows.v[0].actual, HELD_SOFTWARE);
    ck_assert(report.flows.v[2].refused & UINT64_C(1) << CAP_ACTION_OTHER);
    unit_destroy(&u);
}
END_TEST

/* Linux 6.1 has a field that Open vSwitch 3.1 does not know. */
START_TEST(unknown_fields_that_are_not_matched)
{
    hold(&asap2_backend, &profile_connectx7,
         UFID FROM("3") "key32(00 00/00 00)," ROCE STATS HARD SEND
         UFID FROM("3") ROCE ",key33(01/00)" STATS HARD SEND
         UFID "recirc_id(0x6c),in_port(3),ct_state(0x2a/0x3f),ct_tuple6("
         "src=::/::,dst=::/::,proto=6,src_port=0/0,dst_port=443),"
         "eth_type(0x86dd),ipv6(proto=6,frag=no)" STATS SOFT "2\n"
         UFID FROM("3") "key32(00 01/00 01)," ROCE STATS HARD SEND);
    ck_assert_uint_eq(row("v")->predicted[HELD_HARDWARE], 2);
    ck_assert_uint_eq(row("v")->predicted[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(report.all.n_unread, 1);
    unit_destroy(&u);
}
END_TEST

/* hw-offload is on, but no NIC takes it. */
START_TEST(in_tc_alone)
{
    hold(&asap2_backend, &profile_connectx7,
         UFID FROM("3") ROCE STATS TC SEND
         UFID FROM("3") ROCE STATS SOFT SEND
         UFID FROM("3") ROCE STATS HARD SEND);
    ck_assert_uint_eq(row("v")->n_in_tc, 1);
    ck_assert_uint_eq(report.all.n_in_tc, 1);
    ck_assert_uint_eq(row("v")->n_lost, 2);
    unit_destroy(&u);
}
END_TEST

/* Without a NIC, tc is what there is. */
START_TEST(in_tc_is_in_hardware_of_none)
{
    hold(&asap2_backend, &profile_kernel_tc,
         UFID FROM("3") ROCE STATS TC SEND
         UFID FROM("3") ROCE STATS SOFT "ct(zone=5),recirc(0x1b4f)\n");
    ck_assert_uint_eq(row("v")->actual[HELD_HARDWARE], 1);
    ck_assert_uint_eq(row("v")->actual[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(report.flows.n, 0);
    unit_destroy(&u);
}
END_TEST

/* A meter of packets, and nothing behind it, is 't's alone. */
START_TEST(meters_are_told_by_their_place)
{
    hold(&asap2_backend, &profile_connectx7,
         UFID FROM("2") ROCE STATS TC "meter(4)\n"
         UFID FROM("2") ROCE STATS HARD "meter(4),meter(0),3\n"
         UFID FROM("3") ROCE STATS HARD "meter(9),2\n");
    ck_assert_uint_eq(row("t")->predicted[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(row("t")->predicted[HELD_HARDWARE], 1);
    ck_assert_uint_eq(row("v")->predicted[HELD_HARDWARE], 1);
    unit_destroy(&u);
}
END_TEST

START_TEST(whose_they_are)
{
    hold(&asap2_backend, &profile_connectx7,
         UFID "tunnel(tun_id=0x7,src=192.0.2.2,dst=192.0.2.1,"
         "ttl=64/0,flags(-df-csum+key))," FROM("5") ROCE STATS SOFT "drop\n"
         UFID "tunnel(tun_id=0x9,src=192.0.2.2,dst=192.0.2.1,"
         "ttl=64/0,flags(-df-csum+key))," FROM("5") ROCE STATS SOFT "drop\n"
         UFID FROM("4") ROCE STATS SOFT "userspace(pid=1)\n"
         UFID FROM("6") ROCE STATS SOFT "userspace(pid=1)\n");
    ck_assert_uint_eq(row("t")->actual[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(row("v")->actual[HELD_SOFTWARE], 0);
    ck_assert_uint_eq(row("external:out")->actual[HELD_SOFTWARE], 1);
    ck_assert_uint_eq(report.n_others, 2);
    unit_destroy(&u);
}
END_TEST

/* A new switch may say what is not known here. */
START_TEST(what_is_not_understood_is_said)
{
    hold(&asap2_backend, &profile_connectx7,
         "flow-dump from the main thread:\n\n"
         UFID FROM("3") "new_field(3)" STATS SOFT "drop\n"
         UFID FROM("3") ROCE STATS HARD "new_action(3)\n"
         "it is late\n");
    ck_assert_uint_eq(report.all.n_unread, 3);
    ck_assert_uint_eq(row("v")->n_unread, 1);
    ck_assert_uint_eq(row("v")->actual[HELD_HARDWARE], 1);
    ck_assert_uint_eq(report.all.n_lost + report.all.n_gained, 0);
    ck_assert_ptr_null(report.flows.v[0].tenant);
    unit_destroy(&u);
}
END_TEST

START_TEST(ports_of_dpdk_mark)
{
    hold(&openflow_backend, &profile_connectx7_dpdk,
         UFID FROM("3") "packet_type(ns=0,id=0)," "eth(src=02:00:00:00:00:03,"
         "dst=02:00:00:00:00:09),eth_type(0x0800),ipv4(frag=no)" STATS
         "offloaded:partial, dp:ovs, actions:ct(zone=5),recirc(0x1b4f)\n"
         UFID FROM("3") "packet_type(ns=0,id=0)," "eth(src=02:00:00:00:00:03,"
         "dst=02:00:00:00:00:09),eth_type(0x0800),ipv4(frag=no)" STATS
         "dp:ovs, actions:ct(zone=5),recirc(0x1b4f), "
         "dp-extra-info:miniflow_bits(5,3)\n"
         UFID FROM("3") ROCE STATS "offloaded:yes, dp:dpdk, actions:drop\n");
    ck_assert_uint_eq(row("v")->predicted[HELD_MARKED], 2);
    ck_assert_uint_eq(row("v")->actual[HELD_MARKED], 1);
    ck_assert_uint_eq(row("v")->n_lost, 1);
    ck_assert_uint_eq(row("v")->actual[HELD_HARDWARE], 1);
    unit_destroy(&u);
}
END_TEST

Suite *
held_suite(void)
{
    Suite *suite = suite_create("held");
    TCase *tcase = tcase_create("held");

    tcase_add_test(tcase, what_is_where_it_was_to_be);
    tcase_add_test(tcase, what_is_lost_and_gained);
    tcase_add_test(tcase, unknown_fields_that_are_not_matched);
    tcase_add_test(tcase, in_tc_alone);
    tcase_add_test(tcase, in_tc_is_in_hardware_of_none);
    tcase_add_test(tcase, meters_are_told_by_their_place);
    tcase_add_test(tcase, whose_they_are);
    tcase_add_test(tcase, what_is_not_understood_is_said);
    tcase_add_test(tcase, ports_of_dpdk_mark);
    suite_add_tcase(suite, tcase);
    return suite;
}
