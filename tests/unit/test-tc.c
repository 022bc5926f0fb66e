/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "backend/asap2/asap2.h"
#include "offload/offload.h"
#include "offload/tc-batch.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "unit.h"
#include "util.h"

/* Megaflows as filters of tc.  Whether tc takes them, tests/system/tc-test.sh
 * asks it. */

static struct unit u;
static struct ds batch;

/* What 'u' has resolved; ends with end(). */
static void
predict(const char *node, const struct profile *profile)
{
    struct offload_report report;
    const char *reason;

    u.prog = ir_build(u.policy, node, u.arena);
    ck_assert_msg(backend_compile(&asap2_backend, u.prog, u.arena, &u.diags,
                                  &u.plan), "%s", unit_diags(&u));
    reason = offload_explain(u.prog, &u.plan, profile, u.arena, &report);
    ck_assert_msg(!reason, "%s", reason);
    ds_init(&batch);
    tc_batch_put(&report, &batch);
}

static void
predict_example(const char *example, const char *node)
{
    const struct source *source;

    unit_init(&u);
    source = unit_example(u.arena, example);
    unit_compile_raw(&u, source->text, source->len, node);
    predict(node, &profile_connectx7);
}

static void
end(void)
{
    ds_destroy(&batch);
    unit_destroy(&u);
}

/* 'line' is there once. */
static void
has_line(const char *line)
{
    const char *text = arena_printf(u.arena, "\n%s\n", line);
    const char *found = strstr(ds_cstr(&batch), text);

    ck_assert_msg(found != NULL, "%s\nis not in\n%s", line, ds_cstr(&batch));
    ck_assert_msg(!strstr(found + 1, text), "%s\nis there twice", line);
}

/* What is routed gets MACs and a TTL; what leaves by tunnel has the DSCP of
 * its class inside and outside; what comes has it, and is taken out of its
 * tunnel. */
START_TEST(tunnels)
{
    predict_example("rack", "rack-gpu-1");
    has_line("filter add dev vf0 ingress chain 1 protocol ip prio 2 flower "
             "src_mac 02:00:00:01:00:00 dst_mac 0a:b1:7d:00:13:93 "
             "ct_state +trk-new+est-rel-rpl-inv ct_zone 25029 "
             "ct_mark 3642738389 ip_proto tcp ip_tos 0/0xff ip_ttl 64 "
             "ip_flags nofrag dst_ip 10.19.0.10 dst_port 4420 "
             "action pedit ex munge eth src set 0a:b1:7d:00:13:94 pipe "
             "action pedit ex munge eth dst set 02:00:00:09:00:00 pipe "
             "action pedit ex munge ip dsfield set 0x48 retain 0xfc pipe "
             "action pedit ex munge ip ttl set 63 pipe "
             "action csum ip4h and tcp pipe "
             "action tunnel_key set id 5012 src_ip 192.0.2.11 "
             "dst_ip 192.0.2.21 tos 0x48 ttl 64 dst_port 6081 nocsum pipe "
             "action mirred egress redirect dev genev_sys_6081");
    has_line("filter add dev genev_sys_6081 ingress chain 2 protocol ip "
             "prio 2 flower enc_key_id 5011 enc_src_ip 192.0.2.21 "
             "enc_dst_ip 192.0.2.11 enc_tos 72 enc_dst_port 6081 "
             "dst_mac 02:00:00:01:00:00 "
             "ct_state +trk-new+est-rel+rpl-inv ct_zone 25029 "
             "ct_mark 3642738389 ip_proto tcp ip_tos 0x48/0xfc "
             "ip_flags nofrag dst_ip 10.11.0.10 src_port 4420 "
             "action tunnel_key unset pipe "
             "action mirred egress redirect dev vf0");
    end();
}
END_TEST

/* What the outer header of a packet says. */
struct outer {
    uint64_t id;
    ovs_be32 src, dst;
    int tos;
};

/* Does a filter of the batch match what comes so? */
static bool
is_matched(const struct outer *o)
{
    const char *text = arena_printf(
        u.arena, " enc_key_id %"PRIu64" enc_src_ip "IP_FMT" enc_dst_ip "IP_FMT
        " enc_tos %d ", o->id, IP_ARGS(o->src), IP_ARGS(o->dst), o->tos);

    return strstr(ds_cstr(&batch), text) != NULL;
}

/* What one node's filters write outside of a tunnel, with the DSCP of the
 * class, those of the other look for. */
