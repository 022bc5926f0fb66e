/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/show.h"
#include "openvswitch/json.h"
#include "plan/plan.h"
#include "push/push.h"
#include "util.h"

static void
print_counts(const struct push_diff *diff, bool applied)
{
    if (push_diff_is_of_flows(diff)) {
        printf("flows %s%zu added, %zu changed, %zu"
               " deleted, %zu kept; meters %zu added, %zu"
               " deleted, %zu kept\n",
               applied ? "" : "to be ", diff->flows_added,
               diff->flows_changed, diff->flows_deleted, diff->flows_same,
               diff->meters_added, diff->meters_deleted, diff->meters_same);
    } else {
        printf("%s%s, %zu flows, %zu meters\n",
               diff->unfit.n ? "flows and meters as intended" : "as intended",
               diff->foreign_flows ? " but for flows of others"
               : diff->mirrors ? " but for mirrors" : "",
               diff->flows_same, diff->meters_same);
    }
}

/* What is somebody's, and perhaps on purpose. */
static void
print_warnings(const struct cli_options *options,
               const struct push_diff *diff)
{
    if (diff->foreign_flows) {
        fprintf(stderr, "bulkhead: warning: bridge %s holds flows of others "
                "in Bulkhead's tables, %zu in all, which may pass what the "
                "intent does not: %s; ovs-ofctl dump-flows shows them\n",
                options->bridge, diff->foreign_flows, diff->foreign);
    }
    if (diff->mirrors) {
        fprintf(stderr, "bulkhead: warning: bridge %s has mirrors, which copy "
                "packets of tenants past all tables: %s; ovs-vsctl clear "
                "bridge %s mirrors\n", options->bridge, diff->mirrors,
                options->bridge);
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

static void
print_diff(const struct plan *plan, const struct cli_options *options,
           const struct push_diff *diff, bool applied)
{
    for (size_t i = 0; i < diff->unfit.n; i++) {
        printf("%s on %s: not as intended: %s\n", plan->node,
               options->bridge, diff->unfit.v[i]);
    }
    if (diff->compared) {
        printf("%s on %s: ", plan->node, options->bridge);
        print_counts(diff, applied);
    }
    if (options->verbose) {
        print_lines(diff);
    }
    print_warnings(options, diff);
}

static struct json *
unfit_json(const struct push_diff *diff)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < diff->unfit.n; i++) {
        json_array_add(array, json_string_create(diff->unfit.v[i]));
    }
    return array;
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

static void
print_json(const struct plan *plan, const struct cli_options *options,
           const struct push_diff *diff)
{
    struct json *flows = counts_json(diff->flows_added, diff->flows_deleted,
                                     diff->flows_same);
    struct json *object = json_object_create();

    show_put_number(flows, "changed", diff->flows_changed);
    json_object_put(object, "as_intended",
                    json_boolean_create(push_diff_is_empty(diff)));
    show_put(object, "node", plan->node);
    show_put(object, "bridge", options->bridge);
    json_object_put(object, "unfit", unfit_json(diff));
    json_object_put(object, "compared", json_boolean_create(diff->compared));
    json_object_put(object, "flows", flows);
    json_object_put(object, "meters",
                    counts_json(diff->meters_added, diff->meters_deleted,
                                diff->meters_same));
    show_put_number(object, "foreign_flows", diff->foreign_flows);
    show_put(object, "foreign", diff->foreign);
    show_put(object, "mirrors", diff->mirrors);
    json_object_put(object, "differences", lines_json(diff));
    show_put_number(object, "left_out", diff->lines_left_out);
    json_object_put(object, "tenants", tenants_json(diff));
    show_json(object);
}

/* Runs 'action', push_apply() or push_status(). */
static int
run_push(const struct cli_options *options,
         const char *(*action)(const struct push_target *,
                               const struct plan *, struct push_diff *),
         int different)
{
    struct arena *arena = arena_create();
    int status = EXIT_WRONG;
    struct plan plan;

    if (cli_load_plan(options, arena, &plan)) {
        struct push_target target = cli_target(options, arena);
        struct push_diff diff;
        const char *reason = action(&target, &plan, &diff);

        cli_print_left_out(&plan);
        if (reason) {
            cli_print_error(reason);
            status = EXIT_UNREACHABLE;
        } else {
            if (options->format == FORMAT_JSON) {
                print_json(&plan, options, &diff);
            } else {
                print_diff(&plan, options, &diff, action == push_apply);
            }
            status = push_diff_is_empty(&diff) ? EXIT_DONE : different;
        }
    }
    arena_destroy(arena);
    return status;
}

int
cmd_apply(const struct cli_options *options)
{
    return run_push(options, push_apply, EXIT_DONE);
}

int
cmd_status(const struct cli_options *options)
{
    return run_push(options, push_status, EXIT_DIFFERENT);
}

int
cmd_clear(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct push_target target = cli_target(options, arena);
    struct push_diff diff;
    const char *reason = push_clear(&target, arena, &diff);

    if (reason) {
        cli_print_error(reason);
    } else {
        printf("%s: %zu flows deleted; %zu meters deleted\n",
               options->bridge, diff.flows_deleted, diff.meters_deleted);
    }
    arena_destroy(arena);
    return reason ? EXIT_UNREACHABLE : EXIT_DONE;
}
