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

#include "cli/show.h"
#include "openvswitch/json.h"
#include "plan/plan.h"
#include "push/drops.h"
#include "sema/ident.h"
#include "sema/reason.h"
#include "util.h"

/* A line of the output. */
struct row {
    const char *reason;         /* "default", ..., "deny", "meter", "limits"
                                 * or "upcalls". */
    const char *name;           /* Of a rule or tenant, or NULL. */
    const struct push_drop *drop;
};
VEC_TYPEDEF(row_vec, struct row);

/* The rule's name in 'plan', which may be NULL, or its cookie. */
static const char *
rule_name(const struct plan *plan, uint64_t cookie, struct arena *arena)
{
    const char *name = plan ? plan_cookie_name(plan, cookie) : NULL;

    return name ? name : arena_printf(arena, "%#"PRIx64, cookie);
}

/* The tenant of a meter in 'plan', which may be NULL, or the meter's id. */
static const char *
meter_name(const struct plan *plan, uint32_t id, struct arena *arena)
{
    const char *name = plan ? plan_meter_name(plan, id) : NULL;

    return name ? name : arena_printf(arena, "%"PRIu32, id);
}

/* The tenant of this number in 'plan', which may be NULL, or the number. */
static const char *
tenant_name(const struct plan *plan, uint32_t number, struct arena *arena)
{
    for (size_t i = 0; plan && i < plan->tenants.n; i++) {
        if (plan->tenants.v[i].number == number) {
            return plan->tenants.v[i].name;
        }
    }
    return arena_printf(arena, "%#"PRIx32, number);
}

static struct row
make_row(const struct push_drop *drop, const struct plan *plan,
         struct arena *arena)
{
    uint64_t id = drop->cookie & ~COOKIE_MARK_MASK;

    if (drop->tenant) {
        return (struct row) {
            "upcalls", tenant_name(plan, drop->tenant, arena), drop,
        };
    } else if (!drop->cookie) {
        return (struct row) {
            plan_meter_counts_packets(drop->meter) ? "limits" : "meter",
            meter_name(plan, drop->meter, arena), drop,
        };
    }
    for (size_t i = 0; i < n_reason_infos; i++) {
        if (reason_infos[i].reason == id) {
            return (struct row) { reason_infos[i].name, NULL, drop };
        }
    }
    return (struct row) { "deny", rule_name(plan, drop->cookie, arena), drop };
}

static int
compare_names(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* What drops most comes first. */
static int
compare_rows(const void *a_, const void *b_)
{
    const struct row *a = a_, *b = b_;
    int order;

    if (a->drop->packets != b->drop->packets) {
        return a->drop->packets > b->drop->packets ? -1 : 1;
    }
    order = strcmp(a->reason, b->reason);
    return order ? order : compare_names(a->name, b->name);
}

static void
print_json(const row_vec *rows)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->v[i];
        struct json *object = json_object_create();

        show_put_number(object, "packets", row->drop->packets);
        if (!row->drop->tenant) {
            show_put_number(object, "bytes", row->drop->bytes);
        }
        show_put(object, "reason", row->reason);
        show_put(object, "name", row->name);
        if (row->drop->cookie) {
            json_object_put_format(object, "cookie", "%#"PRIx64,
                                   row->drop->cookie);
        } else if (row->drop->tenant) {
            json_object_put_format(object, "number", "%#"PRIx32,
                                   row->drop->tenant);
        } else {
            show_put_number(object, "meter", row->drop->meter);
        }
        json_array_add(array, object);
    }
    show_json(array);
}

/* The bytes, or 'none' if they are not counted. */
static const char *
bytes_text(const struct push_drop *drop, const char *none,
           struct arena *arena)
{
    return (drop->tenant ? none
            : arena_printf(arena, "%"PRIu64, drop->bytes));
}

static void
print_csv(const row_vec *rows, bool headings, struct arena *arena)
{
    if (headings) {
        puts("reason,name,packets,bytes");
    }
    /* Names hold no comma and no quote (see docs/intents.md). */
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->v[i];

        printf("%s,%s,%"PRIu64",%s\n", row->reason,
               row->name ? row->name : "", row->drop->packets,
               bytes_text(row->drop, "", arena));
    }
}

static void
print_table(const row_vec *rows, bool headings, struct arena *arena)
{
    int width = 4;

    for (size_t i = 0; i < rows->n; i++) {
        width = MAX(width, rows->v[i].name ? (int) strlen(rows->v[i].name)
                    : 1);
    }
    if (headings) {
        printf("%-16s %-*s %12s %16s\n", "REASON", width, "NAME", "PACKETS",
               "BYTES");
    }
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->v[i];

        printf("%-16s %-*s %12"PRIu64" %16s\n", row->reason, width,
               row->name ? row->name : "-", row->drop->packets,
               bytes_text(row->drop, "-", arena));
    }
}

static void
print_drops(const struct cli_options *options, const push_drops_vec *drops,
            const struct plan *plan, struct arena *arena)
{
    row_vec rows = VEC_INIT;

    for (size_t i = 0; i < drops->n; i++) {
        if (drops->v[i].packets || options->verbose) {
            *vec_push(arena, &rows) = make_row(&drops->v[i], plan, arena);
        }
    }
    if (rows.n) {
        qsort(rows.v, rows.n, sizeof *rows.v, compare_rows);
    }
    switch (options->format) {
    case FORMAT_TABLE:
        print_table(&rows, !options->no_headings, arena);
        break;
    case FORMAT_CSV: print_csv(&rows, !options->no_headings, arena); break;
    case FORMAT_JSON: print_json(&rows); break;
    }
}

static int
run(const struct cli_options *options, struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    struct plan plan, *named = options->n_intent ? &plan : NULL;
    push_drops_vec drops;
    const char *reason;

    if (named && !cli_load_plan(options, arena, &plan)) {
        return EXIT_WRONG;
    }
    reason = push_drops(&target, arena, &drops);
    if (reason) {
        fprintf(stderr, "bulkhead: %s\n", reason);
        return EXIT_UNREACHABLE;
    }
    print_drops(options, &drops, named, arena);
    return EXIT_DONE;
}

int
cmd_drops(const struct cli_options *options)
{
    if (!options->n_intent != !options->node) {
        fputs("bulkhead: 'drops' takes an intent and --node=NODE together, "
              "or none of both\n", stderr);
        return EXIT_USAGE;
    }

    struct arena *arena = arena_create();
    int status = run(options, arena);

    arena_destroy(arena);
    return status;
}
