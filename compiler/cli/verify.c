/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/verify.h"

#include <string.h>

#include "base/nearest.h"
#include "base/source.h"
#include "cli/cli.h"
#include "plan/prove.h"
#include "push/read.h"
#include "sema/policy.h"
#include "timeval.h"
#include "util.h"

/* What is to be proved. */
struct job {
    const struct cli_options *options;
    struct arena *arena;
    struct verify_task task;
    struct table_set tables;
    struct ofputil_port_map ports;
    const char *unfit;          /* Why the bridge is, or NULL. */
    struct verify_costs costs;
};

static int
done_reading(const struct job *job, const char *wrong)
{
    if (wrong) {
        cli_print_error(arena_printf(job->arena, "unproved: %s", wrong));
    }
    return wrong ? EXIT_WRONG : EXIT_DONE;
}

/* Returns EXIT_*, after printing what is wrong. */
static int
read_flows(struct job *job, const char *file, const char *text, size_t size)
{
    struct verify_cost start = verify_cost_begin();
    const char *wrong;

    job->task.tables = &job->tables;
    table_set_init(&job->tables, file, job->arena, &job->ports);
    job->tables.ports_known = job->options->bridge;
    wrong = table_set_parse(&job->tables, text, size);
    wrong = wrong ? wrong : table_set_finish(&job->tables);
    job->costs.read = verify_cost_since(&start, 0);
    return done_reading(job, wrong);
}

static int
load_file(struct job *job, const char *path)
{
    const struct source *source;
    const char *reason = source_read(job->arena, path, &source);

    if (reason) {
        cli_print_error(arena_printf(job->arena, "%s: %s", path, reason));
        return EXIT_USAGE;
    }
    return read_flows(job, path, source->text, source->len);
}

/* What lets packets past the tables of the bridge: nothing is proved then. */
static void
note_unfit(struct job *job, const plan_names *unfit)
{
    for (size_t i = 0; i < unfit->n; i++) {
        job->unfit = (i ? arena_printf(job->arena, "%s\n  %s", job->unfit,
                                       unfit->v[i]) : unfit->v[i]);
    }
}

static int
load_bridge(struct job *job, const struct plan *plan)
{
    struct push_target target = cli_target(job->options, job->arena);
    struct push_held held;
    const char *reason = push_read(&target, plan, &held);

    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    note_unfit(job, &held.unfit);
    /* Not NULL, even if there are none. */
    vec_push(job->arena, &held.meters);
    job->task.meters = held.meters.v;
    job->task.n_meters = held.meters.n - 1;
    job->task.tags = plan->telemetry;
    for (size_t i = 0; i < held.ports.n; i++) {
        ofputil_port_map_put(&job->ports, held.ports.v[i].number,
                             held.ports.v[i].name);
    }
    return read_flows(job, job->options->bridge, held.flows,
                      strlen(held.flows));
}

/* What compile would write. */
static int
load_plan(struct job *job, const struct plan *plan)
{
    struct verify_cost start = verify_cost_begin();
    const char *wrong = plan_to_task(plan, &job->task, &job->tables,
                                     &job->ports, job->arena);

    job->costs.read = verify_cost_since(&start, 0);
    return done_reading(job, wrong);
}

static int
load(struct job *job)
{
    struct plan *plan = arena_zalloc(job->arena, sizeof *plan);

    if (job->options->flows) {
        return load_file(job, job->options->flows);
    } else if (!cli_compile(job->options, job->task.policy, job->arena,
                            plan)) {
        return EXIT_WRONG;
    }
    return (job->options->bridge ? load_bridge(job, plan)
            : load_plan(job, plan));
}

/* What a bulkheadd waits for is not there, as it should be. */
static int
load_policy(struct job *job)
{
    const struct policy *policy = cli_consult_policy(job->options,
                                                     job->arena);

    job->task.policy = policy;
    return (!policy ? EXIT_WRONG
            : cli_is_kept(job->options, job->arena)
            ? cli_leave_out(job->options, policy, job->arena) : EXIT_DONE);
}

/* An answer to DHCP is nothing that flows can write. */
static void
note_native_dhcp(struct job *job)
{
    const struct policy *policy = job->task.policy;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->networks.n; j++) {
            const struct intent_network *network
                = tenant->networks.v[j]->intent;

            if (network->native_dhcp) {
                job->unfit = arena_printf(
                    job->arena, "no flows answer DHCP, which is \"native\" in "
                    "network %s/%s", tenant->name, network->name.s);
            }
        }
    }
}

/* Marks the tenant of that name.  Returns EXIT_*, after saying that there is
 * none. */
static int
ask_about(const struct policy *policy, const char *name, bool *tenants,
          struct arena *arena)
{
    struct nearest nearest = nearest_init(name);

    for (size_t i = 0; i < policy->tenants.n; i++) {
        if (!strcmp(policy->tenants.v[i]->name, name)) {
            tenants[i] = true;
            return EXIT_DONE;
        }
        nearest_try(&nearest, policy->tenants.v[i]->name);
    }
    cli_print_error(arena_printf(
        arena, "the intent has no tenant '%s'%s%s%s", name,
        nearest.best ? ": did you mean '" : "",
        nearest.best ? nearest.best : "", nearest.best ? "'?" : ""));
    return EXIT_USAGE;
}

/* Limits the proof to the tenants that --tenant names, once flows are there:
 * they say who else could reach these. */
static int
limit(struct job *job)
{
    const struct policy *policy = job->task.policy;
    char *names = arena_strdup(job->arena, job->options->tenant);
    bool *tenants = arena_zalloc(job->arena, policy->tenants.n);
    char *save = NULL;

    for (char *name = strtok_r(names, ",", &save); name;
         name = strtok_r(NULL, ",", &save)) {
        int status = ask_about(policy, name, tenants, job->arena);

        if (status) {
            return status;
        }
    }
    verify_widen(&job->task, tenants);
    job->task.tenants = tenants;
    return EXIT_DONE;
}

static int
prove(struct job *job)
{
    const struct cli_options *options = job->options;
    const char *bridge = options->bridge ? options->bridge : "BRIDGE";
    struct verify_result result;
    struct verify_cost start;
    int status;

    status = load_policy(job);
    job->task.node = options->node;
    if (!status) {
        status = load(job);
    }
    if (!status && options->tenant) {
        status = limit(job);
    }
    if (status) {
        return status;
    }
    note_native_dhcp(job);
    job->task.deadline = (options->timeout
                          ? time_msec() + 1000LL * options->timeout : 0);
    job->task.contracts = true;
    job->task.n_jobs = verify_n_jobs(job->task.policy->tenants.n);
    start = verify_cost_begin();
    verify(&job->task, job->arena, &result);
    job->costs.proof = verify_cost_since(&start, result.n_jobs);
    result.unproved = result.unproved ? result.unproved : job->unfit;
    if (options->format == FORMAT_JSON) {
        verify_print_json(&job->task, &result, &job->costs, bridge);
    } else {
        verify_print_table(&job->task, &result, bridge);
    }
    return verify_is_proved(&result) ? EXIT_DONE : EXIT_WRONG;
}

int
cmd_verify(const struct cli_options *options)
{
    struct job job = { .options = options, .arena = arena_create() };
    int status;

    ofputil_port_map_init(&job.ports);
    status = prove(&job);
    table_set_destroy(&job.tables);
    ofputil_port_map_destroy(&job.ports);
    arena_destroy(job.arena);
    return status;
}
