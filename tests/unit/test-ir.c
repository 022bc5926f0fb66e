/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "backend/openflow/pipeline.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "unit.h"
#include "util.h"

/* The text of a policy program: it says all that there is to a program, and
 * nothing but a program is parsed. */

/* A program of two tenants and one elsewhere, a line each. */
static const char *const good[] = {
    "node n1 encapsulation geneve tunnel-address 192.0.2.1 telemetry "
        "unbound a/u elsewhere a/v,b/v",
    "# A comment.",
    "uplink u interface p0 at 6:/fabric/nodes/n1/uplinks/u/interface",
    "class gold dscp 46 queue 5 lossless buffer-bytes 131072 dscp-in 48 "
        "queue-in 6 in-kbps 9 in-burst-bytes 2000 legacy at 7:/classes/gold",
    "service rocev2 symmetric matches udp:4791",
    "service web matches tcp:80,tcp:8000-8100,icmp",
    "peer n2 number 0x4001 address 192.0.2.2",
    "tenant a number 0x1001 zone 301",
    "tenant b number 0x1002 zone 302 "
        "packet-rate 9 packet-burst 99",
    "tenant c number 0x1003",
    "network a/net tenant a uplink u vni 1 mtu 1450 "
        "gateway-mac 0a:b1:7d:00:00:01 gateways 10.0.0.1,fd00::1",
    "network b/net tenant b uplink u vni 2 mtu 9000 "
        "gateway-mac 0a:b1:7d:00:00:02 dhcp groups 239.1.0.0/16,ff15::/16",
    "network c/net tenant c vni 3 mtu 1450 gateway-mac 0a:b1:7d:00:00:03",
    "endpoint a/x number 0x2001 group 0x2001 network a/net interface i0 "
        "mac 02:00:00:00:00:01 addresses 10.0.0.2,fd00::2",
    "endpoint a/y number 0x2002 group 0x2001 network a/net interface i1 "
        "mac 02:00:00:00:00:02 addresses 10.0.0.3",
    "endpoint b/x number 0x2003 group 0x2003 network b/net interface i2 "
        "mac 02:00:00:00:00:03 addresses 10.1.0.2 dhcp-server "
        "at 60:/tenants/b",
    "endpoint c/x number 0x2004 group 0x2004 network c/net peer n2 "
        "mac 02:00:00:00:00:04 addresses 10.2.0.2",
    "meter a/send:u tenant a uplink u rate-kbps 1000 burst-bytes 2000",
    "meter b/send:u tenant b uplink u rate-kbps 9 burst-bytes 99 microburst "
        "mark-bytes 7 limit-bytes 8 exceed dscp:8 at 80:/tenants/b",
    "cap a/dscp_in/gold tenant a class gold number 300",
    "tag a/tag tenant a number 301",
    "tag c/tag tenant c number 302 arrives pays at 90:/tenants/c",
    "rule a/r kind allow id 0x3001 from a/x,a/y to a/x,a/y service web "
        "class gold at 70:/tenants/a/rules/0/name",
    "rule b/s kind deny id 0x3002 from b/x to b/x "
        "at 90:/tenants/b/rules/0/name",
    "rule peering:p kind peering id 0x3003 from a/x,a/y to b/x service web "
        "at 95:/peerings/p",
    "rule peering:q kind peering id 0x3004 from a/x,a/y to c/x "
        "at 96:/peerings/q",
    "legacy-vf a/l uplink u interface p0 vf 3 vlan 9 mac 02:00:00:00:00:05 "
        "class gold queues 0x21 passes 0x25 rules a/r,a/s cut peering:p "
        "max-mbps 9 min-mbps 3 uplink-at 6:/u vlan-at 95:/v rate-at 96:/r "
        "owed-at 98:/g at 97:/p",
};

/* 'good' with line 'i' (from 0) in other words, or without it if NULL. */
static const char *
variant(struct arena *arena, size_t i, const char *line)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    for (size_t j = 0; j < ARRAY_SIZE(good); j++) {
        const char *s = j == i ? line : good[j];

        if (s) {
            ds_put_format(&ds, "%s\n", s);
        }
    }
    text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

/* 'good' is refused with 'line' in place of the one that has its first two
 * words, in that line, and the cause holds 'cause'. */
