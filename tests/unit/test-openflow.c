/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/openflow/pipeline.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "sema/ident.h"
#include "unit.h"

/* Two tenants that use much of the language, and a third on node n2.  Rules
 * "r" and "twin" make the same flow for port 443. */
#define WORLD                                                           \
    INTENT(TENANT("a", 1, ", 'peers': ['b'], 'default': 'allow',"       \
                  "'bandwidth': {'limit': '60Gbps', 'burst': '64KiB'}," \
                  "'rules': ["                                          \
                  RULE("r", LEFT, RIGHT, ", 'service': 'api',"          \
                       "'class': 'gold'") ", "                          \
                  RULE("no", "{}", "[" LEFT ", " RIGHT "]",             \
                       ", 'service': 'ssh', 'action': 'deny'") ", "     \
                  RULE("twin", LEFT, RIGHT, ", 'service': 'https',"     \
                       "'class': 'gold'") ", "                          \
                  RULE("q", RIGHT, LEFT, ", 'service': 'rocev2',"       \
                       "'class': 'silver'") "]") ", "                   \
           TENANT("b", 2, ", 'peers': ['a'], 'rules': ["                \
                  RULE("r", LEFT, RIGHT, ", 'service': 'dns'") "]") ", " \
           "'c': {'networks': {" NETWORK(3) "}, 'endpoints': {"         \
           "'far': {'network': 'net', 'node': 'n2', 'interface': 'k0'," \
           "'mac': '02:00:00:00:03:10', 'addresses': ['10.3.0.10']},"   \
           "'loose': {'network': 'net'}}}",                             \
           ", 'services': {'api': {'protocol': 'tcp', 'ports':"         \
           "[443, '8000-8100']}}, 'peerings': {'p': {'from':"           \
           "{'tenant': 'a'}, 'to': {'tenant': 'b', 'labels':"           \
           "{'role': 'left'}}, 'service': 'nvme-tcp', 'class':"         \
           "'silver'}}")

static struct unit u;

static void
compile_world(void)
{
    unit_init(&u);
    unit_compile(&u, WORLD, "n1");
}

static void
destroy_world(void)
{
    unit_destroy(&u);
}

static const struct plan_flow *
flow_at(size_t i)
{
    return &u.plan.flows.v[i];
}

/* The table that the actions go to, or -1. */
static int
next_table(const struct plan_flow *flow)
{
    static const char *const verbs[] = {
        "goto_table:", "resubmit(,", "ct(table=",
    };

    for (size_t i = 0; i < 3; i++) {
        const char *p = strstr(flow->actions, verbs[i]);

        if (p) {
            return atoi(p + strlen(verbs[i]));
        }
    }
    return -1;
}

START_TEST(test_every_table_drops)
{
    for (int table = 0; table < N_TABLES; table++) {
        int n = 0;

        for (size_t i = 0; i < u.plan.flows.n; i++) {
            const struct plan_flow *flow = flow_at(i);

            if (flow->table == table && !flow->priority) {
                ck_assert_str_eq(flow->match, "");
                ck_assert_str_eq(flow->actions, "drop");
                ck_assert_uint_ne(flow->cookie,
                                  COOKIE_MARK | REASON_PIPELINE);
                n++;
            }
        }
        /* The last are for endpoints with meters of their own: there is
         * none. */
        ck_assert_msg(n == (table <= TABLE_OUTPUT),
                      "%d flows of priority 0 in table %d", n, table);
    }
}
END_TEST

START_TEST(test_forward_only)
{
    for (size_t i = 0; i < u.plan.flows.n; i++) {
        const struct plan_flow *flow = flow_at(i);
        int next = next_table(flow);

        ck_assert_msg(next == -1 || (next > flow->table && next < N_TABLES),
                      "%s", plan_flow_string(&u.plan, flow));
        ck_assert(flow->table < N_TABLES);
        ck_assert_msg(flow->actions[0], "empty actions: %s", flow->match);
    }
}
END_TEST

/* Whatever leaves to a receiver's port has been admitted, judged and
 * metered. */
START_TEST(test_no_way_round)
{
    for (size_t i = 0; i < u.plan.flows.n; i++) {
        const struct plan_flow *flow = flow_at(i);
        const char *text = plan_flow_string(&u.plan, flow);
        int next = next_table(flow);

        if (strstr(flow->actions, "output:")) {
            ck_assert_msg(flow->table == TABLE_OUTPUT, "%s", text);
        }
        if (next == TABLE_OUTPUT) {
            ck_assert_msg(flow->table == TABLE_METER
                          && strstr(flow->actions, "meter:"), "%s", text);
        }
        if (next == TABLE_METER) {
            ck_assert_msg(flow->table == TABLE_CLASS, "%s", text);
        }
        if (next == TABLE_COMMIT) {
            ck_assert_msg(flow->table == TABLE_POLICY, "%s", text);
        }
        if (next > TABLE_SPOOF && flow->table < TABLE_SPOOF) {
            ck_abort_msg("round the spoof check: %s", text);
        }
    }
}
END_TEST

