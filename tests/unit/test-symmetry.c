/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/openflow/pipeline.h"
#include "openvswitch/dynamic-string.h"
#include "proving.h"
#include "util.h"

/* Proofs of an endpoint that came or went by others like it
 * (verify/base-symmetry.c); tests/verify/changes draws what is chosen here. */

static struct proving t;

/* What the tests say of tenants. */
struct tenant {
    int n;                      /* Workers, which are alike, and a server. */
    bool ip6;                   /* Have they addresses of IPv6, too? */
    bool free_last;             /* Has the last worker no limit? */
    bool weighs;                /* Has it a weight, and the tenant a limit? */
    bool apart;                 /* Is the last worker not bound? */
    bool limited;               /* Has the tenant a limit anyhow? */
    const char *rules;          /* More rules. */
};

#define WEIGHT "'bandwidth': {'limit': '1Gbps', 'burst': '64KiB', " \
               "'weight': 2}, "
#define LIMIT "'bandwidth': {'limit': '1Gbps', 'burst': '64KiB'}, "

static void
put_endpoint(struct ds *ds, const char *name, int number, bool ip6,
             const char *limit, bool bound)
{
    ds_put_format(ds, "'%s': {'network': 'net', %s", name, limit);
    if (bound) {
        ds_put_format(ds, "'node': 'n1', 'interface': 'i-%s', ", name);
    }
    ds_put_format(ds, "'mac': '02:00:00:00:01:%02d', "
                  "'addresses': ['10.1.0.%d'", number, number);
    if (ip6) {
        ds_put_format(ds, ", 'fd00:1::%d'", number);
    }
    ds_put_format(ds, "], 'labels': {'role': '%s', 'rank': '%d'}}, ",
                  number == 99 ? "server" : "worker", number);
}

/* In the arena. */
static const char *
text(struct arena *arena, const struct tenant *tenant)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *result;

    ds_put_format(&ds, "'t': {%s'networks': {'net': {'vni': 1, 'subnets': "
                "['10.1.0.0/16', 'fd00:1::/64'], "
                "'gateway': ['10.1.0.1', 'fd00:1::1']}}, 'endpoints': {",
                tenant->weighs || tenant->limited
                ? "'bandwidth': {'limit': '10Gbps', 'burst': '256KiB'}, "
                : "");
    for (int i = 0; i < tenant->n; i++) {
        char *name = xasprintf("w%d", i);

        put_endpoint(&ds, name, 10 + i, tenant->ip6,
                     i < tenant->n - 1 ? LIMIT : tenant->free_last ? ""
                     : tenant->weighs ? WEIGHT : LIMIT,
                     i < tenant->n - 1 || !tenant->apart);
        free(name);
    }
    put_endpoint(&ds, "s", 99, tenant->ip6, LIMIT, true);
    ds_chomp(&ds, ' ');
    ds_chomp(&ds, ',');
    ds_put_format(&ds, "}, 'rules': [{'name': 'one', "
                  "'from': {'labels': {'role': 'worker'}}, "
                  "'to': {'labels': {'role': 'server'}}, 'service': 'web', "
                  "'class': 'gold'}, {'name': 'two', "
                  "'from': {'labels': {'role': 'worker'}}, "
                  "'to': {'labels': {'role': 'worker'}}, "
                  "'service': 'rocev2', 'class': 'gold'}%s]}",
                  tenant->rules ? tenant->rules : "");
    result = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return result;
}

static void
begin(struct tenant tenant, void (*spoil)(struct plan *))
{
    struct arena *arena = arena_create();

    proving_begin(&t, arena_printf(
        arena, "{" FABRIC ", " CLASSES ", 'services': {"
        "'web': {'protocol': 'tcp', 'ports': [443]}}, 'tenants': {%s}}",
        text(arena, &tenant)), spoil);
    arena_destroy(arena);
}

static enum proving_by
change(struct tenant tenant,
       void (*alter)(struct proving *, struct arena *, struct resident_diff *))
{
    return proving_change(&t, text(t.u.arena, &tenant), alter);
}

