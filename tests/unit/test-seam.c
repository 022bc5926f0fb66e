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

/* A tenant of three endpoints with these rules. */
static const char *
tenant(const char *mac, const char *rules)
{
    return arena_printf(
        u.arena, "'t': {'networks': {" NETWORK(1) "}, 'endpoints': {"
        ENDPOINT("a", 1, 10, "a") ", " ENDPOINT("b", 1, 11, "b") ", "
        "'c': {'network': 'net', 'node': 'n1', 'interface': 'c',"
        "'mac': '%s', 'addresses': ['10.1.0.12'],"
        "'labels': {'role': 'c'}}}, 'rules': [%s]}", mac, rules);
}

#define MAC "02:00:00:00:01:12"
#define FROM_A(TO) "'from': {'endpoint': 'a'}, 'to': {'endpoint': '" TO "'}"
#define ONE "{'name': 'one', " FROM_A("b") ", 'service': 'web'," \
            " 'class': 'gold'}"
#define TWO ", {'name': 'two', " FROM_A("c") ", 'service': 'web'," \
            " 'class': 'gold'}"
#define DENY ", {'name': 'two', " FROM_A("b") ", 'service': 'ssh'," \
             " 'action': 'deny'}"

/* A flow of 'table' that is about the number. */
static bool
is_about(const struct plan_flow *flow, int table, const char *what)
{
    return flow->table == table && (strstr(flow->match, what)
                                    || strstr(flow->actions, what));
}

/* Of the tenant, but for flows of a table that are about 'lost', if that is
 * not NULL. */
static void
begin(const char *rules, int table, const char *lost)
{
    struct plan plan;
    size_t n = 0;

    unit_init(&u);
    unit_resolve(&u, arena_printf(
        u.arena, "{" FABRIC ", " CLASSES ", 'services': {"
        "'web': {'protocol': 'tcp', 'ports': [443]}}, 'tenants': {%s}}",
        tenant(MAC, rules)));
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    r = resident_create(u.intent, "n1", &openflow_backend, &u.diags);
    ck_assert_msg(r != NULL, "%s", unit_diags(&u));
    resident_plan(r, &plan, u.arena);
    for (size_t i = 0; i < plan.flows.n; i++) {
        if (!lost || !is_about(&plan.flows.v[i], table, lost)) {
            plan.flows.v[n++] = plan.flows.v[i];
        }
    }
    ck_assert_int_eq(n < plan.flows.n, lost != NULL);
    plan.flows.n = n;
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

/* The tenant is another.  Returns whether that is proved by packets, and in
 * '*seam' whether by what is decided. */
static bool
change(const char *text_, enum wrong wrong, bool *seam)
{
    char *text = arena_printf(u.arena, "{'version': 1, 'tenants': {%s}}",
                              text_);
    struct arena *arena = arena_create();
    struct intent_file file;
    struct resident_diff diff;
    struct plan_flow extra;
    struct proved_count count;
    const struct intent *part, *whole;
    bool packets;

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
    packets = proved_prove_packets(p, 0, &count);
    *seam = packets && count.seam;
    proved_end(p, packets || proved_prove(p, 0, &count));
    return packets;
}

START_TEST(test_decided)
{
    bool seam;

    begin(ONE, 0, NULL);
    prepare();
    ck_assert(change(tenant(MAC, ONE TWO), NOTHING, &seam));
    ck_assert(seam);
    ck_assert(change(tenant(MAC, ONE DENY), NOTHING, &seam));
    ck_assert(seam);
    ck_assert(change(tenant(MAC, ONE), NOTHING, &seam));
    ck_assert(seam);
    end();
}
END_TEST

/* What is not prepared, and what is no longer so. */
START_TEST(test_no_seam)
{
    bool seam;

    begin(ONE, 0, NULL);
    ck_assert(change(tenant(MAC, ONE TWO), NOTHING, &seam));
    ck_assert(!seam);
    prepare();
    ck_assert(change(tenant(MAC, ONE), NOTHING, &seam));
    ck_assert(seam);
    change(tenant("02:00:00:00:01:13", ONE), NOTHING, &seam);
    ck_assert(!seam);
    change(tenant("02:00:00:00:01:13", ONE TWO), NOTHING, &seam);
    ck_assert(!seam);
    prepare();
    ck_assert(change(tenant("02:00:00:00:01:13", ONE), NOTHING, &seam));
    ck_assert(seam);
    end();
}
END_TEST

/* Of a rule that comes no flow does. */
START_TEST(test_forgotten)
{
    bool seam;

    begin(ONE TWO, 0, NULL);
    prepare();
    ck_assert(!change(tenant(MAC, ONE DENY), FORGETFUL, &seam));
    end();
}
END_TEST

/* POLICY looked at no tenant's number, and does now. */
START_TEST(test_looks_at_more)
{
    bool seam;

    begin(ONE TWO, 0, NULL);
    prepare();
    ck_assert(!change(tenant(MAC, ONE), LEAKY, &seam));
    end();
}
END_TEST

/* No rule lets 'c' get anything, so nobody sees that its port is lost, until
 * one does: then POLICY is right, and the tables are not. */
START_TEST(test_hidden)
{
    bool seam;

    begin(ONE, TABLE_OUTPUT, "output:\"c\"");
    prepare();
    ck_assert(!change(tenant(MAC, ONE TWO), NOTHING, &seam));
    end();
}
END_TEST

Suite *
seam_suite(void)
{
    Suite *suite = suite_create("seam");
    TCase *tc = unit_case(suite, "proofs of what is decided");

    tcase_add_test(tc, test_decided);
    tcase_add_test(tc, test_no_seam);
    tcase_add_test(tc, test_forgotten);
    tcase_add_test(tc, test_looks_at_more);
    tcase_add_test(tc, test_hidden);
    return suite;
}
