/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdio.h>
#include <string.h>

#include "sema/ident.h"
#include "unit.h"

static void
good_policy(struct unit *u, const char *text)
{
    unit_init(u);
    unit_resolve(u, text);
    ck_assert_msg(u->policy && !u->diags.n_errors, "%s", unit_diags(u));
}

/* The names of 'endpoints', with spaces between. */
static const char *
names_of(struct unit *u, const endpoint_vec *endpoints)
{
    const char *names = "";

    for (size_t i = 0; i < endpoints->n; i++) {
        names = arena_printf(u->arena, "%s%s%s", names, i ? " " : "",
                             endpoints->v[i]->name);
    }
    return names;
}

/* Four endpoints with labels role and zone, one on a network of its own. */
#define FOUR(RULES)                                                     \
    INTENT("'a': {'networks': {" NETWORK(1) ", 'two': {'vni': 2,"       \
           "'subnets': ['10.2.0.0/16']}}, 'endpoints': {"               \
           "'w': {'network': 'net', 'labels': {'role': 'r', 'zone': 'e'}}," \
           "'x': {'network': 'net', 'labels': {'role': 'r', 'zone': 'f'}}," \
           "'y': {'network': 'net', 'labels': {'role': 's'}},"          \
           "'z': {'network': 'two', 'labels': {'role': 'r'}}},"         \
           "'rules': [" RULES "]}", "")

static void
assert_selected(const char *selector, const char *names)
{
    struct unit u, v;

    unit_init(&v);
    good_policy(&u, arena_printf(v.arena, FOUR(RULE("r", "%s", "{}", "")),
                                 selector));
    ck_assert_str_eq(names_of(&u, &unit_rule(&u, "a/r")->from), names);
    ck_assert_str_eq(names_of(&u, &unit_rule(&u, "a/r")->to),
                     "a/w a/x a/y a/z");
    unit_destroy(&u);
    unit_destroy(&v);
}

START_TEST(test_selectors)
{
    assert_selected("{}", "a/w a/x a/y a/z");
    assert_selected("{'endpoint': 'y'}", "a/y");
    assert_selected("{'network': 'two'}", "a/z");
    /* Members and labels AND. */
    assert_selected("{'labels': {'role': 'r'}}", "a/w a/x a/z");
    assert_selected("{'labels': {'role': 'r', 'zone': 'e'}}", "a/w");
    assert_selected("{'labels': {'role': 'r'}, 'network': 'net'}",
                    "a/w a/x");
    assert_selected("{'labels': {'role': 'r'}, 'endpoint': 'y'}", "");
    assert_selected("{'labels': {'role': 'R'}}", "");
    assert_selected("{'labels': {'role': 'e'}}", "");
    /* A list ORs, and takes no endpoint twice. */
    assert_selected("[{'endpoint': 'y'}, {'network': 'two'}]", "a/y a/z");
    assert_selected("[{'labels': {'role': 'r'}}, {'network': 'net'}]",
                    "a/w a/x a/y a/z");
    assert_selected("[{}, {}]", "a/w a/x a/y a/z");
}
END_TEST

START_TEST(test_selecting_nothing_warns)
{
    struct unit u;

    good_policy(&u, FOUR(RULE("r", "{'labels': {'role': 'none'}}", "{}",
                              "")));
    ck_assert_uint_eq(u.diags.n_warnings, 1);
    unit_complains(&u, "warning: this selects no endpoint");
    unit_complains(&u, "at /tenants/a/rules/0/from\n");
    unit_destroy(&u);
}
END_TEST

START_TEST(test_kinds)
{
    struct unit u;

    good_policy(&u, INTENT(
        TENANT("a", 1, ", 'default': 'allow', 'peers': ['b'], 'rules': ["
               RULE("no", LEFT, RIGHT, ", 'action': 'deny'") ", "
               RULE("yes", LEFT, RIGHT, ", 'action': 'allow',"
                    "'class': 'gold'") "]") ", "
        TENANT("b", 2, ", 'peers': ['a']"),
        ", 'peerings': {'p': {'from': {'tenant': 'a'}, 'to': {'tenant': 'b',"
        "'endpoint': 'y'}, 'service': 'ssh'}}"));
    ck_assert_uint_eq(u.policy->rules.n, 4);
    ck_assert_int_eq(unit_rule(&u, "a/no")->kind, RULE_DENY);
    ck_assert_int_eq(unit_rule(&u, "a/yes")->kind, RULE_ALLOW);
    ck_assert_str_eq(unit_rule(&u, "a/yes")->class->name, "gold");
    ck_assert_int_eq(unit_rule(&u, "a/(default)")->kind, RULE_DEFAULT);

    const struct policy_rule *peering = unit_rule(&u, "peering:p");
    ck_assert_int_eq(peering->kind, RULE_PEERING);
    ck_assert_str_eq(names_of(&u, &peering->from), "a/x a/y");
    ck_assert_str_eq(names_of(&u, &peering->to), "b/y");
    ck_assert_str_eq(peering->service->name, "ssh");
    ck_assert_ptr_null(peering->class);
    unit_destroy(&u);
}
END_TEST

