/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <string.h>

#include "base/file.h"
#include "base/source.h"
#include "cli/held.h"
#include "cli/show.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/differences.h"
#include "plan/manifest.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "push/push.h"
#include "timeval.h"
#include "util.h"

/* "3 flows added, 1 deleted", or nothing. */
static void
print_flows(const struct push_change *change)
{
    const struct {
        size_t n;
        const char *what;
    } counts[] = {
        { change->flows_added, "added" },
        { change->flows_changed, "changed" },
        { change->flows_deleted, "deleted" },
    };
    const char *separator = ": flows ";

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        if (counts[i].n) {
            printf("%s%zu %s", separator, counts[i].n, counts[i].what);
            separator = ", ";
        }
    }
}

/* How many stand above what changes. */
static int
count_above(const struct push_change *change)
{
    int n = 0;

    for (const char *s = change->path; s && (s = strchr(s, '\n')); s++) {
        n++;
    }
    return n;
}

static void
print_change(const struct push_change *change)
{
    bool added = !strcmp(change->change, "added");
    bool removed = !strcmp(change->change, "removed");

    printf("  %c %*s%s %s", added ? '+' : removed ? '-' : '~',
           2 * count_above(change), "", change->what, change->name);
    print_flows(change);
    if (change->before || change->after) {
        printf(": %s%s%s", change->before ? change->before : "",
               change->before && change->after ? " -> " : "",
               change->after ? change->after : "");
    }
    putchar('\n');
}

static struct json *
change_json(const struct push_change *change)
{
    struct json *flows = json_object_create();
    struct json *object = json_object_create();

    show_put_number(flows, "added", change->flows_added);
    show_put_number(flows, "changed", change->flows_changed);
    show_put_number(flows, "deleted", change->flows_deleted);
    show_put(object, "what", change->what);
    show_put(object, "name", change->name);
    show_put(object, "change", change->change);
    show_put(object, "below", change->below);
    show_put(object, "before", change->before);
    show_put(object, "after", change->after);
    json_object_put(object, "flows", flows);
    return object;
}

static struct json *
changes_json(const struct push_diff *diff)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < diff->changes.n; i++) {
        json_array_add(array, change_json(&diff->changes.v[i]));
    }
    return array;
}

void
cli_print_differences(const struct plan *plan)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    plan_format_differences(plan, &ds);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}

/* 'losses' is NULL if nothing is known of offload. */
static void
print_plan(const struct cli_options *options, const struct plan_record *order,
           const struct push_diff *diff, const offload_loss_vec *losses)
{
    if (options->format == FORMAT_JSON) {
        struct json *object = cli_diff_json(order->plan->node,
                                            order->bridge, diff);

        json_object_put(object, "changes", changes_json(diff));
        json_object_put(object, "differences",
                        plan_differences_to_json(order->plan));
        json_object_put(object, "meters_in_hardware",
                        plan_names_to_json(&order->plan->in_hardware));
        show_put(object, "held", diff->held);
        if (losses) {
            json_object_put(object, "offload",
                            loss_json(held_profile(options), losses));
        }
        show_json(object);
        return;
    }
    for (size_t i = 0; i < diff->changes.n; i++) {
        print_change(&diff->changes.v[i]);
    }
    cli_print_differences(order->plan);
    if (losses) {
        loss_print(held_profile(options), losses);
    }
    cli_print_diff(order->plan->node, order->bridge, diff, CLI_WOULD);
}

/* Why a plan must not take the place of what is there; or NULL. */
static const char *
check_place(const char *path, struct arena *arena)
{
    const struct source *source;
    struct stat s;

    if (stat(path, &s)) {
        return NULL;
    } else if (!S_ISREG(s.st_mode)) {
        return arena_printf(arena, "cannot write %s: it is there, and no "
                            "regular file", path);
    } else if (s.st_size && (source_read(arena, path, &source)
                             || !plan_record_is(source->text, source->len))) {
        return arena_printf(arena, "cannot write %s: it is there, and no plan "
                            "that was saved; name another, or remove it",
                            path);
    }
    return NULL;
}

static const char *
save_order(const char *path, struct plan_record *order, struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *reason = check_place(path, arena);

    if (reason) {
        return reason;
    }
    order->time = plan_record_time(arena, time_wall());
    plan_record_format(order, &ds);
    reason = file_output(arena, path, ds.string, ds.length, 0666);
    ds_destroy(&ds);
    return reason;
}

int
cli_end_plan(const struct cli_options *options, struct plan_record *order,
             bool differs, struct arena *arena)
{
    const char *reason = (options->output
                          ? save_order(options->output, order, arena) : NULL);

    if (reason) {
        cli_print_error(reason);
        return EXIT_WRONG;
    }
    return options->exit_code && differs ? EXIT_DIFFERENT : EXIT_DONE;
}

/* Of --profile: what is lost of what was applied last.  Stores false if that
 * says nothing. */
static const char *
read_losses(const struct cli_options *options, const struct policy *policy,
            const struct plan_record *order, const struct push_diff *diff,
            struct arena *arena, offload_loss_vec *losses, bool *known)
{
    const struct plan *old = diff->kept ? diff->kept->plan : NULL;

    *known = (options->profile && policy && old
              && !strcmp(old->target, order->plan->target));
    if (options->profile && !*known) {
        fprintf(stderr, "bulkhead: warning: bridge %s: what a change would "
                "lose of offload is not known: the node keeps nothing of this "
                "target that was applied there\n", order->bridge);
    }
    return (*known ? loss_read(options, ir_build(policy, order->plan->node,
                                                 arena),
                               old, order->plan, arena, losses) : NULL);
}

int
cli_plan(const struct cli_options *options, const struct policy *policy,
         struct plan_record *order, struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    offload_loss_vec losses = VEC_INIT;
    struct push_diff diff;
    const char *reason;
    bool known = false;

    if (order->plan->northbound) {
        return cli_nb_plan(options, order, arena);
    }
    target.bridge = order->bridge;
    reason = push_plan(&target, order, &diff);
    cli_print_left_out(order->plan);
    cli_print_warnings(order->bridge, &diff);
    reason = reason ? reason : read_losses(options, policy, order, &diff,
                                           arena, &losses, &known);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    print_plan(options, order, &diff, known ? &losses : NULL);
    order->generation = diff.generation;
    order->held = diff.held;
    return cli_end_plan(options, order, push_diff_is_of_flows(&diff), arena);
}

int
cmd_plan(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    const struct policy *policy = NULL;
    struct plan_record order;
    int status = EXIT_USAGE;

    if (options->profile && !held_profile(options)) {
        fputs("bulkhead: 'plan' knows no such --profile of this --target\n",
              stderr);
    } else {
        status = cli_load_intent(options, arena, &order, &policy);
    }
    if (status == EXIT_DONE) {
        status = cli_plan(options, policy, &order, arena);
    }
    arena_destroy(arena);
    return status;
}
