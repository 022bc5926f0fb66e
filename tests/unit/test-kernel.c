/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/kernel/kernel.h"
#include "plan/htb.h"
#include "unit.h"
#include "util.h"

/* Queues and meters of the target kernel.  What a switch and a kernel make of
 * them, tests/system/qos-test.sh asks. */

#define NODES(RATE)                                                     \
    "'version': 1, 'fabric': {'encapsulation': 'geneve', 'nodes': {"    \
    "'n1': {'tunnel_address': 'fd00:ffff::1', 'uplinks': {'up': {"      \
    "'interface': 'p0', 'rate': '" RATE "', 'burst': '64KiB'}}}}}"
#define HERE(NAME, VNI, BANDWIDTH, MORE)                                \
    "'" NAME "': {'bandwidth': {" BANDWIDTH "}, 'networks': {'net': {"  \
    "'vni': " VNI ", 'subnets': ['10.0.0.0/24']}}, 'endpoints': {"      \
    "'x': {'network': 'net', 'node': 'n1', 'interface': 'i" NAME "', "  \
    "'mac': '02:00:00:00:00:01', 'addresses': ['10.0.0.1']" MORE "}}}"
#define OWED "'send': {'guarantee': '4Gbps', 'limit': '8Gbps', "        \
             "'burst': '64KiB'}"
#define LIMIT "'limit': '5Gbps', 'burst': '1MiB'"

static struct unit u;

static bool
compile(const char *intent)
{
    unit_init(&u);
    unit_resolve(&u, intent);
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, "n1", u.arena);
    return backend_compile(&kernel_backend, u.prog, u.arena, &u.diags,
                           &u.plan);
}

static const struct plan_htb_port *
find_port(const char *interface)
{
    for (size_t i = 0; i < u.plan.htb->ports.n; i++) {
        if (!strcmp(u.plan.htb->ports.v[i].interface, interface)) {
            return &u.plan.htb->ports.v[i];
        }
    }
    return NULL;
}

/* Outer frames: 1514 bytes and 70 of a tunnel over IPv6, 24 on the wire. */
START_TEST(uplink_queues)
{
    const struct plan_htb_port *port;

    ck_assert_msg(compile("{" NODES("10Gbps") ", 'tenants': {"
                          HERE("a", "1", OWED, "") ", "
                          HERE("b", "2", LIMIT, "") "}}"),
                  "%s", unit_diags(&u));
    port = find_port("p0");
    ck_assert_uint_eq(port->max_kbps, 10000000 * UINT64_C(1584) / 1608);
    ck_assert_uint_eq(port->queues.n, 3);
    ck_assert_uint_eq(port->queues.v[0].number, 0);
    ck_assert_uint_eq(port->queues.v[0].min_kbps, port->max_kbps / 100);
    ck_assert_uint_eq(port->queues.v[1].number, 8);
    ck_assert_uint_eq(port->queues.v[1].min_kbps, 4184941);
    ck_assert_uint_eq(port->queues.v[1].max_kbps, 8369882);
    ck_assert_uint_eq(port->queues.v[2].number, 9);
    ck_assert_uint_eq(port->queues.v[2].min_kbps, 0);
    ck_assert_uint_eq(port->queues.v[2].max_kbps, 5231176);
    /* What "b" gets has a limit. */
    ck_assert_ptr_null(find_port("ia"));
    ck_assert_uint_eq(find_port("ib")->max_kbps, 5000000);
    unit_destroy(&u);
}
END_TEST

/* A millisecond of 8 Gbps is 1 MB, or 8000 kbit; 1 MiB is more of 5 Gbps. */
START_TEST(bursts)
{
    ck_assert(compile("{" NODES("10Gbps") ", 'tenants': {"
                      HERE("a", "1", OWED, "") ", "
                      HERE("b", "2", LIMIT, "") "}}"));
    for (size_t i = 0; i < u.plan.meters.n; i++) {
        const struct plan_meter *meter = &u.plan.meters.v[i];

        ck_assert(!meter->microburst && !meter->parent);
        ck_assert_uint_eq(meter->burst, strcmp(meter->name, "a") ? 8389
                          : 8000);
    }
    unit_complains(&u, "bursts that are less than the rate gives in one "
                   "become that, here\n");
    unit_destroy(&u);
}
END_TEST

START_TEST(too_fast)
{
    ck_assert(compile("{" NODES("100Gbps") ", 'tenants': {"
                      HERE("a", "1", OWED, "") "}}"));
    ck_assert_ptr_null(find_port("p0"));
    unit_complains(&u, "linux-htb of Open vSwitch counts to 34359 Mbps");
    unit_destroy(&u);
}
END_TEST

/* So is what goes to an endpoint. */
START_TEST(too_fast_endpoint)
{
    ck_assert(compile("{" NODES("100Gbps") ", 'tenants': {"
                      HERE("a", "1", "'limit': '50Gbps', 'burst': '8MiB'", "")
                      "}}"));
    ck_assert_ptr_null(find_port("ia"));
    unit_complains(&u, "with this limit, classes have no queues at 'ia'");
    unit_destroy(&u);
}
END_TEST

START_TEST(parts)
{
    ck_assert(!compile("{" NODES("10Gbps") ", 'tenants': {"
                       HERE("a", "1", OWED, ", 'bandwidth': {'send': {"
                            "'guarantee': '1Gbps', 'limit': '2Gbps', "
                            "'burst': '64KiB'}}") "}}"));
    unit_complains(&u, "neither linux-htb nor the kernel's meters can share "
                   "out what a tenant has");
    unit_destroy(&u);
}
END_TEST

START_TEST(no_tunnels)
{
    ck_assert(compile("{" FABRIC ", 'tenants': {"
                      HERE("a", "1", OWED, "") "}}"));
    ck_assert_ptr_null(find_port("p0"));
    unit_complains(&u, "the node has no tunnels");
    unit_destroy(&u);
}
END_TEST

Suite *
kernel_suite(void)
{
    Suite *suite = suite_create("kernel");
    TCase *tcase = unit_case(suite, "kernel");

    tcase_add_test(tcase, uplink_queues);
    tcase_add_test(tcase, bursts);
    tcase_add_test(tcase, too_fast);
    tcase_add_test(tcase, too_fast_endpoint);
    tcase_add_test(tcase, parts);
    tcase_add_test(tcase, no_tunnels);
    return suite;
}