START_TEST(test_meters_and_flows_agree)
{
    size_t n_calls = 0;

    /* "a" also receives by one; "c" is elsewhere. */
    ck_assert_uint_eq(u.plan.meters.n, 3);
    for (size_t i = 0; i < u.plan.flows.n; i++) {
        const char *p = strstr(flow_at(i)->actions, "meter:");

        if (p) {
            uint32_t id = strtoul(p + 6, NULL, 10);
            bool found = false;

            for (size_t j = 0; j < u.plan.meters.n; j++) {
                found = found || u.plan.meters.v[j].id == id;
            }
            ck_assert_msg(found, "no meter for: %s", flow_at(i)->actions);
            n_calls++;
        }
    }
    ck_assert_uint_eq(n_calls, 4);
    for (size_t i = 0; i < u.plan.meters.n; i++) {
        uint32_t id = u.plan.meters.v[i].id;
        const char *call = arena_printf(u.arena, "meter:%u,", id);

        ck_assert(plan_meter_is_ours(id));
        ck_assert_msg(strstr(unit_plan_text(&u), call), "unused: %s", call);
        ck_assert_uint_eq(plan_meter_other(plan_meter_other(id)), id);
        ck_assert_uint_gt(plan_meter_other(id), id);
        ck_assert(plan_meter_is_ours(plan_meter_other(id)));
        ck_assert_int_eq(plan_meter_counts_packets(plan_meter_other(id)),
                         u.plan.meters.v[i].packets);
    }
}
END_TEST

START_TEST(test_rates)
{
    const struct plan_meter *a = &u.plan.meters.v[0];
    const struct plan_meter *received = &u.plan.meters.v[1];
    const struct plan_meter *b = &u.plan.meters.v[2];

    ck_assert_str_eq(a->name, "a");
    ck_assert(!a->receive);
    ck_assert_str_eq(received->name, "a");
    ck_assert(received->receive);
    ck_assert_uint_eq(received->rate, a->rate);
    ck_assert_uint_eq(received->burst, a->burst);
    ck_assert_uint_eq(a->rate, 60000000);
    ck_assert_uint_eq(a->burst, 525);      /* 524.288, rounded up. */
    /* Without "bandwidth" the uplink is the limit. */
    ck_assert_str_eq(b->name, "b");
    ck_assert_uint_eq(b->rate, 100000000);
    ck_assert_uint_eq(b->burst, 2098);
    ck_assert_str_eq(plan_meter_string(&u.plan, a),
                     arena_printf(u.arena, "meter=%u,kbps,burst,stats,bands="
                                  "type=drop,rate=60000000,burst_size=525",
                                  a->id));
}
END_TEST

START_TEST(test_cookies)
{
    for (size_t i = 0; i < u.plan.flows.n; i++) {
        bool found = false;

        for (size_t j = 0; j < u.plan.cookies.n && !found; j++) {
            found = u.plan.cookies.v[j].cookie == flow_at(i)->cookie;
        }
        ck_assert_msg(found, "nobody knows the cookie of %s",
                      plan_flow_string(&u.plan, flow_at(i)));
        ck_assert((flow_at(i)->cookie & COOKIE_MARK_MASK) == COOKIE_MARK);
    }
}
END_TEST

/* The priorities of rule "name" in the policy table; 0 if it has no flow. */
static int
priority_of(const char *name)
{
    uint64_t cookie = COOKIE_MARK | unit_rule(&u, name)->id;
    int priority = 0;

    for (size_t i = 0; i < u.plan.flows.n; i++) {
        if (flow_at(i)->cookie == cookie) {
            ck_assert_int_eq(flow_at(i)->table, TABLE_POLICY);
            ck_assert(!priority || priority == flow_at(i)->priority);
            priority = flow_at(i)->priority;
        }
    }
    return priority;
}

START_TEST(test_deny_beats_allow)
{
    int deny = priority_of("a/no"), allow = priority_of("a/r");
    int peering = priority_of("peering:p"), last = priority_of("a/(default)");

    ck_assert_int_gt(deny, allow);
    ck_assert_int_gt(deny, peering);
    ck_assert_int_gt(allow, last);
    ck_assert_int_gt(peering, last);
    ck_assert_int_gt(last, 0);
}
END_TEST

