/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "packets.h"
#include "sema/meaning.h"
#include "sema/packet.h"
#include "unit.h"
#include "util.h"

#define HOST(NAME, NET, NODE, MAC, IPS, ROLE)                           \
    "'" NAME "': {'network': '" NET "', 'node': '" NODE "', "           \
    "'interface': '" NAME "', 'mac': '02:00:00:00:00:" MAC "', "        \
    "'addresses': [" IPS "], 'labels': {'role': '" ROLE "'}}"

/* Tenant "a": network "n" (gateway 10.1.0.1, fd01::1) with endpoints x, y, far
 * (on n2) and loose (unbound), "m" (gateway 10.2.0.1) with z, "o" (no
 * gateway) with w.  Tenant "b", a peer: t and u.  Tenant "c", the default
 * allow: p and q, with a's addresses of x and y. */
#define WORLD                                                           \
    "{" FABRIC ", " CLASSES ", 'services': {"                           \
    "'api': {'protocol': 'tcp', 'ports': [443, '8000-8100']},"          \
    "'wide': {'protocol': 'udp', 'ports': ['4000-5000']}},"             \
    "'tenants': {'a': {'peers': ['b'], 'networks': {"                   \
    "'n': {'vni': 1, 'subnets': ['10.1.0.0/16', 'fd01::/64'],"          \
    "      'gateway': ['10.1.0.1', 'fd01::1']},"                        \
    "'m': {'vni': 2, 'subnets': ['10.2.0.0/16'],"                       \
    "      'gateway': '10.2.0.1'},"                                     \
    "'o': {'vni': 3, 'subnets': ['10.3.0.0/16']}}, 'endpoints': {"      \
    HOST("x", "n", "n1", "10", "'10.1.0.10', 'fd01::10'", "left") ","   \
    HOST("y", "n", "n1", "11", "'10.1.0.11', 'fd01::11'", "right") ","  \
    HOST("z", "m", "n1", "12", "'10.2.0.12'", "right") ","              \
    HOST("w", "o", "n1", "13", "'10.3.0.13'", "right") ","              \
    HOST("far", "n", "n2", "14", "'10.1.0.14'", "right") ","            \
    "'loose': {'network': 'n'}}, 'rules': ["                            \
    RULE("api", LEFT, RIGHT, ", 'service': 'api', 'class': 'gold'") "," \
    RULE("also", LEFT, RIGHT, ", 'service': 'https', 'class': 'gold'")  \
    "," RULE("ping", "{}", "{}", ", 'service': 'icmp'") ","             \
    RULE("roce", LEFT, RIGHT, ", 'service': 'rocev2',"                  \
         "'class': 'silver'") ","                                       \
    RULE("wide", RIGHT, "{'endpoint': 'w'}", ", 'service': 'wide'") "," \
    RULE("never", "{'endpoint': 'x'}", "{'endpoint': 'z'}",             \
         ", 'service': 'https', 'action': 'deny'") "]},"                \
    "'b': {'peers': ['a'], 'networks': {'n': {'vni': 4,"                \
    "'subnets': ['10.4.0.0/16'], 'gateway': '10.4.0.1'}}, 'endpoints': {" \
    HOST("t", "n", "n1", "20", "'10.4.0.20'", "target") ","             \
    HOST("u", "n", "n1", "21", "'10.4.0.21'", "other") "}},"            \
    "'c': {'default': 'allow', 'networks': {'n': {'vni': 5,"            \
    "'subnets': ['10.1.0.0/16'], 'gateway': '10.1.0.1'}}, 'endpoints': {" \
    HOST("p", "n", "n1", "30", "'10.1.0.10'", "left") ","               \
    HOST("q", "n", "n1", "31", "'10.1.0.11'", "right") "}}},"           \
    "'peerings': {'data': {'from': {'tenant': 'a', 'labels':"           \
    "{'role': 'left'}}, 'to': {'tenant': 'b', 'labels': {'role':"       \
    "'target'}}, 'service': 'nvme-tcp', 'class': 'silver'}}}"

/* Ethernet headers: from x to y, to the gateway of network "n"; and from
 * others. */
