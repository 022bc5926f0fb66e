/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/openflow/openflow.h"
#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "offload/offload.h"
#include "offload/rte-flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "unit.h"
#include "util.h"

/* Megaflows as rules of rte_flow.  Whether dpdk-testpmd takes them, and Open
 * vSwitch on DPDK makes them, tests/system/rte-test.sh asks these. */

static struct unit u;
static struct offload_report report;
static struct ds rules;

/* 'u' is there, and ends with end(). */
static void
predict_text(const char *text, size_t len, const char *node)
{
    const char *reason;

    unit_compile_raw(&u, text, len, node);
    u.prog = ir_build(u.policy, node, u.arena);
    ck_assert_msg(backend_compile(&openflow_backend, u.prog, u.arena,
                                  &u.diags, &u.plan), "%s", unit_diags(&u));
    reason = offload_explain(u.prog, &u.plan, &profile_connectx7_dpdk,
                             u.arena, &report);
    ck_assert_msg(!reason, "%s", reason);
    ds_init(&rules);
    rte_flow_put(&report, &rules);
}

static void
predict(const char *example, const char *node)
{
    const struct source *source;

    unit_init(&u);
    source = unit_example(u.arena, example);
    predict_text(source->text, source->len, node);
}

static void
end(void)
{
    ds_destroy(&rules);
    unit_destroy(&u);
}

/* 'line' is there once. */
static void
has_line(const char *line)
{
    const char *text = arena_printf(u.arena, "\n%s\n", line);
    const char *found = strstr(ds_cstr(&rules), text);

    ck_assert_msg(found != NULL, "%s\nis not in\n%s", line, ds_cstr(&rules));
    ck_assert_msg(!strstr(found + 1, text), "%s\nis there twice", line);
}

/* Who lies is dropped; what is tracked comes marked to software. */
START_TEST(drops_and_marks)
{
    predict("ai-cluster", "gpu-node-1");
    has_line("# port 2: pf0vf2");
    has_line("flow create 2 priority 0 group 0 transfer pattern "
             "eth src is 02:00:00:02:00:00 type is 0x0800 has_vlan is 0 / "
             "ipv4 src spec 10.2.128.0 src mask 255.255.128.0 proto is 0x6 "
             "fragment_offset spec 0 fragment_offset mask 0x3fff / tcp / end "
             "actions count / drop / end");
    has_line("flow create 0 ingress priority 0 group 0 pattern "
             "eth src is 02:00:00:03:00:00 type is 0x86dd has_vlan is 0 / "
             "ipv6 src is fd00:3::10 dst spec fd00:: dst mask ffff:: "
             "proto is 0x11 has_frag_ext is 0 / "
             "udp src spec 32768 src mask 32768 dst spec 1024 "
             "dst mask 64512 / end actions mark id 9 / rss / end");
    end();
}
END_TEST

/* Meters, queues and what is tracked are software's, and a pass that looks at
 * the state of a connection has no mark. */
START_TEST(nothing_is_forwarded_by_userspace_tables)
{
    size_t n_marked = 0, n_state = 0;

    predict("ai-cluster", "gpu-node-1");
    ck_assert_ptr_null(strstr(ds_cstr(&rules), "port_id"));
    for (size_t i = 0; i < report.rules.n; i++) {
        const offload_path_vec *paths = &report.rules.v[i].paths;

        for (size_t j = 0; j < paths->n; j++) {
            const struct offload_pass *passes = paths->v[j].passes;
            bool state = passes[0].refused
                         & UINT64_C(1) << CAP_MATCH_CT_STATE;

            ck_assert(!passes[0].marked || passes[0].refused);
            ck_assert(!state || !passes[0].marked);
            n_marked += passes[0].marked;
            n_state += state;
            for (size_t k = 1; k < paths->v[j].walk.megaflows.n; k++) {
                ck_assert(!passes[k].marked);
            }
        }
    }
    ck_assert_uint_gt(n_marked, 10);
    ck_assert_uint_gt(n_state, 4);
    end();
}
END_TEST

