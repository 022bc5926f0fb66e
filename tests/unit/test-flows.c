/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-port.h"
#include "push/flows.h"
#include "sema/ident.h"
#include "unit.h"

/* A plan of the flows that a test names, and the state that it becomes. */
static struct unit u;
static struct ofputil_port_map ports;
static struct switch_state state;

static void
set_up(void)
{
    unit_init(&u);
    plan_init(&u.plan, u.arena, "n", "userspace");
    ofputil_port_map_init(&ports);
    switch_state_init(&state);
}

static void
tear_down(void)
{
    switch_state_destroy(&state);
    ofputil_port_map_destroy(&ports);
    unit_destroy(&u);
}

/* All ports of the plan, from port 1. */
static void
number_ports(void)
{
    for (size_t i = 0; i < u.plan.ports.n; i++) {
        ofputil_port_map_put(&ports, u16_to_ofp(i + 1),
                             u.plan.ports.v[i].interface);
    }
}

START_TEST(test_every_flow_parses)
{
    const struct source *source = unit_example(u.arena, "ai-cluster");

    unit_compile_raw(&u, source->text, source->len, "gpu-node-1");
    number_ports();
    const char *error = plan_to_flows(&u.plan, &ports, &state);
    ck_assert_msg(!error, "%s", error);
    /* No two have the same key: a switch would keep one of them. */
    ck_assert_uint_eq(hmap_count(&state.flows), u.plan.flows.n);

    struct flow_entry *flow, *other;
    HMAP_FOR_EACH (flow, node, &state.flows) {
        size_t n = 0;

        ck_assert(flow_is_ours(flow));
        ck_assert_ptr_nonnull(flow->text);
        HMAP_FOR_EACH_WITH_HASH (other, node, flow->node.hash,
                                 &state.flows) {
            n += (other->table == flow->table
                  && other->priority == flow->priority
                  && minimatch_equal(&other->match, &flow->match));
        }
        ck_assert_msg(n == 1, "stands %zu times: %s", n, flow->text);
    }
}
END_TEST

START_TEST(test_ports_are_resolved)
{
    plan_add_flow(&u.plan, 0, 1, COOKIE_MARK | 1, "in_port=\"eth7\"",
                  "output:\"eth7\"");
    plan_finish(&u.plan);
    const char *error = plan_to_flows(&u.plan, &ports, &state);
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error, "eth7"), "%s", error);

    switch_state_destroy(&state);
    switch_state_init(&state);
    ofputil_port_map_put(&ports, u16_to_ofp(42), "eth7");
    ck_assert_ptr_null(plan_to_flows(&u.plan, &ports, &state));

    struct flow_entry *flow
        = CONTAINER_OF(hmap_first(&state.flows), struct flow_entry, node);
    struct match match;
    minimatch_expand(&flow->match, &match);
    ck_assert_uint_eq(ofp_to_u16(match.flow.in_port.ofp_port), 42);
    ck_assert_uint_eq(ofp_to_u16(ofpact_get_OUTPUT(flow->ofpacts)->port), 42);
}
END_TEST

/* As many as several threads parse: none is lost, and of those that cannot be
 * parsed the first is told. */
START_TEST(test_many_flows)
{
    enum { N = 5003 };
    const char *error;

    for (unsigned int i = 0; i < N; i++) {
        plan_add_flow(&u.plan, 0, N - i, COOKIE_MARK | i,
                      arena_printf(u.arena, "ip,nw_dst=10.0.%u.%u", i / 256,
                                   i % 256), "drop");
    }
    plan_finish(&u.plan);
    error = plan_to_flows(&u.plan, &ports, &state);
    ck_assert_msg(!error, "%s", error);
    ck_assert_uint_eq(hmap_count(&state.flows), N);

    u.plan.flows.v[4100].actions = "none";
    u.plan.flows.v[2200].actions = "meter:x";
    switch_state_destroy(&state);
    switch_state_init(&state);
    error = plan_to_flows(&u.plan, &ports, &state);
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error, "meter:x"), "%s", error);
}
END_TEST

