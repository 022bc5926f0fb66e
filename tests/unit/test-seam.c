/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/openflow/pipeline.h"
#include "proving.h"
#include "resident/prove.h"
#include "util.h"
#include "verify/field.h"
#include "verify/seam.h"

/* Proofs of what POLICY decides (verify/seam.h); tests/verify/changes draws
 * what is chosen here. */

static struct proving t;

/* A tenant of five endpoints with these rules. */
static const char *
tenant(struct arena *arena, const char *mac, const char *rules)
{
    return arena_printf(
        arena, "'t': {'networks': {'net': {'vni': 1, 'subnets': "
        "['10.1.0.0/16', 'fd00:1::/64'], "
        "'gateway': ['10.1.0.1', 'fd00:1::1']}}, 'endpoints': {"
        ENDPOINT("a", 1, 10, "a") ", " ENDPOINT("b", 1, 11, "b") ", "
        "'c': {'network': 'net', 'node': 'n1', 'interface': 'c',"
        "'mac': '%s', 'addresses': ['10.1.0.12', 'fd00:1::12'],"
        "'labels': {'role': 'c'}},"
        "'d': {'network': 'net', 'node': 'n1', 'interface': 'd',"
        "'mac': '02:00:00:00:01:99', 'addresses': "
        "['10.1.0.13', 'fd00:1::13'], 'labels': {'role': 'd'}},"
        ENDPOINT("e", 1, 14, "e") "},"
        "'rules': [%s]}", mac, rules);
}

#define MAC "02:00:00:00:01:12"
#define FROM_A(TO) "'from': {'endpoint': 'a'}, 'to': {'endpoint': '" TO "'}"
#define ONE "{'name': 'one', " FROM_A("b") ", 'service': 'web'," \
            " 'class': 'gold'}"
#define PLAIN(ACTION) "{'name': 'one', " FROM_A("b") ", 'service': 'web'," \
                      " 'action': '" ACTION "'}"
#define TWO ", {'name': 'two', " FROM_A("c") ", 'service': 'web'," \
            " 'class': 'gold'}"
#define DENY_SIX ", {'name': 'six', 'from': {'endpoint': 'c'}," \
                 " 'to': {'endpoint': 'd'}, 'service': 'ssh'," \
                 " 'action': 'deny'}"
#define RDMA ", {'name': 'rdma', " FROM_A("c") ", 'service': 'rocev2'," \
             " 'class': 'gold'}"
/* That 'c' and 'd' are not alike. */
#define ZERO ", {'name': 'zero', 'from': {'endpoint': 'd'}," \
             " 'to': {'endpoint': 'c'}, 'service': 'web'," \
             " 'class': 'gold'}"
/* The same, and 'c' gets nothing. */
#define NO_C ", {'name': 'no', 'from': {'endpoint': 'd'}," \
             " 'to': {'endpoint': 'c'}, 'service': 'web'," \
             " 'action': 'deny'}"
#define REPLY "{'name': 'one', " FROM_A("b") ", 'service': 'web'," \
              " 'class': 'gold', 'reply_class': 'silver'}"
#define DENY ", {'name': 'two', " FROM_A("b") ", 'service': 'ssh'," \
             " 'action': 'deny'}"

/* A flow of 'table' that is about the number. */
static bool
is_about(const struct plan_flow *flow, int table, const char *what)
{
    return flow->table == table && (strstr(flow->match, what)
                                    || strstr(flow->actions, what));
}

/* Of the tenant. */
static void
begin(const char *rules, void (*spoil)(struct plan *))
{
    struct arena *arena = arena_create();

    proving_begin(&t, arena_printf(
        arena, "{" FABRIC ", " CLASSES ", 'services': {"
        "'web': {'protocol': 'tcp', 'ports': [443]}}, 'tenants': {%s}}",
        tenant(arena, MAC, rules)), spoil);
    arena_destroy(arena);
}

/* That POLICY does with all of the tenant's what the plan's strongest flow of
 * table 15 that does not drop does. */
static struct plan_flow
leak(void)
{
    const char *number = NULL;
    struct plan_flow leak = { .priority = 0 };
    struct plan plan;

    resident_plan(t.resident, &plan, t.u.arena);
    for (size_t i = 0; i < plan.flows.n; i++) {
        const struct plan_flow *flow = &plan.flows.v[i];

        if (is_about(flow, TABLE_ADMIT, "->reg0")) {
            number = strstr(flow->actions, "set_field:0x");
        } else if (flow->table == TABLE_POLICY
                   && strcmp(flow->actions, "drop")) {
            leak = *flow;
        }
    }
    ck_assert(number && leak.priority);
    number += strlen("set_field:");
    leak.match = arena_printf(t.u.arena, "reg11=%.*s",
                              (int) strcspn(number, "-"), number);
    leak.priority = 1000;
    return leak;
}

