/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "push/control.h"
#include "push/push.h"
#include "timeval.h"
#include "util.h"

/* What is asked of the bulkheadd that keeps a bridge. */

enum { AGENT_TIMEOUT_MS = 10000 };
#define SAVE_TIMEOUT "5"        /* Seconds of that for "save". */

/* One that does not answer is not asked again. */
const char *
cli_agent_ask(const char *socket, const char *command,
              const char *const argv[], size_t n, long long int deadline,
              struct arena *arena, bool *refused)
{
    static bool silent;
    const char *answer, *refusal;
    int error;

    *refused = false;
    if (silent) {
        return NULL;
    }
    error = control_transact(socket, command, argv, n, deadline, arena,
                             &answer, &refusal);
    silent = error != 0;
    if (error) {
        fprintf(stderr, "bulkhead: bulkheadd does not answer on %s: %s\n",
                socket, ovs_retval_to_string(error));
    } else if (refusal) {
        cli_print_error(refusal);
        *refused = true;
    }
    return answer;
}

/* The same, for who has no deadline. */
static const char *
ask_soon(const char *socket, const char *command, const char *const argv[],
         size_t n, struct arena *arena)
{
    bool refused;

    return cli_agent_ask(socket, command, argv, n,
                         time_msec() + AGENT_TIMEOUT_MS, arena, &refused);
}

void
cli_agent_save(const char *bridge, struct arena *arena)
{
    static const char *const argv[] = { SAVE_TIMEOUT };
    pid_t pid;
    const char *socket = push_agent(bridge, arena, &pid);

    if (socket) {
        ask_soon(socket, "save", argv, ARRAY_SIZE(argv), arena);
    }
}

void
cli_agent_print(const char *bridge, struct arena *arena)
{
    pid_t pid;
    const char *socket = push_agent(bridge, arena, &pid);
    const char *text = (socket ? ask_soon(socket, "status", NULL, 0, arena)
                        : NULL);

    if (text) {
        printf("kept by bulkheadd (process %ld): %s", (long int) pid, text);
    }
}

bool
cli_agent_is_well(const char *bridge, struct arena *arena)
{
    struct json *json = cli_agent_json(bridge, arena);
    const struct json *summary
        = (json->type == JSON_OBJECT
           ? shash_find_data(json_object(json), "summary") : NULL);
    pid_t pid;
    bool well = (summary ? !strcmp(json_string(summary), "as intended")
                 : !push_agent(bridge, arena, &pid));

    json_destroy(json);
    return well;
}

struct json *
cli_agent_json(const char *bridge, struct arena *arena)
{
    static const char *const argv[] = { "json" };
    pid_t pid;
    const char *socket = push_agent(bridge, arena, &pid);
    const char *text = (socket ? ask_soon(socket, "status", argv,
                                          ARRAY_SIZE(argv), arena)
                        : NULL);
    struct json *json = text ? json_from_string(text) : json_null_create();

    if (json->type == JSON_STRING) {    /* What is wrong with it. */
        json_destroy(json);
        json = json_null_create();
    }
    return json;
}