#define MAC(N) "02:00:00:00:00:" #N
#define ETH(FROM, TO) "dl_src=" MAC(FROM) ",dl_dst=" MAC(TO) ","
#define GW(FROM, VNI) "dl_src=" MAC(FROM) ",dl_dst=0a:b1:7d:00:00:0" #VNI ","
#define GRE "ip,nw_proto=47,"
#define X_Y ETH(10, 11) "ip,nw_src=10.1.0.10,nw_dst=10.1.0.11,nw_ttl=64,"
#define Y_X ETH(11, 10) "ip,nw_src=10.1.0.11,nw_dst=10.1.0.10,nw_ttl=64,"
#define X6_Y6 ETH(10, 11) "ipv6,ipv6_src=fd01::10,ipv6_dst=fd01::11," \
              "nw_ttl=64,"
#define X_GW(DST) GW(10, 1) "ip,nw_src=10.1.0.10,nw_dst=" DST ",nw_ttl=64,"
#define TCP(SRC, DST) "nw_proto=6,tp_src=" #SRC ",tp_dst=" #DST
#define UDP(SRC, DST) "nw_proto=17,tp_src=" #SRC ",tp_dst=" #DST
#define ARP(SPA, TPA) "dl_src=" MAC(10) ",dl_dst=ff:ff:ff:ff:ff:ff,arp," \
                      "arp_op=1,arp_sha=" MAC(10) ",arp_spa=" SPA ",arp_tpa=" \
                      TPA
#define NS(SRC, TARGET)                                                 \
    "dl_src=" MAC(10) ",dl_dst=33:33:ff:00:00:11,icmp6,ipv6_src=" SRC   \
    ",ipv6_dst=ff02::1:ff00:11,nw_ttl=255,icmp_type=135"                \
    ",icmp_code=0,nd_target=" TARGET ",nd_sll=" MAC(10)

