/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/held.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/asap2/asap2.h"
#include "cli/cli.h"
#include "cli/offload.h"
#include "cli/show.h"
#include "openvswitch/json.h"
#include "plan/plan.h"
#include "push/control.h"
#include "timeval.h"
#include "util.h"

enum { MAX_LISTED = 100 };

const struct profile *
held_profile(const struct cli_options *options)
{
    return offload_profile(options->profile, options->target
                           ? options->target : backends[0]);
}

/* The datapath of the bridge, of what "dpif/show" says of all: a line for each
 * datapath, "system@ovs-system: hit:1 missed:2", and below it "  BRIDGE:".
 * NULL if it has none. */
static const char *
find_datapath(const char *show, const char *bridge, struct arena *arena)
{
    const char *datapath = NULL;
    size_t len = strlen(bridge);

    for (const char *line = show; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line != ' ') {
            datapath = arena_strndup(arena, line, strcspn(line, ":\n"));
        } else if (!strncmp(line, "  ", 2)
                   && !strncmp(line + 2, bridge, len)
                   && line[2 + len] == ':') {
            return datapath;
        }
    }
    return NULL;
}

/* What dpctl says of ports and megaflows of the bridge's datapath. */
static const char *
ask(const char *bridge, long long int deadline, struct arena *arena,
    const char **ports, const char **flows)
{
    const char *all, *datapath, *reason;

    reason = control_ask("dpif/show", NULL, 0, deadline, arena, &all);
    if (reason) {
        return reason;
    }
    datapath = find_datapath(all, bridge, arena);
    if (!datapath) {
        return arena_printf(arena, "bridge %s has no datapath: see the log "
                            "of ovs-vswitchd", bridge);
    }

    const char *const show[] = { datapath };
    const char *const dump[] = { "-m", "--no-names", datapath };

    reason = control_ask("dpctl/show", show, ARRAY_SIZE(show), deadline,
                         arena, ports);
    return reason ? reason : control_ask("dpctl/dump-flows", dump,
                                         ARRAY_SIZE(dump), deadline, arena,
                                         flows);
}

const char *
held_read(const struct cli_options *options, const struct ir_prog *prog,
          const struct plan *plan, struct arena *arena,
          struct held_report *report)
{
    long long int deadline = (time_msec()
                              + cli_target(options, arena).timeout_ms);
    const char *ports, *flows, *reason;

    reason = ask(options->bridge, deadline, arena, &ports, &flows);
    if (!reason) {
        offload_hold(prog, plan, held_profile(options), ports, flows, arena,
                     report);
    }
    return reason;
}

static void
print_row(const struct held_report *report, const struct held_row *row)
{
    printf("%-24s", row->name);
    for (int i = N_HELD - 1; i >= 0; i--) {
        if (i != HELD_MARKED || report->profile->rte_flow) {
            char pair[48];

            snprintf(pair, sizeof pair, "%"PRIuSIZE"/%"PRIuSIZE,
                     row->predicted[i], row->actual[i]);
            printf(" %14s", pair);
        }
    }
    printf(" %10"PRIuSIZE" %10"PRIuSIZE"\n", row->n_lost, row->n_gained);
}

/* What is to be said of a megaflow that is not where it was to be. */
static void
print_flow(const struct held_report *report, const struct held_flow *flow)
{
    if (flow->unread) {
        printf(" not understood: %s\n", flow->unread);
    } else {
        printf(" %s: predicted %s, is in %s\n", flow->tenant,
               held_where_names[flow->predicted],
               held_where_names[flow->actual]);
    }
    printf("  %s\n", flow->text);
    for (int cap = 0; cap < N_CAPS; cap++) {
        if (flow->refused & (UINT64_C(1) << cap)) {
            struct offload_refusal r = offload_refusal(report->profile, cap);

            printf("  %s: %s\n", profile_words(report->profile, cap),
                   r.layer->name);
        }
    }
}

static void
print_flows(const struct held_report *report)
{
    for (size_t i = 0; i < report->flows.n && i < MAX_LISTED; i++) {
        print_flow(report, &report->flows.v[i]);
    }
    if (report->flows.n > MAX_LISTED) {
        printf("and %"PRIuSIZE" more\n", report->flows.n - MAX_LISTED);
    }
}

/* Nothing is offloaded: what to look at. */
static void
print_nothing(const struct held_report *report)
{
    if (report->all.n_in_tc) {
        printf("nothing is offloaded, but tc has %"PRIuSIZE": see that the "
               "interfaces are representors of a NIC in mode switchdev, with "
               "hw-tc-offload (ethtool -k), and the kernel's log\n",
               report->all.n_in_tc);
    } else {
        puts("nothing is offloaded: see that other_config:hw-offload of "
             "Open_vSwitch is true, and the log of ovs-vswitchd");
    }
}

