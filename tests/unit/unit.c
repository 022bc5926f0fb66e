/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "backend/openflow/openflow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "util.h"

TCase *
unit_case(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, 120);
    suite_add_tcase(suite, tc);
    return tc;
}

void
unit_init(struct unit *u)
{
    memset(u, 0, sizeof *u);
    u->arena = arena_create();
    diags_init(&u->diags, u->arena);
}

void
unit_destroy(struct unit *u)
{
    arena_destroy(u->arena);
}

static void
unit_source(struct unit *u, const char *text)
{
    char *copy = arena_strdup(u->arena, text);

    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    u->source = source_create(u->arena, "intent.json", copy, strlen(copy));
}

void
unit_value(struct unit *u, const char *text)
{
    unit_source(u, text);
    u->value = value_parse(u->source, u->arena, &u->diags);
}

void
unit_parse(struct unit *u, const char *text)
{
    unit_source(u, text);
    u->intent = intent_parse(u->source, u->arena, &u->diags);
}

void
unit_resolve(struct unit *u, const char *text)
{
    unit_parse(u, text);
    if (u->intent) {
        u->policy = policy_resolve(u->intent, u->arena, &u->diags);
    }
}

void
unit_build(struct unit *u, const char *node)
{
    u->prog = ir_build(u->policy, node, u->arena);
    ck_assert_ptr_nonnull(u->prog);
    ck_assert_msg(ir_validate(u->prog, &u->diags), "%s", unit_diags(u));
    ck_assert_msg(backend_compile(&openflow_backend, u->prog, u->arena,
                                  &u->diags, &u->plan), "%s", unit_diags(u));
}

static void
unit_emit(struct unit *u, const char *node)
{
    if (u->intent) {
        u->policy = policy_resolve(u->intent, u->arena, &u->diags);
    }
    ck_assert_msg(u->policy && !u->diags.n_errors, "%s", unit_diags(u));
    unit_build(u, node);
}

void
unit_compile(struct unit *u, const char *text, const char *node)
{
    unit_parse(u, text);
    unit_emit(u, node);
}

void
unit_compile_raw(struct unit *u, const char *text, size_t len,
                 const char *node)
{
    u->source = source_create(u->arena, "intent.json", text, len);
    u->intent = intent_parse(u->source, u->arena, &u->diags);
    unit_emit(u, node);
}