static void
refused(const char *line, const char *cause)
{
    size_t len = strcspn(line, " "), i = 0;
    struct unit u;

    unit_init(&u);
    len += 1 + strcspn(line + len + 1, " ");
    while (i < ARRAY_SIZE(good) && strncmp(good[i], line, len)) {
        i++;
    }
    ck_assert_msg(i < ARRAY_SIZE(good), "%s", line);
    ck_assert_msg(!unit_parse_prog(&u, variant(u.arena, i, line)), "%s", line);
    unit_complains(&u, cause);
    unit_complains(&u, arena_printf(u.arena, "prog.ir:%"PRIuSIZE":", i + 1));
    unit_destroy(&u);
}

START_TEST(test_good)
{
    struct unit u;

    unit_init(&u);
    u.prog = unit_parse_prog(&u, variant(u.arena, 1, NULL));
    ck_assert_msg(u.prog != NULL, "%s", unit_diags(&u));
    unit_round_trip(&u);
    ck_assert_str_eq(unit_prog_text(u.arena, u.prog),
                     variant(u.arena, 1, NULL));
    ck_assert_ptr_nonnull(unit_parse_prog(&u, variant(u.arena, 1, "")));
    ck_assert_uint_eq(u.prog->rules.v[2]->from.groups.n, 0);
    ck_assert_uint_eq(u.prog->rules.v[2]->from.tenants.n, 1);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_tags_without_telemetry)
{
    struct unit u;

    unit_init(&u);
    ck_assert_ptr_null(unit_parse_prog(&u, variant(
        u.arena, 0, "node n1 encapsulation geneve tunnel-address 192.0.2.1")));
    unit_complains(&u, "tag 'a/tag': packets carry no tags without telemetry");
    unit_destroy(&u);
}
END_TEST

static size_t
n_flows_with(struct unit *u, const char *match, const char *actions)
{
    size_t n = 0;

    for (size_t i = 0; i < u->plan.flows.n; i++) {
        n += (strstr(u->plan.flows.v[i].match, match)
              && strstr(u->plan.flows.v[i].actions, actions));
    }
    return n;
}

/* Symmetric services of several ports, which no built-in one is: each goes
 * round conntrack, and a rule has those that its service holds. */
START_TEST(test_symmetric_ports)
{
    struct unit u;
    const char *text;

    unit_init(&u);
    text = arena_printf(
        u.arena, "%s%s",
        variant(u.arena, 4, "service rocev2 symmetric matches udp:4791,"
                "udp:4444,udp:9000\nservice wide matches udp:4000-4800"),
        "rule z/r kind peering id 0x3fff from a/x,a/y to b/x service wide "
        "at 99:/peerings/z\n");
    u.prog = unit_parse_prog(&u, text);
    ck_assert_msg(u.prog != NULL, "%s", unit_diags(&u));
    ck_assert(backend_compile(&openflow_backend, u.prog, u.arena, &u.diags,
                              &u.plan));
    for (int i = 0; i < 3; i++) {
        static const int ports[] = { 4791, 4444, 9000 };
        const char *go_round = arena_printf(u.arena, "udp,tp_dst=%d",
                                            ports[i]);
        const char *policy = arena_printf(
            u.arena, REG_SERVICE"=%#x/", SERVICE_STATELESS
            | SERVICE_PROTOCOL(IPPROTO_UDP) | ports[i]);

        /* One for whatever comes, one for multicast. */
        ck_assert_uint_eq(n_flows_with(&u, go_round, REG_DIRECTION), 2);
        /* There and back. */
        ck_assert_uint_eq(n_flows_with(&u, policy, "goto_table"),
                          ports[i] == 9000 ? 0 : 2);
    }
    unit_destroy(&u);
}
END_TEST

