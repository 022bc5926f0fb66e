/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "intent/files.h"
#include "resident/resident.h"
#include "sema/ident.h"
#include "unit.h"
#include "util.h"

/* The compilation that is kept; tests/differential/resident.c draws what is
 * chosen here. */

static struct unit u;
static struct backend backend;
static struct backend_caps caps;
static struct resident *r;
static struct resident_diff diff;
static struct arena *refused[4];        /* Of tenants that were. */
static size_t n_refused;

static const char *
whole(struct arena *arena, const char *tenants, const char *more)
{
    return arena_printf(arena, "{" FABRIC ", " CLASSES ", 'services': {"
                        "'many': {'protocol': 'tcp', 'ports': [1, 5, 11]}},"
                        "'tenants': {%s}%s}", tenants, more);
}

static void
load(const char *tenants, const char *more)
{
    unit_init(&u);
    unit_parse(&u, whole(u.arena, tenants, more));
    ck_assert_msg(u.intent != NULL, "%s", unit_diags(&u));
    caps = *openflow_backend.caps;
    backend = openflow_backend;
    backend.caps = &caps;
    r = resident_create(u.intent, "n1", &backend, &u.diags);
    ck_assert_msg(r != NULL, "%s", unit_diags(&u));
}

static void
unload(void)
{
    resident_destroy(r);
    unit_destroy(&u);
    while (n_refused) {
        arena_destroy(refused[--n_refused]);
    }
}

static bool
put(const char *tenant)
{
    struct arena *arena = arena_create();
    char *text = arena_printf(arena, "{'version': 1, 'tenants': {%s}}",
                              tenant);

    for (char *p = text; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }

    struct intent_file file = {
        .source = source_create(arena, "part.json", text, strlen(text)),
    };
    const struct intent *part = intent_parse_tenants(&file, u.intent, arena,
                                                     &u.diags);
    ck_assert_msg(part != NULL, "%s", unit_diags(&u));
    if (!resident_put(r, &part->tenants.v[0], arena, &u.diags, &diff)) {
        /* What is said of it may show its text. */
        ck_assert_uint_lt(n_refused, ARRAY_SIZE(refused));
        refused[n_refused++] = arena;
        return false;
    }
    return true;
}

/* All that is no flow and no meter, in whatever order. */
static void
assert_same_notes(const struct plan *plan, const struct plan *wanted)
{
    ck_assert_uint_eq(plan->ports.n, wanted->ports.n);
    ck_assert_uint_eq(plan->tenants.n, wanted->tenants.n);
    ck_assert_uint_eq(plan->endpoints.n, wanted->endpoints.n);
    ck_assert_uint_eq(plan->networks.n, wanted->networks.n);
    ck_assert_uint_eq(plan->unbound.n, wanted->unbound.n);
    ck_assert_uint_eq(plan->cookies.n, wanted->cookies.n);
    for (size_t i = 0; i < wanted->cookies.n; i++) {
        const struct plan_cookie *c = &wanted->cookies.v[i];

        ck_assert_str_eq(plan_cookie_name(plan, c->cookie), c->name);
    }
    for (size_t i = 0; i < wanted->flows.n; i++) {
        ck_assert_ptr_nonnull(plan_cookie_name(plan,
                                               wanted->flows.v[i].cookie));
    }
}

/* What is held is what the whole of 'tenants' gives, in 'n_parts' parts and
 * that of no tenant; 0: in one. */
static void
assert_held(const char *tenants, const char *more, size_t n_parts)
{
    struct resident_stats stats;
    struct plan_diff other;
    struct plan plan;
    struct unit w;

    resident_plan(r, &plan, u.arena);
    unit_init(&w);
    unit_compile(&w, whole(w.arena, tenants, more), "n1");
    other = plan_compare(&w.plan, &plan);
    ck_assert_uint_eq(other.added.n, 0);
    ck_assert_uint_eq(other.changed.n, 0);
    ck_assert_uint_eq(other.deleted.n, 0);
    ck_assert_uint_eq(other.meters_added, 0);
    ck_assert_uint_eq(other.meters_deleted, 0);
    assert_same_notes(&plan, &w.plan);
    unit_destroy(&w);

    resident_stats(r, &stats);
    ck_assert_uint_eq(stats.parts, n_parts + 1);
    ck_assert_int_eq(stats.whole != NULL, !n_parts);
}

#define A TENANT("a", 1, "")
#define B TENANT("b", 2, "")
#define C TENANT("c", 3, "")
#define LIMIT ", 'bandwidth': {'send': {'limit': '1Gbps', 'burst': '64KiB'}}"

