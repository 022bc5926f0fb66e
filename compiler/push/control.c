/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/control.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon.h"
#include "dirs.h"
#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

static int
open_socket(const char *socket, long long int deadline, struct jsonrpc **rpc)
{
    char *name = xasprintf("unix:%s", socket);
    struct stream *stream;
    int error = stream_open(name, &stream, DSCP_DEFAULT);

    error = stream_open_block(error, MAX(0, deadline - time_msec()), &stream);
    if (!error) {
        *rpc = jsonrpc_open(stream);
    }
    free(name);
    return error;
}

static int
receive(struct jsonrpc *rpc, long long int deadline, struct jsonrpc_msg **msg)
{
    for (;;) {
        int error;

        jsonrpc_run(rpc);
        error = jsonrpc_recv(rpc, msg);
        if (error != EAGAIN) {
            return error;
        } else if (time_msec() >= deadline) {
            return ETIMEDOUT;
        }
        jsonrpc_wait(rpc);
        jsonrpc_recv_wait(rpc);
        poll_timer_wait_until(deadline);
        poll_block();
    }
}

static int
transact(struct jsonrpc *rpc, const char *command,
         const char *const arguments[], size_t n, long long int deadline,
         struct jsonrpc_msg **reply)
{
    struct json *params = json_array_create_empty();
    int error;

    for (size_t i = 0; i < n; i++) {
        json_array_add(params, json_string_create(arguments[i]));
    }
    error = jsonrpc_send(rpc, jsonrpc_create_request(command, params, NULL));
    return error ? error : receive(rpc, deadline, reply);
}

/* The text of a reply; NULL if it has none. */
static const char *
text_of(const struct json *json, struct arena *arena)
{
    return (json && json->type == JSON_STRING
            ? arena_strdup(arena, json_string(json)) : NULL);
}

int
control_transact(const char *socket, const char *command,
                 const char *const arguments[], size_t n,
                 long long int deadline, struct arena *arena,
                 const char **answer, const char **refusal)
{
    struct jsonrpc_msg *reply = NULL;
    struct jsonrpc *rpc = NULL;
    int error = open_socket(socket, deadline, &rpc);

    *answer = *refusal = NULL;
    if (!error) {
        error = transact(rpc, command, arguments, n, deadline, &reply);
        jsonrpc_close(rpc);
    }
    if (!error && reply->type == JSONRPC_REPLY) {
        *answer = text_of(reply->result, arena);
    } else if (!error && reply->type == JSONRPC_ERROR) {
        *refusal = text_of(reply->error, arena);
    }
    jsonrpc_msg_destroy(reply);
    return error ? error : *answer || *refusal ? 0 : EPROTO;
}

/* Stores the socket of ovs-vswitchd, whose name has the number of the process.
 * Returns 0 or a positive errno. */
static int
find_switch(struct arena *arena, const char **socket)
{
    const char *pidfile = arena_printf(arena, "%s/ovs-vswitchd.pid",
                                       ovs_rundir());
    pid_t pid;

    if (access(pidfile, F_OK)) {
        return errno;
    }
    pid = read_pidfile(pidfile);
    *socket = arena_printf(arena, "%s/ovs-vswitchd.%ld.ctl", ovs_rundir(),
                           (long int) pid);
    return pid < 0 ? -pid : 0;
}

const char *
control_ask(const char *command, const char *const arguments[], size_t n,
            long long int deadline, struct arena *arena, const char **answer)
{
    const char *socket = NULL, *refusal = NULL;
    int error = find_switch(arena, &socket);

    *answer = NULL;
    if (!error) {
        error = control_transact(socket, command, arguments, n, deadline,
                                 arena, answer, &refusal);
    }
    return (*answer ? NULL
            : arena_printf(arena, "ovs-vswitchd, asked for %s by its control "
                           "socket: %s", command,
                           refusal ? refusal : ovs_retval_to_string(error)));
}