/* Flows of rule "name" that match REG_SERVICE as 'service' says. */
static int
n_flows(const char *name, const char *service)
{
    uint64_t cookie = COOKIE_MARK | unit_rule(&u, name)->id;
    int n = 0;

    for (size_t i = 0; i < u.plan.flows.n; i++) {
        n += (flow_at(i)->cookie == cookie
              && strstr(flow_at(i)->match,
                        arena_printf(u.arena, ","REG_SERVICE"=%s", service)));
    }
    return n;
}

START_TEST(test_symmetric_services)
{
    /* One pair of endpoints, both ways: UDP (17, 0x11) port 4791. */
    ck_assert_int_eq(n_flows("a/q", "0x401112b7/0xc0ffffff"), 2);
    ck_assert_int_eq(n_flows("a/q", ""), 2);
    /* Others are tracked, and replies and IPv6 need no flow of their own. */
    ck_assert_int_eq(n_flows("b/r", "0x80110035/0xc0ffffff"), 1);
    ck_assert_int_eq(n_flows("b/r", "0x80060035/0xc0ffffff"), 1);
    ck_assert_int_eq(n_flows("b/r", ""), 2);
    /* Any service is both. */
    ck_assert_int_eq(n_flows("a/(default)", "0x40000000/0x40000000"), 1);
    ck_assert_int_eq(n_flows("a/(default)", "0x80000000/0x80000000"), 1);
    ck_assert_int_eq(n_flows("a/(default)", ""), 2);
}
END_TEST

START_TEST(test_only_this_node)
{
    const char *text = unit_plan_text(&u);

    ck_assert_uint_eq(u.plan.ports.n, 4);
    /* Nobody here has to do with c/far. */
    ck_assert_uint_eq(u.plan.elsewhere.n, 0);
    ck_assert_uint_eq(u.plan.unbound.n, 1);
    ck_assert_str_eq(u.plan.unbound.v[0], "c/loose");
    ck_assert_ptr_null(strstr(text, "10.3.0.10"));
    ck_assert_ptr_null(strstr(text, "k0"));
    ck_assert_ptr_null(ir_build(u.policy, "n3", u.arena));
}
END_TEST

START_TEST(test_order_never_matters)
{
    struct unit example, other;
    const char *text = unit_plan_text(&u);
    const struct value *v = value_parse(u.source, u.arena, &u.diags);

    for (unsigned int seed = 1; seed <= 30; seed++) {
        unit_init(&other);
        unit_compile(&other, unit_shuffle(other.arena, v, seed), "n1");
        ck_assert_msg(!strcmp(text, unit_plan_text(&other)), "seed %u", seed);
        unit_destroy(&other);
    }

    unit_init(&example);
    const struct source *source = unit_example(example.arena,
                                               "ai-cluster");
    unit_compile_raw(&example, source->text, source->len, "gpu-node-1");
    text = unit_plan_text(&example);
    v = value_parse(source, example.arena, &example.diags);
    for (unsigned int seed = 1; seed <= 10; seed++) {
        unit_init(&other);
        unit_compile(&other, unit_shuffle(other.arena, v, seed),
                     "gpu-node-1");
        ck_assert_msg(!strcmp(text, unit_plan_text(&other)), "seed %u", seed);
        unit_destroy(&other);
    }
    unit_destroy(&example);
}
END_TEST

/* A change of one tenant leaves the flows of others as they are. */
START_TEST(test_a_tenant_changes_alone)
{
    struct unit alone;

    unit_init(&alone);
    unit_compile(&alone, INTENT(TENANT("b", 2, ", 'rules': ["
        RULE("r", LEFT, RIGHT, ", 'service': 'dns'") "]"), ""), "n1");
    for (size_t i = 0; i < alone.plan.flows.n; i++) {
        const char *flow = plan_flow_string(&alone.plan,
                                            &alone.plan.flows.v[i]);

        ck_assert_msg(strstr(unit_plan_text(&u), flow), "lost: %s", flow);
    }
    unit_destroy(&alone);
}
END_TEST

START_TEST(test_plan_sorts_and_merges)
{
    struct plan plan;

    plan_init(&plan, u.arena, "n", "userspace");
    plan_add_flow(&plan, 1, 5, 1, "ip", "drop");
    plan_add_flow(&plan, 0, 5, 2, "ipv6", "drop");
    plan_add_flow(&plan, 0, 9, 3, "udp", "drop");
    plan_add_flow(&plan, 0, 5, 4, "ip", "drop");
    plan_add_flow(&plan, 0, 5, 5, "ip", "in_port");
    plan_finish(&plan);
    ck_assert_uint_eq(plan.flows.n, 4);
    ck_assert_uint_eq(plan.flows.v[0].cookie, 3);
    ck_assert_uint_eq(plan.flows.v[1].cookie, 4);   /* The first stays. */
    ck_assert_uint_eq(plan.flows.v[2].cookie, 2);
    ck_assert_uint_eq(plan.flows.v[3].cookie, 1);
    ck_assert_str_eq(plan_flow_string(&plan, &plan.flows.v[3]),
                     "cookie=0x1,table=1,priority=5,ip actions=drop");
    plan_init(&plan, u.arena, "n", "userspace");
    plan_finish(&plan);
    ck_assert_uint_eq(plan.flows.n, 0);
}
END_TEST