START_TEST(nodes_agree)
{
    static const char *const nodes[] = { "rack-gpu-1", "rack-storage-1" };
    struct outer outers[64];
    size_t n = 0;

    predict_example("rack", nodes[0]);
    for (const char *s = ds_cstr(&batch); (s = strstr(s, "tunnel_key set"));
         s++) {
        struct outer *o = &outers[n];

        ck_assert_uint_lt(n, ARRAY_SIZE(outers));
        n += (ovs_scan(s, "tunnel_key set id %"SCNu64" src_ip "IP_SCAN_FMT
                       " dst_ip "IP_SCAN_FMT" tos %i", &o->id,
                       IP_SCAN_ARGS(&o->src), IP_SCAN_ARGS(&o->dst), &o->tos)
              && o->dst == inet_addr("192.0.2.21"));
    }
    end();
    ck_assert_uint_gt(n, 0);
    predict_example("rack", nodes[1]);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_ne(outers[i].tos, 0);
        ck_assert(is_matched(&outers[i]));
    }
    end();
}
END_TEST

/* Meters as Open vSwitch would make them: a kbit of a burst is 1024 bits. */
START_TEST(meters_and_chains)
{
    predict_example("ai-cluster", "gpu-node-1");
    has_line("actions add action police pkts_rate 2000000 pkts_burst 2000 "
             "conform-exceed drop/pipe index 268435456");
    has_line("actions add action police rate 10000000kbit burst 1280000b "
             "mtu 65535 conform-exceed drop/pipe index 268435457");
    has_line("filter add dev pf0vf4 ingress chain 0 protocol ip prio 2 flower "
             "src_mac 02:00:00:03:00:00 ip_proto tcp ip_flags nofrag "
             "src_ip 10.3.0.10 dst_ip 0.0.0.0/1 "
             "action police index 268435456 action ct zone 27922 pipe "
             "action goto chain 1");
    /* Whoever lies is dropped. */
    ck_assert_ptr_nonnull(strstr(ds_cstr(&batch), "\n# anti-spoofing\n"));
    ck_assert_ptr_nonnull(strstr(strstr(ds_cstr(&batch), "# anti-spoofing"),
                                 " action drop\n"));
    /* Who opens a connection, ConnectX-7 does not see. */
    ck_assert_ptr_null(strstr(ds_cstr(&batch), "+new"));
    ck_assert_ptr_null(strstr(ds_cstr(&batch), "ct commit"));
    end();
}
END_TEST

/* ICMP's checksum has nothing of an IPv4 header.  Where Open vSwitch knows no
 * checksum of the protocol, it gives tc what it does not rewrite. */
START_TEST(checksums)
{
    static const char rewritten[] = "action pedit ex munge ip dsfield "
        "set 0x28 retain 0xfc pipe action csum ip4h pipe action police";

    unit_init(&u);
    unit_resolve(&u, "{" FABRIC ", 'classes': {'c': {'dscp': 10}}, "
        "'services': {'x': {'protocol': 89}, 'y': {'protocol': 88}}, "
        "'tenants': {'t': {'bandwidth': {'limit': '1Gbps', 'burst': '64KiB'}, "
        "'networks': {'net': {'vni': 1, 'subnets': ['10.0.0.0/24']}}, "
        "'endpoints': {'a': {'network': 'net', 'node': 'n1', "
        "'interface': 'i0', 'mac': '02:00:00:00:00:01', "
        "'addresses': ['10.0.0.1']}, 'b': {'network': 'net', 'node': 'n1', "
        "'interface': 'i1', 'mac': '02:00:00:00:00:02', "
        "'addresses': ['10.0.0.2']}}, 'rules': ["
        "{'name': 'x', 'from': {'endpoint': 'a'}, 'to': {'endpoint': 'b'}, "
        "'service': 'x', 'class': 'c', 'stateful': false}, "
        "{'name': 'y', 'from': {'endpoint': 'a'}, 'to': {'endpoint': 'b'}, "
        "'service': 'y', 'stateful': false}, "
        "{'name': 'z', 'from': {'endpoint': 'a'}, 'to': {'endpoint': 'b'}, "
        "'service': 'icmp', 'class': 'c', 'stateful': false}]}}}");
    predict("n1", &profile_kernel_tc_ext);
    ck_assert_ptr_null(strstr(ds_cstr(&batch), "ip_proto 59"));
    ck_assert_ptr_nonnull(strstr(ds_cstr(&batch), "ip_proto 58"));
    ck_assert_ptr_nonnull(strstr(strstr(ds_cstr(&batch), "ip_proto icmp"),
                                 rewritten));
    end();
}
END_TEST

Suite *
tc_suite(void)
{
    Suite *suite = suite_create("tc");
    TCase *tcase = unit_case(suite, "tc");

    tcase_add_test(tcase, tunnels);
    tcase_add_test(tcase, nodes_agree);
    tcase_add_test(tcase, meters_and_chains);
    tcase_add_test(tcase, checksums);
    return suite;
}