START_TEST(test_bad_lines)
{
    refused("class gold dscp 64 queue 5", "not a number from 0 to 63");
    refused("class gold dscp -1 queue 5", "not a number from 0 to 63");
    refused("class gold dscp 18446744073709551663 queue 5", "not a number");
    refused("class gold dscp queue 5", "not a number");
    refused("class gold dscp 46", "'queue' is missing");
    refused("class gold dscp 46 queue", "a value is missing");
    refused("class gold dscp 46 queue 5 dscp 1", "stands twice");
    refused("class gold dscp 46 queue 5 color red", "no such field");
    refused("class gold dscp 46 queue 5 at 0:/a", "LINE:POINTER");
    refused("class gold dscp 46 queue 5 at 1", "LINE:POINTER");
    refused("service rocev2 matches sctp:1", "no such protocol");
    refused("service rocev2 symmetric matches udp:1-2", "each by itself");
    refused("service web matches tcp:0-9", "matches no protocol");
    refused("service web matches tcp:9-8", "matches no protocol");
    refused("service web matches tcp:65536", "not a port");
    refused("service web matches icmp:1", "matches no protocol");
    refused("network a/net tenant d vni 1 gateway-mac 0a:b1:7d:00:00:01",
            "no such tenant");
    refused("network a/net tenant a vni 1 mtu 1279",
            "not a number from 1280 to 65535");
    refused("node n1 tunnel-address 192.0.2", "not an address");
    refused("network b/net groups 239.1.0.0", "not ADDRESS/PLEN");
    refused("network b/net groups 239.1.0.0/33", "not ADDRESS/PLEN");
    refused("network b/net groups ff15::/16,ff15::/129", "not ADDRESS/PLEN");
    refused("endpoint c/x number 0x2004 group 0x2004 network c/net peer n3",
            "no such node");
    refused("endpoint a/x number 0x1 group 0x1", "not a number from 0x100");
    refused("rule a/r kind perhaps", "no such kind");
    refused("meter b/send:u exceed dscp:64", "what can become of packets");
    refused("rule a/r kind allow id 0x3001 from a/q to a/x",
            "no such endpoint");
    refused("rule a/r kind allow id 3001 from a/x to a/x", "not a number");
    refused("class gold dscp 46 queue 5 buffer-bytes 9000",
            "it has a buffer and is not lossless");
    refused("class gold dscp\t46 queue 5", "no such field");
    refused("legacy-vf a/l uplink u interface p0 vlan 9 mac "
            "02:00:00:00:00:05 queues 0x100", "not a number");
    refused("legacy-vf a/l uplink u interface p0 vlan 9 mac "
            "02:00:00:00:00:05 max-mbps 1 min-mbps 2",
            "its least rate is more than its most");
    refused("legacy-vf a/l uplink u interface p0 vlan 9 mac "
            "02:00:00:00:00:05 class gold queues 0x10 passes 0x10",
            "its queues are without that of its class");
    refused("legacy-vf a/l uplink u interface p0 vlan 9 mac "
            "02:00:00:00:00:05 queues 0x11 passes 0x30",
            "it sends in queues that it does not pass");
}
END_TEST

#define ENDPOINT_X(NUMBER, GROUP, INTERFACE, MAC, ADDRESS)              \
    "endpoint b/x number " NUMBER " group " GROUP " network b/net "     \
    "interface " INTERFACE " mac " MAC " addresses " ADDRESS
#define MAC_X "02:00:00:00:00:03"
#define ENDPOINT_FAR(WHERE)                                             \
    "endpoint c/x number 0x2004 group 0x2004 network c/net " WHERE      \
    "mac 02:00:00:00:00:04 addresses 10.2.0.2"

