/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/offload.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/show.h"
#include "flow.h"
#include "ir/ir.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/manifest.h"
#include "plan/nic.h"
#include "plan/plan.h"
#include "sema/packet.h"
#include "util.h"

struct json *
offload_refusals_json(const struct profile *profile, cap_set refused)
{
    struct json *array = json_array_create_empty();

    for (int cap = 0; cap < N_CAPS; cap++) {
        if (refused & (UINT64_C(1) << cap)) {
            struct offload_refusal r = offload_refusal(profile, cap);
            struct json *object = json_object_create();

            show_put(object, "needs", profile_words(profile, cap));
            show_put(object, "layer", r.layer->name);
            json_object_put(object, "known",
                            json_boolean_create(r.fact.source != NULL));
            show_put(object, "source", r.fact.source);
            show_put(object, "remedy", profile_remedy(profile, cap));
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
        json_object_put(object, "marked",
                        json_boolean_create(path->passes[i].marked
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
    const struct flow *packet = &path->walk.megaflows.v[0].key;
    struct ds ds = DS_EMPTY_INITIALIZER;
    char *text = packet_format(packet);

    ds_put_cstr(&ds, text);
    if (flow_tnl_dst_is_set(&packet->tunnel)) {
        ds_put_char(&ds, ',');
        packet_put_outer(&ds, &packet->tunnel);
    }
    show_put(object, "trace", ds_cstr(&ds));
    ds_destroy(&ds);
    free(text);
}

static struct json *
path_json(const struct offload_report *report,
          const struct offload_path *path)
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
                    offload_refusals_json(report->profile,
                                          offload_path_refused(path)));
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

/* All that passes in hardware need, of any rule. */
static cap_set
carried(const struct offload_report *report)
{
    cap_set needs = 0;

    for (size_t i = 0; i < report->rules.n; i++) {
        const struct offload_rule *r = &report->rules.v[i];

        for (size_t j = 0; j < r->paths.n; j++) {
            const struct offload_path *path = &r->paths.v[j];

            for (size_t k = 0; k < path->walk.megaflows.n; k++) {
                needs |= path->passes[k].refused ? 0 : path->passes[k].needs;
            }
        }
    }
    return needs;
}

/* Who carries that, and what says so. */
static struct json *
carried_json(const struct offload_report *report)
{
    struct json *array = json_array_create_empty();
    cap_set needs = carried(report);

    for (int cap = 0; cap < N_CAPS; cap++) {
        struct json *object, *sources;

        if (!(needs & (UINT64_C(1) << cap))) {
            continue;
        }
        object = json_object_create();
        sources = json_array_create_empty();
        for (size_t i = 0; i < MAX_LAYERS && report->profile->layers[i];
             i++) {
            const struct layer *layer = report->profile->layers[i];
            struct json *source = json_object_create();

            show_put(source, "layer", layer->name);
            show_put(source, "source", layer_fact(layer, cap).source);
            json_array_add(sources, source);
        }
        show_put(object, "needs", profile_words(report->profile, cap));
        json_object_put(object, "sources", sources);
        json_array_add(array, object);
    }
    return array;
}

void
offload_print_json(const struct offload_report *report, const char *node)
{
    struct json *object = json_object_create();
    struct json *rules = json_array_create_empty();

    for (size_t i = 0; i < report->rules.n; i++) {
        json_array_add(rules, rule_json(report, &report->rules.v[i]));
    }
    show_put(object, "node", node);
    show_put(object, "target", report->plan->target);
    show_put(object, "profile", report->profile->name);
    json_object_put(object, "hardware",
                    json_boolean_create(report->profile->hardware));
    /* Their numbers in megaflows are their places there, from 1. */
    json_object_put(object, "ports", plan_interfaces_to_json(report->plan));
    json_object_put(object, "rules", rules);
    show_put_number(object, "flows", report->n_flows);
    show_put_number(object, "meters", report->n_meters);
    json_object_put(object, "quotas", quotas_json(report->profile));
    json_object_put(object, "carried", carried_json(report));
    if (report->plan->vfs) {
        json_object_put(object, "vfs", plan_vfs_to_json(report->plan->vfs));
    }
    show_json(object);
}
