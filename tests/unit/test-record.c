/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "plan/row.h"
#include "unit.h"
#include "util.h"

/* Plans on file: nothing is lost, and what is not whole is no plan. */

static struct unit u;
static struct plan_record record;
static struct ds text;

struct example {
    const char *name, *node;
};

static const struct example examples[] = {
    { "ai-cluster", "gpu-node-1" }, { "multi-rail", "rail-node-1" },
    { "rack", "rack-gpu-1" },
};

/* Formats the plan of a node of an example. */
static void
format(const struct example *example)
{
    const struct source *source;

    unit_init(&u);
    source = unit_example(u.arena, example->name);
    unit_compile_raw(&u, source->text, source->len, example->node);
    record = (struct plan_record) {
        .bridge = "br0", .generation = 7, .time = plan_record_time(u.arena, 0),
        .intent = plan_hash(u.arena, "x", 1), .partial = true,
        .held = plan_hash(u.arena, "y", 1), .plan = &u.plan,
    };
    *vec_push(u.arena, &record.files) = "/x/y.json";
    ds_init(&text);
    plan_record_format(&record, &text);
}

static void
setup(void)
{
    format(&examples[0]);
}

static void
teardown(void)
{
    ds_destroy(&text);
    unit_destroy(&u);
}

static const char *
plan_text(const struct plan *plan)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *s;

    plan_print(plan, &ds);
    s = arena_strdup(u.arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return s;
}

static const char *
parse(const char *s, size_t len, struct plan_record *parsed)
{
    return plan_record_parse(s, len, u.arena, parsed);
}

START_TEST(test_round)
{
    struct plan_record parsed;
    struct ds again = DS_EMPTY_INITIALIZER;

    teardown();
    format(&examples[_i]);
    ck_assert_ptr_null(parse(text.string, text.length, &parsed));
    ck_assert_str_eq(parsed.bridge, "br0");
    ck_assert_uint_eq(parsed.generation, 7);
    ck_assert_str_eq(parsed.time, record.time);
    ck_assert_str_eq(parsed.intent, record.intent);
    ck_assert_uint_eq(parsed.files.n, 1);
    ck_assert_str_eq(parsed.files.v[0], "/x/y.json");
    ck_assert_str_eq(parsed.held, record.held);
    ck_assert(parsed.partial);

    /* All that is printed of a plan is in it. */
    ck_assert_uint_gt(u.plan.flows.n, 100);
    ck_assert_str_eq(plan_text(parsed.plan), plan_text(&u.plan));
    plan_record_format(&parsed, &again);
    ck_assert_str_eq(ds_cstr(&again), ds_cstr(&text));
    ds_destroy(&again);
}
END_TEST

/* What was kept by a version that knew no meters for tags is still a plan. */
START_TEST(test_before)
{
    const char *start = strchr(ds_cstr(&text), '\n') + 1;
    const char *rest = strstr(start, "\"meters\":["), *end;
    struct ds body = DS_EMPTY_INITIALIZER, before = DS_EMPTY_INITIALIZER;
    struct plan_record parsed;
    size_t n = 0;

    ck_assert_ptr_nonnull(rest);
    end = strstr(rest, "]]");
    ds_put_buffer(&body, start, rest - start);
    for (const char *last; (last = strstr(rest, ",false]")) && last < end;
         rest = last + strlen(",false"), n++) {
        ds_put_buffer(&body, rest, last - rest);
    }
    ds_put_cstr(&body, rest);
    ck_assert_uint_eq(n, u.plan.meters.n);
    ds_put_format(&before, "bulkhead-plan 1 %s\n%s",
                  plan_hash(u.arena, ds_cstr(&body), body.length),
                  ds_cstr(&body));
    ck_assert_ptr_null(parse(before.string, before.length, &parsed));
    ck_assert_str_eq(plan_text(parsed.plan), plan_text(&u.plan));
    ds_destroy(&body);
    ds_destroy(&before);
}
END_TEST

/* Cut short anywhere, or with any byte changed, it is refused. */
START_TEST(test_damage)
{
    struct plan_record parsed;
    const size_t step = 97;

    for (size_t i = 0; i < text.length; i += i < 200 ? 1 : step) {
        char c = text.string[i];

        ck_assert_ptr_nonnull(parse(text.string, i, &parsed));
        text.string[i] ^= 1;
        ck_assert_ptr_nonnull(parse(text.string, text.length, &parsed));
        text.string[i] = '\0';
        ck_assert_ptr_nonnull(parse(text.string, text.length, &parsed));
        text.string[i] = c;
    }
    ck_assert_ptr_nonnull(parse("", 0, &parsed));
    ck_assert_ptr_nonnull(parse("{}", 2, &parsed));
    ck_assert_ptr_null(parse(text.string, text.length, &parsed));
}
END_TEST

