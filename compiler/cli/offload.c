/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/offload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/asap2/asap2.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "ir/ir.h"
#include "offload/rte-flow.h"
#include "offload/tc-batch.h"
#include "openvswitch/dynamic-string.h"
#include "plan/nic.h"
#include "plan/plan.h"
#include "sset.h"
#include "util.h"

struct offload_refusal
offload_refusal(const struct profile *profile, enum cap cap)
{
    struct offload_refusal r = { NULL, { cap, SUPPORT_UNKNOWN, NULL } };

    r.layer = profile_refusal(profile, cap, &r.fact);
    return r;
}

/* All that is refused, of any path. */
static cap_set
rule_refused(const struct offload_rule *r)
{
    cap_set refused = 0;

    for (size_t i = 0; i < r->paths.n; i++) {
        refused |= offload_path_refused(&r->paths.v[i]);
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
    bool marked;                /* See struct offload_pass. */
};

static bool
is_marked(const struct offload_path *path)
{
    return !path->walk.broken && path->passes[0].marked;
}

VEC_TYPEDEF(line_vec, struct line);

/* Adds the service of 'path' to the line of its role, or that line. */
static void
add_to_lines(const struct offload_path *path, struct arena *arena,
             line_vec *lines)
{
    cap_set refused = offload_path_refused(path);
    const char *service = path->packet->service;

    for (size_t i = 0; i < lines->n; i++) {
        struct line *line = &lines->v[i];

        if (line->roles == 1u << path->role && line->refused == refused
            && line->verdict == path->verdict
            && line->broken == path->walk.broken
            && line->marked == is_marked(path)) {
            if (!names_service(line->services, service)) {
                line->services = arena_printf(arena, "%s, %s", line->services,
                                              service);
            }
            return;
        }
    }
    *vec_push(arena, lines) = (struct line) {
        path->verdict, refused, 1u << path->role, service,
        path->walk.broken, is_marked(path),
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
                && lines->v[j].marked == line->marked
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
print_line(const struct profile *profile, const struct line *line)
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
    printf("%s%s\n", ds_cstr(&ds), line->marked ? ", marked by the NIC" : "");
    if (line->broken) {
        printf("      its way is not known: %s\n", line->broken);
    }
    for (int cap = 0; cap < N_CAPS; cap++) {
        if (line->refused & (UINT64_C(1) << cap)) {
            printf("      %s\n", profile_words(profile, cap));
        }
    }
    ds_destroy(&ds);
}

static void
print_rule(const struct profile *profile, const struct offload_rule *r,
           struct arena *arena)
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
        print_line(profile, &lines.v[i]);
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
        struct offload_refusal r = offload_refusal(report->profile, cap);

        if (refused & (UINT64_C(1) << cap)) {
            const char *remedy = profile_remedy(report->profile, cap);

            printf("\n%s: %s %s\n  source: %s\n  to change: %s\n",
                   profile_words(report->profile, cap), r.layer->name,
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
            printf("  room for %s: unknown, and taken to be enough\n",
                   quota_names[quota]);
        }
    }
    for (size_t i = 0; i < report->rules.n; i++) {
        if (report->rules.v[i].over_budget) {
            puts("  what has no room is advice: nothing keeps that order, and "
                 "where Open vSwitch\n  has as many megaflows as it may, it "
                 "installs no more");
            break;
        }
    }
}

/* Most senders have a limit, so that is much. */
static void
print_meters(const struct offload_report *report)
{
    struct offload_refusal r = offload_refusal(report->profile, CAP_METER);

    if (r.layer && report->plan->meters.n && report->profile->hardware
        && !report->profile->rte_flow) {
        printf("%s %s meters: what a meter limits stays in software\n",
               r.layer->name, r.fact.source ? "does not carry"
               : "is not known to carry");
    }
}

static void
print_names(const char *head, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("%s%s", i ? ", " : head, names[i]);
    }
    if (n) {
        putchar('\n');
    }
}

static size_t
count_unkept(const struct plan_vfs *vfs)
{
    struct sset rules = SSET_INITIALIZER(&rules);
    size_t n;

    for (size_t i = 0; i < vfs->all.n; i++) {
        for (size_t k = 0; k < vfs->all.v[i].rules.n; k++) {
            sset_add(&rules, vfs->all.v[i].rules.v[k]);
        }
    }
    n = sset_count(&rules);
    sset_destroy(&rules);
    return n;
}

/* Whose rules no packet here meets. */
static void
print_vfs(const struct plan_vfs *vfs)
{
    for (size_t i = 0; vfs && i < vfs->all.n; i++) {
        const struct plan_vf *vf = &vfs->all.v[i];

        printf("\n%s: VF %"PRIu16" of %s in legacy mode (%s)\n"
               "  its NIC forwards by MAC and VLAN %"PRIu16", with priority "
               "%"PRIu8"\n", vf->name, vf->vf, vf->interface, vf->place,
               vf->vlan, vf->priority);
        print_names("  not enforced: ", vf->rules.v, vf->rules.n);
        print_names("  allowed, but cut off by the VLAN: ", vf->cut.v,
                    vf->cut.n);
    }
}

