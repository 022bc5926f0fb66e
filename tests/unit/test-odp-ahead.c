/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "odp-ahead.h"

#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "unit.h"

/* Where the actions after a meter would have sent a packet. */

#define TUNNEL                                                          \
    "tnl_push(tnl_port(4789),header(size=50,type=4,"                    \
    "eth(dst=f8:bc:12:44:34:b6,src=f8:bc:12:46:58:e0,dl_type=0x0800),"  \
    "ipv4(src=1.1.2.88,dst=1.1.2.92,proto=17,tos=0,ttl=64,frag=0x4000)," \
    "udp(src=0,dst=4789,csum=0x0),vxlan(flags=0x8000000,vni=0x1c7)),"   \
    "out_port(1))"
enum { NONE = -1, PRIORITY = 5 };       /* Of the packet. */

/* Meter 7 drops the packet. */
static const struct {
    const char *actions;
    int port;
    uint32_t priority;
} rows[] = {
    { "meter(7)", NONE, PRIORITY },
    { "meter(7),3", 3, PRIORITY },
    { "3,meter(7),4", 4, PRIORITY },
    { "set(skb_priority(2)),meter(7),4", 4, PRIORITY },
    { "meter(7),set(skb_priority(2)),3,set(skb_priority(1)),4", 3, 2 },
    { "meter(7),set(skb_priority(0x20/0xf0)),3", 3, 0x25 },
    { "meter(7),set(skb_priority(8/8)),set(skb_priority(2/2)),3", 3, 15 },
    { "meter(7),set(skb_priority(8/8)),set(skb_priority(0/1)),3", 3, 12 },
    { "meter(7),set(skb_mark(9)),push_vlan(vid=5,pcp=0),meter(8),pop_vlan,3",
      3, PRIORITY },
    { "meter(7),trunc(100),userspace(pid=1),3", 3, PRIORITY },
    { "meter(7),ct(commit),3", 3, PRIORITY },
    { "meter(7),set(skb_priority(2)),ct(commit),recirc(1)", NONE, PRIORITY },
    { "meter(7),set(skb_priority(2)),recirc(1),3", NONE, PRIORITY },
    { "meter(7),lb_output(1),3", NONE, PRIORITY },
    { "meter(7),tnl_pop(4),3", NONE, PRIORITY },
    { "meter(7),check_pkt_len(size=200,gt(4),le(5)),3", NONE, PRIORITY },
    { "meter(7),clone(set(skb_priority(2)),3),4", 3, 2 },
    { "meter(7),clone(set(skb_priority(2)),meter(8)),4", 4, PRIORITY },
    { "meter(7),clone(set(skb_priority(2)),recirc(1)),4", NONE, PRIORITY },
    { "meter(7),clone(clone(3)),4", 3, PRIORITY },
    { "meter(7),set(skb_priority(2)),clone(" TUNNEL ",3),4", 3, 2 },
    { "meter(7),sample(sample=50.0%,actions(3)),4", 4, PRIORITY },
    { "clone(set(skb_priority(2)),meter(7),3),4", 3, PRIORITY },
    { "clone(meter(7)),4", NONE, PRIORITY },
    { "3,clone(4,clone(5,meter(7),6),8)", 6, PRIORITY },
    { "sample(sample=50.0%,actions(meter(7),set(skb_priority(2)),3)),4", 3,
      2 },
    { "check_pkt_len(size=200,gt(meter(8),4),le(meter(7),5)),6", 5,
      PRIORITY },
};

