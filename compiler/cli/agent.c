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

enum { ANSWER_MS = 1000 };      /* For one that answers when time is up. */

/* One that does not answer is not asked again. */
const char *
cli_agent_ask(const char *socket, const char *command,
              const char *const argv[], size_t n, long long int deadline,
              struct arena *arena, const char **refusal)
{
    static bool silent;
    const char *answer;
    int error;

    *refusal = NULL;
    if (silent) {
        return NULL;
    }
    error = control_transact(socket, command, argv, n, deadline, arena,
                             &answer, refusal);
    silent = error != 0;
    if (error) {
        fprintf(stderr, "bulkhead: bulkheadd does not answer on %s: %s\n",
                socket, ovs_retval_to_string(error));
    }
    return answer;
}

/* Returns NULL if nothing answers; stores the process that would, or 0. */
static const char *
ask_status(const struct cli_options *options, const char *format,
           struct arena *arena, pid_t *pid)
{
    struct push_target target = cli_target(options, arena);
    const char *socket = push_agent(options->bridge, arena, pid);
    const char *refusal = NULL, *answer;

    answer = (socket ? cli_agent_ask(socket, "status", &format, format != NULL,
                                     time_msec() + target.timeout_ms, arena,
                                     &refusal) : NULL);
    if (refusal) {
        cli_print_error(refusal);
    }
    return answer;
}

void
cli_agent_save(const struct cli_options *options, struct arena *arena)
{
    int seconds = MAX(cli_target(options, arena).timeout_ms / 2000, 1);
    const char *argument = arena_printf(arena, "%d", seconds);
    pid_t pid;
    const char *socket = push_agent(options->bridge, arena, &pid);
    const char *refusal = NULL;

    if (socket) {
        cli_agent_ask(socket, "save", &argument, 1,
                      time_msec() + 1000 * seconds + ANSWER_MS, arena,
                      &refusal);
    }
    if (refusal) {
        cli_print_error(arena_printf(arena, "note: what is kept may be older "
                                     "than what bulkheadd has applied: %s",
                                     refusal));
    }
}

void
cli_agent_print(const struct cli_options *options, struct arena *arena)
{
    pid_t pid;
    const char *text = ask_status(options, NULL, arena, &pid);

    if (text) {
        printf("kept by bulkheadd (process %ld): %s", (long int) pid, text);
    }
}

/* Returns null if nothing answers. */
static struct json *
read_status(const struct cli_options *options, struct arena *arena, pid_t *pid)
{
    const char *text = ask_status(options, "json", arena, pid);
    struct json *json = text ? json_from_string(text) : json_null_create();

    if (json->type == JSON_STRING) {    /* What is wrong with it. */
        json_destroy(json);
        json = json_null_create();
    }
    return json;
}

struct json *
cli_agent_json(const struct cli_options *options, struct arena *arena)
{
    pid_t pid;

    return read_status(options, arena, &pid);
}

bool
cli_agent_answers(const struct cli_options *options, struct arena *arena)
{
    pid_t pid;

    return ask_status(options, NULL, arena, &pid) != NULL;
}

bool
cli_agent_is_well(const struct cli_options *options, struct arena *arena)
{
    pid_t pid;
    struct json *json = read_status(options, arena, &pid);
    bool well = !pid;

    if (json->type == JSON_OBJECT) {
        const struct shash *members = json_object(json);
        const struct json *summary = shash_find_data(members, "summary");
        const struct json *not_kept = shash_find_data(members, "not_kept");

        well = (summary && summary->type == JSON_STRING
                && !strcmp(json_string(summary), "as intended")
                && (!not_kept || not_kept->type == JSON_NULL));
    }
    json_destroy(json);
    return well;
}
