/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alike.h"
#include "backend/openflow/pipeline.h"
#include "util.h"

/* What is wrong is not proved by others like the endpoint that came or went;
 * tests/verify/changes draws what is chosen here. */

static struct proving t;

static size_t altered, other;

/* Takes the altered one out of 'n' pointers; if there is no such one, says
 * so. */
static void
drop(void *v, size_t *n)
{
    char *pointers = v;

    if (altered < *n) {
        memmove(pointers + altered * sizeof(void *),
                pointers + --*n * sizeof(void *), sizeof(void *));
    } else {
        altered = SIZE_MAX;
    }
}

static void
lose(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
     struct resident_diff *diff)
{
    drop(diff->added.v, &diff->added.n);
}

static void
lose_meter(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
           struct resident_diff *diff)
{
    drop(diff->meters_added.v, &diff->meters_added.n);
}

static void
keep(struct proving *t_ OVS_UNUSED, struct arena *arena OVS_UNUSED,
     struct resident_diff *diff)
{
    drop(diff->deleted.v, &diff->deleted.n);
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

        alike_begin(&t, (struct alike) { .n = n }, NULL);
        altered = i;
        by = alike_change(&t, (struct alike) { .n = n_then }, alter);
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

        alike_begin(&t, (struct alike) { .n = 3 }, NULL);
        by = alike_change(&t, (struct alike) { .n = 4 }, imitate);
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
    alike_begin(&t, (struct alike) { .n = 3 }, NULL);
    ck_assert_int_eq(alike_change(&t, (struct alike) { .n = 4 },
                                  rename_meter), BY_NOTHING);
    proving_end(&t);
}
END_TEST

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
    coming = xstrdup(alike_number(&plan, "w3", "->reg1"));
}

/* Nothing shows what is wrong with the tables before it comes. */
START_TEST(test_hidden)
{
    void (*const spoil[])(struct plan *) = {
        drop_number, leak_number, lose_unequal, hide_behind,
    };

    alike_begin(&t, (struct alike) { .n = 4 }, NULL);
    find_coming();
    proving_end(&t);
    for (size_t i = 0; i < ARRAY_SIZE(spoil); i++) {
        enum proving_by by;

        alike_begin(&t, (struct alike) { .n = 3 }, spoil[i]);
        by = alike_change(&t, (struct alike) { .n = 4 }, NULL);
        ck_assert_int_ne(by, BY_LIKENESS);
        proving_end(&t);
    }
    free(CONST_CAST(char *, coming));
}
END_TEST

/* Is the flow that of the worker 'w3'? */
static bool
is_of_w3(const struct plan_flow *flow)
{
    return (strstr(flow->match, "i-w3") || strstr(flow->match, "10.1.0.13")
            || strstr(flow->match, coming));
}

/* Leaves all flows and meters of others as they are. */
static void
forget_others(struct proving *t_ OVS_UNUSED, struct arena *arena,
              struct resident_diff *diff)
{
    plan_flows own = VEC_INIT;
    plan_meters meters = VEC_INIT;

    for (size_t i = 0; i < diff->deleted.n; i++) {
        if (is_of_w3(diff->deleted.v[i])) {
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
    enum proving_by by;

    alike_begin(&t, (struct alike) {
        .n = 4, .limited = true, .last = ALIKE_BANDWIDTH("1Gbps",
                                                         ", 'weight': 2"),
    }, NULL);
    find_coming();
    by = alike_change(&t, (struct alike) { .n = 3, .limited = true },
                      forget_others);
    ck_assert_int_ne(by, BY_LIKENESS);
    proving_end(&t);
    free(CONST_CAST(char *, coming));
}
END_TEST

/* Leaves only what is of the worker 'w3'. */
static void
forget_rest(struct proving *t_ OVS_UNUSED, struct arena *arena,
            struct resident_diff *diff)
{
    plan_flows own = VEC_INIT;

    for (size_t i = 0; i < diff->added.n; i++) {
        if (is_of_w3(diff->added.v[i])) {
            *vec_push(arena, &own) = diff->added.v[i];
        }
    }
    diff->added = own;
    diff->deleted.n = diff->changed.n = 0;
}

/* The numbers of the groups of 'w3' and 'w0'. */
static const char *group, *group_of_w0;

/* Leaves that as if rules treated it as they do 'w0'. */
static void
forget_rules(struct proving *t_, struct arena *arena,
             struct resident_diff *diff)
{
    forget_rest(t_, arena, diff);
    for (size_t i = 0; i < diff->added.n; i++) {
        struct plan_flow *flow = arena_zalloc(arena, sizeof *flow);
        const char *at = strstr(diff->added.v[i]->actions, group);

        *flow = *diff->added.v[i];
        while (at && strncmp(at + strlen(group), "->reg12", 7)
               && strncmp(at + strlen(group), "->reg14", 7)) {
            at = strstr(at + 1, group);
        }
        if (at) {
            flow->actions = arena_printf(arena, "%.*s%s%s",
                                         (int) (at - flow->actions),
                                         flow->actions, group_of_w0,
                                         at + strlen(group));
        }
        diff->added.v[i] = flow;
    }
}

#define RULE_THREE(TO) \
    ", {'name': 'three', 'from': {'endpoint': 's'}, 'to': " TO ", " \
    "'service': 'web', 'class': 'gold'}"

/* Endpoints that come while more is said, which the tables do not do, or of
 * which more is said. */
START_TEST(test_more_said)
{
    static const struct {
        struct alike before, after;
        void (*alter)(struct proving *, struct arena *,
                      struct resident_diff *);
    } more[] = {
        { { .n = 3 },
          { .n = 4, .rules = RULE_THREE("{'endpoint': 'w1'}") },
          forget_rest },
        { { .n = 2 }, { .n = 4 }, forget_rest },
        { { .n = 3, .rules = RULE_THREE("{'labels': {'rank': "
                                        "['12', '13']}}") },
          { .n = 4, .rules = RULE_THREE("{'labels': {'rank': "
                                        "['12', '13']}}") },
          forget_rules },
    };

    for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
        struct plan plan;
        enum proving_by by;

        alike_begin(&t, more[i].after, NULL);
        find_coming();
        resident_plan(t.resident, &plan, t.u.arena);
        group = xstrdup(alike_number(&plan, "w3", "->reg12"));
        group_of_w0 = xstrdup(alike_number(&plan, "w0", "->reg12"));
        proving_end(&t);

        alike_begin(&t, more[i].before, NULL);
        by = alike_change(&t, more[i].after, more[i].alter);
        ck_assert_msg(by == BY_NOTHING, "%"PRIuSIZE": by %d", i, by);
        proving_end(&t);
        free(CONST_CAST(char *, coming));
        free(CONST_CAST(char *, group));
        free(CONST_CAST(char *, group_of_w0));
    }
}
END_TEST

Suite *
symmetry_wrong_suite(void)
{
    Suite *suite = suite_create("symmetry-wrong");
    TCase *tc = unit_case(suite, "what those who are alike do not prove");

    tcase_add_test(tc, test_forgotten);
    tcase_add_test(tc, test_imitating);
    tcase_add_test(tc, test_weight);
    tcase_add_test(tc, test_named);
    tcase_add_test(tc, test_hidden);
    tcase_add_test(tc, test_more_said);
    return suite;
}