/* Finds meter 7, however deep. */
static const struct nlattr *
find_meter(const struct nlattr *actions, size_t size)
{
    const struct nlattr *a, *found = NULL;
    size_t left;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, size) {
        bool nests = (nl_attr_type(a) == OVS_ACTION_ATTR_CLONE
                      || nl_attr_type(a) == OVS_ACTION_ATTR_SAMPLE
                      || nl_attr_type(a) == OVS_ACTION_ATTR_CHECK_PKT_LEN);
        const struct nlattr *b;
        size_t rest;

        if (nl_attr_type(a) == OVS_ACTION_ATTR_METER
            && nl_attr_get_u32(a) == 7) {
            return a;
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_CLONE) {
            found = found ? found : find_meter(nl_attr_get(a),
                                               nl_attr_get_size(a));
        } else if (nests) {
            NL_ATTR_FOR_EACH_UNSAFE (b, rest, nl_attr_get(a),
                                     nl_attr_get_size(a)) {
                if (!found && nl_attr_get_size(b) > 4) {
                    found = find_meter(nl_attr_get(b), nl_attr_get_size(b));
                }
            }
        }
    }
    return found;
}

START_TEST(test_rows)
{
    const struct nlattr *meter;
    struct odp_ahead ahead;
    struct ofpbuf actions;

    ofpbuf_init(&actions, 256);
    ck_assert_int_eq(odp_actions_from_string(rows[_i].actions, NULL,
                                             &actions), 0);
    meter = find_meter(actions.data, actions.size);
    ck_assert_ptr_nonnull(meter);
    odp_look_ahead(actions.data, actions.size, meter, &ahead);
    ck_assert_msg(odp_to_u32(ahead.port) == (rows[_i].port == NONE
                                             ? odp_to_u32(ODPP_NONE)
                                             : (uint32_t) rows[_i].port),
                  "%s: port %"PRIu32, rows[_i].actions,
                  odp_to_u32(ahead.port));
    ck_assert_msg(odp_ahead_priority(&ahead, PRIORITY) == rows[_i].priority,
                  "%s: priority %"PRIu32, rows[_i].actions,
                  odp_ahead_priority(&ahead, PRIORITY));
    ofpbuf_uninit(&actions);
}
END_TEST

/* What was found of others' actions is not taken for what these do. */
START_TEST(test_memo)
{
    static struct odp_ahead_memos memos;
    size_t n_known = 0;

    memset(&memos, 0, sizeof memos);
    for (size_t i = 0; i < 3 * ARRAY_SIZE(rows); i++) {
        const char *text = rows[i % ARRAY_SIZE(rows)].actions;
        const struct nlattr *meter;
        struct odp_ahead_memo *memo;
        struct odp_ahead ahead;
        struct ofpbuf actions;
        bool known;

        ofpbuf_init(&actions, 256);
        ck_assert_int_eq(odp_actions_from_string(text, NULL, &actions), 0);
        meter = find_meter(actions.data, actions.size);
        odp_look_ahead(actions.data, actions.size, meter, &ahead);
        known = odp_ahead_recall(&memos, actions.data, actions.size, meter,
                                 &memo);
        ck_assert_msg(!memcmp(&memo->ahead, &ahead, sizeof ahead), "%s",
                      text);
        ck_assert(known || !memo->aux);
        n_known += known;
        ck_assert_int_eq(odp_ahead_recall(&memos, actions.data, actions.size,
                                          meter, &memo),
                         memo != &memos.other);
        ofpbuf_uninit(&actions);
    }
    ck_assert_uint_gt(n_known, 2);
}
END_TEST

/* Adds 'meter', 'n' actions that change nothing here, and an output to
 * 'port'. */
static void
put_actions(struct ofpbuf *actions, uint32_t meter, size_t n, uint32_t port)
{
    ofpbuf_init(actions, 256);
    nl_msg_put_u32(actions, OVS_ACTION_ATTR_METER, meter);
    for (size_t i = 0; i < n; i++) {
        nl_msg_put_flag(actions, OVS_ACTION_ATTR_POP_VLAN);
    }
    nl_msg_put_odp_port(actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(port));
}