static void
add_leak(struct proving *t_ OVS_UNUSED, struct arena *arena,
         struct resident_diff *diff)
{
    struct plan_flow *extra = arena_zalloc(arena, sizeof *extra);

    *extra = leak();
    *vec_push(arena, &diff->added) = extra;
}

static void
forget_added(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
             struct resident_diff *diff)
{
    diff->added.n = 0;
}

/* As long as the test runs. */
static const char *
text(const char *mac, const char *rules)
{
    return tenant(t.u.arena, mac, rules);
}

/* In this process, or by another. */
static void
prepare(bool apart)
{
    const char *said;
    size_t n;

    if (!apart) {
        proving_prepare(&t);
        return;
    }
    said = proving_prepare_apart(&t, "t", &n);
    proved_take(t.proved, "t", said, n);
    ck_assert(!proved_take(t.proved, "t", said, n));    /* It has one. */
}

static void
assert_by(const char *tenant_, enum proving_by by)
{
    ck_assert_int_eq(proving_change(&t, tenant_, NULL), by);
}

START_TEST(test_decided)
{
    begin(ONE ZERO, NULL);
    prepare(_i);
    assert_by(text(MAC, ONE ZERO TWO), BY_DECISIONS);
    assert_by(text(MAC, ONE ZERO DENY), BY_DECISIONS);
    assert_by(text(MAC, ONE ZERO DENY_SIX), BY_DECISIONS);
    assert_by(text(MAC, ONE ZERO RDMA), BY_DECISIONS);
    assert_by(text(MAC, ONE ZERO), BY_DECISIONS);
    proving_end(&t);
}
END_TEST

/* Replies by another class than what they reply to. */
START_TEST(test_replies)
{
    begin(REPLY, NULL);
    prepare(_i);
    assert_by(text(MAC, REPLY DENY), BY_DECISIONS);
    assert_by(text(MAC, REPLY), BY_DECISIONS);
    assert_by(text(MAC, ONE), BY_ALL);        /* By no such outcome. */
    proving_end(&t);
}
END_TEST

/* What is not prepared, and what is no longer so. */
START_TEST(test_no_seam)
{
    static const char other[] = "02:00:00:00:01:13";

    begin(ONE ZERO, NULL);
    assert_by(text(MAC, ONE ZERO TWO), BY_PACKETS);
    prepare(_i);
    assert_by(text(MAC, ONE ZERO), BY_DECISIONS);
    assert_by(text(other, ONE ZERO), BY_ALL);
    assert_by(text(other, ONE ZERO TWO), BY_PACKETS);
    prepare(_i);
    assert_by(text(other, ONE ZERO), BY_DECISIONS);
    proving_end(&t);
}
END_TEST

/* A tenant that nothing is allowed has none, until something is. */
START_TEST(test_nothing_allowed)
{
    begin(PLAIN("deny") NO_C, NULL);
    prepare(_i);
    assert_by(text(MAC, PLAIN("allow") NO_C), BY_ALL);
    prepare(_i);
    assert_by(text(MAC, PLAIN("allow") NO_C DENY), BY_DECISIONS);
    proving_end(&t);
}
END_TEST

/* Of a rule that comes no flow does. */
START_TEST(test_forgotten)
{
    begin(ONE ZERO TWO, NULL);
    prepare(_i);
    ck_assert_int_eq(proving_change(&t, text(MAC, ONE ZERO DENY),
                                    forget_added), BY_NOTHING);
    proving_end(&t);
}
END_TEST

/* POLICY looked at no tenant's number, and does now. */
START_TEST(test_looks_at_more)
{
    begin(ONE ZERO TWO, NULL);
    prepare(_i);
    ck_assert_int_eq(proving_change(&t, text(MAC, ONE ZERO), add_leak),
                     BY_NOTHING);
    proving_end(&t);
}
END_TEST

static void
lose_port(struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->flows.n; i++) {
        if (!is_about(&plan->flows.v[i], TABLE_OUTPUT, "output:\"c\"")) {
            plan->flows.v[n++] = plan->flows.v[i];
        }
    }
    ck_assert_uint_eq(n + 1, plan->flows.n);
    plan->flows.n = n;
}

/* No rule lets 'c' get anything, so nobody sees that its port is lost, until
 * one does: then POLICY is right, and the tables are not. */
START_TEST(test_hidden)
{
    begin(ONE NO_C, lose_port);
    prepare(_i);
    assert_by(text(MAC, ONE NO_C TWO), BY_NOTHING);
    proving_end(&t);
}
END_TEST

