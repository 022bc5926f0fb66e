/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "push/push.h"
#include "sema/policy.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

/* What apply proves before it changes a bridge: the flows of the plan, but for
 * tenants of which the same was proved for the plan that was applied last. */

/* The digests of what is proved, and those tenants that have others. */
struct digests {
    const char **v;             /* By number of tenant; NULL: not known. */
    bool *differ;
    size_t n_differ;
};

static void
find_digests(const struct verify_task *task, const struct plan_record *kept,
             struct arena *arena, struct digests *d)
{
    size_t n = task->policy->tenants.n;
    struct sset proved = SSET_INITIALIZER(&proved);

    d->v = arena_zalloc(arena, (n + 1) * sizeof *d->v);
    d->differ = arena_zalloc(arena, (n + 1) * sizeof *d->differ);
    if (!verify_digest(task, arena, d->v)) {
        d->v = NULL;
    }
    for (size_t i = 0; kept && i < kept->proved.n; i++) {
        sset_add(&proved, kept->proved.v[i]);
    }
    for (size_t i = 0; i < n; i++) {
        d->differ[i] = !d->v || !sset_contains(&proved, d->v[i]);
        d->n_differ += d->differ[i];
    }
    sset_destroy(&proved);
}

static int
refuse(const struct cli_options *options, const struct verify_task *task,
       const struct verify_result *result, const struct verify_cost *cost,
       const char *bridge)
{
    if (options->format == FORMAT_JSON) {
        verify_print_json(task, result, cost, bridge);
    } else {
        verify_print_table(task, result, bridge);
    }
    fprintf(stderr, "bulkhead: the plan is refused, since its flows are not "
            "proved to do what the intent means; nothing was changed\n");
    return EXIT_WRONG;
}

/* Proves what differs, and notes it in the order. */
static int
prove(const struct cli_options *options, struct verify_task *task,
      const struct plan_record *kept, struct plan_record *order,
      struct arena *arena)
{
    clock_t start = clock();
    struct verify_cost cost = { 0, 0 };
    struct verify_result result;
    struct digests digests = { .n_differ = 0 };

    task->deadline = (options->verify_time
                      ? time_msec() + 1000LL * options->verify_time : 0);
    find_digests(task, kept, arena, &digests);
    task->tenants = digests.v ? digests.differ : NULL;
    verify(task, arena, &result);
    cost.proof = verify_since(start);
    if (!verify_is_proved(&result)) {
        return refuse(options, task, &result, &cost, order->bridge);
    }
    fprintf(stderr, "bulkhead: proved: %s\n", result.whole ? "all tenants"
            : arena_printf(arena, "%"PRIuSIZE" tenants; of others the same "
                           "was proved before", digests.n_differ));
    order->verified = true;
    memset(&order->proved, 0, sizeof order->proved);
    for (size_t i = 0; digests.v && i < task->policy->tenants.n; i++) {
        *vec_push(arena, &order->proved) = digests.v[i];
    }
    return EXIT_DONE;
}

static int
verify_order(const struct cli_options *options, const struct policy *policy,
             const struct plan_record *kept, struct plan_record *order,
             struct arena *arena)
{
    struct verify_task task = { .policy = policy, .node = order->plan->node };
    struct ofputil_port_map ports;
    struct table_set tables;
    const char *wrong;
    int status = EXIT_WRONG;

    ofputil_port_map_init(&ports);
    wrong = verify_take_plan(&task, order->plan, &tables, &ports, arena);
    if (wrong) {
        cli_print_error(arena_printf(arena, "unproved: %s", wrong));
    } else {
        status = prove(options, &task, kept, order, arena);
    }
    table_set_destroy(&tables);
    ofputil_port_map_destroy(&ports);
    return status;
}

int
cli_verify_order(const struct cli_options *options,
                 const struct policy *policy, struct plan_record *order,
                 struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    const struct plan_record *kept;
    struct push_diff diff;

    if (order->plan->northbound || order->plan->kernel) {
        if (options->verify) {
            cli_print_error("--verify is for plans of the userspace datapath");
        }
        return options->verify ? EXIT_USAGE : EXIT_DONE;
    }
    target.bridge = order->bridge;
    push_look(&target, arena, &diff);
    kept = diff.kept;
    if (options->verify) {
        return verify_order(options, policy, kept, order, arena);
    } else if (kept) {
        order->proved = kept->proved;
        order->verified = (kept->verified && kept->intent
                           && !strcmp(kept->intent, order->intent)
                           && plan_same(kept->plan, order->plan));
    }
    return EXIT_DONE;
}
