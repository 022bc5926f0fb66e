/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "intent/files.h"
#include "openvswitch/dynamic-string.h"
#include "plan/dpdk.h"
#include "resident/resident.h"
#include "unit.h"
#include "util.h"

/* What DPDK is to do.  What becomes of it, tests/system/dpdk-test.sh asks a
 * switch. */

#define NODE "node n1 at 1:/n\n"
#define DPDK "dpdk n1 pmd-cpus 1,2 at 2:/n/dpdk\n"
#define PORT "dpdk-port up0 interface p0 mtu 1500 device 0000:08:00.0 "

/* The script of a program. */
static char *
script(const char *prog)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct unit u;

    unit_init(&u);
    u.prog = unit_parse_prog(&u, prog);
    ck_assert_msg(u.prog != NULL, "%s", unit_diags(&u));
    ck_assert(backend_compile(&openflow_backend, u.prog, u.arena, &u.diags,
                              &u.plan));
    ck_assert_ptr_nonnull(u.plan.dpdk);
    plan_format_dpdk(&u.plan, &ds);
    unit_destroy(&u);
    return ds_steal_cstr(&ds);
}

static void
assert_says(const char *prog, const char *wanted)
{
    char *s = script(prog);

    ck_assert_msg(strstr(s, wanted) != NULL, "no '%s' in %s", wanted, s);
    free(s);
}

static void
assert_says_not(const char *prog, const char *unwanted)
{
    char *s = script(prog);

    ck_assert_msg(!strstr(s, unwanted), "'%s' in %s", unwanted, s);
    free(s);
}

