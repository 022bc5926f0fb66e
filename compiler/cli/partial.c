/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "push/push.h"
#include "sema/policy.h"

static bool
is_here(const struct policy_endpoint *endpoint, const char *node)
{
    return endpoint->bound && !strcmp(endpoint->intent->node.s, node);
}

static bool
is_among(const plan_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (!strcmp(names->v[i], name)) {
            return true;
        }
    }
    return false;
}

bool
cli_is_kept(const struct cli_options *options, struct arena *arena)
{
    pid_t pid;

    if (!options->bridge) {
        return false;
    }
    push_agent(options->bridge, arena, &pid);   /* Whatever its socket is. */
    return pid != 0;
}

int
cli_leave_out(const struct cli_options *options, const struct policy *policy,
              struct arena *arena)
{
    struct push_target target = cli_target(options, arena);
    plan_names wanted = VEC_INIT, missing = VEC_INIT;
    VEC(struct policy_endpoint *) endpoints = VEC_INIT;
    const char *reason;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t j = 0; j < tenant->endpoints.n; j++) {
            struct policy_endpoint *endpoint = tenant->endpoints.v[j];

            if (is_here(endpoint, options->node)) {
                *vec_push(arena, &endpoints) = endpoint;
                *vec_push(arena, &wanted) = endpoint->intent->interface.s;
            }
        }
    }
    reason = push_missing(&target, &wanted, arena, &missing);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    for (size_t i = 0; i < endpoints.n; i++) {
        if (is_among(&missing, wanted.v[i])) {
            endpoints.v[i]->bound = false;
            fprintf(stderr, "bulkhead: %s is left out: bridge %s lacks its "
                    "interface %s\n", endpoints.v[i]->name, options->bridge,
                    wanted.v[i]);
        }
    }
    return EXIT_DONE;
}