/* What the class does bears the cookie of the one rule that has it. */
static void
claim_class(struct plan *plan)
{
    uint64_t cookie = 0;
    size_t n = 0;

    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];

        if (flow->table == TABLE_POLICY && strcmp(flow->actions, "drop")) {
            cookie = flow->cookie;
        }
    }
    for (size_t i = 0; i < plan->flows.n; i++) {
        if (is_about(&plan->flows.v[i], TABLE_CLASS, "reg5=0x8000052e")) {
            plan->flows.v[i].cookie = cookie;
            n++;
        }
    }
    ck_assert(cookie && n);
}

/* So nothing shows it until another has that class. */
START_TEST(test_cookie)
{
    begin(ONE NO_C, claim_class);
    prepare(_i);
    assert_by(text(MAC, ONE NO_C TWO), BY_NOTHING);
    proving_end(&t);
}
END_TEST

/* What is for 'd' goes by another number than what it sends. */
static void
number_otherwise(struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->flows.n; i++) {
        struct plan_flow *flow = &plan->flows.v[i];
        char *actions, *group;

        if ((flow->table != TABLE_ROUTE && flow->table != TABLE_GATEWAY)
            || !(strstr(flow->match, "10.1.0.13")
                 || strstr(flow->match, "fd00:1::13"))) {
            continue;
        }
        actions = arena_strdup(plan->arena, flow->actions);
        group = strstr(actions, "->reg14");
        ck_assert_ptr_nonnull(group);
        group[-1] = group[-1] == '1' ? '2' : '1';
        flow->actions = actions;
        n++;
    }
    ck_assert_uint_gt(n, 0);
}

/* No rule is about 'c', 'd' and 'e', which are alike: what 'd' sends could be
 * told by the first and the last. */
START_TEST(test_numbers)
{
    begin(ONE, number_otherwise);
    prepare(_i);
    assert_by(text(MAC, ONE DENY), BY_PACKETS);
    proving_end(&t);
}
END_TEST

/* What another process says is not taken once anything has changed. */
START_TEST(test_stale)
{
    const char *said, *later;
    size_t n, n_later;

    begin(ONE ZERO, NULL);
    said = proving_prepare_apart(&t, "t", &n);
    assert_by(text(MAC, ONE ZERO TWO), BY_PACKETS);
    ck_assert(!proved_take(t.proved, "t", said, n));
    assert_by(text(MAC, ONE ZERO), BY_PACKETS);
    ck_assert(!proved_take(t.proved, "t", said, n));
    later = proving_prepare_apart(&t, "t", &n_later);
    ck_assert(!proved_take(t.proved, "t", later, n_later - 1));
    ck_assert(!proved_take(t.proved, "t", "", 0));
    ck_assert(!proved_take(t.proved, "u", later, n_later));
    ck_assert(proved_take(t.proved, "t", later, n_later));
    assert_by(text(MAC, ONE ZERO TWO), BY_DECISIONS);
    proving_end(&t);
}
END_TEST

/* Of two questions, an endpoint, a view of a protocol and a field, and an
 * outcome. */
#define TERM(F, VALUE, KNOWN, PIECES) \
    F " 0 " VALUE " 0 " KNOWN " " PIECES " "
#define PROTO TERM("%1$x", "6", "ff", "0")
#define PIECE(F, OFS, WIDTH, FROM, LESS) \
    F " " OFS " " WIDTH " " FROM " " LESS
#define SEAM(QUESTIONS, MATCHED, NUMBERS, ASKED, VIEWED, OUTCOMES) \
    QUESTIONS " " MATCHED " 0 " NUMBERS " 1 " ASKED " " VIEWED OUTCOMES " "
#define VIEWED(V) SEAM("2", "0", "1 3 t/a 7", "4", V, "1 1 4 gold 2 xy")
#define OF_PIECES(KNOWN, PIECES) \
    VIEWED("1 " TERM("%1$x", "0", KNOWN, PIECES))

static bool
is_seam(const char *format)
{
    const char *s = arena_printf(t.u.arena, format, F_NW_PROTO, F_REG8,
                                 N_FIELDS, F_TP_DST);
    struct seam *seam = seam_parse(s, strlen(s));

    seam_destroy(seam);
    return seam != NULL;
}