START_TEST(test_bad_tenants)
{
    refused("tenant b number 0x1001 zone 302",
            "tenant's number 0x1001 is there twice");
    refused("tenant b number 0x1002 zone 301",
            "zone 301 is there twice");
    refused("tenant b number 0x1002",
            "it has a zone without endpoints here, or none with");
    refused("tenant c number 0x1003 zone 303",
            "it has a zone without endpoints here, or none with");
    refused("network b/net tenant b uplink u vni 1 mtu 1500 "
            "gateway-mac 0a:b1:7d:00:00:01", "VNI 1 is there twice");
    refused("network b/net tenant a vni 2 mtu 1500 "
            "gateway-mac 0a:b1:7d:00:00:01", "it is not of tenant 'a'");
    refused("network b/net tenant b uplink u vni 2 mtu 1500 "
            "gateway-mac 0a:b1:7d:00:00:02 groups 10.1.0.0/16",
            "it carries what is no multicast group");
    refused("network b/net tenant b uplink u vni 2 mtu 1500 "
            "gateway-mac 0a:b1:7d:00:00:02 groups ::/0",
            "it carries what is no multicast group");
    refused("network b/net tenant b vni 2 mtu 1500 "
            "gateway-mac 0a:b1:7d:00:00:02 dhcp",
            "it takes an uplink without endpoints here, or none with");
    refused("meter b/send:u tenant a uplink u rate-kbps 9 burst-bytes 99",
            "it is not of tenant 'a'");
    refused("tag c/tag tenant a number 302", "it is not of tenant 'a'");
    refused("tag c/tag tenant c number 301",
            "meter's number 0x12d is there twice");
    refused("endpoint a/x number 0x2001 group 0x2001 network a/net "
            "interface i0 mac 02:00:00:00:00:01 addresses 10.0.0.2 "
            "dhcp-server", "its network has no DHCP");
    refused("node n1 encapsulation gre tunnel-address 192.0.2.1",
            "there is no encapsulation 'gre'");
    refused("node n1 encapsulation vxlan",
            "a tunnel address goes with an encapsulation");
}
END_TEST

START_TEST(test_bad_endpoints)
{
    refused(ENDPOINT_FAR("peer n2 interface i5 "),
            "it is here on an interface, or on another node");
    refused(ENDPOINT_FAR(""),
            "it is here on an interface, or on another node");
    refused(ENDPOINT_X("0x2001", "0x2001", "i2", MAC_X, "10.1.0.2"),
            "0x2001 is there twice");
    refused(ENDPOINT_X("0x2003", "0x2001", "i2", MAC_X, "10.1.0.2"),
            "is not that of an endpoint above of its tenant");
    refused(ENDPOINT_X("0x2003 twin 0x2006", "0x2005", "i2", MAC_X,
                       "10.1.0.2"), "is not that of an endpoint above");
    refused(ENDPOINT_X("0x2003 twin 0x2001", "0x2003", "i2", MAC_X,
                       "10.1.0.2"), "0x2001 is there twice");
    refused(ENDPOINT_X("0x2003 twin 0x2003", "0x2003", "i2", MAC_X,
                       "10.1.0.2"), "0x2003 is there twice");
    refused(ENDPOINT_X("0x2003 twin 0xff", "0x2003", "i2", MAC_X,
                       "10.1.0.2"), "its twin has a number that is kept");
    refused(ENDPOINT_X("0x2003", "0x2003", "i1", MAC_X, "10.1.0.2"),
            "interface i1 is there twice");
    refused(ENDPOINT_X("0x2003", "0x2003", "bulkhead-tun0", MAC_X,
                       "10.1.0.2"), "port for tunnels");
    refused(ENDPOINT_X("0x2003", "0x2003", "Local", MAC_X, "10.1.0.2"),
            "a reserved port of OpenFlow");
    refused(ENDPOINT_X("0x2003", "0x2003", "70000", MAC_X, "10.1.0.2"),
            "for the number of a port");
    refused(ENDPOINT_X("0x2003", "0x2003", "i2", MAC_X, "10.1.0.2,10.1.0.2"),
            "address 10.1.0.2 in tenant 'b' is there twice");
    refused("endpoint a/y number 0x2002 group 0x2001 network a/net "
            "interface i1 mac 02:00:00:00:00:01 addresses 10.0.0.3",
            "in network 'a/net' is there twice");
    refused("endpoint a/y number 0x2002 group 0x2001 network a/net "
            "interface i1 mac 0a:b1:7d:00:00:01 addresses 10.0.0.3",
            "in network 'a/net' is there twice");
    refused("endpoint a/y number 0x2002 group 0x2001 network a/net "
            "interface i1 mac 02:00:00:00:00:02 addresses 10.0.0.1",
            "address 10.0.0.1 in tenant 'a' is there twice");
}
END_TEST

