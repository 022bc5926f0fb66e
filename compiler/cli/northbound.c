/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "cli/show.h"
#include "openvswitch/json.h"
#include "plan/differences.h"
#include "plan/manifest.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "push/nb.h"
#include "util.h"

/* plan, apply, status and rollback for OVN's northbound database. */

bool
cli_is_fabric(const struct cli_options *options)
{
    return options->target && options->target->fabric;
}

/* The database as ovn-nbctl finds it. */
static struct nb_target
make_target(const struct cli_options *options, struct arena *arena)
{
    const char *db = options->db ? options->db : getenv("OVN_NB_DB");
    const char *rundir = getenv("OVN_RUNDIR");
    struct push_target target = cli_target(options, arena);

    if (db && !options->db) {
        cli_use_tls(options, db);
    }
    return (struct nb_target) {
        .db = (db ? db : arena_printf(arena, "unix:%s/ovnnb_db.sock",
                                      rundir ? rundir : OVN_RUNDIR)),
        .timeout_ms = target.timeout_ms,
        .state = target.state,
    };
}

static void
print_warnings(const struct nb_diff *diff)
{
    for (size_t i = 0; i < diff->warnings.n; i++) {
        fprintf(stderr, "bulkhead: warning: %s: %s\n", diff->place,
                diff->warnings.v[i]);
    }
    for (size_t i = 0; i < diff->foreign.n; i++) {
        fprintf(stderr, "bulkhead: warning: %s: %s, which stays, and may pass "
                "what the intent does not\n", diff->place, diff->foreign.v[i]);
    }
}

/* Prints "3 PAST", after what has been printed before. */
static void
print_count(size_t n, const char *past, const char **separator)
{
    if (n) {
        printf("%s%zu %s", *separator, n, past);
        *separator = ", ";
    }
}

/* Ends the line. */
static void
print_rows(const struct nb_change *change, const char *added,
           const char *deleted)
{
    const char *separator = ": rows ";

    printf("%s %s", change->what, change->name);
    print_count(change->added, added, &separator);
    print_count(change->changed, "changed", &separator);
    print_count(change->deleted, deleted, &separator);
    if (change->columns) {
        printf(" (%s)", change->columns);
    }
    putchar('\n');
}

static void
print_change(const struct nb_change *change)
{
    bool added = change->added && !change->changed && !change->deleted
                 && !change->same;
    bool deleted = change->deleted && !change->changed && !change->added
                   && !change->same;

    printf("  %c ", added ? '+' : deleted ? '-' : '~');
    print_rows(change, "added", "deleted");
}

/* The same for status. */
static void
print_drift(const struct nb_change *change)
{
    fputs("  ", stdout);
    print_rows(change, "missing", "too many");
}

static void
print_lines(const struct nb_diff *diff)
{
    for (size_t i = 0; i < diff->lines.n; i++) {
        const struct nb_line *line = &diff->lines.v[i];

        if (!line->column) {
            printf("%c%s '%s'\n", line->held ? '-' : '+', line->table,
                   line->id);
            continue;
        }
        printf("-%s '%s' %s=%s\n", line->table, line->id, line->column,
               line->held);
        printf("+%s '%s' %s=%s\n", line->table, line->id, line->column,
               line->wanted);
    }
    if (diff->lines_left_out) {
        printf("and %zu more\n", diff->lines_left_out);
    }
}

static void
print_counts(const struct nb_diff *diff, enum cli_mood mood)
{
    if (nb_diff_is_of_rows(diff)) {
        printf("%s: rows %s%zu added, %zu changed, %zu deleted, %zu kept\n",
               diff->place, mood == CLI_DONE ? "" : "to be ", diff->added,
               diff->changed, diff->deleted, diff->same);
    } else {
        printf("%s: as intended%s, %zu rows\n", diff->place,
               diff->foreign.n || diff->unfit.n ? " but for rows of others"
               : "", diff->same);
    }
}

static struct json *
counts_json(size_t added, size_t changed, size_t deleted, size_t same)
{
    struct json *object = json_object_create();

    show_put_number(object, "added", added);
    show_put_number(object, "changed", changed);
    show_put_number(object, "deleted", deleted);
    show_put_number(object, "kept", same);
    return object;
}

