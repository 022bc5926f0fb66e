/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/source.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "plan/plan.h"
#include "plan/record.h"
#include "sema/policy.h"
#include "util.h"

/* What apply and plan are given: an intent, or a plan that was saved. */

static int
usage(const char *command, const char *what)
{
    fprintf(stderr, "bulkhead: '%s' needs %s; 'bulkhead --help' shows the "
            "usage\n", command, what);
    return EXIT_USAGE;
}

/* The hash of an intent, taken by a thread of its own while the intent is
 * compiled, which only reads it as well. */
struct hashing {
    const struct intent *intent;
    struct arena *arena;        /* Of the thread. */
    const char *hash;
    pthread_t thread;
    bool threaded;
};

static void *
hash_intent(void *hashing_)
{
    struct hashing *hashing = hashing_;
    struct ds ds = DS_EMPTY_INITIALIZER;

    intent_print(hashing->intent, &ds);
    hashing->hash = plan_hash(hashing->arena, ds.string, ds.length);
    ds_destroy(&ds);
    return NULL;
}

static void
hashing_begin(struct hashing *hashing, const struct intent *intent)
{
    *hashing = (struct hashing) {
        .intent = intent, .arena = arena_create(),
    };
    hashing->threaded = !pthread_create(&hashing->thread, NULL, hash_intent,
                                        hashing);
}

/* Returns the hash in 'arena'. */
static const char *
hashing_end(struct hashing *hashing, struct arena *arena)
{
    const char *hash;

    if (hashing->threaded) {
        pthread_join(hashing->thread, NULL);
    } else {
        hash_intent(hashing);
    }
    hash = arena_strdup(arena, hashing->hash);
    arena_destroy(hashing->arena);
    return hash;
}

/* Notes where the intent is, for whoever reads it from another folder.  Links
 * stay as they are: the folder of a file says what it may define. */
static void
note_files(const struct cli_options *options, struct arena *arena,
           struct plan_record *order)
{
    for (size_t i = 0; i < options->n_intent; i++) {
        char *path = abs_file_name(NULL, options->intent[i]);

        *vec_push(arena, &order->files) = arena_strdup(arena, path);
        free(path);
    }
}

int
cli_load_intent(const struct cli_options *options, struct arena *arena,
                struct plan_record *order, const struct policy **policyp)
{
    struct plan *plan = arena_zalloc(arena, sizeof *plan);
    const struct policy *policy = cli_load_policy(options, arena);
    struct hashing hashing;

    int status = (!policy ? EXIT_WRONG : options->partial
                  ? cli_leave_out(options, policy, arena) : EXIT_DONE);

    *order = (struct plan_record) {
        .bridge = options->bridge, .partial = options->partial, .plan = plan,
    };
    if (status != EXIT_DONE) {
        return status;
    }
    hashing_begin(&hashing, policy->intent);
    if (!cli_compile(options, policy, arena, plan)) {
        status = EXIT_WRONG;
    }
    order->intent = hashing_end(&hashing, arena);
    if (status == EXIT_DONE && policyp) {
        *policyp = policy;
    }
    note_files(options, arena, order);
    return status;
}

/* A plan goes only where it was made for. */
static const char *
check_place(const struct cli_options *options,
            const struct plan_record *order, struct arena *arena)
{
    if (options->target
        && strcmp(options->target->name, order->plan->target)) {
        return arena_printf(arena, "it is for the target %s, not %s",
                            order->plan->target, options->target->name);
    } else if (order->plan->northbound && (options->node || options->bridge)) {
        return "it is for OVN, and takes no --node and no --bridge";
    } else if (options->node && strcmp(options->node, order->plan->node)) {
        return arena_printf(arena, "it is for node %s, not %s",
                            order->plan->node, options->node);
    } else if (options->bridge && strcmp(options->bridge, order->bridge)) {
        return arena_printf(arena, "it is for bridge %s, not %s",
                            order->bridge, options->bridge);
    } else if (!order->held || !order->intent || !order->files.n) {
        return "it was not saved by 'bulkhead plan -o'";
    }
    return NULL;
}

/* What an interface says in a plan, or NULL.  In like plans it has the same
 * 'place'. */
