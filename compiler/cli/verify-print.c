/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/show.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/prove.h"
#include "sema/policy.h"
#include "util.h"

enum { MAX_ASSUMED = 5 };

/* Fills 'assumed' with what is taken for granted.  Returns how much that
 * is. */
static size_t
list_assumed(const struct verify_task *task, const char *assumed[MAX_ASSUMED])
{
    size_t n = 0;

    assumed[n++] = "connection tracking gives the states that lib/conntrack.c "
                   "gives without ALG helpers, and keeps its zones apart";
    assumed[n++] = "there are no mirrors";
    if (!task->tables->ports_known) {
        assumed[n++] = "the bridge is fit, of which --bridge asks: its ports "
                       "have the names that the flows say, it fails secure, "
                       "has no controller and no in-band manager, and handles "
                       "fragments as 'normal'";
    }
    if (!task->meters) {
        assumed[n++] = "the meters that the flows name are there";
    }
    assumed[n++] = "the rates and bursts of meters, which 'bulkhead status' "
                   "compares";
    return n;
}

static void
print_line(const char *name, bool proved, const char *question)
{
    printf("%-11s  %-9s  %s\n", name, proved ? "proved" : "DIFFERENT",
           question);
}

void
verify_print_table(const struct verify_task *task,
                   const struct verify_result *r, const char *bridge)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *assumed[MAX_ASSUMED];
    size_t n;

    plan_proof_words(task, r, bridge, SIZE_MAX, &ds);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
    if (r->unproved) {
        return;
    }
    for (int k = 0; k < N_VERIFY_KINDS; k++) {
        print_line(verify_kind_name(k), !r->n_of_kind[k],
                   verify_kind_question(k));
    }
    print_line("shadows", !r->shadowed.n,
               "no flow is kept from all packets by one stronger flow");
    printf("%s: %"PRIuSIZE" flows, %"PRIuSIZE" tenants%s, %"PRIuSIZE
           " endpoints, %"PRIuSIZE" externals, tunnels, all other ports\n",
           task->node, task->tables->flows.n, r->n_tenants,
           r->whole ? "" : " only", r->n_endpoints, r->n_externals);
    n = list_assumed(task, assumed);
    for (size_t i = 0; i < n; i++) {
        printf("assumed: %s\n", assumed[i]);
    }
}

static struct json *
steps_json(const struct verify_task *task, const step_vec *steps)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < steps->n; i++) {
        struct json *object = json_object_create();

        show_put(object, "place", flow_place(task->tables, steps->v[i]));
        show_put(object, "flow", steps->v[i]->text);
        json_array_add(array, object);
    }
    return array;
}

static struct json *
difference_json(const struct verify_task *task,
                const struct verify_difference *d, const char *bridge)
{
    struct json *object = json_object_create();

    show_put(object, "kind", verify_kind_name(d->kind));
    show_put(object, "from", d->from);
    show_put(object, "what", d->what);
    show_put(object, "meant", d->meant);
    show_put(object, "found", d->found);
    show_put(object, "trace", d->packet
             ? plan_proof_trace(d, bridge, task->tables->arena)
             : NULL);
    json_object_put(object, "table", d->of_table
                    ? json_integer_create(d->table) : json_null_create());
    json_object_put(object, "rule", d->rule ? show_rule_place_json(d->rule)
                    : d->at ? show_value_place_json(d->at)
                    : json_null_create());
    json_object_put(object, "flows", steps_json(task, &d->steps));
    return object;
}

static struct json *
questions_json(const struct verify_result *r)
{
    struct json *array = json_array_create_empty();

    for (int k = 0; k < N_VERIFY_KINDS; k++) {
        struct json *object = json_object_create();

        show_put(object, "kind", verify_kind_name(k));
        show_put(object, "question", verify_kind_question(k));
        json_object_put(object, "proved", json_boolean_create(
            !r->unproved && !r->n_of_kind[k]));
        json_array_add(array, object);
    }
    return array;
}

static struct json *
assumed_json(const struct verify_task *task)
{
    struct json *array = json_array_create_empty();
    const char *assumed[MAX_ASSUMED];
    size_t n = list_assumed(task, assumed);

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_string_create(assumed[i]));
    }
    return array;
}

static struct json *
shadowed_json(const struct verify_task *task, const struct verify_result *r)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < r->shadowed.n; i++) {
        json_array_add(array, json_string_create(
            flow_place(task->tables, r->shadowed.v[i].flow)));
    }
    return array;
}

void
verify_print_json(const struct verify_task *task,
                  const struct verify_result *r,
                  const struct verify_costs *costs, const char *bridge)
{
    struct json *object = json_object_create();
    struct json *differences = json_array_create_empty();

    for (size_t i = 0; i < r->differences.n; i++) {
        json_array_add(differences, difference_json(
            task, &r->differences.v[i], bridge));
    }
    show_put(object, "node", task->node);
    show_put(object, "verdict", r->unproved ? "unproved"
             : verify_is_proved(r) ? "proved" : "different");
    show_put(object, "unproved", r->unproved);
    json_object_put(object, "whole", json_boolean_create(r->whole));
    show_put_number(object, "tenants", r->n_tenants);
    json_object_put(object, "questions", questions_json(r));
    json_object_put(object, "assumed", assumed_json(task));
    json_object_put(object, "shadowed", shadowed_json(task, r));
    json_object_put(object, "differences", differences);
    show_put_number(object, "n_differences", r->n_differences);
    show_put_number(object, "flows", task->tables->flows.n);
    show_put(object, "intent_sha1", verify_hash_intent(
        task, task->tables->arena));
    show_put(object, "flows_sha1", verify_hash_flows(
        task, task->tables->arena));
    json_object_put(object, "read_ms", json_real_create(costs->read.cpu));
    json_object_put(object, "proof_ms", json_real_create(costs->proof.cpu));
    json_object_put(object, "wall_ms", json_real_create(costs->proof.wall));
    show_put_number(object, "processes", 1 + r->n_jobs);
    show_put_number(object, "memory", 1024 * costs->proof.kib);
    show_put_number(object, "diagrams", r->n_bytes);
    show_json(object);
}
