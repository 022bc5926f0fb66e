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

/* Endpoints on other nodes. */

static struct unit u;

static void
setup(void)
{
    unit_init(&u);
}

static void
teardown(void)
{
    unit_destroy(&u);
}

static void
put_node(struct ds *ds, int node, const char *tunnel, const char *mtu)
{
    ds_put_format(ds, "%s'n%d': {%s 'uplinks': {'up': {'interface': 'p0', "
                  "'rate': '10Gbps', 'burst': '64KiB'%s}}}",
                  node > 1 ? ", " : "", node, tunnel, mtu);
}

/* Four nodes, of which n4 has no tunnels. */
static void
put_fabric(struct ds *ds, const char *tunnel)
{
    ds_put_cstr(ds, "{'version': 1, 'fabric': {'encapsulation': 'geneve', "
                "'nodes': {");
    for (int i = 1; i <= 4; i++) {
        put_node(ds, i, i == 4 ? "" : arena_printf(
                     u.arena, "'tunnel_address': '%s%d',", tunnel, i),
                 i == 1 ? ", 'mtu': 9000" : "");
    }
    ds_put_cstr(ds, "}}, 'tenants': {");
}

/* Begins a tenant with network 10.VNI.0.0/16; 'more' are its members. */
static void
put_tenant(struct ds *ds, const char *name, int vni, const char *more)
{
    ds_put_format(ds, "%s'%s': {'default': 'allow', %s 'networks': {'net': {"
                  "'vni': %d, 'subnets': ['10.%d.0.0/16'], 'gateway': "
                  "'10.%d.0.1'}}, 'endpoints': {", vni > 1 ? ", " : "", name,
                  more, vni, vni, vni);
}

static void
put_endpoint(struct ds *ds, int vni, int i, int node)
{
    ds_put_format(ds, "%s'e%d': {'network': 'net', 'node': 'n%d', "
                  "'interface': 'v%d-%d', 'mac': '02:00:00:%02x:00:%02x', "
                  "'addresses': ['10.%d.0.%d']}", i ? ", " : "", i, node, vni,
                  i, vni, i, vni, 10 + i);
}

static void
compile(struct ds *ds, const char *node)
{
    unit_compile(&u, arena_strdup(u.arena, ds_cstr(ds)), node);
    ds_destroy(ds);
}

/* Flows of n1, where tenants "a" and "b", which are peers, have an endpoint
 * each, and 'n' each elsewhere. */
static size_t
count_flows(int n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    unit_init(&u);
    put_fabric(&ds, "192.0.2.");
    for (int vni = 1; vni <= 2; vni++) {
        put_tenant(&ds, vni == 1 ? "a" : "b", vni,
                   vni == 1 ? "'peers': ['b']," : "'peers': ['a'],");
        for (int i = 0; i <= n; i++) {
            put_endpoint(&ds, vni, i, i ? 2 + i % 2 : 1);
        }
        ds_put_cstr(&ds, "}}");
    }
    ds_put_cstr(&ds, "}, 'peerings': {'p': {'from': {'tenant': 'a'}, "
                "'to': {'tenant': 'b'}, 'service': 'ssh'}}}");
    compile(&ds, "n1");

    size_t n_flows = u.plan.flows.n;
    unit_destroy(&u);
    return n_flows;
}

START_TEST(test_growth)
{
    size_t few = count_flows(10), more = count_flows(20);

    ck_assert_uint_gt(more, few);
    ck_assert_uint_eq(count_flows(40) - more, 2 * (more - few));
    ck_assert_uint_eq(count_flows(80) - more, 6 * (more - few));
}
END_TEST

/* Tenant "a" is on n1 and n2, "b" on n2 and n3; "c" on n3, and a peering joins
 * one of its endpoints with "a"; "d" on n1 and n4. */
static void
compile_tenants(const char *node)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_fabric(&ds, "192.0.2.");
    put_tenant(&ds, "a", 1, "'peers': ['c'],");
    put_endpoint(&ds, 1, 0, 1);
    put_endpoint(&ds, 1, 1, 2);
    ds_put_cstr(&ds, "}}");
    put_tenant(&ds, "b", 2, "");
    put_endpoint(&ds, 2, 0, 2);
    put_endpoint(&ds, 2, 1, 3);
    ds_put_cstr(&ds, "}}");
    put_tenant(&ds, "c", 3, "'peers': ['a'],");
    put_endpoint(&ds, 3, 0, 3);
    put_endpoint(&ds, 3, 1, 3);
    ds_put_cstr(&ds, "}}");
    put_tenant(&ds, "d", 4, "");
    put_endpoint(&ds, 4, 0, 1);
    put_endpoint(&ds, 4, 1, 4);
    ds_put_cstr(&ds, "}}}, 'peerings': {'p': {'from': {'tenant': 'a'}, 'to': "
                "{'tenant': 'c', 'endpoint': 'e0'}, 'service': 'ssh'}}}");
    compile(&ds, node);
}