const char *
unit_diags(struct unit *u)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    diags_format(&u->diags, &ds);
    const char *text = arena_strdup(u->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

void
unit_complains(struct unit *u, const char *needle)
{
    const char *text = unit_diags(u);

    ck_assert_msg(strstr(text, needle), "'%s' is not in:\n%s", needle, text);
}

const char *
unit_plan_text(struct unit *u)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < u->plan.flows.n; i++) {
        ds_put_format(&ds, "%s\n", plan_flow_string(&u->plan,
                                                    &u->plan.flows.v[i]));
    }
    for (size_t i = 0; i < u->plan.meters.n; i++) {
        ds_put_format(&ds, "%s\n", plan_meter_string(&u->plan,
                                                     &u->plan.meters.v[i]));
    }
    const char *text = arena_strdup(u->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

const char *
unit_prog_text(struct arena *arena, const struct ir_prog *prog)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    ir_print(prog, &ds);
    text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

const char *
unit_planned(struct arena *arena, struct ir_prog *prog)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct diags diags;
    struct plan plan;
    const char *text;

    diags_init(&diags, arena);
    ck_assert(backend_compile(&openflow_backend, prog, arena, &diags, &plan));
    plan_print(&plan, &ds);
    text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

struct ir_prog *
unit_parse_prog(struct unit *u, const char *text)
{
    return ir_parse(source_create(u->arena, "prog.ir", text, strlen(text)),
                    u->arena, &u->diags);
}

void
unit_round_trip(struct unit *u)
{
    const char *text = unit_prog_text(u->arena, u->prog);
    struct ir_prog *prog = unit_parse_prog(u, text);

    ck_assert_msg(prog != NULL, "%s", unit_diags(u));
    ck_assert_str_eq(unit_prog_text(u->arena, prog), text);
    ck_assert_str_eq(unit_planned(u->arena, prog),
                     unit_planned(u->arena, u->prog));
}

const struct policy_rule *
unit_rule(const struct unit *u, const char *name)
{
    for (size_t i = 0; i < u->policy->rules.n; i++) {
        if (!strcmp(u->policy->rules.v[i]->name, name)) {
            return u->policy->rules.v[i];
        }
    }
    ck_abort_msg("there is no rule %s", name);
    return NULL;
}

const struct source *
unit_example(struct arena *arena, const char *name)
{
    const char *srcdir = getenv("srcdir");
    const char *path = arena_printf(arena, "%s/examples/%s.json",
                                    srcdir ? srcdir : ".", name);
    const struct source *source;
    const char *error = source_read(arena, path, &source);

    ck_assert_msg(!error, "%s: %s (srcdir is the source tree)", path,
                  error);
    return source;
}

/* Returns how many tests have failed. */
static int
run(SRunner *runner)
{
    int n_failed;

    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed;
}

/* The suites that change what a process is: of these each test has one of its
 * own, even if CK_FORK=no. */
static int
run_apart(void)
{
    SRunner *runner = srunner_create(child_suite());

    srunner_add_suite(runner, heap_suite());
    srunner_add_suite(runner, worker_suite());
    srunner_add_suite(runner, seam_suite());
    srunner_set_fork_status(runner, CK_FORK);
    return run(runner);
}

int
main(void)
{
    SRunner *runner = srunner_create(base_suite());
    int n_failed;

    srunner_add_suite(runner, admitted_suite());
    srunner_add_suite(runner, source_suite());
    srunner_add_suite(runner, diag_suite());
    srunner_add_suite(runner, files_suite());
    srunner_add_suite(runner, units_suite());
    srunner_add_suite(runner, value_suite());
    srunner_add_suite(runner, intent_suite());
    srunner_add_suite(runner, sema_suite());
    srunner_add_suite(runner, conflict_suite());
    srunner_add_suite(runner, narrower_suite());
    srunner_add_suite(runner, redundant_suite());
    srunner_add_suite(runner, externals_suite());
    srunner_add_suite(runner, meaning_suite());
    srunner_add_suite(runner, meant_suite());
    srunner_add_suite(runner, ir_suite());
    srunner_add_suite(runner, round_trip_suite());
    srunner_add_suite(runner, pass_suite());
    srunner_add_suite(runner, backend_suite());
    srunner_add_suite(runner, openflow_suite());
    srunner_add_suite(runner, conjunction_suite());
    srunner_add_suite(runner, dp_meter_phantom_suite());
    srunner_add_suite(runner, dp_meter_rows_suite());
    srunner_add_suite(runner, lost_suite());
    srunner_add_suite(runner, kernel_suite());
    srunner_add_suite(runner, nic_suite());
    srunner_add_suite(runner, dpdk_suite());
    srunner_add_suite(runner, offload_suite());
    srunner_add_suite(runner, held_suite());
    srunner_add_suite(runner, tc_suite());
    srunner_add_suite(runner, rte_suite());
    srunner_add_suite(runner, ovn_suite());
    srunner_add_suite(runner, plan_suite());
    srunner_add_suite(runner, resident_suite());
    srunner_add_suite(runner, symmetry_suite());
    srunner_add_suite(runner, symmetry_wrong_suite());
    srunner_add_suite(runner, record_suite());
    srunner_add_suite(runner, telemetry_suite());
    srunner_add_suite(runner, telemetry_meters_suite());
    srunner_add_suite(runner, telemetry_race_suite());
    srunner_add_suite(runner, recording_suite());
    srunner_add_suite(runner, ports_suite());
    srunner_add_suite(runner, flows_suite());
    srunner_add_suite(runner, tunnels_suite());
    srunner_add_suite(runner, verify_suite());
    srunner_add_suite(runner, verify_parts_suite());
    srunner_add_suite(runner, borrow_suite());
    srunner_add_suite(runner, gcra_suite());
    srunner_add_suite(runner, gcra_both_suite());
    srunner_add_suite(runner, gcra_time_suite());
    srunner_add_suite(runner, dp_meter_suite());
    srunner_add_suite(runner, dp_meter_pool_suite());
    srunner_add_suite(runner, odp_ahead_suite());
    srunner_add_suite(runner, ofp_microburst_suite());

    /* What Open vSwitch's library would log is part of no test's result. */
    vlog_set_levels(NULL, VLF_CONSOLE, VLL_OFF);
    n_failed = run_apart();     /* While this one has no threads. */
    n_failed += run(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