START_TEST(test_masks)
{
    static const struct {
        const char *cpus, *mask;
    } cases[] = {
        { "0", "=0x1\n" },
        { "3", "=0x8\n" },
        { "4", "=0x10\n" },
        { "5,0,4", "=0x31\n" },
        { "63", "=0x8000000000000000\n" },
        { "64,0", "=0x10000000000000001\n" },
        { "127,3", "=0x80000000000000000000000000000008\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *prog = xasprintf(NODE "dpdk n1 pmd-cpus %s", cases[i].cpus);

        assert_says(prog, cases[i].mask);
        free(prog);
    }
    assert_says(NODE "dpdk n1 lcores 0,64 pmd-cpus 1",
                "dpdk-lcore-mask=0x10000000000000001\n");
}
END_TEST

START_TEST(test_memory)
{
    static const char prog[] = NODE "dpdk n1 pmd-cpus 1 memory 0,0,512";

    assert_says(prog, "'other_config:dpdk-socket-mem=\"0,0,512\"'\n");
    assert_says(prog, "\nnuma 2 ");
    assert_says_not(prog, "\nnuma 0 ");
    assert_says_not(NODE DPDK, "other_config:dpdk-socket-mem=");
    assert_says_not(NODE DPDK, "other_config:dpdk-lcore-mask=");
}
END_TEST

/* Each queue has its CPU in turn; what the port has no more is taken away. */
START_TEST(test_ports)
{
    assert_says(NODE DPDK PORT "queues 3 pmd-cpus 2,1",
                "'other_config:pmd-rxq-affinity=\"0:2,1:1,2:2\"'");
    assert_says(NODE DPDK PORT "pmd-cpus 2",
                "'other_config:pmd-rxq-affinity=\"0:2\"'");
    assert_says(NODE DPDK PORT "queues 2",
                "remove Interface 'p0' other_config pmd-rxq-affinity\n");
    assert_says(NODE DPDK PORT,
                "remove Interface 'p0' options vhost-server-path n_rxq");
    assert_says(NODE DPDK "dpdk-port a/x interface i mtu 9000 device "
                "0000:08:00.0 representor vf 12",
                "'options:dpdk-devargs=\"0000:08:00.0,representor=[12]\"' "
                "mtu_request=9000");
    assert_says(NODE DPDK "dpdk-port a/x interface i mtu 1500 socket /v/a/x",
                "type=dpdkvhostuserclient \\\n"
                "    'options:vhost-server-path=\"/v/a/x\"'");
}
END_TEST

/* CPUs that may poll a port are those that nobody has alone. */
START_TEST(test_near)
{
    static const char prog[] = NODE DPDK PORT "pmd-cpus 2\n"
        "dpdk-port up1 interface p1 mtu 1500 device 0000:08:00.1";

    assert_says(prog, "'0000:08:00.0' 2\n");
    assert_says(prog, "'0000:08:00.1' 1\n");
}
END_TEST

START_TEST(test_bad_programs)
{
    static const struct {
        const char *prog, *why;
    } cases[] = {
        { "dpdk n2 pmd-cpus 1", "it is not of node 'n1'" },
        { "dpdk n1", "'pmd-cpus' is missing" },
        { "dpdk n1 pmd-cpus 1024", "not a number from 0 to 1023" },
        { "dpdk n1 pmd-cpus 1,,2", "not a number" },
        { "dpdk n1 pmd-cpus 1,1", "CPU 1 is there twice" },
        { "dpdk n1 pmd-cpus 1 lcores 1", "CPU 1 is there twice" },
        { PORT, "the node has no DPDK" },
        { DPDK PORT "vf 1", "of a VF of that, or of a socket" },
        { DPDK PORT "socket /x", "of a VF of that, or of a socket" },
        { DPDK PORT "representor", "an uplink is of a device" },
        { DPDK PORT "pmd-cpus 1,2", "it has more CPUs than queues" },
        { DPDK PORT "pmd-cpus 3", "CPU 3 polls no ports" },
        { DPDK "dpdk-port a/x interface i mtu 1 device vdev:net_null0",
          "an endpoint of a VF or a socket" },
        { DPDK "dpdk-port a/x interface i mtu 1 socket /x queues 2",
          "only an uplink has queues" },
        { DPDK "dpdk-port a/x interface i mtu 1 socket /x';x",
          "this is not a name" },
        { DPDK PORT "\ndpdk-port up1 interface p0 mtu 1 device vdev:x",
          "port of DPDK p0 is there twice" },
        { DPDK PORT "pmd-cpus 1\ndpdk-port up1 interface p1 mtu 1 "
          "device vdev:x pmd-cpus 1", "CPU 1 of a port is there twice" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct unit u;

        unit_init(&u);
        ck_assert_ptr_null(unit_parse_prog(
            &u, arena_printf(u.arena, NODE "%s", cases[i].prog)));
        unit_complains(&u, cases[i].why);
        unit_destroy(&u);
    }
}
END_TEST

#define VF_TENANT(NAME, N, VF)                                          \
    "'" NAME "': {'networks': {'net': {'vni': " N ", "                  \
    "'subnets': ['10.0.0.0/24']}}, 'endpoints': {'x': {"                \
    "'network': 'net', 'node': 'n1', 'interface': 'i" NAME "', "        \
    "'port': 'representor', 'vf': " VF ", "                             \
    "'mac': '02:00:00:00:00:01', 'addresses': ['10.0.0.1']}}}"
#define VF_INTENT                                                       \
    "{'version': 1, 'fabric': {'nodes': {'n1': {"                       \
    "'dpdk': {'pmd_cpus': [1]}, 'uplinks': {'up': {'interface': 'p0', " \
    "'rate': '1Gbps', 'burst': '64KiB', 'device': '0000:08:00.0'}}}}}, "\
    "'tenants': {" VF_TENANT("a", "1", "0") ", "                        \
    VF_TENANT("b", "2", "1") "}}"

/* Tenants stay parts by themselves, but for a VF that two want. */
START_TEST(test_parts)
{
    struct resident_stats stats;
    struct resident_diff diff;
    struct resident *r;
    struct unit u;

    unit_init(&u);
    unit_parse(&u, VF_INTENT);
    r = resident_create(u.intent, "n1", &openflow_backend, &u.diags);
    ck_assert_msg(r != NULL, "%s", unit_diags(&u));
    resident_stats(r, &stats);
    ck_assert_msg(!stats.whole, "%s", stats.whole);
    for (int i = 0; i < 2; i++) {
        struct arena *arena = arena_create();
        char *text = arena_strdup(
            arena, i ? "{'version': 1, 'tenants': {" VF_TENANT("b", "2", "0")
                       "}}"
            : "{'version': 1, 'tenants': {" VF_TENANT("b", "2", "2") "}}");

        for (char *p = text; *p; p++) {
            *p = *p == '\'' ? '"' : *p;
        }

        struct intent_file file = {
            .source = source_create(arena, "b.json", text, strlen(text)),
        };
        const struct intent *part = intent_parse_tenants(
            &file, u.intent, arena, &u.diags);
        ck_assert_msg(part != NULL, "%s", unit_diags(&u));
        ck_assert_int_eq(resident_put(r, &part->tenants.v[0], arena, &u.diags,
                                      &diff), !i);
        if (i) {
            unit_complains(&u, "VF 0 of 0000:08:00.0 on node n1 is used "
                           "twice");
            arena_destroy(arena);
        }
    }
    resident_destroy(r);
    unit_destroy(&u);
}
END_TEST

Suite *
dpdk_suite(void)
{
    Suite *suite = suite_create("dpdk");
    TCase *tc = unit_case(suite, "dpdk");

    tcase_add_test(tc, test_masks);
    tcase_add_test(tc, test_memory);
    tcase_add_test(tc, test_ports);
    tcase_add_test(tc, test_near);
    tcase_add_test(tc, test_bad_programs);
    tcase_add_test(tc, test_parts);
    return suite;
}