START_TEST(test_services)
{
    static const char *const names[] = {
        "dns", "http", "https", "icmp", "ipsec", "ntp", "nvme-tcp", "ssh",
        "nvme-rdma", "psp", "rocev2", "uet",
    };
    struct unit u;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unit_init(&u);
        const char *text = arena_printf(
            u.arena, FOUR(RULE("r", "{}", "{}", ", 'service': '%s'")),
            names[i]);
        unit_resolve(&u, text);
        ck_assert_msg(u.policy, "%s", unit_diags(&u));

        const struct policy_service *service = unit_rule(&u, "a/r")->service;
        ck_assert_str_eq(service->name, names[i]);
        ck_assert_uint_gt(service->matches.n, 0);
        /* RoCEv2 has one destination port both ways; see services.def. */
        ck_assert_int_eq(service->symmetric, i >= 8);
        unit_destroy(&u);
    }
}
END_TEST

START_TEST(test_bound)
{
    struct unit u;

    good_policy(&u, INTENT(
        "'a': {'networks': {" NETWORK(1) "}, 'endpoints': {"
        ENDPOINT("all", 1, 10, "r") ","
        "'none': {'network': 'net'},"
        "'nomac': {'network': 'net', 'node': 'n1', 'interface': 'j0',"
        "'addresses': ['10.1.0.20']},"
        "'noip': {'network': 'net', 'node': 'n1', 'interface': 'j1',"
        "'mac': '02:00:00:00:00:21'}}}", ""));

    const struct policy_tenant *tenant = u.policy->tenants.v[0];
    ck_assert_uint_eq(tenant->endpoints.n, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(tenant->endpoints.v[i]->bound,
                         !strcmp(tenant->endpoints.v[i]->name, "a/all"));
    }
    unit_destroy(&u);
}
END_TEST

START_TEST(test_ident)
{
    /* A collision with a reserved id, or between kinds, would be silent. */
    ck_assert_uint_eq(ident("rule", "a/r", 48), ident("rule", "a/r", 48));
    ck_assert_uint_ne(ident("rule", "a/r", 48), ident("rule", "a/s", 48));
    ck_assert_uint_ne(ident("rule", "x", 48), ident("peering", "x", 48));
    ck_assert_uint_ne(ident("rul", "ex", 48), ident("rule", "x", 48));
    for (int i = 0; i < 20000; i++) {
        char name[16];

        sprintf(name, "%d", i);
        ck_assert_uint_ge(ident("k", name, 16), IDENT_RESERVED);
        ck_assert_uint_lt(ident("k", name, 16), 1u << 16);
        ck_assert_uint_lt(ident("k", name, 48), UINT64_C(1) << 48);
    }
    /* Cookies are on switches: these numbers may never change.  Computed
     * by sha1sum of "rule\0a/r". */
    ck_assert_uint_eq(ident("rule", "a/r", 48), UINT64_C(0xc40e660ff989));
}
END_TEST

/* Every id of 'a' is in 'b' under the same name. */
static void
assert_ids_kept(const struct unit *a, const struct unit *b)
{
    for (size_t i = 0; i < a->policy->rules.n; i++) {
        const struct policy_rule *rule = a->policy->rules.v[i];

        ck_assert_uint_eq(rule->id, unit_rule(b, rule->name)->id);
    }
    for (size_t i = 0; i < a->prog->endpoints.n; i++) {
        const struct ir_endpoint *e = a->prog->endpoints.v[i];
        bool found = false;

        for (size_t j = 0; j < b->prog->endpoints.n; j++) {
            const struct ir_endpoint *f = b->prog->endpoints.v[j];

            if (!strcmp(e->name, f->name)) {
                found = true;
                ck_assert_uint_eq(e->number, f->number);
                ck_assert_uint_eq(e->tenant->number, f->tenant->number);
                ck_assert_uint_eq(e->tenant->zone, f->tenant->zone);
            }
        }
        ck_assert_msg(found, "%s is lost", e->name);
    }
}

#define TENANT_M TENANT("m", 1, ", 'default': 'allow', 'rules': ["      \
                        RULE("r", LEFT, RIGHT, "") ", "                 \
                        RULE("s", RIGHT, LEFT, ", 'service': 'ssh'") "]")

START_TEST(test_ids_are_stable)
{
    struct unit old, more;

    unit_init(&old);
    unit_compile(&old, INTENT(TENANT_M, ""), "n1");
    ck_assert_uint_eq(old.prog->rules.n, 3);
    ck_assert_uint_eq(old.prog->endpoints.n, 2);

    /* Tenants before and behind it change nothing of its own. */
    unit_init(&more);
    unit_compile(&more, INTENT(
        TENANT("a", 2, ", 'rules': [" RULE("r", LEFT, RIGHT, "") "]") ", "
        TENANT_M ", "
        TENANT("z", 3, ", 'rules': [" RULE("r", LEFT, RIGHT, "") "]"), ""),
        "n1");
    assert_ids_kept(&old, &more);
    unit_destroy(&more);

    for (unsigned int seed = 1; seed <= 20; seed++) {
        unit_init(&more);
        const struct value *v = value_parse(old.source, more.arena,
                                            &more.diags);
        unit_compile(&more, unit_shuffle(more.arena, v, seed), "n1");
        assert_ids_kept(&old, &more);
        unit_destroy(&more);
    }
    unit_destroy(&old);
}
END_TEST

Suite *
sema_suite(void)
{
    Suite *suite = suite_create("sema");
    TCase *tc = unit_case(suite, "resolve");

    tcase_add_test(tc, test_selectors);
    tcase_add_test(tc, test_selecting_nothing_warns);
    tcase_add_test(tc, test_kinds);
    tcase_add_test(tc, test_services);
    tcase_add_test(tc, test_bound);
    tc = unit_case(suite, "ids");
    tcase_add_test(tc, test_ident);
    tcase_add_test(tc, test_ids_are_stable);
    return suite;
}