static void
print_table(const struct offload_report *report, const char *node,
            struct arena *arena)
{
    static const enum offload_verdict order[] = {
        OFFLOAD_HARDWARE, OFFLOAD_PARTIAL, OFFLOAD_SOFTWARE,
    };
    const struct plan_vfs *vfs = report->plan->vfs;
    size_t n[OFFLOAD_NONE + 1] = { 0 };

    for (size_t i = 0; i < report->rules.n; i++) {
        n[report->rules.v[i].verdict] += report->rules.v[i].rule != NULL;
    }
    printf("%s, target %s, %s: rules", node, report->plan->target,
           report->profile->title);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        printf("%s %"PRIuSIZE" %s", i ? "," : "", n[order[i]],
               offload_verdict_names[order[i]]);
    }
    if (vfs) {
        printf("; %"PRIuSIZE" VFs in legacy mode, for which %"PRIuSIZE
               " are not enforced", vfs->all.n, count_unkept(vfs));
    }
    putchar('\n');
    if (!report->profile->hardware) {
        puts("no hardware: that means, in tc-flower instead of Open vSwitch's "
             "own datapath");
    }
    print_meters(report);
    for (size_t i = 0; i < report->rules.n; i++) {
        print_rule(report->profile, &report->rules.v[i], arena);
    }
    print_vfs(vfs);
    print_refusals(report);
    print_quotas(report);
}

static int
write_filters(const struct offload_report *report, const char *path,
            struct arena *arena)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *reason;

    (report->profile->rte_flow ? rte_flow_put : tc_batch_put)(report, &ds);
    fflush(stdout);             /* 'path' may be the same. */
    reason = file_output(arena, path, ds.string, ds.length, 0666);
    ds_destroy(&ds);
    if (reason) {
        cli_print_error(reason);
        return EXIT_WRONG;
    }
    return EXIT_DONE;
}

static bool
is_outside(const struct offload_rule *r)
{
    return (r->rule && (r->verdict == OFFLOAD_PARTIAL
                        || r->verdict == OFFLOAD_SOFTWARE));
}

/* The rules that are not wholly in hardware, in the report's order, and
 * nothing else. */
static void
keep_outside(struct offload_report *report)
{
    size_t n = 0;

    for (size_t i = 0; i < report->rules.n; i++) {
        if (is_outside(&report->rules.v[i])) {
            report->rules.v[n++] = report->rules.v[i];
        }
    }
    report->rules.n = n;
}

/* Writes what is asked for, and says how it ends. */
static int
end_offload(const struct cli_options *options, struct offload_report *report,
            struct arena *arena)
{
    int status = (options->output
                  ? write_filters(report, options->output, arena)
                  : EXIT_DONE);

    keep_outside(report);
    return (status == EXIT_DONE && options->exit_code && report->rules.n
            ? EXIT_DIFFERENT : status);
}

const struct profile *
offload_profile(const struct profile *named, const struct backend *target)
{
    return profile_find(named->name, target->caps && target->caps->kernel
                        ? asap2_backend.name : target->name);
}

static int
offload(const struct cli_options *options, struct arena *arena)
{
    const struct backend *target = options->target ? options->target
                                                   : &asap2_backend;
    const struct profile *profile = offload_profile(options->profile, target);
    struct ir_prog *prog = cli_load_prog(options, arena);
    struct offload_report report;
    const char *reason;
    struct plan plan;

    if (!prog || !cli_compile_prog(prog, target, arena, &plan)) {
        return EXIT_WRONG;
    }
    reason = offload_predict(prog, &plan, profile, arena, &report);
    if (reason) {
        cli_print_error(reason);
        return EXIT_WRONG;
    }
    if (options->format == FORMAT_JSON) {
        offload_print_json(&report, options->node);
    } else {
        print_table(&report, options->node, arena);
    }
    return end_offload(options, &report, arena);
}

int
cli_gate_offload(const struct cli_options *options,
                 const struct policy *policy, const struct plan *plan,
                 struct arena *arena)
{
    const struct backend *target = backend_find(plan->target);
    const struct profile *profile = offload_profile(options->profile, target);
    struct offload_report report;
    struct ir_prog *prog;
    const char *reason;

    if (!profile) {
        fprintf(stderr, "bulkhead: 'apply' knows no such --profile of the "
                "target %s\n", target->name);
        return EXIT_USAGE;
    }
    prog = ir_build(policy, plan->node, arena);
    if (target->lower) {
        target->lower(prog, arena);
    }
    reason = offload_predict(prog, plan, profile, arena, &report);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    keep_outside(&report);
    for (size_t i = 0; i < report.rules.n; i++) {
        print_rule(profile, &report.rules.v[i], arena);
    }
    print_refusals(&report);
    if (report.rules.n) {
        fflush(stdout);
        fprintf(stderr, "bulkhead: not all rules would be wholly in hardware, "
                "as of %s: %"PRIuSIZE" would not; nothing was changed\n",
                profile->title, report.rules.n);
    }
    return report.rules.n ? EXIT_UNREACHABLE : EXIT_DONE;
}

int
cmd_offload(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    int status = offload(options, arena);

    arena_destroy(arena);
    return status;
}
