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

#include "backend/asap2/asap2.h"
#include "base/file.h"
#include "cli/report.h"
#include "cli/show.h"
#include "flow.h"
#include "ir/ir.h"
#include "offload/offload.h"
#include "offload/tc-batch.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/manifest.h"
#include "plan/plan.h"
#include "sema/packet.h"
#include "util.h"

/* What refuses a capability: the layer and what it says. */
struct refusal {
    const struct layer *layer;
    struct cap_fact fact;
};

static struct refusal
find_refusal(const struct profile *profile, enum cap cap)
{
    struct refusal r = { NULL, { cap, SUPPORT_UNKNOWN, NULL } };

    r.layer = profile_refusal(profile, cap, &r.fact);
    return r;
}

/* The first pass of the path that is not in hardware, or NULL. */
static const struct offload_pass *
first_refused(const struct offload_path *path)
{
    for (size_t i = 0; i < path->walk.megaflows.n; i++) {
        if (path->passes[i].refused) {
            return &path->passes[i];
        }
    }
    return NULL;
}

static cap_set
path_refused(const struct offload_path *path)
{
    const struct offload_pass *pass = first_refused(path);

    return pass ? pass->refused : 0;
}

/* All that is refused, of any path. */
static cap_set
rule_refused(const struct offload_rule *r)
{
    cap_set refused = 0;

    for (size_t i = 0; i < r->paths.n; i++) {
        refused |= path_refused(&r->paths.v[i]);
    }
    return refused;
}

/* Is 'service' one of the list 'services'? */
static bool
names_service(const char *services, const char *service)
{
    size_t len = strlen(service);

    for (const char *s = services; (s = strstr(s, service)); s += len) {
        if ((s == services || s[-1] == ' ')
            && (s[len] == ',' || !s[len])) {
            return true;
        }
    }
    return false;
}

static void
print_place(const struct ir_rule *rule)
{
    if (rule && rule->place.span.source) {
        printf(" (%s:%"PRIu32")", rule->place.span.source->name,
               rule->place.line);
    }
}

/* Packets of a rule of which the same is to be said. */
struct line {
    enum offload_verdict verdict;
    cap_set refused;
    unsigned int roles;         /* Bit 'role' of each. */
    const char *services;
    const char *broken;         /* See struct walk; or NULL. */
};

VEC_TYPEDEF(line_vec, struct line);

/* Adds the service of 'path' to the line of its role, or that line. */
static void
add_to_lines(const struct offload_path *path, struct arena *arena,
             line_vec *lines)
{
    cap_set refused = path_refused(path);
    const char *service = path->packet->service;

    for (size_t i = 0; i < lines->n; i++) {
        struct line *line = &lines->v[i];

        if (line->roles == 1u << path->role && line->refused == refused
            && line->verdict == path->verdict
            && line->broken == path->walk.broken) {
            if (!names_service(line->services, service)) {
                line->services = arena_printf(arena, "%s, %s", line->services,
                                              service);
            }
            return;
        }
    }
    *vec_push(arena, lines) = (struct line) {
        path->verdict, refused, 1u << path->role, service,
        path->walk.broken,
    };
}

/* Makes lines that differ in the role only one. */
static void
merge_lines(line_vec *lines)
{
    size_t n = 0;

    for (size_t i = 0; i < lines->n; i++) {
        struct line *line = &lines->v[i];
        size_t j;

        for (j = 0; j < n; j++) {
            if (lines->v[j].refused == line->refused
                && lines->v[j].verdict == line->verdict
                && lines->v[j].broken == line->broken
                && !strcmp(lines->v[j].services, line->services)) {
                lines->v[j].roles |= line->roles;
                break;
            }
        }
        if (j == n) {
            lines->v[n++] = *line;
        }
    }
    lines->n = n;
}

static void
print_line(const struct line *line)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "  %s %s ", offload_verdict_names[line->verdict],
                  line->services);
    if (line->roles != 1u << ROLE_ANY) {
        const char *comma = "(";

        for (int role = 0; role < N_ROLES; role++) {
            if (line->roles & 1u << role) {
                ds_put_format(&ds, "%s%s", comma, offload_role_names[role]);
                comma = ", ";
            }
        }
        ds_put_cstr(&ds, ")");
    }
    ds_chomp(&ds, ' ');
    puts(ds_cstr(&ds));
    if (line->broken) {
        printf("      its way is not known: %s\n", line->broken);
    }
    for (int cap = 0; cap < N_CAPS; cap++) {
        if (line->refused & (UINT64_C(1) << cap)) {
            printf("      %s\n", cap_infos[cap].flower);
        }
    }
    ds_destroy(&ds);
}