/* As many others as a packet has places for names. */
START_TEST(test_coming)
{
    begin((struct tenant) { .n = 1 }, NULL);
    ck_assert_int_eq(change((struct tenant) { .n = 2 }, NULL), BY_ALL);
    ck_assert_int_eq(change((struct tenant) { .n = 3 }, NULL), BY_LIKENESS);
    ck_assert_int_eq(change((struct tenant) { .n = 4 }, NULL), BY_LIKENESS);
    proving_end(&t);
}
END_TEST

START_TEST(test_coming_ip6)
{
    begin((struct tenant) { .n = 2, .ip6 = true }, NULL);
    ck_assert_int_eq(change((struct tenant) { .n = 3, .ip6 = true }, NULL),
                     BY_ALL);
    ck_assert_int_eq(change((struct tenant) { .n = 4, .ip6 = true }, NULL),
                     BY_LIKENESS);
    proving_end(&t);
}
END_TEST

START_TEST(test_going)
{
    for (int ip6 = 0; ip6 <= 1; ip6++) {
        begin((struct tenant) { .n = 4, .ip6 = ip6 }, NULL);
        ck_assert_int_eq(change((struct tenant) { .n = 3, .ip6 = ip6 }, NULL),
                         BY_LIKENESS);
        ck_assert_int_eq(change((struct tenant) { .n = 2, .ip6 = ip6 }, NULL),
                         BY_LIKENESS);
        proving_end(&t);
    }
}
END_TEST

/* Which the intent knows all the while. */
START_TEST(test_attached)
{
    begin((struct tenant) { .n = 4, .apart = true }, NULL);
    ck_assert_int_eq(change((struct tenant) { .n = 4 }, NULL), BY_LIKENESS);
    ck_assert_int_eq(change((struct tenant) { .n = 4, .apart = true }, NULL),
                     BY_LIKENESS);
    proving_end(&t);
}
END_TEST