/* A report of one megaflow, which no tables make. */
static void
put_one(struct megaflow *m, const struct ofpbuf *actions)
{
    static const struct rule_packet packet;
    struct offload_pass pass = { .megaflow = m };
    struct offload_path path = { .packet = &packet, .passes = &pass };
    struct offload_rule *rule;

    report.profile = &profile_connectx7_dpdk;
    report.plan = &u.plan;
    report.rules.n = 0;
    rule = vec_push(u.arena, &report.rules);
    memset(rule, 0, sizeof *rule);
    rule->name = "made by hand";
    m->actions = actions->data;
    m->actions_len = actions->size;
    *vec_push(u.arena, &path.walk.megaflows) = *m;
    *vec_push(u.arena, &rule->paths) = path;
    rte_flow_put(&report, &rules);
}

static void
make_ip4(struct megaflow *m)
{
    memset(m, 0, sizeof *m);
    flow_wildcards_init_catchall(&m->wc);
    m->key.in_port.ofp_port = u16_to_ofp(1);
    m->key.dl_type = htons(ETH_TYPE_IP);
    WC_MASK_FIELD(&m->wc, in_port);
    WC_MASK_FIELD(&m->wc, dl_type);
}

/* What is routed, with actions that DPDK has. */
START_TEST(forwards_with_mac_and_ttl)
{
    struct ovs_key_ethernet eth[2] = {
        { .eth_src = ETH_ADDR_C(02,00,00,00,00,01),
          .eth_dst = ETH_ADDR_C(02,00,00,00,00,02) },
        { .eth_src = ETH_ADDR_C(ff,ff,ff,ff,ff,ff),
          .eth_dst = ETH_ADDR_C(ff,ff,ff,ff,ff,ff) },
    };
    struct ovs_key_ipv4 ip[2] = { { .ipv4_ttl = 63 }, { .ipv4_ttl = 255 } };
    struct ofpbuf actions;
    struct megaflow m;
    size_t offset;

    predict("ai-cluster", "gpu-node-1");
    ds_clear(&rules);
    make_ip4(&m);
    m.key.nw_ttl = 64;
    m.key.nw_tos = 0x68;
    WC_MASK_FIELD(&m.wc, nw_ttl);
    WC_MASK_FIELD_MASK(&m.wc, nw_tos, IP_DSCP_MASK);
    ofpbuf_init(&actions, 0);
    offset = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_SET_MASKED);
    nl_msg_put_unspec(&actions, OVS_KEY_ATTR_ETHERNET, eth, sizeof eth);
    nl_msg_end_nested(&actions, offset);
    offset = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_SET_MASKED);
    nl_msg_put_unspec(&actions, OVS_KEY_ATTR_IPV4, ip, sizeof ip);
    nl_msg_end_nested(&actions, offset);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_OUTPUT, 2);
    put_one(&m, &actions);
    has_line("flow create 0 priority 0 group 0 transfer pattern "
             "eth type is 0x0800 has_vlan is 0 / "
             "ipv4 tos spec 0x68 tos mask 0xfc ttl is 0x40 / end "
             "actions count / set_mac_src mac_addr 02:00:00:00:00:01 / "
             "set_mac_dst mac_addr 02:00:00:00:00:02 / set_ttl ttl_value 63 "
             "/ port_id original 0 id 1 / end");
    ofpbuf_uninit(&actions);
    end();
}
END_TEST

/* What cannot be said is a comment, not a rule that takes more. */
START_TEST(what_is_not_said_is_a_comment)
{
    struct ofpbuf actions;
    struct megaflow m;

    predict("ai-cluster", "gpu-node-1");
    ofpbuf_init(&actions, 0);
    make_ip4(&m);
    m.key.ct_zone = 7;
    WC_MASK_FIELD(&m.wc, ct_zone);
    ds_clear(&rules);
    put_one(&m, &actions);
    has_line("# not all of it: flow create 0 priority 0 group 0 transfer "
             "pattern eth type is 0x0800 has_vlan is 0 / ipv4 / end "
             "actions count / drop / end");
    make_ip4(&m);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_METER, 1);
    ds_clear(&rules);
    put_one(&m, &actions);
    ck_assert_ptr_nonnull(strstr(ds_cstr(&rules), "# not all of it: flow"));
    ofpbuf_uninit(&actions);
    end();
}
END_TEST