/* Parses what begins like 'text' and has 'body', rightly hashed. */
static const char *
parse_body(const char *body)
{
    struct plan_record parsed;
    const char *s = arena_printf(u.arena, "bulkhead-plan 1 %s\n%s",
                                 plan_hash(u.arena, body, strlen(body)),
                                 body);

    return parse(s, strlen(s), &parsed);
}

/* The body with the first 'from' replaced. */
static const char *
body_with(const char *from, const char *to)
{
    const char *body = strchr(ds_cstr(&text), '\n') + 1;
    const char *at = strstr(body, from);

    ck_assert_msg(at, "no %s", from);
    return arena_printf(u.arena, "%.*s%s%s", (int) (at - body), body, to,
                        at + strlen(from));
}

/* Text that is whole and no plan all the same. */
START_TEST(test_foreign)
{
    static const char *const changes[][2] = {
        { "\"0xb17d000000000001\",\"in_port", "\"0x1\",\"in_port" },
        { "\"0xb17d000000000001\",\"in_port", "\"b17\",\"in_port" },
        { "\"0xb17d000000000001\",\"in_port", "7,\"in_port" },
        { "[[0,200,", "[[0,65536," },   /* No priority. */
        { "[[0,200,", "[[0,-1," },
        { "[[0,200,", "[[1,200," },     /* Not in order. */
        { "[[0,200,", "[[0,200,0," },
        { "[[224530,", "[[65535," },    /* No meter of ours. */
        { "[[224530,", "[[null," },
        { "\"flows\":[", "\"flow\":[" },
        { "\"flows\":[", "\"flows\":7,\"f\":[" },
        { "\"br0\"", "null" },
        { "\"ports\":[[\"", "\"ports\":[\"" },
        { "true", "1" },
    };

    ck_assert_ptr_null(parse_body(body_with("br0", "br1")));
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        const char *body = body_with(changes[i][0], changes[i][1]);

        ck_assert_msg(parse_body(body), "%s for %s", changes[i][1],
                      changes[i][0]);
    }
    ck_assert_ptr_nonnull(parse_body("{}"));
    ck_assert_ptr_nonnull(parse_body("[]"));
    ck_assert_ptr_nonnull(parse_body(""));
    ck_assert_ptr_nonnull(parse_body("7"));
}
END_TEST

/* A plan of rows, of all kinds of columns, in place of the example's. */
static void
format_rows(void)
{
    struct plan_row *group, *acl;

    plan_init(&u.plan, u.arena, "", "ovn");
    u.plan.northbound = true;
    acl = plan_add_row(&u.plan, "ACL", "x");
    plan_row_string(&u.plan, acl, "match", "ip4");
    plan_row_integer(&u.plan, acl, "priority", 7);
    plan_row_number(&u.plan, acl, "action", "dscp", 26);
    group = plan_add_row(&u.plan, "Port_Group", "y");
    plan_row_set(&u.plan, group, "addresses", "10.0.0.1");
    plan_row_set(&u.plan, group, "addresses", "10.0.0.2");
    plan_row_ref(&u.plan, group, "acls", acl);
    plan_row_ref(&u.plan, acl, "back", group);
    ds_clear(&text);
    plan_record_format(&record, &text);
}

START_TEST(test_rows)
{
    static const char *const changes[][2] = {
        { "\"rows\":[", "\"rows\":7,\"r\":[" },
        { "[\"ACL\",\"x\",", "[\"ACL\",null," },
        { "[\"ACL\",\"x\",", "[7,\"x\"," },
        { "[\"ACL\",\"x\",", "7,[\"ACL\",\"x\"," },
        { "[\"external_ids\",4", "[\"other_ids\",4" },
        { "[\"external_ids\",4", "[\"external_ids\",6" },
        { "[\"external_ids\",4", "[\"external_ids\",-1" },
        { "[\"external_ids\",4", "[\"external_ids\",0" },
        { "[\"match\",0,\"ip4\"]", "[\"match\",0]" },
        { "[\"match\",0,\"ip4\"]", "[\"match\",0,\"ip4\",\"ip6\"]" },
        { "[\"match\",0,\"ip4\"]", "[\"match\",0,7]" },
        { "[\"match\",0,\"ip4\"]", "7" },
        { "[\"dscp\",\"26\"]", "[\"dscp\"]" },
        { "[\"dscp\",\"26\"]", "[\"dscp\",26]" },
        { "[\"back\",3,1]", "[\"back\",3,2]" },      /* No such row. */
        { "[\"back\",3,1]", "[\"back\",3,-1]" },
        { "[\"back\",3,1]", "[\"back\",3,\"1\"]" },
    };
    struct plan_record parsed;

    format_rows();
    ck_assert_ptr_null(parse(text.string, text.length, &parsed));
    ck_assert(plan_same(parsed.plan, &u.plan));
    ck_assert_ptr_null(parse_body(body_with("\"ip4\"", "\"ip6\"")));
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        const char *body = body_with(changes[i][0], changes[i][1]);

        ck_assert_msg(parse_body(body), "%s for %s", changes[i][1],
                      changes[i][0]);
    }
    plan_row_set(&u.plan, u.plan.rows.v[1], "addresses", "10.0.0.3");
    ck_assert(!plan_same(parsed.plan, &u.plan));
}
END_TEST

