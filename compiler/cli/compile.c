/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>

#include "backend/backend.h"
#include "cli/report.h"
#include "intent/intent.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "plan/row.h"
#include "sema/policy.h"

static void
print_counts(const struct plan *plan)
{
    struct plan_counts counts = plan_count(plan);

    fprintf(stderr, "%s: %zu flows, %zu distinct masks, %zu meters",
            plan->node, counts.flows, counts.masks, counts.meters);
    if (counts.borrowers) {
        fprintf(stderr, ", %zu of them below an uplink's", counts.borrowers);
    }
    fprintf(stderr, ", %zu conjunctions\n", counts.conjunctions);
}

static int
write_plan(const struct cli_options *options, const struct plan *plan)
{
    const char *dir = options->output ? options->output : ".";
    const char *reason = plan_write(plan, dir);

    cli_print_left_out(plan);
    if (options->verbose && !plan->policy && !plan->northbound) {
        print_counts(plan);
    }
    if (reason) {
        cli_print_error(reason);
        return EXIT_WRONG;
    }
    if (plan->northbound && !plan_fits_nbctl(plan)) {
        fputs("bulkhead: warning: the rows are too many for one command: "
              "ovn-nbctl.sh does nothing; use 'bulkhead apply "
              "--target=ovn'\n", stderr);
    }
    if (options->format == FORMAT_JSON) {
        return EXIT_DONE;
    } else if (plan->policy) {
        printf("%s: policy.txt in %s\n", plan->node, dir);
    } else if (plan->northbound) {
        printf("%zu rows for OVN in %s\n", plan->rows.n, dir);
    } else {
        printf("%s: %zu endpoints, %zu flows, %zu meters in %s\n", plan->node,
               plan->ports.n - plan->externals.n, plan->flows.n,
               plan->meters.n, dir);
    }
    return EXIT_DONE;
}

/* Each appends a stage to 'ds'.  Returns false after printing what is
 * wrong. */
static bool
dump_intent(const struct cli_options *options, struct arena *arena,
            struct ds *ds)
{
    const struct policy *policy = cli_load_policy(options, arena);

    if (policy) {
        intent_print(policy->intent, ds);
    }
    return policy != NULL;
}

static bool
dump_ir(const struct cli_options *options, struct arena *arena,
        struct ds *ds)
{
    const struct backend *target = options->target ? options->target
                                                   : backends[0];
    struct ir_prog *prog = cli_load_prog(options, arena);

    if (prog) {
        if (options->dump == DUMP_LOWERED && target->lower) {
            target->lower(prog, arena);
        }
        ir_print(prog, ds);
    }
    return prog != NULL;
}

static bool
dump_plan(const struct cli_options *options, struct arena *arena,
          struct ds *ds)
{
    struct plan plan;
    bool ok = cli_load_plan(options, arena, &plan);

    if (ok) {
        plan_print(&plan, ds);
    }
    return ok;
}

static bool
dump(const struct cli_options *options, struct arena *arena, struct ds *ds)
{
    switch (options->dump) {
    case DUMP_INTENT: return dump_intent(options, arena, ds);
    case DUMP_IR:
    case DUMP_LOWERED: return dump_ir(options, arena, ds);
    case DUMP_PLAN: return dump_plan(options, arena, ds);
    case DUMP_NONE: break;
    }
    return false;
}

int
cmd_compile(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    int status = EXIT_WRONG;
    struct plan plan;

    if (options->format == FORMAT_JSON) {
        report_as_json();
    }
    if (options->dump) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        if (dump(options, arena, &ds)) {
            fputs(ds_cstr(&ds), stdout);
            status = EXIT_DONE;
        }
        ds_destroy(&ds);
    } else if (cli_load_plan(options, arena, &plan)) {
        status = write_plan(options, &plan);
    }
    report_end();
    arena_destroy(arena);
    return status;
}