START_TEST(test_one_part)
{
    struct resident_stats stats;

    load(A ", " B ", " C, "");
    assert_held(A ", " B ", " C, "", 3);
    ck_assert(put(TENANT("b", 2, LIMIT)));
    assert_held(A ", " TENANT("b", 2, LIMIT) ", " C, "", 3);
    ck_assert_uint_eq(diff.meters_added.n, 1);
    ck_assert_uint_eq(diff.meters_deleted.n, 1);
    ck_assert_str_eq(diff.meters_added.v[0]->name, "b");
    ck_assert_uint_eq(diff.added.n + diff.changed.n + diff.deleted.n, 0);

    resident_stats(r, &stats);
    ck_assert_uint_eq(stats.changes, 1);
    ck_assert_uint_eq(stats.compilations, 1);
    ck_assert_uint_eq(stats.tenants, 1);
    ck_assert_uint_eq(stats.wholes, 0);
    unload();
}
END_TEST

START_TEST(test_come_and_go)
{
    load(A, "");
    ck_assert(put(B));
    assert_held(A ", " B, "", 2);
    ck_assert_uint_gt(diff.added.n, 0);
    ck_assert_uint_eq(diff.changed.n + diff.deleted.n, 0);
    ck_assert(resident_remove(r, "a", &u.diags, &diff));
    assert_held(B, "", 1);
    ck_assert_uint_eq(diff.added.n + diff.changed.n, 0);
    ck_assert(resident_remove(r, "a", &u.diags, &diff));
    ck_assert_uint_eq(diff.deleted.n, 0);
    ck_assert(resident_remove(r, "b", &u.diags, &diff));
    ck_assert(put(A));
    assert_held(A, "", 1);
    unload();
}
END_TEST

/* By "peers", and by the rules of one that denies another. */
START_TEST(test_joined)
{
#define TO_B ", 'peers': ['b']"
#define NOT_TO_C ", 'rules': ["                                         \
    RULE("no", "{}", "{'tenant': 'c'}", ", 'action': 'deny'") "]"
    load(A ", " B ", " C, "");
    ck_assert(put(TENANT("a", 1, TO_B)));
    assert_held(TENANT("a", 1, TO_B) ", " B ", " C, "", 2);
    ck_assert(put(TENANT("b", 2, NOT_TO_C)));
    assert_held(TENANT("a", 1, TO_B) ", " TENANT("b", 2, NOT_TO_C) ", " C,
                "", 1);
    ck_assert(put(B));
    assert_held(TENANT("a", 1, TO_B) ", " B ", " C, "", 2);
    ck_assert(put(A));
    assert_held(A ", " B ", " C, "", 3);
    unload();
}
END_TEST

/* An error leaves all as it was. */
START_TEST(test_refused)
{
    load(A ", " B, "");
    ck_assert(!put(TENANT("b", 1, "")));
    unit_complains(&u, "VNI 1 is used twice");
    ck_assert_uint_eq(diff.added.n + diff.changed.n + diff.deleted.n, 0);
    assert_held(A ", " B, "", 2);
    ck_assert(!put(TENANT("a", 1, ", 'peers': ['nobody']")));
    unit_complains(&u, "there is no tenant 'nobody'");
    assert_held(A ", " B, "", 2);
    unload();
}
END_TEST

/* The policy that the last change was compiled from, once. */
static const char *
taken(void)
{
    struct arena *arena;
    const struct policy *policy = resident_take_policy(r, &arena);
    const char *name;

    ck_assert_int_eq(policy != NULL, arena != NULL);
    ck_assert(!policy || policy->tenants.n == 1);
    name = policy ? arena_strdup(u.arena, policy->tenants.v[0]->name) : "none";
    arena_destroy(arena);
    return name;
}

START_TEST(test_take_policy)
{
    load(A ", " B ", " C, "");
    ck_assert_str_eq(taken(), "none");
    ck_assert(put(TENANT("b", 2, LIMIT)) && diff.alone);
    ck_assert(put(TENANT("a", 1, LIMIT)) && diff.alone);
    ck_assert_str_eq(taken(), "a");
    ck_assert_str_eq(taken(), "none");
    ck_assert(put(A) && !put(TENANT("b", 1, "")) && !diff.alone);
    ck_assert_str_eq(taken(), "none");
    ck_assert(put(TENANT("a", 1, TO_B)) && !diff.alone);
    ck_assert_str_eq(taken(), "none");
    ck_assert(put(C) && diff.alone);
    ck_assert_str_eq(taken(), "c");
    unload();
}
END_TEST

