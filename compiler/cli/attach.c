/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "intent/intent.h"
#include "push/attached.h"
#include "push/ovsdb.h"
#include "push/push.h"
#include "sema/policy.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

/* Interfaces that say whose they are. */

enum { LOOK_US = 2000, LEAST_MS = 1000, N_WRITTEN = 4 };

/* 'intent' with what interfaces say that are not left out. */
static const struct intent *
attach_all(const struct intent *intent, struct attached *attached,
           struct arena *arena, struct diags *diags)
{
    struct intent *copy = arena_zalloc(arena, sizeof *copy);

    *copy = *intent;
    memset(&copy->tenants, 0, sizeof copy->tenants);
    for (size_t i = 0; i < intent->tenants.n; i++) {
        const struct intent_tenant *t = &intent->tenants.v[i];
        struct intent_tenant *with = vec_push(arena, &copy->tenants);

        *with = *t;
        memset(&with->endpoints, 0, sizeof with->endpoints);
        for (size_t j = 0; j < t->endpoints.n; j++) {
            struct intent_endpoint *e = vec_push(arena, &with->endpoints);

            *e = t->endpoints.v[j];
            attached_join(attached, t->name.s, e, arena, diags);
        }
    }
    return copy;
}

static void
report_left_out(const struct attached *attached, struct arena *arena)
{
    plan_names left_out = VEC_INIT;

    attached_refused(attached, arena, &left_out);
    for (size_t i = 0; i < left_out.n; i++) {
        fprintf(stderr, "bulkhead: left out: %s\n", left_out.v[i]);
    }
}

/* Resolves 'intent' with what interfaces say that are not left out. */
static const struct policy *
try_attached(const struct intent *intent, struct attached *attached,
             struct arena *arena, struct diags *tried)
{
    const struct intent *whole;

    diags_init(tried, arena);
    whole = attach_all(intent, attached, arena, tried);
    if (tried->n_errors) {
        tried->unchecked = CLI_UNCHECKED;
        return NULL;
    }
    return policy_resolve(whole, arena, tried);
}

/* The same of all; with --partial, without those that make it wrong. */
static const struct policy *
resolve_attached(const struct cli_options *options,
                 const struct intent *intent, struct attached *attached,
                 struct arena *arena, struct diags *diags)
{
    const struct policy *last = NULL;
    struct diags of_last;

    for (;;) {
        struct diags tried;
        const struct policy *policy = try_attached(intent, attached, arena,
                                                   &tried);
        bool blamed = (!policy && options->partial
                       && attached_blame(attached, NULL, &tried));

        if (policy) {
            attached_settle(attached, NULL);
        }
        if (policy || !last) {
            last = policy;
            of_last = tried;
        }
        if (last ? !attached_next(attached, NULL) : !blamed) {
            break;
        }
    }
    diags_append(diags, &of_last);
    return last;
}

/* Is there a bridge, whose interfaces may say whose they are? */
static bool
has_bridge(const struct cli_options *options)
{
    return options->node && options->bridge;
}

void
cli_attach_expect(const struct cli_options *options, struct arena *arena)
{
    struct push_target target = cli_target(options, arena);

    if (has_bridge(options)) {
        bridge_info_expect(target.db, time_msec() + target.timeout_ms);
    }
}

/* Returns false if there is none, which is said by who needs one. */
static bool
read_bridge(const struct cli_options *options, struct arena *arena,
            struct bridge_info *info)
{
    struct push_target target = cli_target(options, arena);

    return (has_bridge(options)
            && !bridge_info_read(target.db, target.bridge,
                                 time_msec() + target.timeout_ms, arena,
                                 info));
}

const struct policy *
cli_resolve(const struct cli_options *options, const struct intent *intent,
            struct arena *arena, struct diags *diags)
{
    const struct policy *policy;
    struct bridge_info info;
    struct diags alone;

    /* While the database is read, which mostly has nothing to add. */
    diags_init(&alone, arena);
    policy = policy_resolve(intent, arena, &alone);
    bridge_info_init(&info);
    if (read_bridge(options, arena, &info) && info.attachments.n) {
        struct sset tenants = SSET_INITIALIZER(&tenants);
        struct attached attached;

        attached_init(&attached);
        attached_update(&attached, &info, options->node, options->bridge,
                        &tenants);
        policy = resolve_attached(options, intent, &attached, arena, diags);
        report_left_out(&attached, arena);
        if (!policy && attached_blame(&attached, NULL, diags)) {
            fputs("bulkhead: note: 'plan' and 'apply' with --partial leave "
                  "out what an interface says and cannot be\n", stderr);
        }
        attached_destroy(&attached);
        sset_destroy(&tenants);
    } else {
        diags_append(diags, &alone);
    }
    bridge_info_destroy(&info);
    return policy;
}

/* Waits until the bulkheadd that keeps the bridge has taken what was written:
 * the endpoint, and what its interface says, or "".  Stores whether it has
 * said that it never will.  Returns EXIT_*. */