START_TEST(test_bad_rules)
{
    refused("rule a/r kind allow id 0x3001 from a/x to a/x,a/y at 70:/t",
            "'from' is not made of whole groups");
    refused("rule a/r kind allow id 0x3001 from a/y to a/x,a/y at 70:/t",
            "'from' is not made of whole groups");
    refused("rule a/r kind allow id 0x3001 from a/y,a/x to b/x at 70:/t",
            "'from' is not sorted");
    refused("rule a/r kind allow id 0x3001 from a/x,a/y to b/x at 70:/t",
            "it is not a peering");
    refused("rule a/r kind deny id 0x3001 from b/x to b/x at 70:/t",
            "it is not a peering");
    refused("rule a/r kind deny id 0x3001 from a/x,a/y to b/x to-every "
            "at 70:/t", "only a guardrail has a side that is everybody");
    refused("rule a/r kind guardrail id 0x3001 from a/x,a/y to b/x to-every "
            "at 70:/t", "only a guardrail has a side that is everybody");
    refused("rule b/s kind allow id 0x3001 from b/x to b/x at 70:/t",
            "id 0x3001 is there twice");
    refused("rule b/s kind deny id 0x3002 from b/x to b/x class gold "
            "at 70:/t", "it denies, and has a class");
    refused("rule b/s kind deny id 0x3002 depth 1 from b/x to b/x at 70:/t",
            "it denies, and has a class or a depth");
}
END_TEST

START_TEST(test_lines_missing_or_twice)
{
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct unit u;
        bool needed = good[i][0] != '#' && strncmp(good[i], "rule", 4)
                      && strncmp(good[i], "uplink", 6)
                      && strncmp(good[i], "cap", 3)
                      && strncmp(good[i], "tag", 3)
                      && strncmp(good[i], "legacy-vf", 9)
                      && strncmp(good[i], "service rocev2", 14);
        const char *twice;

        unit_init(&u);
        ck_assert_msg(!unit_parse_prog(&u, variant(u.arena, i, NULL))
                      == needed, "%s", good[i]);
        twice = arena_printf(u.arena, "%s\n%s", good[i], good[i]);
        ck_assert_msg(!unit_parse_prog(&u, variant(u.arena, i, twice))
                      == (good[i][0] != '#'), "%s", good[i]);
        unit_destroy(&u);
    }
}
END_TEST

/* Whatever a text is, it is refused or a program that can be lowered. */
START_TEST(test_hostile)
{
    size_t n_parsed = 0, n_refused = 0;

    random_set_seed(1);
    for (int i = 0; i < 20000; i++) {
        struct unit u;
        char *text;
        size_t len;
        struct ir_prog *prog;

        unit_init(&u);
        text = arena_strdup(u.arena, variant(u.arena, 1, NULL));
        len = strlen(text);
        for (int j = random_range(3); j >= 0; j--) {
            static const char chars[] = "ab0123x:-,/ \n#\t\x80\xff";
            size_t at = random_range(len), from = random_range(len);
            size_t size = MIN(random_range(40), len - MAX(at, from));

            if (random_range(2)) {
                text[at] = chars[random_range(sizeof chars)];
            } else {
                memmove(text + at, text + from, size);
            }
        }
        prog = ir_parse(source_create(u.arena, "prog.ir", text, len), u.arena,
                        &u.diags);
        if (prog) {
            unit_planned(u.arena, prog);
            ck_assert_uint_eq(u.diags.n_errors, 0);
        } else {
            ck_assert_uint_gt(u.diags.n_errors, 0);
            ck_assert_ptr_nonnull(u.diags.list.v[0].span.source);
            unit_diags(&u);
        }
        *(prog ? &n_parsed : &n_refused) += 1;
        unit_destroy(&u);
    }
    ck_assert_uint_gt(n_parsed, 500);
    ck_assert_uint_gt(n_refused, 5000);
}
END_TEST

Suite *
ir_suite(void)
{
    Suite *suite = suite_create("ir");
    TCase *tc = unit_case(suite, "text");

    tcase_add_test(tc, test_good);
    tcase_add_test(tc, test_tags_without_telemetry);
    tcase_add_test(tc, test_symmetric_ports);
    tcase_add_test(tc, test_bad_lines);
    tcase_add_test(tc, test_bad_tenants);
    tcase_add_test(tc, test_bad_endpoints);
    tcase_add_test(tc, test_bad_rules);
    tcase_add_test(tc, test_lines_missing_or_twice);
    tcase_add_test(tc, test_hostile);
    return suite;
}