START_TEST(test_consent)
{
#define PEERS(NAME, N, OTHER) TENANT(NAME, N, ", 'peers': ['" OTHER "']")
#define PEERING ", 'peerings': {'p': {'from': {'tenant': 'a'},"         \
    "'to': {'tenant': 'b'}, 'service': 'ssh'}}"
    load(PEERS("a", 1, "b") ", " PEERS("b", 2, "a"), PEERING);
    assert_held(PEERS("a", 1, "b") ", " PEERS("b", 2, "a"), PEERING, 1);
    ck_assert(!put(A));
    unit_complains(&u, "tenant 'a' does not consent");
    ck_assert(!resident_remove(r, "a", &u.diags, &diff));
    assert_held(PEERS("a", 1, "b") ", " PEERS("b", 2, "a"), PEERING, 1);
    unload();
}
END_TEST

/* Rule "m" is a conjunction: 2 groups to 2 groups for 3 ports. */
#define FOUR(NAME, N, MORE)                                             \
    "'" NAME "': {'networks': {" NETWORK(N) "}, 'endpoints': {"         \
    ENDPOINT("w", N, 10, "left") ", " ENDPOINT("x", N, 11, "left") ", " \
    ENDPOINT("y", N, 12, "right") ", " ENDPOINT("z", N, 13, "right")    \
    "}, 'rules': ["                                                     \
    RULE("w", "{'endpoint': 'w'}", RIGHT, "") ", "                      \
    RULE("y", LEFT, "{'endpoint': 'y'}", "") ", "                       \
    RULE("m", LEFT, RIGHT, ", 'service': 'many'" MORE) "]}"

/* The numbers of two conjunctions meet, in flows that do not: one moves. */
START_TEST(test_numbers_meet)
{
#define FIRST FOUR("c47498", 1, "")
#define SECOND FOUR("c79424", 2, ", 'action': 'deny'")
    ck_assert_uint_eq(ident("conjunction", "c47498/m tracked", 32),
                      ident("conjunction", "c79424/m tracked", 32));
    load(SECOND, "");
    ck_assert(put(FIRST));
    assert_held(FIRST ", " SECOND, "", 1);
    ck_assert_uint_gt(diff.deleted.n, 0);
    ck_assert(resident_remove(r, "c47498", &u.diags, &diff));
    assert_held(SECOND, "", 1);
    unload();

    load(FIRST ", " SECOND ", " C, "");
    assert_held(FIRST ", " SECOND ", " C, "", 2);
    unload();
}
END_TEST

/* What is not known to be of a tenant alone makes all one part. */
START_TEST(test_unknown)
{
#define LIMITS ", 'limits': {'packets': {'rate': '1Mpps', 'burst': '1kpkt'}}"
    load(TENANT("a", 1, LIMITS) ", " B, "");
    resident_destroy(r);

    const struct value *a = u.intent->tenants.v[0].name.at;
    struct value *limits = CONST_CAST(struct value *,
                                      value_member(a, "limits"));
    limits->key = "novelty";
    r = resident_create(u.intent, "n1", &backend, &u.diags);

    struct resident_stats stats;
    resident_stats(r, &stats);
    ck_assert_str_eq(stats.whole, "'/tenants/a/novelty' is not known to be of "
                     "one tenant alone");
    assert_held(TENANT("a", 1, LIMITS) ", " B, "", 0);
    ck_assert(put(TENANT("b", 2, LIMIT)));
    assert_held(TENANT("a", 1, LIMITS) ", " TENANT("b", 2, LIMIT), "", 0);
    ck_assert(!put(TENANT("b", 1, "")));
    assert_held(TENANT("a", 1, LIMITS) ", " TENANT("b", 2, LIMIT), "", 0);
    ck_assert(put(A));
    assert_held(A ", " TENANT("b", 2, LIMIT), "", 2);
    unload();
}
END_TEST

START_TEST(test_every_tenant)
{
#define NOT_TO_ANY ", 'rules': ["                                       \
    RULE("no", "{}", "{'tenant': '*'}", ", 'action': 'deny'") "]"
    struct resident_stats stats;

    load(TENANT("a", 1, NOT_TO_ANY) ", " B, "");
    resident_stats(r, &stats);
    ck_assert_str_eq(stats.whole, "'/tenants/a/rules/0/to/tenant' is not "
                     "known to be of one tenant alone");
    ck_assert(put(TENANT("b", 2, LIMIT)));
    assert_held(TENANT("a", 1, NOT_TO_ANY) ", " TENANT("b", 2, LIMIT), "", 0);
    unload();
}
END_TEST