void
held_print(const struct held_report *report, bool verbose)
{
    printf("offload as of %s: megaflows predicted/there%s\n",
           report->profile->title,
           report->profile->hardware ? "" : "; \"hardware\" means in tc");
    printf("%-24s %14s%s %14s %10s %10s\n", "TENANT", "HARDWARE",
           report->profile->rte_flow ? "         MARKED" : "", "SOFTWARE",
           "LOST", "GAINED");
    for (size_t i = 0; i < report->rows.n; i++) {
        print_row(report, &report->rows.v[i]);
    }
    if (report->all.n_lost && !report->all.actual[HELD_HARDWARE]
        && !report->all.actual[HELD_MARKED]) {
        print_nothing(report);
    }
    if (report->all.n_unread) {
        printf("not understood: %"PRIuSIZE"\n", report->all.n_unread);
    }
    if (verbose) {
        print_flows(report);
    }
}

static struct json *
numbers_json(const size_t numbers[N_HELD])
{
    struct json *object = json_object_create();

    for (int i = 0; i < N_HELD; i++) {
        show_put_number(object, held_where_names[i], numbers[i]);
    }
    return object;
}

static struct json *
row_json(const struct held_row *row)
{
    struct json *object = json_object_create();

    show_put(object, "name", row->name);
    json_object_put(object, "predicted", numbers_json(row->predicted));
    json_object_put(object, "actual", numbers_json(row->actual));
    show_put_number(object, "lost", row->n_lost);
    show_put_number(object, "gained", row->n_gained);
    show_put_number(object, "unread", row->n_unread);
    return object;
}

static struct json *
flow_json(const struct held_report *report, const struct held_flow *flow)
{
    struct json *object = json_object_create();

    show_put(object, "tenant", flow->tenant);
    show_put(object, "megaflow", flow->text);
    show_put(object, "predicted",
             flow->unread ? NULL : held_where_names[flow->predicted]);
    show_put(object, "actual", held_where_names[flow->actual]);
    show_put(object, "unread", flow->unread);
    json_object_put(object, "refused",
                    offload_refusals_json(report->profile, flow->refused));
    return object;
}

struct json *
held_json(const struct held_report *report)
{
    struct json *object = json_object_create();
    struct json *rows = json_array_create_empty();
    struct json *flows = json_array_create_empty();

    for (size_t i = 0; i < report->rows.n; i++) {
        json_array_add(rows, row_json(&report->rows.v[i]));
    }
    for (size_t i = 0; i < report->flows.n && i < MAX_LISTED; i++) {
        json_array_add(flows, flow_json(report, &report->flows.v[i]));
    }
    show_put(object, "profile", report->profile->name);
    json_object_put(object, "hardware",
                    json_boolean_create(report->profile->hardware));
    json_object_put(object, "tenants", rows);
    json_object_put(object, "differences", flows);
    show_put_number(object, "left_out",
                    report->flows.n > MAX_LISTED
                    ? report->flows.n - MAX_LISTED : 0);
    show_put_number(object, "unread", report->all.n_unread);
    show_put_number(object, "others", report->n_others);
    return object;
}

const char *
loss_read(const struct cli_options *options, struct ir_prog *prog,
          const struct plan *old, const struct plan *plan,
          struct arena *arena, offload_loss_vec *losses)
{
    const struct backend *target = backend_find(plan->target);

    if (target->lower) {
        target->lower(prog, arena);
    }
    return offload_compare(prog, old, plan, held_profile(options), arena,
                           losses);
}

void
loss_print(const struct profile *profile, const offload_loss_vec *losses)
{
    for (size_t i = 0; i < losses->n; i++) {
        const struct offload_loss *loss = &losses->v[i];

        printf("  ! offload %s: %s -> %s", loss->name,
               offload_verdict_names[loss->before],
               offload_verdict_names[loss->after]);
        if (loss->n_lost) {
            printf(", %"PRIuSIZE" of %"PRIuSIZE" kinds of packets lose",
                   loss->n_lost, loss->n_packets);
        }
        putchar('\n');
        for (int cap = 0; cap < N_CAPS; cap++) {
            if (loss->refused & (UINT64_C(1) << cap)) {
                printf("      %s\n", profile_words(profile, cap));
            }
        }
    }
}

struct json *
loss_json(const struct profile *profile, const offload_loss_vec *losses)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < losses->n; i++) {
        const struct offload_loss *loss = &losses->v[i];
        struct json *object = json_object_create();

        show_put(object, "name", loss->name);
        json_object_put(object, "rule",
                        json_boolean_create(loss->rule != NULL));
        show_put(object, "before", offload_verdict_names[loss->before]);
        show_put(object, "after", offload_verdict_names[loss->after]);
        show_put_number(object, "lost", loss->n_lost);
        show_put_number(object, "packets", loss->n_packets);
        json_object_put(object, "refused",
                        offload_refusals_json(profile, loss->refused));
        json_array_add(array, object);
    }
    return array;
}
