/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/held.h"
#include "cli/show.h"
#include "ir/ir.h"
#include "openvswitch/json.h"
#include "plan/manifest.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "push/push.h"
#include "util.h"

/* What changes of limits, if anything does. */
static void
print_limits(const struct push_diff *diff)
{
    if (diff->limits_set || diff->limits_deleted) {
        printf("; limits of connections or upcalls %zu set, "
               "%zu deleted", diff->limits_set, diff->limits_deleted);
    }
}

static void
print_counts(const struct push_diff *diff, enum cli_mood mood)
{
    if (push_diff_is_of_flows(diff)) {
        printf("flows %s%zu added, %zu changed, %zu"
               " deleted, %zu kept; meters %zu added, %zu"
               " deleted, %zu kept",
               mood == CLI_DONE ? "" : "to be ", diff->flows_added,
               diff->flows_changed, diff->flows_deleted, diff->flows_same,
               diff->meters_added, diff->meters_deleted, diff->meters_same);
        print_limits(diff);
        putchar('\n');
    } else {
        printf("%s%s, %zu flows, %zu meters\n",
               diff->unfit.n ? "flows and meters as intended" : "as intended",
               diff->foreign_flows ? " but for flows of others"
               : diff->mirrors ? " but for mirrors" : "",
               diff->flows_same, diff->meters_same);
    }
}

static void
print_guard(const char *bridge, const struct guard *guard)
{
    if (guard->watchdog) {
        fprintf(stderr, "bulkhead: warning: bridge %s: generation %"PRIu64
                " is not confirmed yet; ", bridge, guard->generation);
        if (guard->back) {
            fprintf(stderr, "generation %"PRIu64" comes back", guard->back);
        } else {
            fputs("it is emptied again", stderr);
        }
        fprintf(stderr, " at %s unless 'bulkhead confirm --bridge=%s' comes "
                "first\n", guard->until ? guard->until : "an unknown time",
                bridge);
    } else if (guard->generation) {
        fprintf(stderr, "bulkhead: warning: bridge %s: generation %"PRIu64
                " was never confirmed, and nothing watches it any more; "
                "'bulkhead confirm --bridge=%s' keeps it, 'bulkhead rollback "
                "--bridge=%s' goes back\n", bridge, guard->generation, bridge,
                bridge);
    }
}

void
cli_print_warnings(const char *bridge, const struct push_diff *diff)
{
    for (size_t i = 0; i < diff->warnings.n; i++) {
        fprintf(stderr, "bulkhead: warning: bridge %s: %s\n", bridge,
                diff->warnings.v[i]);
    }
    print_guard(bridge, &diff->guard);
    /* What is somebody's, and perhaps on purpose. */
    if (diff->foreign_flows) {
        fprintf(stderr, "bulkhead: warning: bridge %s holds flows of others "
                "in Bulkhead's tables, %zu in all, which may pass what the "
                "intent does not: %s; ovs-ofctl dump-flows shows them\n",
                bridge, diff->foreign_flows, diff->foreign);
    }
    if (diff->mirrors) {
        fprintf(stderr, "bulkhead: warning: bridge %s has mirrors, which copy "
                "packets of tenants past all tables: %s; ovs-vsctl clear "
                "bridge %s mirrors\n", bridge, diff->mirrors, bridge);
    }
    if (diff->uncounted) {
        fprintf(stderr, "bulkhead: warning: bridge %s: the switch does not "
                "count what tenants send, as the node's \"telemetry\" asks; "
                PLAN_TELEMETRY_COMMAND"\n", bridge);
    }
}

/* What the bridge holds and should not has a "-", what it lacks a "+", as in
 * "ovs-ofctl diff-flows". */