/* One that is not like others. */
START_TEST(test_unlike)
{
    static const struct tenant unlike[] = {
        { .n = 4, .free_last = true },
        { .n = 4, .rules = ", {'name': 'three', 'from': {'endpoint': 's'}, "
          "'to': {'labels': {'rank': ['12', '13']}}, 'service': 'web', "
          "'class': 'gold'}" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(unlike); i++) {
        begin((struct tenant) { .n = 3, .rules = unlike[i].rules }, NULL);
        ck_assert_int_eq(change(unlike[i], NULL), BY_ALL);
        proving_end(&t);
    }
}
END_TEST

static size_t altered, other;

static void
lose(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
     struct resident_diff *diff)
{
    if (altered < diff->added.n) {
        diff->added.v[altered] = diff->added.v[--diff->added.n];
    } else {
        altered = SIZE_MAX;
    }
}

static void
lose_meter(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
           struct resident_diff *diff)
{
    if (altered < diff->meters_added.n) {
        diff->meters_added.v[altered]
            = diff->meters_added.v[--diff->meters_added.n];
    } else {
        altered = SIZE_MAX;
    }
}

static void
keep(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
     struct resident_diff *diff)
{
    if (altered < diff->deleted.n) {
        diff->deleted.v[altered] = diff->deleted.v[--diff->deleted.n];
    } else {
        altered = SIZE_MAX;
    }
}

/* Whatever is forgotten is found, or proved otherwise: no packet may meet
 * it. */
static void
assert_none(int n, int n_then, bool met,
            void (*alter)(struct proving *, struct arena *,
                          struct resident_diff *))
{
    size_t i = 0;

    for (;; i++) {
        enum proving_by by;

        begin((struct tenant) { .n = n }, NULL);
        altered = i;
        by = change((struct tenant) { .n = n_then }, alter);
        proving_end(&t);
        if (altered == SIZE_MAX) {
            break;
        }
        ck_assert_msg(by == BY_NOTHING || (!met && by != BY_LIKENESS),
                      "%"PRIuSIZE": by %d", i, by);
    }
    ck_assert_uint_gt(i, 0);
}

START_TEST(test_forgotten)
{
    assert_none(3, 4, true, lose);
    assert_none(3, 4, true, lose_meter);
    assert_none(4, 3, false, keep);
}
END_TEST

/* Lets one of the flows that come do what another one of its table does, if
 * that differs. */
static void
imitate(struct proving *t_, struct arena *arena, struct resident_diff *diff)
{
    struct plan_flow *flow = arena_zalloc(arena, sizeof *flow);
    struct plan plan;

    resident_plan(t_->resident, &plan, t_->u.arena);
    *flow = *diff->added.v[altered];
    for (; other < plan.flows.n; other++) {
        const struct plan_flow *as = &plan.flows.v[other];

        if (as->table == flow->table && as->priority == flow->priority
            && strcmp(as->actions, flow->actions)) {
            flow->actions = as->actions;
            diff->added.v[altered] = flow;
            return;
        }
    }
    altered = altered + 1 < diff->added.n ? altered + 1 : SIZE_MAX;
    other = SIZE_MAX;
}

START_TEST(test_imitating)
{
    size_t n = 0;

    for (altered = other = 0; altered != SIZE_MAX; other++) {
        enum proving_by by;

        begin((struct tenant) { .n = 3 }, NULL);
        by = change((struct tenant) { .n = 4 }, imitate);
        proving_end(&t);
        if (other != SIZE_MAX) {
            ck_assert_int_eq(by, BY_NOTHING);
            n++;
        }
    }
    ck_assert_uint_gt(n, 10);
}
END_TEST

/* Gives the endpoint's meter for what it gets the number after its own, which
 * is nobody's. */
static void
rename_meter(struct proving *t_ OVS_UNUSED, struct arena *arena,
             struct resident_diff *diff)
{
    for (size_t i = 0; i < diff->added.n; i++) {
        struct plan_flow *flow = arena_zalloc(arena, sizeof *flow);
        const char *meter;

        *flow = *diff->added.v[i];
        meter = strstr(flow->actions, "meter:");
        if (flow->table == TABLE_OUTPUT && meter) {
            struct plan_meter *named = arena_zalloc(arena, sizeof *named);
            uint32_t id = atoi(meter + strlen("meter:"));

            for (size_t k = 0; k < diff->meters_added.n; k++) {
                if (diff->meters_added.v[k]->id == id) {
                    *named = *diff->meters_added.v[k];
                    named->id = id + 1;
                    diff->meters_added.v[k] = named;
                }
            }
            ck_assert_uint_eq(named->id, id + 1);
            flow->actions = arena_printf(arena, "meter:%"PRIu32"%s",
                                         named->id, strchr(meter, ','));
            diff->added.v[i] = flow;
        }
    }
}

START_TEST(test_named)
{
    begin((struct tenant) { .n = 3 }, NULL);
    ck_assert_int_eq(change((struct tenant) { .n = 4 }, rename_meter),
                     BY_NOTHING);
    proving_end(&t);
}
END_TEST

/* The number of the port or of the endpoint that 'name' has, as flows set
 * it. */
static const char *
number_of(const struct plan *plan, const char *name, const char *reg)
{
    char *in_port = xasprintf("in_port=\"i-%s\"", name);
    const char *number = NULL;

    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];

        if (flow->table == TABLE_ADMIT && strstr(flow->match, in_port)) {
            const char *end = strstr(flow->actions, reg);

            ck_assert_ptr_nonnull(end);
            while (end[-1] != ':') {
                end--;
            }
            number = arena_strndup(plan->arena, end, strcspn(end, "-"));
        }
    }
    free(in_port);
    ck_assert_ptr_nonnull(number);
    return number;
}

/* The number of the endpoint that comes, in all that it is tried with. */
static const char *coming;

static void
add_flow(struct plan *plan, int table, int priority, const char *match,
         const char *actions)
{
    struct plan_flow flow = {
        .table = table, .priority = priority,
        .cookie = plan->flows.v[0].cookie,
        .match = match, .actions = actions,
    };

    *vec_push(plan->arena, &plan->flows) = flow;
}

/* What is for a number that nobody has yet is dropped. */
static void
drop_number(struct plan *plan)
{
    add_flow(plan, TABLE_OUTPUT, 300,
             arena_printf(plan->arena, "reg3=%s", coming), "drop");
}

/* It is given to what a worker sends to an address that is nobody's yet, past
 * all that asks whether it may. */
static void
leak_number(struct plan *plan)
{
    add_flow(plan, TABLE_ROUTE, 300, "ip,nw_dst=10.1.0.55",
             arena_printf(plan->arena, "set_field:%s->reg3,goto_table:%d",
                          coming, TABLE_OUTPUT));
}