#define AT(NAME, N, REST)                                               \
    "'" NAME "': {'network': 'net', 'node': 'n1', 'interface': '" NAME     \
    "', 'mac': '02:00:00:00:00:0" N "', 'addresses': ['10.0.0." N "']"   \
    REST "}"

/* Does it come by the port of "t/PORT"? */
static bool
comes_by(const struct offload_path *path, const char *from)
{
    uint16_t port
        = ofp_to_u16(path->passes[0].megaflow->key.in_port.ofp_port);

    return !strcmp(u.plan.ports.v[port - 1].interface, from + strlen("t/"));
}

/* All that is said of packets from 'from' to 'to'; nothing is an error. */
static cap_set
refused_of(const char *from, const char *to)
{
    cap_set refused = 0;
    bool found = false;

    for (size_t i = 0; i < report.rules.n; i++) {
        const offload_path_vec *paths = &report.rules.v[i].paths;

        for (size_t j = 0; j < paths->n; j++) {
            const struct offload_path *path = &paths->v[j];

            if (path->packet->to && !strcmp(path->packet->from, from)
                && !strcmp(path->packet->to, to) && comes_by(path, from)) {
                refused |= path->passes[0].refused;
                found = true;
            }
        }
    }
    ck_assert_msg(found, "no packet from %s to %s", from, to);
    return refused;
}

/* Of a node with DPDK, the intent says what ports are. */
START_TEST(only_ports_of_a_nic)
{
    static const char intent[] =
        "{'version': 1, 'fabric': {'nodes': {'n1': {'dpdk': {'pmd_cpus': "
        "[2]}, 'uplinks': {'up': {'interface': 'p0', 'rate': '10Gbps', "
        "'burst': '64KiB', 'device': '0000:08:00.0'}}}}}, 'tenants': {'t': {"
        "'networks': {'net': {'vni': 7, 'subnets': ['10.0.0.0/24']}}, "
        "'endpoints': {" AT("tap", "2", "") ", "
        AT("vm", "3", ", 'port': 'vhost-user'") ", "
        AT("a", "4", ", 'port': 'representor', 'vf': 0") ", "
        AT("b", "5", ", 'port': 'representor', 'vf': 1") "}, "
        "'rules': [{'name': 'all', 'from': {}, 'to': {}, 'service': "
        "'https', 'stateful': false}]}}}";
    const cap_set out = UINT64_C(1) << CAP_OUTPUT_PORT;
    const cap_set vhost = UINT64_C(1) << CAP_MATCH_VHOST;
    const cap_set system = UINT64_C(1) << CAP_MATCH_SYSTEM;
    char *text;

    unit_init(&u);
    text = arena_strdup(u.arena, intent);
    for (char *s = text; *s; s++) {
        *s = *s == '\'' ? '"' : *s;
    }
    predict_text(text, strlen(text), "n1");
    ck_assert(!(refused_of("t/a", "t/b") & (out | vhost | system)));
    ck_assert((refused_of("t/a", "t/vm") & (out | vhost | system)) == out);
    ck_assert((refused_of("t/a", "t/tap") & (out | vhost | system)) == out);
    ck_assert((refused_of("t/vm", "t/a") & (out | vhost | system)) == vhost);
    ck_assert((refused_of("t/tap", "t/a") & (out | vhost | system))
              == system);
    end();
}
END_TEST

Suite *
rte_suite(void)
{
    Suite *suite = suite_create("rte");
    TCase *tcase = unit_case(suite, "rte");

    tcase_add_test(tcase, drops_and_marks);
    tcase_add_test(tcase, nothing_is_forwarded_by_userspace_tables);
    tcase_add_test(tcase, only_ports_of_a_nic);
    tcase_add_test(tcase, forwards_with_mac_and_ttl);
    tcase_add_test(tcase, what_is_not_said_is_a_comment);
    suite_add_tcase(suite, tcase);
    return suite;
}