static void
print_rule(const struct offload_rule *r, struct arena *arena)
{
    line_vec lines = VEC_INIT;

    printf("\n%s: %s", r->name, r->over_budget
           ? "software, for there is no room" : r->verdict == OFFLOAD_NONE
           ? "no packet of this node meets it"
           : offload_verdict_names[r->verdict]);
    print_place(r->rule);
    putchar('\n');
    for (size_t i = 0; i < r->paths.n; i++) {
        add_to_lines(&r->paths.v[i], arena, &lines);
    }
    merge_lines(&lines);
    for (size_t i = 0; i < lines.n; i++) {
        print_line(&lines.v[i]);
    }
}

static void
print_refusals(const struct offload_report *report)
{
    cap_set refused = 0;

    for (size_t i = 0; i < report->rules.n; i++) {
        refused |= rule_refused(&report->rules.v[i]);
    }
    for (int cap = 0; cap < N_CAPS; cap++) {
        struct refusal r = find_refusal(report->profile, cap);
        const char *remedy = cap_infos[cap].remedy;

        if (refused & (UINT64_C(1) << cap)) {
            printf("\n%s: %s %s\n  source: %s\n  to change: %s\n",
                   cap_infos[cap].flower, r.layer->name,
                   r.fact.source ? "does not carry it"
                   : "is not known to carry it",
                   r.fact.source ? r.fact.source : "none was found",
                   remedy ? remedy : "nothing in the intent");
        }
    }
}

static void
print_quotas(const struct offload_report *report)
{
    printf("\nup to %"PRIuSIZE" flows, if all talk at once, on one port "
           "each; %"PRIuSIZE" meters\n", report->n_flows, report->n_meters);
    for (int quota = 0; quota < N_QUOTAS; quota++) {
        struct quota_fact fact = profile_quota(report->profile, quota);

        if (fact.source) {
            printf("  room for %s: %"PRIu64" (%s)\n", quota_names[quota],
                   fact.n, fact.source);
        } else {
            printf("  room for %s: unknown\n", quota_names[quota]);
        }
    }
}

static void
print_table(const struct offload_report *report, const char *node,
            struct arena *arena)
{
    static const enum offload_verdict order[] = {
        OFFLOAD_HARDWARE, OFFLOAD_PARTIAL, OFFLOAD_SOFTWARE,
    };
    size_t n[OFFLOAD_NONE + 1] = { 0 };

    for (size_t i = 0; i < report->rules.n; i++) {
        n[report->rules.v[i].verdict] += report->rules.v[i].rule != NULL;
    }
    printf("%s, target asap2, %s: rules", node, report->profile->title);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        printf("%s %"PRIuSIZE" %s", i ? "," : "", n[order[i]],
               offload_verdict_names[order[i]]);
    }
    putchar('\n');
    if (!report->profile->hardware) {
        puts("no hardware: that means, in tc-flower instead of Open vSwitch's "
             "own datapath");
    }
    for (size_t i = 0; i < report->rules.n; i++) {
        print_rule(&report->rules.v[i], arena);
    }
    print_refusals(report);
    print_quotas(report);
}

static struct json *
refusals_json(const struct profile *profile, cap_set refused)
{
    struct json *array = json_array_create_empty();

    for (int cap = 0; cap < N_CAPS; cap++) {
        if (refused & (UINT64_C(1) << cap)) {
            struct refusal r = find_refusal(profile, cap);
            struct json *object = json_object_create();

            show_put(object, "needs", cap_infos[cap].flower);
            show_put(object, "layer", r.layer->name);
            json_object_put(object, "known",
                            json_boolean_create(r.fact.source != NULL));
            show_put(object, "source", r.fact.source);
            show_put(object, "remedy", cap_infos[cap].remedy);
            json_array_add(array, object);
        }
    }
    return array;
}

/* The passes of a path, as ofproto/trace would tell them. */
static struct json *
passes_json(const struct offload_path *path)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < path->walk.megaflows.n; i++) {
        const struct megaflow *m = path->passes[i].megaflow;
        struct json *object = json_object_create();
        struct ds ds = DS_EMPTY_INITIALIZER;

        show_put_number(object, "chain", m->chain);
        json_object_put(object, "hardware",
                        json_boolean_create(!path->passes[i].refused
                                            && !path->walk.broken));
        megaflow_put_match(m, &ds);
        show_put(object, "megaflow", ds_cstr(&ds));
        ds_clear(&ds);
        megaflow_put_actions(m, &ds);
        show_put(object, "actions", ds_cstr(&ds));
        ds_destroy(&ds);
        json_array_add(array, object);
    }
    return array;
}

