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

#include "cli/cli.h"
#include "plan/prove.h"
#include "plan/record.h"
#include "push/push.h"
#include "timeval.h"
#include "util.h"

/* What apply proves before it changes a bridge, unless it can tell that the
 * bridge would refuse it: the flows of the plan, but for tenants of which the
 * same was proved for a plan that was applied before. */

enum { DEFAULT_TIME = 300 };    /* Seconds. */

static int
time_limit(const struct cli_options *options)
{
    return options->verify_time ? options->verify_time : DEFAULT_TIME;
}

static int
refuse(const struct cli_options *options, const struct plan_proof *proof,
       const struct verify_costs *costs, const char *bridge)
{
    bool late = proof->result.unproved && time_msec() > proof->task.deadline;

    if (options->format == FORMAT_JSON) {
        verify_print_json(&proof->task, &proof->result, costs, bridge);
    } else {
        verify_print_table(&proof->task, &proof->result, bridge);
    }
    if (late) {
        fprintf(stderr, "bulkhead: the plan is refused, since its flows are "
                "not proved within %d seconds; nothing was changed\n"
                "remedy: --verify=TIME gives it more, --no-verify applies "
                "what is not proved\n", time_limit(options));
    } else {
        fprintf(stderr, "bulkhead: the plan is refused, since its flows are "
                "not proved to do what the intent means; nothing was "
                "changed\n"
                "remedy: report this as a fault of Bulkhead's; --no-verify "
                "applies what is not proved\n");
    }
    return EXIT_WRONG;
}

static void
tell(const struct cli_options *options, const struct plan_proof *proof,
     const struct plan_record *order)
{
    if (options->format != FORMAT_JSON) {
        printf("%s on %s: proved %"PRIuSIZE" of %"PRIuSIZE" tenants%s\n",
               order->plan->node, order->bridge, proof->n_proved,
               proof->n_tenants, proof->n_proved < proof->n_tenants
               ? "; of the others the same was proved before" : "");
    }
}

/* Proves what is not known, and notes it in the order. */
static int
prove(const struct cli_options *options, const struct policy *policy,
      const struct plan_record *kept, struct plan_record *order,
      struct arena *arena)
{
    struct verify_cost start = verify_cost_begin();
    struct verify_costs costs = { .read = { .cpu = 0 } };
    struct plan_proof proof;
    int status = EXIT_DONE;

    if (!plan_prove(&proof, policy, order->plan, kept ? &kept->proved : NULL,
                    1000 * time_limit(options),
                    verify_n_jobs(policy->tenants.n), arena)) {
        costs.proof = verify_cost_since(&start, proof.result.n_jobs);
        status = refuse(options, &proof, &costs, order->bridge);
    } else {
        tell(options, &proof, order);
        order->verified = true;
        order->proved = proof.proved;
    }
    plan_proof_destroy(&proof);
    return status;
}

/* What is not asked about stays as it is known. */
static void
keep_known(const struct plan_record *kept, struct plan_record *order)
{
    if (kept) {
        order->proved = kept->proved;
        order->verified = (kept->verified && kept->intent
                           && !strcmp(kept->intent, order->intent)
                           && plan_same(kept->plan, order->plan));
    }
}

/* The verifier's packets are those of the userspace datapath. */
static int
pass_unproved(const struct cli_options *options, const struct plan *plan)
{
    if (options->verify) {
        cli_print_error("--verify is for plans of the userspace datapath");
        return EXIT_USAGE;
    } else if (plan->kernel && !options->no_verify) {
        fprintf(stderr, "bulkhead: note: nothing is proved of flows of the "
                "target %s\n", plan->target);
    }
    return EXIT_DONE;
}

int
cli_verify_order(const struct cli_options *options,
                 const struct policy *policy, struct plan_record *order,
                 struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    struct push_diff diff;
    const char *reason;

    if (order->plan->northbound || order->plan->kernel) {
        return pass_unproved(options, order->plan);
    }
    target.bridge = order->bridge;
    push_look(&target, arena, &diff);
    if (options->no_verify) {
        keep_known(diff.kept, order);
        return EXIT_DONE;
    }
    reason = push_foresee(&target, order, &diff, options->dry_run);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    return prove(options, policy, diff.kept, order, arena);
}