static const char *
find_said(const struct plan *plan, const char *interface, size_t place)
{
    if (place < plan->ports.n
        && !strcmp(plan->ports.v[place].interface, interface)) {
        return plan->ports.v[place].said;
    }
    for (size_t i = 0; i < plan->ports.n; i++) {
        if (!strcmp(plan->ports.v[i].interface, interface)) {
            return plan->ports.v[i].said;
        }
    }
    return NULL;
}

/* Does what interfaces say in one plan stand in the other, too? */
static bool
says_same(const struct plan *a, const struct plan *b)
{
    for (size_t i = 0; i < a->ports.n; i++) {
        const struct plan_port *port = &a->ports.v[i];

        if (port->said
            && !nullable_string_is_equal(
                   port->said, find_said(b, port->interface, i))) {
            return false;
        }
    }
    return true;
}

/* Is the plan what its intent still gives?  What is in the file alone is not
 * trusted: somebody may have written to it.  Sets '*reason' if not; prints
 * what is wrong with the intent. */
static int
check_intent(const struct cli_options *options,
             struct plan_record *order, struct arena *arena,
             const char **reason, const struct policy **policy)
{
    struct cli_options again = *options;
    struct plan_record fresh;
    int status;

    again.intent = order->files.v;
    again.n_intent = order->files.n;
    again.node = order->plan->northbound ? NULL : order->plan->node;
    again.target = backend_find(order->plan->target);
    again.bridge = order->bridge;
    again.partial = order->partial;
    status = cli_load_intent(&again, arena, &fresh, policy);
    if (status != EXIT_DONE) {
        *reason = "its intent cannot be compiled any more";
        return status;
    } else if (!says_same(order->plan, fresh.plan)
               || !says_same(fresh.plan, order->plan)) {
        *reason = "something was attached or detached since, or its intent "
                  "says now what interfaces said; make it anew";
        return EXIT_WRONG;
    } else if (strcmp(fresh.intent, order->intent)) {
        *reason = "its intent has changed since; make it anew";
        return EXIT_WRONG;
    } else if (!plan_same(order->plan, fresh.plan)) {
        *reason = "it is not what its intent gives: it was written to, or is "
                  "of another version; make it anew";
        return EXIT_WRONG;
    }
    order->plan = fresh.plan;   /* It knows all places. */
    return EXIT_DONE;
}

static int
load_saved(const struct cli_options *options, const struct source *source,
           struct arena *arena, struct plan_record *order,
           const struct policy **policy)
{
    const char *reason = plan_record_parse(source->text, source->len, arena,
                                           order);
    int status;

    if (reason) {
        fprintf(stderr, "bulkhead: %s %s; make it anew with 'bulkhead plan "
                "-o'\n", options->intent[0], reason);
        return EXIT_WRONG;
    }
    if (options->partial) {
        fputs("bulkhead: 'apply' takes --partial with an intent; a saved plan "
              "has what 'bulkhead plan' was given\n", stderr);
        return EXIT_USAGE;
    }
    reason = check_place(options, order, arena);
    status = (reason ? EXIT_WRONG
              : check_intent(options, order, arena, &reason, policy));
    if (reason) {
        fprintf(stderr, "bulkhead: the plan %s is refused: %s\n",
                options->intent[0], reason);
    }
    return status;
}

int
cli_load_order(const struct cli_options *options, struct arena *arena,
               struct plan_record *order, const struct policy **policy)
{
    const struct source *source;

    if (options->n_intent == 1
        && !source_read(arena, options->intent[0], &source)
        && plan_record_is(source->text, source->len)) {
        return load_saved(options, source, arena, order, policy);
    } else if (cli_is_fabric(options)) {
        return cli_load_intent(options, arena, order, policy);
    } else if ((!options->node || !options->bridge) && options->n_intent
               && access(options->intent[0], R_OK)
               && !cli_load_policy(options, arena)) {
        return EXIT_WRONG;      /* It may have been a saved plan's name. */
    } else if (!options->node) {
        return usage("apply", "--node=NODE");
    } else if (!options->bridge) {
        return usage("apply", "--bridge=BRIDGE");
    }
    return cli_load_intent(options, arena, order, policy);
}