static void
print_lines(const struct push_diff *diff)
{
    for (size_t i = 0; i < diff->meters.n; i++) {
        const struct push_meter *meter = &diff->meters.v[i];

        printf(" meter=%"PRIu32" # %s", meter->id, meter->name);
        if (meter->id != meter->plan_id) {
            printf(", %"PRIu32" in meters.txt", meter->plan_id);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < diff->lines.n; i++) {
        const struct push_line *line = &diff->lines.v[i];

        printf("%c%s%s%s\n", line->held ? '-' : '+', line->text,
               line->name ? " # " : "", line->name ? line->name : "");
    }
    if (diff->lines_left_out) {
        printf("and %zu more\n", diff->lines_left_out);
    }
}

void
cli_print_diff(const char *node, const char *bridge,
               const struct push_diff *diff, enum cli_mood mood)
{
    for (size_t i = 0; i < diff->unfit.n; i++) {
        printf("%s on %s: not as intended: %s\n", node, bridge,
               diff->unfit.v[i]);
    }
    if (diff->compared) {
        printf("%s on %s: ", node, bridge);
        print_counts(diff, mood);
    }
}

void
cli_print_kept(const struct plan_record *kept,
               const generation_vec *generations, const char *intent)
{
    if (!kept) {
        return;
    }
    printf("generation %"PRIu64" of %s, ", kept->generation, kept->time);
    if (kept->intent) {
        printf("intent %s%s", kept->intent, !intent ? ""
               : strcmp(kept->intent, intent) ? ", which is another one"
               : ", which is this one");
    } else if (kept->edited) {
        printf("%"PRIu64" and its journal", kept->generation - 1);
    } else if (!kept->plan->flows.n) {
        fputs("cleared", stdout);
    } else {
        fputs("intent unknown", stdout);
    }
    if (!kept->plan->northbound && (kept->intent || kept->plan->flows.n)) {
        fputs(kept->verified ? ", verified" : ", not verified", stdout);
    }
    if (kept->partial) {
        fputs(", partial", stdout);
    }
    if (generations->n > 1) {
        fputs("; kept before it:", stdout);
        for (size_t i = 1; i < generations->n; i++) {
            printf(" %"PRIu64, generations->v[i]);
        }
    }
    putchar('\n');
}

void
cli_print_generation(const struct push_diff *diff)
{
    if (diff->kept == diff->done) {     /* Else it is an older one. */
        cli_print_kept(diff->kept, &diff->generations, NULL);
    }
}

static struct json *
lines_json(const struct push_diff *diff)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < diff->lines.n; i++) {
        const struct push_line *line = &diff->lines.v[i];
        struct json *object = json_object_create();

        json_object_put(object, "held", json_boolean_create(line->held));
        show_put(object, "what", line->what);
        show_put(object, "text", line->text);
        show_put(object, "name", line->name);
        json_array_add(array, object);
    }
    return array;
}

static struct json *
tenants_json(const struct push_diff *diff)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < diff->meters.n; i++) {
        struct json *object = json_object_create();

        show_put_number(object, "meter", diff->meters.v[i].id);
        show_put(object, "name", diff->meters.v[i].name);
        json_array_add(array, object);
    }
    return array;
}

static struct json *
counts_json(size_t added, size_t deleted, size_t kept)
{
    struct json *object = json_object_create();

    show_put_number(object, "added", added);
    show_put_number(object, "deleted", deleted);
    show_put_number(object, "kept", kept);
    return object;
}

static struct json *
generations_json(const generation_vec *generations)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < generations->n; i++) {
        json_array_add(array, json_integer_create(generations->v[i]));
    }
    return array;
}

static struct json *
guard_json(const struct guard *guard)
{
    struct json *object;

    if (!guard->generation) {
        return json_null_create();
    }
    object = json_object_create();
    show_put_number(object, "generation", guard->generation);
    show_put_number(object, "back", guard->back);
    show_put(object, "until", guard->until);
    json_object_put(object, "watched",
                    json_boolean_create(guard->watchdog != 0));
    return object;
}

void
cli_put_kept(struct json *object, uint64_t generation,
             const struct plan_record *kept,
             const generation_vec *generations)
{
    json_object_put(object, "generation",
                    generation ? json_integer_create(generation)
                    : json_null_create());
    show_put(object, "applied", kept ? kept->time : NULL);
    show_put(object, "intent", kept ? kept->intent : NULL);
    json_object_put(object, "verified",
                    json_boolean_create(kept && kept->verified));
    json_object_put(object, "partial",
                    json_boolean_create(kept && kept->partial));
    json_object_put(object, "generations", generations_json(generations));
}

static struct json *
limits_json(const struct push_diff *diff)
{
    struct json *object = json_object_create();

    show_put_number(object, "set", diff->limits_set);
    show_put_number(object, "deleted", diff->limits_deleted);
    return object;
}

struct json *
cli_diff_json(const char *node, const char *bridge,
              const struct push_diff *diff)
{
    struct json *flows = counts_json(diff->flows_added, diff->flows_deleted,
                                     diff->flows_same);
    struct json *object = json_object_create();

    show_put_number(flows, "changed", diff->flows_changed);
    show_put(object, "node", node);
    show_put(object, "bridge", bridge);
    json_object_put(object, "flows", flows);
    json_object_put(object, "meters",
                    counts_json(diff->meters_added, diff->meters_deleted,
                                diff->meters_same));
    json_object_put(object, "limits", limits_json(diff));
    show_put_number(object, "foreign_flows", diff->foreign_flows);
    show_put(object, "foreign", diff->foreign);
    show_put(object, "mirrors", diff->mirrors);
    json_object_put(object, "uncounted", json_boolean_create(diff->uncounted));
    cli_put_kept(object, diff->generation, diff->kept, &diff->generations);
    json_object_put(object, "unconfirmed", guard_json(&diff->guard));
    return object;
}