START_TEST(test_malformed)
{
    static const char *const right[] = {
        SEAM("2", "0", "0", "1", "0 ", "0"),
        SEAM("2", "1", "2 1 a 7 1 b 8", "4", "0 ", "2 1 0  0  0 0  1 x"),
        VIEWED("1 " PROTO), VIEWED("2 " PROTO PROTO),
        OF_PIECES("f0", "1 " PIECE("%1$x", "0", "4", "4", "0")),
        OF_PIECES("0", "2 " PIECE("%1$x", "4", "4", "0", "0") " "
                  PIECE("%4$x", "0", "4", "c", "0")),
        OF_PIECES("0", "1 " PIECE("%1$x", "0", "8", "0", "1")),
    };
    static const char *const wrong[] = {
        "", "2 ", VIEWED("1 " PROTO) " ", VIEWED("1 " PROTO) "0 ",
        "2,0 0 0 1 1 0 0 ", SEAM("41", "0", "0", "1", "0 ", "0"),
        SEAM("2", "", "0", "1", "0 ", "0"),
        SEAM("2", "0", "1 1 a 11111111111111111", "1", "0 ", "0"),
        SEAM("2", "ffffffffffffffff", "0", "1", "0 ", "0"),
        SEAM("2", "0", "2 1 a 7 1 a 8", "1", "0 ", "0"),
        SEAM("2", "0", "2 1 a 7", "1", "0 ", "0"),
        SEAM("2", "0", "ff 1 a 7", "1", "0 ", "0"),
        SEAM("2", "0", "1 ff a 7", "1", "0 ", "0"),
        SEAM("2", "0", "1 -1 a 7", "1", "0 ", "0"),
        SEAM("2", "0", "0", "0", "0 ", "0"),
        SEAM("2", "0", "0", "5", "0 ", "0"),
        SEAM("2", "0", "0", "1", "0 ", "1 2 4 gold 2 xy"),
        SEAM("2", "0", "0", "1", "0 ", "1 1 4 gold,2 xy"),
        SEAM("2", "0", "0", "1", "0 ", "1 1 4 gold 3 xy"),
        SEAM("2", "0", "0", "1", "0 ", "1 1 4 gold 1 xy"),
        VIEWED("b " PROTO PROTO PROTO PROTO PROTO PROTO PROTO PROTO PROTO
               PROTO PROTO),
        VIEWED("1 " TERM("%3$x", "0", "0", "0")),
        VIEWED("1 " TERM("%1$x", "6", "fe", "0")),
        VIEWED("1 " TERM("%1$x", "6", "1ff", "0")),
        OF_PIECES("f0", "1 " PIECE("%1$x", "0", "5", "0", "0")),
        OF_PIECES("f0", "1 " PIECE("%1$x", "0", "3", "0", "0")),
        OF_PIECES("f0", "1 " PIECE("%1$x", "0", "4", "5", "0")),
        OF_PIECES("f0", "1 " PIECE("%1$x", "0", "4", "0", "1")),
        OF_PIECES("f0", "1 " PIECE("%2$x", "0", "4", "0", "0")),
        OF_PIECES("f0", "1 " PIECE("%3$x", "0", "4", "0", "0")),
        OF_PIECES("ff", "1 " PIECE("%1$x", "8", "0", "0", "0")),
        OF_PIECES("ff", "1 " PIECE("%1$x", "0", "0", "0", "0")),
        VIEWED("1 " TERM("%1$x", "8", "f0", "1 " PIECE("%1$x", "0", "4", "0",
                                                      "0"))),
    };

    unit_init(&t.u);
    for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
        ck_assert_msg(is_seam(right[i]), "%s", right[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        ck_assert_msg(!is_seam(wrong[i]), "%s", wrong[i]);
    }
    ck_assert(is_seam("2 0 0 1 1 a 7 0 0 "));
    ck_assert_ptr_null(seam_parse("2 0 0 1 1 \0 7 0 0 ", 18));
    unit_destroy(&t.u);
}
END_TEST

/* All that begins as one does. */
START_TEST(test_cut_off)
{
    const char *said, *seam;
    size_t n;

    begin(ONE ZERO, NULL);
    said = proving_prepare_apart(&t, "t", &n);
    seam = strchr(said, ' ') + 1;
    n -= seam - said;
    for (size_t i = 0; i < n; i++) {
        ck_assert_ptr_null(seam_parse(seam, i));
    }
    seam_destroy(seam_parse(seam, n));
    proving_end(&t);
}
END_TEST

Suite *
seam_suite(void)
{
    Suite *suite = suite_create("seam");
    TCase *tc = unit_case(suite, "proofs of what is decided");

    tcase_add_loop_test(tc, test_decided, 0, 2);
    tcase_add_loop_test(tc, test_replies, 0, 2);
    tcase_add_loop_test(tc, test_no_seam, 0, 2);
    tcase_add_loop_test(tc, test_nothing_allowed, 0, 2);
    tcase_add_loop_test(tc, test_forgotten, 0, 2);
    tcase_add_loop_test(tc, test_looks_at_more, 0, 2);
    tcase_add_loop_test(tc, test_hidden, 0, 2);
    tcase_add_loop_test(tc, test_cookie, 0, 2);
    tcase_add_loop_test(tc, test_numbers, 0, 2);
    tcase_add_test(tc, test_stale);
    tcase_add_test(tc, test_malformed);
    tcase_add_test(tc, test_cut_off);
    return suite;
}