/* So many endpoints, with an address each. */
static const char *
crowd(const char *name, int vni, int n)
{
    const char *text = arena_printf(
        u.arena, "'%s': {'networks': {'net': {'vni': %d, 'subnets': "
        "['10.%d.0.0/16']}}, 'endpoints': {", name, vni, vni);

    for (int i = 0; i < n; i++) {
        text = arena_printf(
            u.arena, "%s%s'e%d': {'network': 'net', 'node': 'n1', "
            "'interface': 'i%dx%d', 'mac': '02:00:00:00:%02x:%02x', "
            "'addresses': ['10.%d.0.%d']}", text, i ? ", " : "", i, vni, i,
            vni, i, vni, 10 + i);
    }
    return arena_printf(u.arena, "%s}}", text);
}

/* Two are each within a limit, and together above. */
START_TEST(test_limits)
{
    static const struct {
        size_t cap, enough;
        const char *many;
    } limits[] = {
        { offsetof(struct backend_caps, n_zones), 2, "zones" },
        { offsetof(struct backend_caps, n_ports), 8, "ports" },
        { offsetof(struct backend_caps, n_meters), 2, "meters" },
        { offsetof(struct backend_caps, n_conjunctions), 2, "conjunctions" },
        { offsetof(struct backend_caps, n_flows), 100, "flows in a table" },
    };
    size_t *cap = (size_t *) ((char *) &caps + limits[_i].cap);

    load(FOUR("a", 1, ""), "");
    if (limits[_i].enough == 100) {
        /* SELF alone has 65; SPOOF has 2 an endpoint. */
        unload();
        load("", "");
        ck_assert(put(crowd("a", 1, 30)));
        *cap = 100;
        ck_assert(!put(crowd("b", 2, 30)));
        unit_complains(&u, limits[_i].many);
    } else {
        *cap = limits[_i].enough - 1;
        ck_assert(!put(FOUR("b", 2, "")));
        unit_complains(&u, limits[_i].many);
        assert_held(FOUR("a", 1, ""), "", 1);
        *cap = limits[_i].enough;
        ck_assert(put(FOUR("b", 2, "")));
        assert_held(FOUR("a", 1, "") ", " FOUR("b", 2, ""), "", 2);
    }
    unload();
}
END_TEST

/* The bursts of all must fit a buffer, that of the uplink (256 KiB) among
 * them. */
START_TEST(test_buffer)
{
    struct resident_stats stats;

    unit_init(&u);
    unit_parse(&u, "{'version': 1, 'fabric': {'nodes': {'n1': {'uplinks': {"
               "'up': {'interface': 'p0', 'rate': '100Gbps', 'burst': "
               "'256KiB', 'buffer': '384KiB'}}}}}, 'tenants': {"
               TENANT("a", 1, LIMIT) "}}");
    r = resident_create(u.intent, "n1", &openflow_backend, &u.diags);
    ck_assert_msg(r != NULL, "%s", unit_diags(&u));
    ck_assert(put(TENANT("b", 2, LIMIT)));
    resident_stats(r, &stats);
    ck_assert_uint_eq(stats.wholes, 0);

    ck_assert(!put(TENANT("c", 3, LIMIT)));
    unit_complains(&u, "this buffer of 393216 bytes does not hold");
    resident_stats(r, &stats);
    ck_assert_uint_eq(stats.wholes, 1);

    /* It has the uplink's burst, which only the whole knows to be free. */
    ck_assert(put(TENANT("c", 3, "")));
    ck_assert(!put(TENANT("d", 4, "")));
    ck_assert(put(TENANT("b", 2, "")) == false);
    ck_assert(resident_remove(r, "a", &u.diags, &diff));
    ck_assert(resident_remove(r, "c", &u.diags, &diff));
    resident_stats(r, &stats);
    ck_assert_uint_eq(stats.wholes, 4);
    ck_assert(put(TENANT("a", 1, LIMIT)));
    resident_stats(r, &stats);
    ck_assert_uint_eq(stats.wholes, 4);
    ck_assert_ptr_null(stats.whole);
    unload();
}
END_TEST

Suite *
resident_suite(void)
{
    Suite *suite = suite_create("resident");
    TCase *tc = unit_case(suite, "parts");

    tcase_add_test(tc, test_one_part);
    tcase_add_test(tc, test_come_and_go);
    tcase_add_test(tc, test_joined);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_take_policy);
    tcase_add_test(tc, test_consent);
    tcase_add_test(tc, test_numbers_meet);
    tcase_add_test(tc, test_unknown);
    tcase_add_test(tc, test_every_tenant);
    tcase_add_test(tc, test_buffer);
    tcase_add_loop_test(tc, test_limits, 0, 5);
    return suite;
}
