/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/openflow/openflow.h"
#include "backend/openflow/pipeline.h"
#include "sema/ident.h"
#include "unit.h"
#include "util.h"

/* What a target has no room for is refused where the intent asks for it. */

/* Rule "m" is a conjunction: 2 groups to 2 groups for 3 ports. */
#define FOUR                                                            \
    "'a': {'networks': {" NETWORK(1) "}, 'endpoints': {"                \
    ENDPOINT("w", 1, 10, "left") ", " ENDPOINT("x", 1, 11, "left") ", " \
    ENDPOINT("y", 1, 12, "right") ", " ENDPOINT("z", 1, 13, "right")    \
    "}, 'limits': {'packets': {'rate': '1Mpps', 'burst': '1kpkt'}},"    \
    "'rules': ["                                                        \
    RULE("w", "{'endpoint': 'w'}", RIGHT, "") ", "                      \
    RULE("y", LEFT, "{'endpoint': 'y'}", "") ",\n"                      \
    RULE("m", LEFT, RIGHT, ", 'service': 'many'") "]}"
#define MANY ", 'services': {'many': {'protocol': 'tcp', 'ports': [1, 5, 11]}}"

static struct unit u;
static struct backend_caps caps;

static void
resolve(void)
{
    unit_init(&u);
    unit_resolve(&u, INTENT("\n" FOUR ",\n" TENANT("b", 2, ""), MANY));
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, "n1", u.arena);
    caps = *openflow_backend.caps;
}

static void
destroy(void)
{
    unit_destroy(&u);
}

static bool
compile(void)
{
    struct backend backend = openflow_backend;

    backend.caps = &caps;
    return backend_compile(&backend, u.prog, u.arena, &u.diags, &u.plan);
}

/* It is refused once, for 'many' things of which there are 'limit', and 'mark'
 * is marked. */
static void
assert_refused(const char *many, size_t limit, const char *place,
               const char *pointer, const char *mark)
{
    ck_assert(!compile());
    ck_assert_uint_eq(u.diags.n_errors, 1);
    unit_complains(&u, arena_printf(u.arena, "%s: error: with this, the node "
                                    "has more %s", place, many));
    unit_complains(&u, arena_printf(u.arena, "room for, %"PRIuSIZE"\n",
                                    limit));
    unit_complains(&u, arena_printf(u.arena, "\n  at %s\n", pointer));
    unit_complains(&u, "\n  remedy: ");

    const struct span *span = &u.diags.list.v[0].span;
    ck_assert_uint_eq(span->end - span->start, strlen(mark));
    ck_assert(!strncmp(span->source->text + span->start, mark, strlen(mark)));
}

START_TEST(test_enough)
{
    ck_assert_msg(compile(), "%s", unit_diags(&u));
    caps.n_zones = 2;
    caps.n_meters = 3;
    caps.n_ports = 6;
    caps.n_tables = N_TABLES;
    caps.n_conjunctions = 1;
    caps.n_flows = 65;
    ck_assert_msg(compile(), "%s", unit_diags(&u));
}
END_TEST

START_TEST(test_zones)
{
    caps.n_zones = 1;
    assert_refused("connection tracking zones", 1, "intent.json:4:1",
                   "/tenants/b", "\"b\"");
}
END_TEST

/* ir_build() found no number for a zone. */
START_TEST(test_zone_numbers)
{
    u.prog->tenants.v[1]->zone = 0;
    assert_refused("connection tracking zones", 1, "intent.json:4:1",
                   "/tenants/b", "\"b\"");
}
END_TEST

START_TEST(test_meters)
{
    caps.n_meters = 2;
    assert_refused("meters", 2, "intent.json:4:1", "/tenants/b", "\"b\"");
}
END_TEST

START_TEST(test_ports)
{
    caps.n_ports = 5;
    assert_refused("ports", 5, "intent.json:4:250", "/tenants/b/endpoints/y",
                   "\"y\"");
}
END_TEST

START_TEST(test_tables)
{
    caps.n_tables = N_TABLES - 1;
    assert_refused("flow tables", N_TABLES - 1, "intent.json:1:37",
                   "/fabric/nodes/n1", "\"n1\"");
}
END_TEST

START_TEST(test_conjunctions)
{
    caps.n_conjunctions = 0;
    assert_refused("conjunctions", 0, "intent.json:3:10",
                   "/tenants/a/rules/2/name", "\"m\"");
}
END_TEST

START_TEST(test_flows)
{
    /* The plain flows of "m" alone are 12. */
    caps.action_bytes = 0;
    caps.n_flows = 11;
    assert_refused("flows in a table", 11, "intent.json:3:10",
                   "/tenants/a/rules/2/name", "\"m\"");
}
END_TEST

/* Where no rule is to blame: SELF alone has 65. */
START_TEST(test_flows_of_node)
{
    caps.n_flows = 64;
    assert_refused("flows in a table", 64, "intent.json:1:37",
                   "/fabric/nodes/n1", "\"n1\"");
}
END_TEST

