/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/offload.h"
#include "cli/show.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "push/push.h"

/* The commands that change a bridge. */

/* What of the plan is for others than the bridge. */
static void
print_rest(const struct plan *plan)
{
    if (plan->kernel) {
        fprintf(stderr, "bulkhead: note: these are flows, meters and limits "
                "of connections; what else the target %s sets, is in the "
                "scripts of 'bulkhead compile --target=%s -o DIR'\n",
                plan->target, plan->target);
    }
}

/* As 'bulkhead plan', which says nothing of who else is there. */
static int
dry_run(const struct cli_options *options, const struct policy *policy,
        struct plan_record *order, struct arena *arena)
{
    pid_t pid;

    if (!order->plan->northbound) {
        push_agent(order->bridge, arena, &pid);
        if (pid) {
            fprintf(stderr, "bulkhead: warning: bridge %s is kept by process "
                    "%ld: 'bulkhead apply' is refused until that ends\n",
                    order->bridge, (long int) pid);
        }
    }
    return cli_plan(options, policy, order, arena);
}

static int
apply(const struct cli_options *options, const struct plan_record *order,
      struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    struct push_diff diff;
    const char *reason;

    if (order->plan->northbound) {
        return cli_nb_apply(options, order, arena);
    }
    target.bridge = order->bridge;
    target.confirm_ms = 1000 * options->confirm;
    reason = push_apply(&target, order, &diff);
    cli_print_left_out(order->plan);
    cli_print_warnings(order->bridge, &diff);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    if (options->format == FORMAT_JSON) {
        show_json(cli_diff_json(order->plan->node, order->bridge, &diff));
    } else {
        cli_print_diff(order->plan->node, order->bridge, &diff, CLI_DONE);
        cli_print_generation(&diff);
    }
    print_rest(order->plan);
    return (diff.guard.generation
            ? cli_await(&target, diff.guard.generation) : EXIT_DONE);
}

int
cmd_apply(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    const struct policy *policy;
    struct plan_record order;
    int status = cli_load_order(options, arena, &order, &policy);

    if (status == EXIT_DONE && options->profile) {
        status = cli_gate_offload(options, policy, order.plan, arena);
    }
    if (status == EXIT_DONE) {
        status = cli_verify_order(options, policy, &order, arena);
    }
    if (status == EXIT_DONE) {
        status = (options->dry_run ? dry_run(options, policy, &order, arena)
                  : apply(options, &order, arena));
    }
    arena_destroy(arena);
    return status;
}

int
cmd_rollback(const struct cli_options *options)
{
    struct arena *arena;
    struct push_target target;
    struct push_diff diff;
    const char *reason;

    if (cli_is_fabric(options)) {
        return cli_nb_rollback(options);
    }
    arena = arena_create();
    target = cli_target(options, arena);
    reason = push_rollback(&target, options->to, options->node, arena, &diff);
    cli_print_warnings(options->bridge, &diff);
    if (reason) {
        cli_print_error(reason);
    } else {
        cli_print_diff(diff.done->plan->node, options->bridge, &diff,
                       CLI_DONE);
        printf("%s: went back to generation %"PRIu64"\n", options->bridge,
               diff.back);
        cli_print_generation(&diff);
    }
    arena_destroy(arena);
    return reason ? EXIT_UNREACHABLE : EXIT_DONE;
}

int
cmd_clear(const struct cli_options *options)
{
    struct arena *arena;
    struct push_target target;
    struct push_diff diff;
    const char *reason;

    if (cli_is_fabric(options)) {
        return cli_nb_clear(options);
    }
    arena = arena_create();
    target = cli_target(options, arena);
    reason = push_clear(&target, arena, &diff);
    cli_print_warnings(options->bridge, &diff);
    if (reason) {
        cli_print_error(reason);
    } else {
        printf("%s: %zu flows deleted; %zu meters deleted\n",
               options->bridge, diff.flows_deleted, diff.meters_deleted);
    }
    arena_destroy(arena);
    return reason ? EXIT_UNREACHABLE : EXIT_DONE;
}