/* Is it known what 'n' actions and an output to 'port' do after 'meter'? */
static bool
recall(struct odp_ahead_memos *memos, uint32_t meter, size_t n, uint32_t port)
{
    struct odp_ahead_memo *memo;
    struct ofpbuf actions;
    bool known;

    put_actions(&actions, meter, n, port);
    known = odp_ahead_recall(memos, actions.data, actions.size, actions.data,
                             &memo);
    ck_assert_uint_eq(odp_to_u32(memo->ahead.port), port);
    ck_assert_int_eq(known, memo->aux != NULL);
    memo->aux = memos;
    ofpbuf_uninit(&actions);
    return known;
}

/* The same bytes follow a meter in a list of its own, which ends before. */
static void
check_nested(struct odp_ahead_memos *memos, uint32_t port)
{
    struct odp_ahead_memo *memo;
    struct ofpbuf actions;
    size_t clone;

    ofpbuf_init(&actions, 256);
    clone = nl_msg_start_nested(&actions, OVS_ACTION_ATTR_CLONE);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_METER, 7);
    nl_msg_end_nested(&actions, clone);
    nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(port));
    ck_assert(!odp_ahead_recall(memos, actions.data, actions.size,
                                find_meter(actions.data, actions.size),
                                &memo));
    ck_assert(memo->ahead.port == ODPP_NONE);
    ofpbuf_uninit(&actions);
}

/* Nor is another action known that differs in its first word alone. */
static void
check_recirc(struct odp_ahead_memos *memos, uint32_t port)
{
    struct odp_ahead_memo *memo;
    struct ofpbuf actions;

    ofpbuf_init(&actions, 256);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_METER, 7);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_RECIRC, port);
    ck_assert(!odp_ahead_recall(memos, actions.data, actions.size,
                                actions.data, &memo));
    ck_assert(memo->ahead.port == ODPP_NONE);
    ofpbuf_uninit(&actions);
}

/* What is kept is known again, whichever meter it follows. */
START_TEST(test_known)
{
    static struct odp_ahead_memos memos;

    memset(&memos, 0, sizeof memos);
    ck_assert(!recall(&memos, 7, 0, 3));
    ck_assert(recall(&memos, 7, 0, 3));
    ck_assert(recall(&memos, 8, 0, 3));
    ck_assert(!recall(&memos, 8, 0, 4));
    ck_assert(recall(&memos, 7, 0, 3));
    check_nested(&memos, 3);
    check_recirc(&memos, 3);

    /* In the same place. */
    ck_assert(!recall(&memos, 7, 0, 3 + ODP_AHEAD_MEMOS));
    ck_assert(!recall(&memos, 7, 0, 3));

    /* The longest that is kept, and one that is not. */
    ck_assert(!recall(&memos, 7, 14, 5));
    ck_assert(recall(&memos, 7, 14, 5));
    ck_assert(!recall(&memos, 7, 15, 5));
    ck_assert(!recall(&memos, 7, 15, 5));
    ck_assert(recall(&memos, 7, 14, 5));
}
END_TEST

/* No text stands for this action. */
START_TEST(test_drop)
{
    struct odp_ahead ahead;
    struct ofpbuf actions;

    ofpbuf_init(&actions, 256);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_METER, 7);
    nl_msg_put_u32(&actions, OVS_ACTION_ATTR_DROP, 0);
    nl_msg_put_odp_port(&actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(3));
    odp_look_ahead(actions.data, actions.size, actions.data, &ahead);
    ck_assert(ahead.port == ODPP_NONE);
    ofpbuf_uninit(&actions);
}
END_TEST

Suite *
odp_ahead_suite(void)
{
    Suite *suite = suite_create("odp-ahead");
    TCase *tc = unit_case(suite, "actions");

    tcase_add_loop_test(tc, test_rows, 0, ARRAY_SIZE(rows));
    tcase_add_test(tc, test_memo);
    tcase_add_test(tc, test_known);
    tcase_add_test(tc, test_drop);
    return suite;
}