/* GATEWAY has 8 without the peerings, and 2 more for each. */
START_TEST(test_flows_of_peerings)
{
    unit_destroy(&u);
    unit_init(&u);
    unit_resolve(&u, INTENT(
        "\n" TENANT("a", 1, ", 'peers': ['b']") ",\n"
        TENANT("b", 2, ", 'peers': ['a']"), ",\n'peerings': {"
        "'p': {'from': {'tenant': 'a', 'endpoint': 'x'}, "
        "'to': {'tenant': 'b', 'endpoint': 'x'}, 'service': 'ssh'},\n"
        "'q': {'from': {'tenant': 'a', 'endpoint': 'y'}, "
        "'to': {'tenant': 'b', 'endpoint': 'y'}, 'service': 'ssh'}}"));
    ck_assert_msg(u.policy != NULL, "%s", unit_diags(&u));
    u.prog = ir_build(u.policy, "n1", u.arena);
    caps.n_flows = 11;
    assert_refused("flows in a table", 11, "intent.json:5:1", "/peerings/q",
                   "\"q\"");
    unit_complains(&u, "let fewer endpoints peer");
}
END_TEST

START_TEST(test_numbers_run_out)
{
    struct ident_set set;

    ident_set_init(&set, u.arena, NULL);
    for (int i = 0; i < 512 - IDENT_RESERVED; i++) {
        uint32_t number = ident_take(&set, "k", arena_printf(u.arena, "%d", i),
                                     9);

        ck_assert_uint_ge(number, IDENT_RESERVED);
        ck_assert_uint_lt(number, 512);
    }
    ck_assert_uint_eq(ident_take(&set, "k", "one more", 9), 0);
    ident_set_destroy(&set);
}
END_TEST

START_TEST(test_registry)
{
    ck_assert_ptr_eq(backend_find("userspace"), &openflow_backend);
    ck_assert_ptr_eq(backends[0], &openflow_backend);
    ck_assert_ptr_null(backend_find("Userspace"));
    ck_assert_ptr_null(backend_find(""));
    for (size_t i = 0; i < n_backends; i++) {
        ck_assert_ptr_eq(backend_find(backends[i]->name), backends[i]);
        if (backends[i]->fabric) {
            continue;
        }
        ck_assert(backend_compile(backends[i], u.prog, u.arena, &u.diags,
                                  &u.plan));
        ck_assert_str_eq(u.plan.target, backends[i]->name);
        ck_assert(u.plan.policy ? !u.plan.flows.n : u.plan.flows.n > 0);
    }
}
END_TEST

/* The text of "text" is a file, and the only one. */
START_TEST(test_text_file)
{
    char dir[] = "/tmp/bulkhead-test.XXXXXX";
    const char *policy, *flows;
    const struct source *source;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    policy = arena_printf(u.arena, "%s/policy.txt", dir);
    flows = arena_printf(u.arena, "%s/flows.txt", dir);
    ck_assert(backend_compile(backend_find("text"), u.prog, u.arena, &u.diags,
                              &u.plan));
    ck_assert_ptr_null(plan_write(&u.plan, dir));
    ck_assert_ptr_null(source_read(u.arena, policy, &source));
    ck_assert_str_eq(source->text, u.plan.policy);
    ck_assert_ptr_nonnull(strstr(source->text, "allow     m: w, x -> y, z, "
                                 "many (tcp 1, tcp 5, tcp 11), best effort "
                                 "[line 3]\n"));
    ck_assert_int_ne(access(flows, F_OK), 0);
    ck_assert_int_eq(unlink(policy), 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static void
touch(const char *path)
{
    FILE *stream = fopen(path, "w");

    ck_assert_ptr_nonnull(stream);
    ck_assert_int_eq(fclose(stream), 0);
}

/* What is not of a plan stays, also beside the files of an earlier one. */
START_TEST(test_files_of_earlier_plan)
{
    static const char *const written[] = {
        "meters.txt", "flows.txt", "ovs-vsctl.sh", "manifest.json",
    };
    char dir[] = "/tmp/bulkhead-test.XXXXXX";
    const char *limits;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    limits = arena_printf(u.arena, "%s/ct-limits.txt", dir);
    touch(limits);
    ck_assert_msg(compile(), "%s", unit_diags(&u));
    ck_assert_ptr_null(plan_write(&u.plan, dir));
    ck_assert_int_eq(access(limits, F_OK), 0);
    ck_assert_ptr_null(plan_write(&u.plan, dir));
    ck_assert_int_eq(unlink(limits), 0);
    for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
        ck_assert_int_eq(unlink(arena_printf(u.arena, "%s/%s", dir,
                                             written[i])), 0);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

Suite *
backend_suite(void)
{
    Suite *suite = suite_create("backend");
    TCase *tc = unit_case(suite, "limits");

    tcase_add_checked_fixture(tc, resolve, destroy);
    tcase_add_test(tc, test_enough);
    tcase_add_test(tc, test_zones);
    tcase_add_test(tc, test_zone_numbers);
    tcase_add_test(tc, test_meters);
    tcase_add_test(tc, test_ports);
    tcase_add_test(tc, test_tables);
    tcase_add_test(tc, test_conjunctions);
    tcase_add_test(tc, test_flows);
    tcase_add_test(tc, test_flows_of_node);
    tcase_add_test(tc, test_flows_of_peerings);
    tcase_add_test(tc, test_numbers_run_out);
    tcase_add_test(tc, test_registry);
    tcase_add_test(tc, test_text_file);
    tcase_add_test(tc, test_files_of_earlier_plan);
    return suite;
}