static const struct {
    const char *from;
    enum connection connection;
    const char *packet, *meaning;
} cases[] = {
    /* Admission. */
    { "a/loose", CONNECTION_NEW, X_Y TCP(1, 443), "deny unbound" },
    { "a/far", CONNECTION_NEW, X_Y TCP(1, 443), "deny unbound" },
    { "a/x", CONNECTION_NEW, X_Y "dl_vlan=5," TCP(1, 443), "deny unbound" },
    { "a/x", CONNECTION_NEW, X_Y "dl_vlan=0," TCP(1, 443), "deny unbound" },
    /* Fragments and what is never a tenant's. */
    { "a/x", CONNECTION_NEW, X_Y "nw_frag=first," TCP(1, 443),
      "allow a/also to a/y dscp 46 queue 5 by a" },
    { "a/x", CONNECTION_NEW, X6_Y6 "nw_frag=later,nw_proto=6",
      "deny default to a/y" },
    { "a/x", CONNECTION_NEW, X_Y "nw_frag=first," UDP(1, 4791),
      "deny fragment" },
    { "a/x", CONNECTION_INVALID, X_Y "nw_frag=first," UDP(1, 4791),
      "deny ct-invalid" },
    { "a/x", CONNECTION_REPLY, X_Y "nw_frag=first," UDP(1, 4791),
      "deny fragment" },
    { "a/x", CONNECTION_NEW, X_Y "nw_frag=first," UDP(67, 4791),
      "deny forbidden-reply" },
    { "a/x", CONNECTION_REPLY, X6_Y6 "nw_frag=first," UDP(547, 1),
      "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, X_Y UDP(67, 68), "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, X_Y TCP(67, 443),
      "allow a/also to a/y dscp 46 queue 5 by a" },
    { "a/x", CONNECTION_NEW, X6_Y6 UDP(547, 546), "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, X_Y UDP(547, 546), "deny default to a/y" },
    { "a/x", CONNECTION_NEW, ETH(10, 11)
      "icmp6,ipv6_src=fe80::1,icmp_type=134",
      "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, X6_Y6 "nw_proto=58,icmp_type=137",
      "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, X6_Y6 "nw_proto=58,icmp_type=133",
      "deny forbidden-reply" },
    /* ARP and neighbor discovery. */
    { "a/x", CONNECTION_NONE, ARP("10.1.0.10", "10.1.0.11"),
      "answer 02:00:00:00:00:11" },
    { "a/x", CONNECTION_NONE, ARP("10.1.0.10", "10.1.0.1"),
      "answer 0a:b1:7d:00:00:01 router" },
    { "a/x", CONNECTION_NONE, ARP("10.1.0.10", "10.1.0.14"),
      "deny unanswered" },
    { "a/x", CONNECTION_NONE, ARP("10.1.0.10", "10.2.0.12"),
      "deny unanswered" },
    { "a/x", CONNECTION_NONE, ARP("10.1.0.11", "10.1.0.11"), "deny spoof" },
    { "a/x", CONNECTION_NONE, ARP("0.0.0.0", "10.1.0.10"), "deny spoof" },
    { "a/x", CONNECTION_NONE, ETH(10, 11) "arp,arp_op=1,arp_sha=" MAC(11)
      ",arp_spa=10.1.0.10,arp_tpa=10.1.0.11", "deny spoof" },
    { "a/x", CONNECTION_NONE, ETH(10, 11) "arp,arp_op=2,arp_sha=" MAC(10)
      ",arp_spa=10.1.0.10,arp_tpa=10.1.0.11", "deny spoof" },
    { "a/x", CONNECTION_NONE, NS("fd01::10", "fd01::11"),
      "answer 02:00:00:00:00:11" },
    { "a/x", CONNECTION_NONE, NS("fe80::ff:fe00:10", "fd01::1"),
      "answer 0a:b1:7d:00:00:01 router" },
    { "a/x", CONNECTION_NONE, NS("fd01::10", "fd01::99"),
      "deny unanswered" },
    { "a/x", CONNECTION_NONE, NS("fd01::11", "fd01::11"), "deny spoof" },
    { "a/x", CONNECTION_NONE, X6_Y6 "nw_proto=58,icmp_type=136,icmp_code=0,"
      "nd_target=fd01::10,nd_tll=" MAC(10), "deny spoof" },
    { "a/x", CONNECTION_NONE, ETH(10, 11) "icmp6,ipv6_src=fd01::10,"
      "icmp_type=135,icmp_code=0,nd_target=fd01::11", "deny spoof" },
    /* Sources. */
    { "a/y", CONNECTION_NEW, X_Y TCP(1, 443), "deny spoof" },
    { "a/x", CONNECTION_NEW, ETH(11, 10) GRE "nw_src=10.1.0.10",
      "deny spoof" },
    { "a/x", CONNECTION_NEW, ETH(10, 11) GRE "nw_src=10.1.0.12",
      "deny spoof" },
    { "a/x", CONNECTION_NEW, X_Y "nw_proto=0", "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, X6_Y6 "nw_proto=0", "deny forbidden-reply" },
    { "a/x", CONNECTION_NEW, ETH(10, 11) "dl_type=0x88cc", "deny spoof" },
    { "a/x", CONNECTION_NEW, ETH(10, 11)
      "ipv6,nw_proto=47,ipv6_src=fe80::ff:fe00:10",
      "deny spoof" },
    /* Connections. */
    { "a/x", CONNECTION_NONE, X_Y TCP(1, 443), "deny ct-invalid" },
    { "a/x", CONNECTION_INVALID, X_Y TCP(1, 443), "deny ct-invalid" },
    { "a/x", CONNECTION_RELATED, X_Y "nw_proto=1,icmp_type=3",
      "allow a/ping to a/y dscp 0 queue 0 by a" },
    { "a/x", CONNECTION_FORWARD, X_Y TCP(1, 8100),
      "allow a/api to a/y dscp 46 queue 5 by a" },
    { "a/x", CONNECTION_NEW, X_Y TCP(1, 8101), "deny default to a/y" },
    { "a/y", CONNECTION_NEW, Y_X TCP(1, 443), "deny default to a/x" },
    { "a/y", CONNECTION_REPLY, Y_X TCP(443, 1),
      "allow a/also to a/x dscp 46 queue 5 by a" },
    { "a/y", CONNECTION_REPLY, Y_X TCP(1, 443), "deny default to a/x" },
    { "a/x", CONNECTION_REPLY, X_Y TCP(443, 1), "deny default to a/y" },
    /* Symmetric services are stateless, by whatever rule. */
    { "a/x", CONNECTION_INVALID, X_Y UDP(1, 4791),
      "allow a/roce to a/y dscp 18 queue 2 by a" },
    { "a/y", CONNECTION_NONE, Y_X UDP(1, 4791),
      "allow a/roce to a/x dscp 18 queue 2 by a" },
    { "a/y", CONNECTION_REPLY, Y_X UDP(4791, 1), "deny default to a/x" },
    { "a/x", CONNECTION_NEW, X_Y UDP(4791, 5), "deny default to a/y" },
    { "c/p", CONNECTION_INVALID, ETH(30, 31)
      "ip,nw_src=10.1.0.10,nw_dst=10.1.0.11," UDP(9, 4791),
      "allow c/(default) to c/q dscp 0 queue 0 by c" },
    /* ICMP belongs to its own family. */
    { "a/x", CONNECTION_NEW, X_Y "nw_proto=1",
      "allow a/ping to a/y dscp 0 queue 0 by a" },
    { "a/x", CONNECTION_NEW, X_Y "nw_proto=58", "deny default to a/y" },
    { "a/x", CONNECTION_NEW, X6_Y6 "nw_proto=58,icmp_type=128",
      "allow a/ping to a/y dscp 0 queue 0 by a" },
    { "a/x", CONNECTION_NEW, X6_Y6 "nw_proto=1", "deny default to a/y" },
    /* Routes. */
    { "a/x", CONNECTION_NEW, ETH(10, 31)
      GRE "nw_src=10.1.0.10,nw_dst=10.1.0.11", "deny unreachable" },
    { "a/x", CONNECTION_NEW, ETH(10, 11)
      GRE "nw_src=10.1.0.10,nw_dst=10.1.0.12", "deny unreachable" },
    { "a/x", CONNECTION_NEW, ETH(10, 12)
      GRE "nw_src=10.1.0.10,nw_dst=10.2.0.12", "deny unreachable" },
    { "a/x", CONNECTION_NEW, X_GW("10.2.0.12") TCP(1, 8000),
      "allow a/api to a/z routed dscp 46 queue 5 by a" },
    { "a/x", CONNECTION_NEW, X_GW("10.2.0.12") TCP(1, 443),
      "deny a/never to a/z routed" },
    { "a/x", CONNECTION_NEW, X_GW("10.1.0.11") TCP(1, 8000),
      "allow a/api to a/y routed dscp 46 queue 5 by a" },
    { "a/x", CONNECTION_NEW, GW(10, 1)
      GRE "nw_src=10.1.0.10,nw_dst=10.2.0.12,nw_ttl=1", "deny ttl" },
    { "a/x", CONNECTION_NEW, GW(10, 1)
      GRE "nw_src=10.1.0.10,nw_dst=10.9.0.12,nw_ttl=0", "deny ttl" },
    { "a/x", CONNECTION_NEW, GW(10, 2)
      GRE "nw_src=10.1.0.10,nw_dst=10.2.0.12,nw_ttl=9", "deny unreachable" },
    { "a/x", CONNECTION_NEW, X_GW("10.1.0.14") TCP(1, 443),
      "deny unreachable" },
    { "a/x", CONNECTION_NEW, X_GW("10.1.0.1") "nw_proto=1",
      "deny unreachable" },
    /* A network without gateway is alone. */
    { "a/w", CONNECTION_NEW, GW(13, 3)
      "ip,nw_src=10.3.0.13,nw_dst=10.1.0.10,nw_ttl=9,nw_proto=1",
      "deny unreachable" },
    { "a/x", CONNECTION_NEW, X_GW("10.3.0.13") "nw_proto=1",
      "deny unreachable" },
    /* An endpoint and itself. */
    { "a/x", CONNECTION_NEW, X_GW("10.1.0.10") "nw_proto=1",
      "deny default to a/x routed" },
    /* Peerings. */
    { "a/x", CONNECTION_NEW, X_GW("10.4.0.20") TCP(1, 4420),
      "allow peering:data to b/t routed dscp 18 queue 2 by a" },
    { "a/x", CONNECTION_NEW, X_GW("10.4.0.20") TCP(1, 443),
      "deny default to b/t routed" },
    { "a/y", CONNECTION_NEW, GW(11, 1)
      "ip,nw_src=10.1.0.11,nw_dst=10.4.0.20,nw_ttl=9," TCP(1, 4420),
      "deny default to b/t routed" },
    { "a/x", CONNECTION_NEW, X_GW("10.4.0.21") TCP(1, 4420),
      "deny unreachable" },
    { "b/t", CONNECTION_REPLY, GW(20, 4)
      "ip,nw_src=10.4.0.20,nw_dst=10.1.0.10,nw_ttl=9," TCP(4420, 1),
      "allow peering:data to a/x routed dscp 18 queue 2 by b" },
    { "b/t", CONNECTION_NEW, GW(20, 4)
      "ip,nw_src=10.4.0.20,nw_dst=10.1.0.10,nw_ttl=9," TCP(1, 4420),
      "deny default to a/x routed" },
    { "c/p", CONNECTION_NEW, GW(30, 5)
      "ip,nw_src=10.1.0.10,nw_dst=10.4.0.20,nw_ttl=9," TCP(1, 4420),
      "deny unreachable" },
    /* Peers and strangers may have one another's addresses. */
    { "c/p", CONNECTION_NEW, ETH(30, 31)
      "ip,nw_src=10.1.0.10,nw_dst=10.1.0.11," TCP(1, 1),
      "allow c/(default) to c/q dscp 0 queue 0 by c" },
};

static struct unit u;

static void
resolve_world(void)
{
    unit_init(&u);
    unit_resolve(&u, WORLD);
    ck_assert_msg(u.policy && !u.diags.n_errors, "%s", unit_diags(&u));
}

static void
destroy_world(void)
{
    unit_destroy(&u);
}

static const struct policy_endpoint *
endpoint(const char *name)
{
    for (size_t i = 0; i < u.policy->tenants.n; i++) {
        const struct policy_tenant *tenant = u.policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            if (!strcmp(tenant->endpoints.v[j]->name, name)) {
                return tenant->endpoints.v[j];
            }
        }
    }
    ck_abort_msg("no endpoint %s", name);
    return NULL;
}

/* The meaning in words, as in cases[]. */
static const char *
describe(const struct meaning *m)
{
    const char *why, *where;

    if (m->answered) {
        return arena_printf(u.arena, "answer "ETH_ADDR_FMT"%s",
                            ETH_ADDR_ARGS(m->answer),
                            m->answer_router ? " router" : "");
    }
    why = m->rule ? m->rule->name : reason_info(m->reason)->name;
    where = (m->to ? arena_printf(u.arena, " to %s%s", m->to->name,
                                  m->routed ? " routed" : "") : "");
    return (m->allow
            ? arena_printf(u.arena, "allow %s%s dscp %u queue %u by %s", why,
                           where, m->dscp, m->queue, m->charged->name)
            : arena_printf(u.arena, "deny %s%s", why, where));
}

START_TEST(test_case)
{
    struct flow packet;
    struct flow_wildcards given;
    char *error = packet_parse(cases[_i].packet, &packet, &given);
    struct meaning_question q = {
        .node = "n1", .from = endpoint(cases[_i].from), .packet = &packet,
        .connection = cases[_i].connection,
    };
    struct meaning m;

    ck_assert_msg(!error, "%s: %s", cases[_i].packet, error);
    m = meaning_judge(u.policy, &q);
    ck_assert_msg(!strcmp(describe(&m), cases[_i].meaning),
                  "%s %s %s:\n'%s', not '%s'", cases[_i].from,
                  connection_name(q.connection), cases[_i].packet,
                  describe(&m), cases[_i].meaning);
}
END_TEST

/* Fragments and ICMP errors are judged by what opened their connection. */
START_TEST(test_opener)
{
    static const struct {
        const char *from;
        enum connection connection;
        const char *packet;
        uint8_t protocol;
        uint16_t source, destination;
        const char *meaning;
    } openers[] = {
        { "a/y", CONNECTION_RELATED, Y_X "nw_proto=1,icmp_type=3", 6, 1, 8000,
          "allow a/api to a/x dscp 46 queue 5 by a" },
        { "a/y", CONNECTION_RELATED, Y_X "nw_proto=1,icmp_type=3", 6, 8000, 1,
          "deny default to a/x" },
        { "a/x", CONNECTION_RELATED, X_Y "nw_proto=1,icmp_type=3", 6, 1, 8000,
          "deny default to a/y" },
        { "a/x", CONNECTION_NEW, X_Y "nw_proto=6,nw_frag=later", 6, 1, 8000,
          "allow a/api to a/y dscp 46 queue 5 by a" },
        { "a/y", CONNECTION_REPLY, Y_X "nw_proto=6,nw_frag=later", 6, 1, 8000,
          "allow a/api to a/x dscp 46 queue 5 by a" },
        { "a/x", CONNECTION_FORWARD, X_Y "nw_proto=17,nw_frag=later", 17, 1,
          4791, "deny fragment" },
        { "a/y", CONNECTION_REPLY, Y_X "nw_proto=17,nw_frag=later", 17, 4791,
          1, "deny fragment" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(openers); i++) {
        struct flow packet;
        struct flow_wildcards given;
        struct meaning_opener opener = {
            openers[i].protocol, htons(openers[i].source),
            htons(openers[i].destination),
        };
        struct meaning_question q = {
            .node = "n1", .from = endpoint(openers[i].from),
            .packet = &packet, .connection = openers[i].connection,
            .opener = &opener,
        };
        struct meaning m;

        ck_assert_ptr_null(packet_parse(openers[i].packet, &packet, &given));
        m = meaning_judge(u.policy, &q);
        ck_assert_str_eq(describe(&m), openers[i].meaning);
    }
}
END_TEST

/* The zone of another tenant must agree about the direction. */
START_TEST(test_beyond)
{
    static const char there[]
        = X_GW("10.4.0.20") TCP(1, 4420);
    static const char back[]
        = GW(20, 4) "ip,nw_src=10.4.0.20,nw_dst=10.1.0.10,nw_ttl=9,"
          TCP(4420, 1);
    static const char inside[] = X_Y TCP(1, 8000);
    static const struct {
        const char *from, *packet;
        enum connection connection, beyond;
        bool allow;
    } zones[] = {
        { "a/x", there, CONNECTION_NEW, CONNECTION_NEW, true },
        { "a/x", there, CONNECTION_NEW, CONNECTION_FORWARD, true },
        { "a/x", there, CONNECTION_FORWARD, CONNECTION_NEW, true },
        { "a/x", there, CONNECTION_NEW, CONNECTION_REPLY, false },
        { "a/x", there, CONNECTION_FORWARD, CONNECTION_INVALID, false },
        { "a/x", there, CONNECTION_FORWARD, CONNECTION_NONE, false },
        { "b/t", back, CONNECTION_REPLY, CONNECTION_REPLY, true },
        { "b/t", back, CONNECTION_REPLY, CONNECTION_NEW, false },
        { "b/t", back, CONNECTION_REPLY, CONNECTION_FORWARD, false },
        /* Within a tenant there is one zone. */
        { "a/x", inside, CONNECTION_NEW, CONNECTION_INVALID, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
        struct flow packet;
        struct flow_wildcards given;
        struct meaning_question q = {
            .node = "n1", .from = endpoint(zones[i].from), .packet = &packet,
            .connection = zones[i].connection, .beyond = &zones[i].beyond,
        };
        struct meaning m;

        ck_assert_ptr_null(packet_parse(zones[i].packet, &packet, &given));
        m = meaning_judge(u.policy, &q);
        ck_assert_int_eq(m.allow, zones[i].allow);
        ck_assert(m.allow || (!m.rule && m.reason == REASON_CT_INVALID));
    }
}
END_TEST

/* Without a node, the sender's own is meant. */
START_TEST(test_no_node)
{
    struct flow packet;
    struct flow_wildcards given;
    struct meaning_question q = {
        .from = endpoint("a/far"), .packet = &packet,
        .connection = CONNECTION_NEW,
    };
    struct meaning m;
    char *error = packet_parse(
        ETH(14, 10) "ip,nw_src=10.1.0.14,nw_dst=10.1.0.10,nw_proto=1",
        &packet, &given);

    ck_assert_ptr_null(error);
    m = meaning_judge(u.policy, &q);
    ck_assert_str_eq(describe(&m), "deny unreachable");
    q.from = endpoint("a/loose");
    m = meaning_judge(u.policy, &q);
    ck_assert_str_eq(describe(&m), "deny unbound");
    q.from = NULL;
    m = meaning_judge(u.policy, &q);
    ck_assert_str_eq(describe(&m), "deny unbound");
}
END_TEST

Suite *
meaning_suite(void)
{
    Suite *suite = suite_create("meaning");
    TCase *tc = unit_case(suite, "meaning");

    tcase_add_checked_fixture(tc, resolve_world, destroy_world);
    tcase_add_loop_test(tc, test_case, 0, ARRAY_SIZE(cases));
    tcase_add_test(tc, test_opener);
    tcase_add_test(tc, test_beyond);
    tcase_add_test(tc, test_no_node);
    return suite;
}