static int
await(const struct push_target *target, const char *written[N_WRITTEN],
      const char *answer, struct arena *arena, bool *refused)
{
    long long int deadline = time_msec() + target->timeout_ms;
    pid_t pid;
    const char *socket = push_agent(target->bridge, arena, &pid);
    const char *refusal;

    *refused = false;
    if (!socket && pid) {
        fprintf(stderr, "bulkhead: written; whether it is done cannot be "
                "told: bridge %s is held by process %ld, perhaps a bulkheadd "
                "whose --unixctl is not the default\n", target->bridge,
                (long int) pid);
        return EXIT_UNREACHABLE;
    } else if (!socket) {
        fprintf(stderr, "bulkhead: written; no bulkheadd keeps bridge %s, so "
                "run 'bulkhead apply' to change its flows\n", target->bridge);
        return EXIT_DONE;
    }
    do {
        const char *said = cli_agent_ask(
            socket, "attached", written, N_WRITTEN,
            MAX(deadline, time_msec() + LEAST_MS), arena, &refusal);
        bool same = (said && !strncmp(said, answer, strlen(answer))
                     && said[strlen(answer)] == '\n');

        if (refusal) {
            cli_print_error(arena_printf(arena, "%s: %s", written[0],
                                         refusal));
            *refused = true;
        } else if (!said) {
            fprintf(stderr, "bulkhead: written; whether it is done cannot be "
                    "told: bulkheadd has not answered; 'bulkhead status "
                    "--bridge %s' says more once it does\n", target->bridge);
        }
        if (same || !said) {
            return same ? EXIT_DONE : EXIT_UNREACHABLE;
        }
        usleep(LOOK_US);
    } while (time_msec() < deadline);
    fprintf(stderr, "bulkhead: bulkheadd has not done it yet; 'bulkhead "
            "status --bridge %s' says more\n", target->bridge);
    return EXIT_UNREACHABLE;
}

/* Says what is wrong with 'value' of 'option', and returns false if anything
 * is. */
static bool
report(const struct diags *diags, const char *option, const char *value)
{
    for (size_t i = 0; i < diags->list.n; i++) {
        const struct diag *d = &diags->list.v[i];

        if (d->severity == DIAG_ERROR) {
            fprintf(stderr, "bulkhead: %s'%s': %s; %s\n", option, value,
                    d->cause, d->remedy ? d->remedy : "correct it");
            return false;
        }
    }
    return true;
}

/* Is it "TENANT/ENDPOINT", with names as the intent has them? */
static bool
check_endpoint(const char *endpoint, struct arena *arena)
{
    struct diags diags;

    diags_init(&diags, arena);
    attached_check(endpoint, NULL, NULL, NULL, arena, &diags);
    return report(&diags, "", endpoint);
}

/* Are the options of attach what the intent takes?  What is not would stop
 * whoever reads it. */
static bool
check_options(const struct cli_options *options, struct arena *arena)
{
    const char *endpoint = options->argument;
    struct diags diags[3];

    for (size_t i = 0; i < ARRAY_SIZE(diags); i++) {
        diags_init(&diags[i], arena);
    }
    attached_check(endpoint, options->interface, NULL, NULL, arena, &diags[0]);
    attached_check(endpoint, NULL, options->mac, NULL, arena, &diags[1]);
    attached_check(endpoint, NULL, NULL, options->addresses, arena,
                   &diags[2]);
    return (report(&diags[0], "--interface ", options->interface)
            && report(&diags[1], "--mac ", options->mac)
            && report(&diags[2], "--addresses ", options->addresses));
}

/* What bulkheadd does not take is written no more: an endpoint that was well
 * attached is so again. */
static void
take_back(const struct push_target *target, const char *endpoint,
          struct bridge_attachment *was, struct arena *arena)
{
    const char *reason = attached_put_back(target, endpoint, was, arena);

    if (reason) {
        cli_print_error(reason);
    } else {
        fprintf(stderr, "bulkhead: interface %s says again what it said "
                "before\n", was->interface);
    }
}

int
cmd_attach(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct push_target target = cli_target(options, arena);
    const char *endpoint = options->argument, *reason;
    struct bridge_attachment was;
    int status = EXIT_USAGE;
    bool refused;

    if (check_endpoint(endpoint, arena) && check_options(options, arena)) {
        reason = attached_put(&target, endpoint, options->interface,
                              options->mac, options->addresses, arena, &was);
        if (reason) {
            cli_print_error(reason);
            status = EXIT_UNREACHABLE;
        } else {
            const char *written[N_WRITTEN] = {
                endpoint, options->interface,
                options->mac ? options->mac : "",
                options->addresses ? options->addresses : "",
            };

            status = await(&target, written, "yes", arena, &refused);
            if (refused) {
                take_back(&target, endpoint, &was, arena);
            }
        }
    }
    arena_destroy(arena);
    return status;
}

int
cmd_detach(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct push_target target = cli_target(options, arena);
    const char *endpoint = options->argument, *reason;
    int status = EXIT_USAGE;
    bool refused;

    if (check_endpoint(endpoint, arena)) {
        reason = attached_remove(&target, endpoint, arena);
        if (reason) {
            cli_print_error(reason);
            status = EXIT_UNREACHABLE;
        } else {
            const char *written[N_WRITTEN] = { endpoint, "", "", "" };

            status = await(&target, written, "no", arena, &refused);
        }
    }
    arena_destroy(arena);
    return status;
}
