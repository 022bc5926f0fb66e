/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/asap2/asap2.h"
#include "openvswitch/dynamic-string.h"
#include "plan/nic.h"
#include "unit.h"
#include "util.h"

/* What the target asap2 asks of a NIC.  What becomes of it,
 * tests/system/nic-test.sh asks one that is made up. */

#define HERE(TENANT, N)                                                 \
    "'" TENANT "': {'bandwidth': {'guarantee': '" N "Gbps', "           \
    "'limit': '50Gbps', 'burst': '64KiB'}, 'networks': {'net': {"       \
    "'vni': " N ", 'subnets': ['10.0.0.0/24']}}, 'endpoints': {"        \
    "'x': {'network': 'net', 'node': 'n1', 'interface': 'i" TENANT "', "\
    "'mac': '02:00:00:00:00:01', 'addresses': ['10.0.0.1']}, "          \
    "'y': {'network': 'net', 'node': 'n1', 'interface': 'j" TENANT "', "\
    "'mac': '02:00:00:00:00:02', 'addresses': ['10.0.0.2']}}, "         \
    "'rules': [{'name': 'r', 'from': {}, 'to': {}, 'class': '" TENANT   \
    "'}]}"
#define HALL                                                            \
    "{" FABRIC ", 'classes': {'a': {'dscp': 26, 'queue': 3}, "          \
    "'b': {'dscp': 18, 'queue': 2}, 'c': {'dscp': 17, 'queue': 2}, "    \
    "'d': {'dscp': 16, 'queue': 7}}, "                                  \
    "'tenants': {" HERE("a", "30") ", " HERE("b", "7") ", "             \
    HERE("c", "3") "}}"

#define KEPT(LIMIT)                                                     \
    "{" FABRIC ", 'classes': {'a': {'dscp': 26, 'queue': 3, "           \
    "'dscp_in': {'dscp': 48, 'queue': 6, 'limit': '" LIMIT "', "        \
    "'burst': '16KiB'}}}, 'tenants': {'t': {'networks': {'net': "       \
    "{'vni': 1, 'subnets': ['10.0.0.0/24']}}, 'endpoints': {"           \
    "'x': {'network': 'net', 'node': 'n1', 'interface': 'i0', "         \
    "'mac': '02:00:00:00:00:01', 'addresses': ['10.0.0.1']}, "          \
    "'y': {'network': 'net', 'node': 'n1', 'interface': 'i1', "         \
    "'mac': '02:00:00:00:00:02', 'addresses': ['10.0.0.2']}}, "         \
    "'rules': [{'name': 'r', 'from': {}, 'to': {}, 'class': 'a'}]}}}"

/* Two classes of one queue, and one that nobody uses. */
#define BUFFERS(OTHER)                                                  \
    "{" FABRIC ", 'classes': {'a': {'dscp': 26, 'queue': 3, "           \
    "'lossless': true, 'buffer': '64KiB'}, 'b': {'dscp': 27, "          \
    "'queue': 3, 'lossless': true" OTHER "}, "                          \
    "'c': {'dscp': 16, 'queue': 7, 'lossless': true}}, "                \
    "'tenants': {" HERE("a", "1") ", " HERE("b", "2") "}}"

static struct unit u;

static void
resolve(const char *intent)
{
    unit_init(&u);
    unit_resolve(&u, intent);
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, "n1", u.arena);
}

static bool
compile(void)
{
    return backend_compile(&asap2_backend, u.prog, u.arena, &u.diags,
                           &u.plan);
}

/* Classes of one queue are one, and each has what the guarantees of those that
 * use it are; what nobody uses has nothing. */
START_TEST(priorities)
{
    static const uint8_t percents[NIC_PRIORITIES] = { 2, 0, 25, 73 };
    const struct plan_nic_port *port;

    resolve(HALL);
    ck_assert_msg(compile(), "%s", unit_diags(&u));
    ck_assert_uint_eq(u.plan.nic->ports.n, 1);
    port = &u.plan.nic->ports.v[0];
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        ck_assert_uint_eq(port->priorities[i].percent, percents[i]);
        ck_assert(!port->priorities[i].lossless);
    }
    for (int dscp = 0; dscp < NIC_DSCPS; dscp++) {
        ck_assert_uint_eq(u.plan.nic->priority_of[dscp],
                          dscp == 26 ? 3 : dscp == 17 || dscp == 18 ? 2 : 0);
    }
    unit_destroy(&u);
}
END_TEST

/* What keeps its DSCP has little, whether anything is guaranteed or not. */
START_TEST(kept_dscp)
{
    static const uint8_t percents[NIC_PRIORITIES] = { 50, 0, 0, 49, 0, 0, 1 };

    resolve(KEPT("1Mbps"));
    ck_assert_msg(compile(), "%s", unit_diags(&u));
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        ck_assert_uint_eq(u.plan.nic->ports.v[0].priorities[i].percent,
                          percents[i]);
    }
    unit_destroy(&u);
}
END_TEST

/* Nothing but its meter keeps it. */
START_TEST(kept_too_fast)
{
    resolve(KEPT("40Gbps"));
    ck_assert(!compile());
    unit_complains(&u, "Open vSwitch gives tc no more than 34359 Mbps");
    unit_destroy(&u);
}
END_TEST

START_TEST(buffers)
{
    const struct plan_nic_port *port;

    resolve(BUFFERS(", 'buffer': '128KiB'"));
    ck_assert_msg(compile(), "%s", unit_diags(&u));
    port = &u.plan.nic->ports.v[0];
    for (int i = 0; i < NIC_PRIORITIES; i++) {
        ck_assert_uint_eq(port->priorities[i].buffer_bytes,
                          i == 3 ? 192 * 1024 : 0);
    }
    unit_destroy(&u);
}
END_TEST

START_TEST(some_buffers)
{
    resolve(BUFFERS(""));
    ck_assert(!compile());
    unit_complains(&u, "class 'b' is lossless without a \"buffer\", and "
                   "class 'a' has one");
    unit_destroy(&u);
}
END_TEST

/* Nothing is left out in silence for want of an interface. */
START_TEST(no_uplink)
{
    resolve(HALL);
    u.prog->uplinks.n = 0;
    ck_assert(!compile());
    unit_complains(&u, "the program has no uplink 'up'");
    unit_destroy(&u);
}
END_TEST

START_TEST(only_a_nic_is_set)
{
    unit_init(&u);
    unit_compile(&u, HALL, "n1");
    ck_assert_ptr_null(u.plan.nic);
    unit_destroy(&u);
}
END_TEST

START_TEST(quotes)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    plan_put_quoted(&ds, "a b$(c)`d`\"e\"");
    ck_assert_str_eq(ds_cstr(&ds), "'a b$(c)`d`\"e\"'");
    ds_clear(&ds);
    plan_put_quoted(&ds, "';x'");
    ck_assert_str_eq(ds_cstr(&ds), "''\\'';x'\\'''");
    ds_destroy(&ds);
}
END_TEST

Suite *
nic_suite(void)
{
    Suite *suite = suite_create("nic");
    TCase *tcase = unit_case(suite, "nic");

    tcase_add_test(tcase, priorities);
    tcase_add_test(tcase, kept_dscp);
    tcase_add_test(tcase, kept_too_fast);
    tcase_add_test(tcase, buffers);
    tcase_add_test(tcase, some_buffers);
    tcase_add_test(tcase, no_uplink);
    tcase_add_test(tcase, only_a_nic_is_set);
    tcase_add_test(tcase, quotes);
    return suite;
}