/* The masks that Open vSwitch makes of the flows' text. */
START_TEST(test_plan_counts)
{
    VEC(struct { uint8_t table; struct flow_wildcards wc; }) masks = VEC_INIT;
    struct plan plan;

    plan_init(&plan, u.arena, "n", "userspace");
    for (size_t i = 0; i < u.plan.flows.n; i++) {
        const char *text = plan_flow_string(&u.plan, flow_at(i));
        enum ofputil_protocol usable;
        struct ofputil_flow_mod fm;
        struct flow_wildcards wc;
        size_t j;

        if (flow_at(i)->table == TABLE_ADMIT
            || flow_at(i)->table == TABLE_OUTPUT) {
            continue;           /* Names ports that are not there. */
        }
        *vec_push(u.arena, &plan.flows) = *flow_at(i);
        char *error = parse_ofp_str(&fm, OFPFC_ADD, text, NULL, NULL,
                                    &usable);
        ck_assert_msg(!error, "%s: %s", text, error);
        minimask_expand(fm.match.mask, &wc);
        for (j = 0; j < masks.n; j++) {
            if (masks.v[j].table == fm.table_id
                && flow_wildcards_equal(&masks.v[j].wc, &wc)) {
                break;
            }
        }
        if (j == masks.n) {
            vec_push(u.arena, &masks);
            masks.v[j].table = fm.table_id;
            masks.v[j].wc = wc;
        }
        minimatch_destroy(&fm.match);
        free(fm.ofpacts);
    }

    struct plan_counts counts = plan_count(&plan);
    ck_assert_uint_eq(counts.flows, plan.flows.n);
    ck_assert_uint_eq(counts.masks, masks.n);
    ck_assert_uint_eq(counts.conjunctions, 0);
    ck_assert_uint_eq(plan_count(&u.plan).masks, masks.n + 4);
    ck_assert_uint_eq(plan_count(&u.plan).meters, 3);
}
END_TEST

START_TEST(test_plan_write)
{
    static const char *const names[] = {
        "flows.txt", "meters.txt", "ovs-vsctl.sh", "manifest.json",
    };
    char parent[] = "/tmp/bulkhead-unit.XXXXXX";
    const struct source *source;

    ck_assert_ptr_nonnull(mkdtemp(parent));
    const char *dir = arena_printf(u.arena, "%s/made", parent);
    ck_assert_ptr_null(plan_write(&u.plan, dir));
    ck_assert_ptr_null(plan_write(&u.plan, dir));       /* Replaces. */
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *path = arena_printf(u.arena, "%s/%s", dir, names[i]);

        ck_assert_ptr_null(source_read(u.arena, path, &source));
        ck_assert_uint_gt(source->len, 80);
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(rmdir(dir), 0);                    /* Nothing else. */

    const char *error = plan_write(&u.plan, arena_printf(u.arena, "%s/a/b",
                                                         parent));
    ck_assert_ptr_nonnull(error);
    ck_assert_ptr_nonnull(strstr(error, "No such file or directory"));
    ck_assert_int_eq(rmdir(parent), 0);
}
END_TEST

Suite *
openflow_suite(void)
{
    Suite *suite = suite_create("openflow");
    TCase *tc = unit_case(suite, "flows");

    tcase_add_checked_fixture(tc, compile_world, destroy_world);
    tcase_add_test(tc, test_every_table_drops);
    tcase_add_test(tc, test_forward_only);
    tcase_add_test(tc, test_no_way_round);
    tcase_add_test(tc, test_meters_and_flows_agree);
    tcase_add_test(tc, test_rates);
    tcase_add_test(tc, test_cookies);
    tcase_add_test(tc, test_deny_beats_allow);
    tcase_add_test(tc, test_symmetric_services);
    tcase_add_test(tc, test_only_this_node);
    tcase_add_test(tc, test_order_never_matters);
    tcase_add_test(tc, test_a_tenant_changes_alone);
    tc = unit_case(suite, "plan");
    tcase_add_checked_fixture(tc, compile_world, destroy_world);
    tcase_add_test(tc, test_plan_sorts_and_merges);
    tcase_add_test(tc, test_plan_counts);
    tcase_add_test(tc, test_plan_write);
    return suite;
}