static void
assert_names(const plan_names *names, const char *wanted)
{
    const char *got = "";

    for (size_t i = 0; i < names->n; i++) {
        got = arena_printf(u.arena, "%s%s ", got, names->v[i]);
    }
    ck_assert_str_eq(got, wanted);
}

START_TEST(test_concerned)
{
    compile_tenants("n1");
    assert_names(&u.plan.by_tunnel, "a/e1 c/e0 ");
    assert_names(&u.plan.elsewhere, "d/e1 ");
    ck_assert_ptr_null(strstr(unit_plan_text(&u), "10.2."));
    ck_assert_ptr_null(strstr(unit_plan_text(&u), "10.3.0.11"));
    ck_assert_ptr_null(strstr(unit_plan_text(&u), "10.4.0.11"));
    ck_assert_ptr_null(strstr(unit_plan_text(&u), "192.0.2.4"));
    /* Meters and gateways are those of tenants that are here. */
    ck_assert_uint_eq(u.plan.meters.n, 2);
    ck_assert_ptr_null(strstr(unit_plan_text(&u), "10.3.0.1 "));
}
END_TEST

START_TEST(test_concerned_both_ways)
{
    compile_tenants("n3");
    assert_names(&u.plan.by_tunnel, "a/e0 a/e1 b/e0 ");
    assert_names(&u.plan.elsewhere, "");
    ck_assert_ptr_null(strstr(unit_plan_text(&u), "10.4."));
}
END_TEST

START_TEST(test_no_tunnels)
{
    compile_tenants("n4");
    assert_names(&u.plan.by_tunnel, "");
    assert_names(&u.plan.elsewhere, "d/e0 ");
    ck_assert_ptr_null(u.plan.tunnel.type);
    ck_assert_ptr_null(strstr(unit_plan_text(&u), PLAN_TUNNEL));
}
END_TEST

/* The mtu of tenant a's network, which is on n1 and 'other'. */
static int
mtu_with(int other, const char *tunnel)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    int mtu;

    unit_init(&u);
    put_fabric(&ds, tunnel);
    put_tenant(&ds, "a", 1, "");
    put_endpoint(&ds, 1, 0, 1);
    put_endpoint(&ds, 1, 1, other);
    ds_put_cstr(&ds, "}}}}");
    compile(&ds, "n1");
    ck_assert_uint_eq(u.plan.networks.n, 1);
    mtu = u.plan.networks.v[0].mtu;
    unit_destroy(&u);
    return mtu;
}

START_TEST(test_default_mtu)
{
    ck_assert_int_eq(mtu_with(1, "192.0.2."), 8950);
    ck_assert_int_eq(mtu_with(2, "192.0.2."), 1450);
    ck_assert_int_eq(mtu_with(2, "2001:db8::"), 1430);
    /* Its frames stay on n4. */
    ck_assert_int_eq(mtu_with(4, "192.0.2."), 1500);
}
END_TEST

START_TEST(test_command)
{
    struct plan plan = {
        .arena = u.arena, .tunnel = { "vxlan", "2001:db8::1" },
    };

    ck_assert_str_eq(
        plan_tunnel_command(&plan, "br0"),
        "ovs-vsctl --may-exist add-port br0 bulkhead-tun0 -- set interface "
        "bulkhead-tun0 type=vxlan 'options={key=\"flow\", "
        "local_ip=\"2001:db8::1\", remote_ip=\"flow\", tos=\"inherit\"}'");
}
END_TEST

Suite *
tunnels_suite(void)
{
    Suite *suite = suite_create("tunnels");
    TCase *many = unit_case(suite, "many");
    TCase *tc = unit_case(suite, "one");

    tcase_add_test(many, test_growth);
    tcase_add_test(many, test_default_mtu);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_concerned);
    tcase_add_test(tc, test_concerned_both_ways);
    tcase_add_test(tc, test_no_tunnels);
    tcase_add_test(tc, test_command);
    return suite;
}
