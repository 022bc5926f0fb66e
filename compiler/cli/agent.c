/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "push/push.h"
#include "timeval.h"
#include "unixctl.h"

/* What is asked of the bulkheadd that keeps a bridge. */

enum { AGENT_TIMEOUT = 10 };    /* Seconds... */
#define SAVE_TIMEOUT "5"        /* ...and of them for "save". */

char *
cli_agent_ask(const char *socket, const char *command, int argc,
              const char *argv[])
{
    char *result = NULL, *error = NULL;
    struct jsonrpc *client;

    if (unixctl_client_create(socket, &client)) {
        return NULL;
    }
    time_alarm(AGENT_TIMEOUT);
    if (unixctl_client_transact(client, command, argc, (char **) argv,
                                &result, &error)) {
        result = NULL;
    }
    time_alarm(UINT_MAX);       /* Never. */
    if (error) {
        cli_print_error(error);
    }
    free(error);
    jsonrpc_close(client);
    return result;
}

void
cli_agent_save(const char *bridge, struct arena *arena)
{
    pid_t pid;
    const char *socket = push_agent(bridge, arena, &pid);

    if (socket) {
        free(cli_agent_ask(socket, "save", 1, (const char *[]) {
            SAVE_TIMEOUT,
        }));
    }
}

void
cli_agent_print(const char *bridge, struct arena *arena)
{
    pid_t pid;
    const char *socket = push_agent(bridge, arena, &pid);
    char *text = socket ? cli_agent_ask(socket, "status", 0, NULL) : NULL;

    if (text) {
        printf("kept by bulkheadd (process %ld): %s", (long int) pid, text);
    }
    free(text);
}

bool
cli_agent_is_well(const char *bridge, struct arena *arena)
{
    struct json *json = cli_agent_json(bridge, arena);
    const struct json *summary
        = (json->type == JSON_OBJECT
           ? shash_find_data(json_object(json), "summary") : NULL);
    bool well = !summary || !strcmp(json_string(summary), "as intended");

    json_destroy(json);
    return well;
}

struct json *
cli_agent_json(const char *bridge, struct arena *arena)
{
    pid_t pid;
    const char *socket = push_agent(bridge, arena, &pid);
    char *text = socket ? cli_agent_ask(socket, "status", 1,
                                          (const char *[]) { "json" }) : NULL;
    struct json *json = text ? json_from_string(text) : json_null_create();

    free(text);
    if (json->type == JSON_STRING) {    /* What is wrong with it. */
        json_destroy(json);
        json = json_null_create();
    }
    return json;
}