/* 'plan' is what it is about, or NULL. */
static void
show_diff_json(const struct nb_diff *diff, const struct plan *plan)
{
    struct json *object = json_object_create();
    struct json *changes = json_array_create_empty();

    for (size_t i = 0; i < diff->changes.n; i++) {
        const struct nb_change *change = &diff->changes.v[i];
        struct json *one = json_object_create();

        show_put(one, "what", change->what);
        show_put(one, "name", change->name);
        show_put(one, "columns", change->columns);
        json_object_put(one, "rows",
                        counts_json(change->added, change->changed,
                                    change->deleted, change->same));
        json_array_add(changes, one);
    }
    show_put(object, "database", diff->place);
    json_object_put(object, "as_intended",
                    json_boolean_create(nb_diff_is_empty(diff)));
    json_object_put(object, "rows",
                    counts_json(diff->added, diff->changed, diff->deleted,
                                diff->same));
    json_object_put(object, "changes", changes);
    if (plan) {
        json_object_put(object, "differences",
                        plan_differences_to_json(plan));
    }
    json_object_put(object, "unfit", plan_names_to_json(&diff->unfit));
    json_object_put(object, "foreign", plan_names_to_json(&diff->foreign));
    cli_put_kept(object, diff->generation, diff->kept, &diff->generations);
    show_json(object);
}

int
cli_nb_plan(const struct cli_options *options, struct plan_record *order,
            struct arena *arena)
{
    struct nb_target target = make_target(options, arena);
    struct nb_diff diff;
    const char *reason = nb_plan(&target, order, &diff);

    cli_print_left_out(order->plan);
    print_warnings(&diff);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    } else if (options->format == FORMAT_JSON) {
        show_diff_json(&diff, order->plan);
    } else {
        for (size_t i = 0; i < diff.changes.n; i++) {
            print_change(&diff.changes.v[i]);
        }
        cli_print_differences(order->plan);
        print_counts(&diff, CLI_WOULD);
    }
    order->bridge = diff.name;
    order->generation = diff.generation;
    order->held = diff.held;
    return cli_end_plan(options, order, nb_diff_is_of_rows(&diff), arena);
}

int
cli_nb_apply(const struct cli_options *options,
             const struct plan_record *order, struct arena *arena)
{
    struct nb_target target = make_target(options, arena);
    struct nb_diff diff;
    const char *reason = nb_apply(&target, order, &diff);

    cli_print_left_out(order->plan);
    print_warnings(&diff);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    } else if (options->format == FORMAT_JSON) {
        show_diff_json(&diff, NULL);
    } else {
        print_counts(&diff, CLI_DONE);
        cli_print_kept(diff.kept, &diff.generations, NULL);
    }
    return EXIT_DONE;
}

/* Compares with 'order', or if that is NULL, with what the node keeps. */
static int
status(const struct cli_options *options, const struct plan_record *order,
       struct arena *arena)
{
    struct nb_target target = make_target(options, arena);
    struct nb_diff diff;
    const char *reason = nb_status(&target, order ? order->plan : NULL, arena,
                                   &diff);

    print_warnings(&diff);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    } else if (options->format == FORMAT_JSON) {
        show_diff_json(&diff, NULL);
    } else {
        for (size_t i = 0; i < diff.unfit.n; i++) {
            printf("not as intended: %s\n", diff.unfit.v[i]);
        }
        for (size_t i = 0; i < diff.changes.n; i++) {
            print_drift(&diff.changes.v[i]);
        }
        print_counts(&diff, CLI_WOULD);
        cli_print_kept(diff.kept, &diff.generations,
                       order ? order->intent : NULL);
        if (options->verbose) {
            print_lines(&diff);
        }
    }
    return nb_diff_is_empty(&diff) ? EXIT_DONE : EXIT_DIFFERENT;
}

int
cli_nb_status(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct plan_record order;
    int code = EXIT_DONE;

    if (options->n_intent) {
        code = cli_load_intent(options, arena, &order, NULL);
    }
    if (options->n_intent && code == EXIT_DONE) {
        cli_print_left_out(order.plan);
    }
    if (code == EXIT_DONE) {
        code = status(options, options->n_intent ? &order : NULL, arena);
    }
    arena_destroy(arena);
    return code;
}

/* Says what was done, or why not. */
static int
tell(const char *reason, const struct nb_diff *diff)
{
    print_warnings(diff);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    if (diff->back) {
        printf("%s: back to generation %"PRIu64"\n", diff->place, diff->back);
    }
    print_counts(diff, CLI_DONE);
    cli_print_kept(diff->kept, &diff->generations, NULL);
    return EXIT_DONE;
}

int
cli_nb_rollback(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct nb_target target = make_target(options, arena);
    struct nb_diff diff;
    const char *reason = nb_rollback(&target, options->to, arena, &diff);
    int code = tell(reason, &diff);

    arena_destroy(arena);
    return code;
}

int
cli_nb_clear(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct nb_target target = make_target(options, arena);
    struct nb_diff diff;
    const char *reason = nb_clear(&target, arena, &diff);
    int code = tell(reason, &diff);

    arena_destroy(arena);
    return code;
}