static const char *
give_edit(const struct plan_record *head, void *edit, plan_names *edits)
{
    ck_assert_str_eq(head->bridge, "br0");
    *vec_push(u.arena, edits) = edit;
    return NULL;
}

static const char *
refuse(const struct plan_record *head OVS_UNUSED, void *reason,
       plan_names *edits OVS_UNUSED)
{
    return reason;
}

static const char *
parse_edited(const char *edit, struct plan_record *parsed)
{
    return plan_record_parse_edited(text.string, text.length, give_edit,
                                    arena_printf(u.arena, "[%s]", edit),
                                    u.arena, parsed);
}

#define HEAD "{\"record\":[\"then\",false],"
#define COME "\"gone\":{},\"come\":{"
#define FLOW(NUMBER) \
    "[0,1,\"0xb17d00000000000" NUMBER "\",\"ip\",\"drop\"]"

/* What an edit takes and gives; see tests/differential/resident for all that
 * changes make. */
START_TEST(test_edit)
{
    static const char *const wrong[] = {
        "", "7", "{}", "{\"gone\":{},\"come\":{}}",
        HEAD "\"gone\":{}}",
        HEAD "\"gone\":{},\"come\":7}",
        HEAD "\"gone\":{\"ports\":7},\"come\":{}}",
        HEAD "\"gone\":{\"ports\":[[\"none\"]]},\"come\":{}}",
        HEAD "\"gone\":{\"none\":[]},\"come\":{}}",
        HEAD "\"gone\":{},\"come\":{\"ports\":[7]}}",
        HEAD "\"gone\":{},\"come\":{\"record\":[\"br0\"]}}",
        HEAD "\"gone\":{\"record\":[\"br0\"]},\"come\":{}}",
        HEAD COME "\"flows\":[[0,1,\"0x1\",\"\",\"drop\"]]}}",
        HEAD "\"gone\":{},\"come\":{\"meters\":[[7]]}}",
    };
    const struct plan_flow *first = &u.plan.flows.v[0];
    const char *edit, *flows;
    struct plan_record parsed;

    ck_assert_ptr_null(parse_edited(HEAD COME "\"ports\":[[\"new\"]]}}",
                                    &parsed));
    ck_assert_uint_eq(parsed.plan->ports.n, u.plan.ports.n + 1);
    ck_assert_uint_eq(parsed.plan->flows.n, u.plan.flows.n);
    ck_assert_uint_eq(parsed.generation, 8);
    ck_assert_str_eq(parsed.time, "then");
    ck_assert(!parsed.partial);
    ck_assert_ptr_null(parsed.intent);

    /* A flow at the end of all that goes to its place. */
    edit = arena_printf(u.arena, HEAD COME "\"flows\":[[%d,%d,"
                        "\"0xb17d000000000001\",\"ip\",\"drop\"]]}}",
                        first->table, first->priority + 1);
    ck_assert_ptr_null(parse_edited(edit, &parsed));
    ck_assert_uint_eq(parsed.plan->flows.n, u.plan.flows.n + 1);
    ck_assert_str_eq(parsed.plan->flows.v[0].match, "ip");

    /* Two at once: the flow goes again. */
    flows = strstr(edit, "{\"flows\"");
    edit = arena_printf(u.arena, "%s," HEAD "\"gone\":%.*s,\"come\":{}}", edit,
                        (int) strlen(flows) - 1, flows);
    ck_assert_ptr_null(parse_edited(edit, &parsed));
    ck_assert_uint_eq(parsed.plan->flows.n, u.plan.flows.n);

    /* Not twice. */
    ck_assert_ptr_nonnull(parse_edited(
        HEAD COME "\"flows\":[" FLOW("1") "," FLOW("2") "]}}", &parsed));

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        ck_assert_msg(parse_edited(wrong[i], &parsed), "%s", wrong[i]);
    }
    ck_assert_str_eq(plan_record_parse_edited(text.string, text.length,
                                              refuse, CONST_CAST(char *, "no"),
                                              u.arena, &parsed), "no");
}
END_TEST

Suite *
record_suite(void)
{
    Suite *suite = suite_create("record");
    TCase *tc = unit_case(suite, "record");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_round, 0, ARRAY_SIZE(examples));
    tcase_add_test(tc, test_before);
    tcase_add_test(tc, test_damage);
    tcase_add_test(tc, test_foreign);
    tcase_add_test(tc, test_rows);
    tcase_add_test(tc, test_edit);
    return suite;
}