START_TEST(test_bad_flows)
{
    static const char *const bad[][2] = {
        { "nonsense", "drop" },
        { "ip", "goto_table:0" },       /* Backwards. */
        { "ip", "meter:x" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct plan plan;

        plan_init(&plan, u.arena, "n", "userspace");
        plan_add_flow(&plan, 3, 1, 1, bad[i][0], bad[i][1]);
        plan_finish(&plan);
        const char *error = plan_to_flows(&plan, &ports, &state);
        ck_assert_msg(error, "%s actions=%s was taken", bad[i][0], bad[i][1]);
        ck_assert_msg(strstr(error, bad[i][0]), "%s", error);
    }
}
END_TEST

/* The only flow of a state of its own. */
static struct flow_entry *
make_flow(struct switch_state *s, int table, int priority, uint64_t cookie,
          const char *match, const char *actions)
{
    struct plan plan;

    switch_state_init(s);
    plan_init(&plan, u.arena, "n", "userspace");
    plan_add_flow(&plan, table, priority, cookie, match, actions);
    plan_finish(&plan);
    const char *error = plan_to_flows(&plan, &ports, s);
    ck_assert_msg(!error, "%s", error);
    return CONTAINER_OF(hmap_first(&s->flows), struct flow_entry, node);
}

START_TEST(test_find)
{
    static const struct {
        int table, priority;
        const char *match;
        bool found;
    } cases[] = {
        { 3, 7, "tcp,tp_dst=80,nw_src=10.0.0.1", true },
        { 3, 7, "ip,nw_proto=6,nw_src=10.0.0.1,tcp,tp_dst=80", true },
        { 4, 7, "tcp,tp_dst=80,nw_src=10.0.0.1", false },
        { 3, 8, "tcp,tp_dst=80,nw_src=10.0.0.1", false },
        { 3, 7, "tcp,tp_dst=81,nw_src=10.0.0.1", false },
        { 3, 7, "tcp,tp_dst=80,nw_src=10.0.0.0/31", false },
        { 3, 7, "tcp,tp_dst=80", false },
        { 3, 7, "", false },
    };
    struct switch_state other;

    plan_add_flow(&u.plan, 3, 7, 1, "tcp,nw_src=10.0.0.1,tp_dst=80", "drop");
    for (int i = 0; i < 100; i++) {
        plan_add_flow(&u.plan, 3, 7, 1,
                      arena_printf(u.arena, "udp,tp_dst=%d", i), "drop");
    }
    plan_finish(&u.plan);
    ck_assert_ptr_null(plan_to_flows(&u.plan, &ports, &state));

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct flow_entry *key = make_flow(&other, cases[i].table,
                                           cases[i].priority, 99,
                                           cases[i].match, "in_port");
        struct flow_entry *found = flow_find(&state, key);

        ck_assert_msg((found != NULL) == cases[i].found, "%s",
                      cases[i].match);
        if (found) {
            ck_assert_uint_eq(found->cookie, 1);
        }
        switch_state_destroy(&other);
    }
}
END_TEST

static bool
same(uint64_t cookie, const char *actions)
{
    struct switch_state a, b;
    struct flow_entry *x = make_flow(&a, 1, 1, 5, "ip",
                                     "set_field:1->reg0,goto_table:2");
    struct flow_entry *y = make_flow(&b, 1, 1, cookie, "ip", actions);
    bool result = flow_same(x, y);

    ck_assert(flow_same(y, x) == result);
    switch_state_destroy(&a);
    switch_state_destroy(&b);
    return result;
}

START_TEST(test_same)
{
    ck_assert(same(5, "set_field:1->reg0,goto_table:2"));
    ck_assert(!same(6, "set_field:1->reg0,goto_table:2"));
    ck_assert(!same(5, "set_field:2->reg0,goto_table:2"));
    ck_assert(!same(5, "set_field:1->reg0,goto_table:3"));
    ck_assert(!same(5, "set_field:1->reg1,goto_table:2"));
    ck_assert(!same(5, "goto_table:2"));
    ck_assert(!same(5, "drop"));
}
END_TEST

START_TEST(test_is_ours)
{
    struct flow_entry flow = { .cookie = COOKIE_MARK | 0x123456 };

    ck_assert(flow_is_ours(&flow));
    flow.cookie ^= UINT64_C(1) << 48;
    ck_assert(!flow_is_ours(&flow));
    flow.cookie = 0;
    ck_assert(!flow_is_ours(&flow));
}
END_TEST

static uint32_t
meter_called(const char *match)
{
    struct switch_state other;
    struct flow_entry *key = make_flow(&other, 1, 1, 0, match, "drop");
    struct flow_entry *flow = flow_find(&state, key);
    const struct ofpact *a;
    uint32_t id = 0;

    ck_assert_ptr_nonnull(flow);
    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_METER) {
            id = ofpact_get_METER(a)->meter_id;
        }
    }
    switch_state_destroy(&other);
    return id;
}

START_TEST(test_renumber)
{
    static struct ovs_list changed;     /* Flows outlive the test. */

    ovs_list_init(&changed);
    plan_add_flow(&u.plan, 1, 1, 1, "ip", "meter:10,goto_table:2");
    plan_add_flow(&u.plan, 1, 1, 1, "ipv6", "meter:20,goto_table:2");
    plan_add_flow(&u.plan, 1, 1, 1, "arp", "meter:40,goto_table:2");
    plan_add_flow(&u.plan, 1, 1, 1, "tcp", "goto_table:2");
    plan_finish(&u.plan);
    ck_assert_ptr_null(plan_to_flows(&u.plan, &ports, &state));

    flows_set_meter(&state, 10, 20, &changed);
    flows_set_meter(&state, 20, 30, &changed);
    flows_set_meter(&state, 40, 40, &changed);
    ck_assert_uint_eq(ovs_list_size(&changed), 2);
    ck_assert_uint_eq(meter_called("ip"), 20);      /* Once, not on to 30. */
    ck_assert_uint_eq(meter_called("ipv6"), 30);
    ck_assert_uint_eq(meter_called("arp"), 40);
    ck_assert_uint_eq(meter_called("tcp"), 0);
}
END_TEST

Suite *
flows_suite(void)
{
    Suite *suite = suite_create("flows");
    TCase *tc = unit_case(suite, "flows");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_every_flow_parses);
    tcase_add_test(tc, test_ports_are_resolved);
    tcase_add_test(tc, test_many_flows);
    tcase_add_test(tc, test_bad_flows);
    tcase_add_test(tc, test_find);
    tcase_add_test(tc, test_same);
    tcase_add_test(tc, test_is_ours);
    tcase_add_test(tc, test_renumber);
    return suite;
}