/* 'node' and 'held' may be NULL. */
static void
print_json(const struct cli_options *options, const char *node,
           const struct push_diff *diff, const struct held_report *held,
           bool well, struct arena *arena)
{
    struct json *object = cli_diff_json(node, options->bridge, diff);

    json_object_put(object, "as_intended",
                    json_boolean_create(well));
    json_object_put(object, "unfit", plan_names_to_json(&diff->unfit));
    json_object_put(object, "compared", json_boolean_create(diff->compared));
    json_object_put(object, "differences", lines_json(diff));
    show_put_number(object, "left_out", diff->lines_left_out);
    json_object_put(object, "tenants", tenants_json(diff));
    json_object_put(object, "agent", cli_agent_json(options, arena));
    if (held) {
        json_object_put(object, "offload", held_json(held));
    }
    show_json(object);
}

/* What 'order' and its policy are compared with; NULL: what the node
 * keeps. */
struct subject {
    const struct plan_record *order;
    const struct policy *policy;
};

static void
print_table(const struct cli_options *options, const struct subject *subject,
            const char *node, const struct push_diff *diff,
            const struct held_report *held, struct arena *arena)
{
    cli_print_diff(node, options->bridge, diff, CLI_WOULD);
    cli_print_kept(diff->kept, &diff->generations,
                   subject->order ? subject->order->intent : NULL);
    cli_agent_print(options, arena);
    if (options->verbose) {
        print_lines(diff);
    }
    if (held) {
        held_print(held, options->verbose);
    }
}

/* Of --profile.  Stores NULL if that was not given. */
static const char *
read_held(const struct cli_options *options, const struct subject *subject,
          struct arena *arena, struct held_report **held)
{
    *held = NULL;
    if (!options->profile) {
        return NULL;
    }
    *held = arena_zalloc(arena, sizeof **held);
    return held_read(options, ir_build(subject->policy, options->node, arena),
                     subject->order->plan, arena, *held);
}

/* Nothing is kept of what was applied, for that 'reason': a bulkheadd that
 * keeps the bridge knows it all the same. */
static int
tell_agent(const struct cli_options *options, const struct push_diff *diff,
           const char *reason, struct arena *arena)
{
    bool well = cli_agent_is_well(options, arena);

    if (!cli_agent_answers(options, arena)) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    fprintf(stderr, "bulkhead: note: bridge %s: nothing that can be trusted "
            "is kept of what was applied, so this is what bulkheadd says, and "
            "what differs is not shown\n", options->bridge);
    if (options->format == FORMAT_JSON) {
        print_json(options, NULL, diff, NULL, well, arena);
    } else {
        cli_agent_print(options, arena);
    }
    return well ? EXIT_DONE : EXIT_DIFFERENT;
}

static int
status(const struct cli_options *options, const struct subject *subject,
       struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    const struct plan_record *order = subject->order;
    const char *bridge = options->bridge, *node;
    struct held_report *held = NULL;
    struct push_diff diff;
    const char *reason;
    bool well;

    cli_agent_save(options, arena);
    reason = push_status(&target, order ? order->plan : NULL, arena, &diff);
    cli_print_warnings(bridge, &diff);
    if (reason && !order && !diff.kept && !diff.guard.hidden) {
        return tell_agent(options, &diff, reason, arena);
    }
    reason = reason ? reason : read_held(options, subject, arena, &held);
    if (reason) {
        if (options->format != FORMAT_JSON) {
            cli_agent_print(options, arena);
        }
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    node = order ? order->plan->node : diff.kept->plan->node;
    well = (push_diff_is_empty(&diff) && cli_agent_is_well(options, arena)
            && (!held || !held->all.n_lost));
    if (options->format == FORMAT_JSON) {
        print_json(options, node, &diff, held, well, arena);
    } else {
        print_table(options, subject, node, &diff, held, arena);
    }
    return well ? EXIT_DONE : EXIT_DIFFERENT;
}

static const char *
check_usage(const struct cli_options *options)
{
    if (!options->n_intent != !options->node) {
        return ("'status' takes an intent and --node=NODE together, or none "
                "of both");
    } else if (options->profile && !options->n_intent) {
        return "'status' takes --profile with an intent only";
    } else if (options->profile && !held_profile(options)) {
        return "'status' knows no such --profile of this --target";
    }
    return NULL;
}

int
cmd_status(const struct cli_options *options)
{
    struct subject subject = { .order = NULL };
    const char *usage;
    struct arena *arena;
    struct plan_record order;
    int code = EXIT_DONE;

    if (cli_is_fabric(options)) {
        return cli_nb_status(options);
    }
    usage = check_usage(options);
    if (usage) {
        fprintf(stderr, "bulkhead: %s\n", usage);
        return EXIT_USAGE;
    }
    arena = arena_create();
    if (options->n_intent) {
        struct cli_options waiting = *options;

        /* What is not there is no difference. */
        waiting.partial = cli_is_kept(options, arena);
        code = cli_load_intent(&waiting, arena, &order, &subject.policy);
        subject.order = &order;
    }
    if (options->n_intent && code == EXIT_DONE) {
        cli_print_left_out(order.plan);
    }
    if (code == EXIT_DONE) {
        code = status(options, &subject, arena);
    }
    arena_destroy(arena);
    return code;
}