/* The packet as ofproto/trace takes it. */
static void
put_trace(struct json *object, const struct offload_path *path)
{
    char *text = packet_format(&path->walk.megaflows.v[0].key);

    show_put(object, "trace", text);
    free(text);
}

static struct json *
path_json(const struct offload_report *report, const struct offload_path *path)
{
    struct json *object = json_object_create();

    show_put(object, "from", path->packet->from);
    show_put(object, "to", path->packet->to);
    show_put(object, "packet", path->packet->service);
    show_put(object, "role", offload_role_names[path->role]);
    show_put(object, "verdict", offload_verdict_names[path->verdict]);
    show_put(object, "broken", path->walk.broken);
    put_trace(object, path);
    json_object_put(object, "passes", passes_json(path));
    json_object_put(object, "refused",
                    refusals_json(report->profile, path_refused(path)));
    return object;
}

static struct json *
rule_json(const struct offload_report *report, const struct offload_rule *r)
{
    struct json *object = json_object_create();
    struct json *paths = json_array_create_empty();

    show_put(object, "name", r->name);
    json_object_put(object, "rule", json_boolean_create(r->rule != NULL));
    if (r->rule && r->rule->place.span.source) {
        show_put(object, "file", r->rule->place.span.source->name);
        show_put_number(object, "line", r->rule->place.line);
        show_put(object, "pointer", r->rule->place.pointer);
    }
    show_put(object, "verdict", offload_verdict_names[r->verdict]);
    json_object_put(object, "over_budget",
                    json_boolean_create(r->over_budget));
    show_put_number(object, "flows", r->n_flows);
    for (size_t i = 0; i < r->paths.n; i++) {
        json_array_add(paths, path_json(report, &r->paths.v[i]));
    }
    json_object_put(object, "paths", paths);
    return object;
}

static struct json *
quotas_json(const struct profile *profile)
{
    struct json *array = json_array_create_empty();

    for (int quota = 0; quota < N_QUOTAS; quota++) {
        struct quota_fact fact = profile_quota(profile, quota);
        struct json *object = json_object_create();

        show_put(object, "of", quota_names[quota]);
        json_object_put(object, "room", fact.source
                        ? json_integer_create(fact.n) : json_null_create());
        show_put(object, "source", fact.source);
        json_array_add(array, object);
    }
    return array;
}

static void
print_json(const struct offload_report *report, const char *node)
{
    struct json *object = json_object_create();
    struct json *rules = json_array_create_empty();

    for (size_t i = 0; i < report->rules.n; i++) {
        json_array_add(rules, rule_json(report, &report->rules.v[i]));
    }
    show_put(object, "node", node);
    show_put(object, "target", asap2_backend.name);
    show_put(object, "profile", report->profile->name);
    json_object_put(object, "hardware",
                    json_boolean_create(report->profile->hardware));
    /* Their numbers in megaflows are their places there, from 1. */
    json_object_put(object, "ports", plan_names_to_json(&report->plan->ports));
    json_object_put(object, "rules", rules);
    show_put_number(object, "flows", report->n_flows);
    show_put_number(object, "meters", report->n_meters);
    json_object_put(object, "quotas", quotas_json(report->profile));
    show_json(object);
}

static int
write_batch(const struct offload_report *report, const char *path,
            struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *reason;

    tc_batch_put(report, &ds);
    reason = file_replace(arena, path, ds.string, ds.length, 0666);
    ds_destroy(&ds);
    if (reason) {
        cli_print_error(reason);
        return EXIT_WRONG;
    }
    return EXIT_DONE;
}

static int
explain(const struct cli_options *options, struct arena *arena)
{
    struct ir_prog *prog = cli_load_prog(options, arena);
    struct offload_report report;
    struct quota_fact room;
    const char *reason;
    struct plan plan;

    if (!prog || !cli_compile_prog(prog, &asap2_backend, arena, &plan)) {
        return EXIT_WRONG;
    }
    reason = offload_explain(prog, &plan, options->profile, arena, &report);
    if (reason) {
        cli_print_error(reason);
        return EXIT_WRONG;
    }
    room = profile_quota(options->profile, QUOTA_FLOWS);
    if (room.n) {
        offload_fit(&report, room.n);
    }
    if (options->format == FORMAT_JSON) {
        print_json(&report, options->node);
    } else {
        print_table(&report, options->node, arena);
    }
    return options->output ? write_batch(&report, options->output, arena)
                           : EXIT_DONE;
}

int
cmd_offload(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    int status = explain(options, arena);

    arena_destroy(arena);
    return status;
}
