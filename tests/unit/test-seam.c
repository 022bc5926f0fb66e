/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "backend/openflow/openflow.h"
#include "backend/openflow/pipeline.h"
#include "intent/files.h"
#include "resident/prove.h"
#include "resident/resident.h"
#include "unit.h"
#include "util.h"

/* Proofs of what POLICY decides (verify/seam.h); tests/verify/changes draws
 * what is chosen here. */

static struct unit u;
static struct resident *r;
static struct proved *p;

/* A tenant of five endpoints with these rules. */
static const char *
tenant(const char *mac, const char *rules)
{
    return arena_printf(
        u.arena, "'t': {'networks': {'net': {'vni': 1, 'subnets': "
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

/* Of the tenant, whose tables 'spoil' makes wrong, so that no packet shows it;
 * or nothing does, if that is NULL. */
static void
begin(const char *rules, void (*spoil)(struct plan *))
{
    struct plan plan;

    unit_init(&u);
    unit_resolve(&u, arena_printf(
        u.arena, "{" FABRIC ", " CLASSES ", 'services': {"
        "'web': {'protocol': 'tcp', 'ports': [443]}}, 'tenants': {%s}}",
        tenant(MAC, rules)));
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    r = resident_create(u.intent, "n1", &openflow_backend, &u.diags);
    ck_assert_msg(r != NULL, "%s", unit_diags(&u));
    resident_plan(r, &plan, u.arena);
    if (spoil) {
        spoil(&plan);
    }
    p = proved_create(u.policy, &plan);
    ck_assert_ptr_nonnull(p);
}

static void
prepare(void)
{
    while (proved_prepare(p, resident_intent(r, u.arena))) {
        continue;
    }
}

static void
end(void)
{
    proved_destroy(p);
    resident_destroy(r);
    unit_destroy(&u);
}

/* That POLICY does with all of the tenant's what the plan's strongest flow of
 * table 15 that does not drop does. */
static struct plan_flow
leak(void)
{
    const char *number = NULL;
    struct plan_flow leak = { .priority = 0 };
    struct plan plan;

    resident_plan(r, &plan, u.arena);
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
    leak.match = arena_printf(u.arena, "reg11=%.*s",
                              (int) strcspn(number, "-"), number);
    leak.priority = 1000;
    return leak;
}

/* What goes wrong with a change of tables. */
enum wrong { NOTHING, FORGETFUL, LEAKY };

/* By what it is proved. */
enum by { BY_NOTHING, BY_ALL, BY_PACKETS, BY_DECISIONS };

/* The tenant is another, which is proved. */
static enum by
change(const char *text_, enum wrong wrong)
{
    char *text = arena_printf(u.arena, "{'version': 1, 'tenants': {%s}}",
                              text_);
    struct arena *arena = arena_create();
    struct intent_file file;
    struct resident_diff diff;
    struct plan_flow extra;
    struct proved_count count;
    const struct intent *part, *whole;
    enum by by;

    for (char *c = text; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    file = (struct intent_file) {
        .source = source_create(arena, "part.json", text, strlen(text)),
    };
    part = intent_parse_tenants(&file, u.intent, arena, &u.diags);
    ck_assert(part && resident_put(r, &part->tenants.v[0], arena, &u.diags,
                                   &diff));
    ck_assert_uint_gt(diff.added.n + diff.changed.n + diff.deleted.n, 0);
    if (wrong == LEAKY) {
        extra = leak();
        *vec_push(arena, &diff.added) = &extra;
    } else if (wrong == FORGETFUL) {
        diff.added.n = 0;
    }
    whole = resident_intent(r, u.arena);
    proved_change(p, whole, &diff);
    proved_begin(p, whole);
    by = (!proved_prove_packets(p, 0, &count) ? BY_NOTHING
          : count.seam ? BY_DECISIONS : BY_PACKETS);
    if (!by && proved_prove(p, 0, &count)) {
        by = BY_ALL;
    }
    proved_end(p, by);
    return by;
}

static void
assert_by(const char *text, enum by by)
{
    ck_assert_int_eq(change(text, NOTHING), by);
}

START_TEST(test_decided)
{
    begin(ONE ZERO, NULL);
    prepare();
    assert_by(tenant(MAC, ONE ZERO TWO), BY_DECISIONS);
    assert_by(tenant(MAC, ONE ZERO DENY), BY_DECISIONS);
    assert_by(tenant(MAC, ONE ZERO DENY_SIX), BY_DECISIONS);
    assert_by(tenant(MAC, ONE ZERO RDMA), BY_DECISIONS);
    assert_by(tenant(MAC, ONE ZERO), BY_DECISIONS);
    end();
}
END_TEST

/* Replies by another class than what they reply to. */
START_TEST(test_replies)
{
    begin(REPLY, NULL);
    prepare();
    assert_by(tenant(MAC, REPLY DENY), BY_DECISIONS);
    assert_by(tenant(MAC, REPLY), BY_DECISIONS);
    assert_by(tenant(MAC, ONE), BY_ALL);        /* By no such outcome. */
    end();
}
END_TEST

/* What is not prepared, and what is no longer so. */
START_TEST(test_no_seam)
{
    static const char other[] = "02:00:00:00:01:13";

    begin(ONE ZERO, NULL);
    assert_by(tenant(MAC, ONE ZERO TWO), BY_PACKETS);
    prepare();
    assert_by(tenant(MAC, ONE ZERO), BY_DECISIONS);
    assert_by(tenant(other, ONE ZERO), BY_ALL);
    assert_by(tenant(other, ONE ZERO TWO), BY_PACKETS);
    prepare();
    assert_by(tenant(other, ONE ZERO), BY_DECISIONS);
    end();
}
END_TEST

/* A tenant that nothing is allowed has none, until something is. */
START_TEST(test_nothing_allowed)
{
    begin(PLAIN("deny") NO_C, NULL);
    prepare();
    assert_by(tenant(MAC, PLAIN("allow") NO_C), BY_ALL);
    prepare();
    assert_by(tenant(MAC, PLAIN("allow") NO_C DENY), BY_DECISIONS);
    end();
}
END_TEST

/* Of a rule that comes no flow does. */
START_TEST(test_forgotten)
{
    begin(ONE ZERO TWO, NULL);
    prepare();
    ck_assert_int_eq(change(tenant(MAC, ONE ZERO DENY), FORGETFUL),
                     BY_NOTHING);
    end();
}
END_TEST

/* POLICY looked at no tenant's number, and does now. */
START_TEST(test_looks_at_more)
{
    begin(ONE ZERO TWO, NULL);
    prepare();
    ck_assert_int_eq(change(tenant(MAC, ONE ZERO), LEAKY), BY_NOTHING);
    end();
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
    prepare();
    assert_by(tenant(MAC, ONE NO_C TWO), BY_NOTHING);
    end();
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
    prepare();
    assert_by(tenant(MAC, ONE NO_C TWO), BY_NOTHING);
    end();
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
    prepare();
    assert_by(tenant(MAC, ONE DENY), BY_PACKETS);
    end();
}
END_TEST

Suite *
seam_suite(void)
{
    Suite *suite = suite_create("seam");
    TCase *tc = unit_case(suite, "proofs of what is decided");

    tcase_add_test(tc, test_decided);
    tcase_add_test(tc, test_replies);
    tcase_add_test(tc, test_no_seam);
    tcase_add_test(tc, test_nothing_allowed);
    tcase_add_test(tc, test_forgotten);
    tcase_add_test(tc, test_looks_at_more);
    tcase_add_test(tc, test_hidden);
    tcase_add_test(tc, test_cookie);
    tcase_add_test(tc, test_numbers);
    return suite;
}