/* Nobody meets it, and the endpoint's keeps it from all. */
static void
hide_behind(struct plan *plan)
{
    add_flow(plan, TABLE_OUTPUT, 100,
             arena_printf(plan->arena, "reg3=%s,reg4=12345", coming), "drop");
}

/* One of the flows is lost that say that nobody gets what it sends. */
static void
lose_unequal(struct plan *plan)
{
    for (size_t i = 0; i < plan->flows.n; i++) {
        const char *match = plan->flows.v[i].match;

        if (!strcmp(match, "reg1=0/0x1,reg3=0x1/0x1")) {
            plan->flows.v[i] = plan->flows.v[--plan->flows.n];
            return;
        }
    }
    ck_abort_msg("there is none");
}

static void
find_coming(void)
{
    struct plan plan;

    resident_plan(t.resident, &plan, t.u.arena);
    coming = xstrdup(number_of(&plan, "w3", "->reg1"));
}

/* Nothing shows what is wrong with the tables before it comes. */
START_TEST(test_hidden)
{
    void (*const spoil[])(struct plan *) = {
        drop_number, leak_number, lose_unequal, hide_behind,
    };

    begin((struct tenant) { .n = 4 }, NULL);
    find_coming();
    proving_end(&t);
    for (size_t i = 0; i < ARRAY_SIZE(spoil); i++) {
        enum proving_by by;

        begin((struct tenant) { .n = 3 }, spoil[i]);
        by = change((struct tenant) { .n = 4 }, NULL);
        ck_assert_int_ne(by, BY_LIKENESS);
        proving_end(&t);
    }
    free(CONST_CAST(char *, coming));
}
END_TEST

/* Is the flow that of the worker 'w3', whose number that is? */
static bool
is_of_w3(const struct plan_flow *flow, const char *number)
{
    return (strstr(flow->match, "i-w3") || strstr(flow->match, "10.1.0.13")
            || strstr(flow->match, number));
}

/* Leaves all flows and meters of others as they are. */
static void
forget_others(struct proving *t_ OVS_UNUSED, struct arena *arena,
              struct resident_diff *diff)
{
    plan_flows own = VEC_INIT;
    plan_meters meters = VEC_INIT;

    for (size_t i = 0; i < diff->deleted.n; i++) {
        if (is_of_w3(diff->deleted.v[i], coming)) {
            *vec_push(arena, &own) = diff->deleted.v[i];
        }
    }
    for (size_t i = 0; i < diff->meters_deleted.n; i++) {
        const char *id = arena_printf(arena, "meter:%"PRIu32",",
                                      diff->meters_deleted.v[i]->id);
        bool called = false;

        for (size_t k = 0; k < own.n; k++) {
            called |= strstr(own.v[k]->actions, id) != NULL;
        }
        if (called) {
            *vec_push(arena, &meters) = diff->meters_deleted.v[i];
        }
    }
    diff->added.n = diff->changed.n = diff->meters_added.n = 0;
    diff->deleted = own;
    diff->meters_deleted = meters;
}

/* By its weight the tenant's meters were others. */
START_TEST(test_weight)
{
    begin((struct tenant) { .n = 4, .weighs = true }, NULL);
    find_coming();
    ck_assert_int_ne(change((struct tenant) { .n = 3, .limited = true },
                            forget_others), BY_LIKENESS);
    proving_end(&t);
    free(CONST_CAST(char *, coming));
}
END_TEST

Suite *
symmetry_suite(void)
{
    Suite *suite = suite_create("symmetry");
    TCase *tc = unit_case(suite, "proofs by those who are alike");

    tcase_add_test(tc, test_coming);
    tcase_add_test(tc, test_coming_ip6);
    tcase_add_test(tc, test_going);
    tcase_add_test(tc, test_attached);
    tcase_add_test(tc, test_unlike);
    tcase_add_test(tc, test_forgotten);
    tcase_add_test(tc, test_imitating);
    tcase_add_test(tc, test_weight);
    tcase_add_test(tc, test_named);
    tcase_add_test(tc, test_hidden);
    return suite;
}
