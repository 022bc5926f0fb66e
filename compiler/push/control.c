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

/* Opens the socket, whose name has the number of the process. */
static int
open_socket(long long int deadline, struct arena *arena,
            struct jsonrpc **rpc)
{
    const char *pidfile = arena_printf(arena, "%s/ovs-vswitchd.pid",
                                       ovs_rundir());
    struct stream *stream;
    pid_t pid;
    int error;

    if (access(pidfile, F_OK)) {
        return errno;
    }
    pid = read_pidfile(pidfile);
    if (pid < 0) {
        return -pid;
    }
    error = stream_open(arena_printf(arena, "unix:%s/ovs-vswitchd.%ld.ctl",
                                     ovs_rundir(), (long int) pid),
                        &stream, DSCP_DEFAULT);
    error = stream_open_block(error, MAX(0, deadline - time_msec()), &stream);
    if (!error) {
        *rpc = jsonrpc_open(stream);
    }
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

const char *
control_ask(const char *command, const char *const arguments[], size_t n,
            long long int deadline, struct arena *arena, const char **answer)
{
    struct jsonrpc_msg *reply = NULL;
    const char *reason = NULL;
    struct jsonrpc *rpc = NULL;
    int error = open_socket(deadline, arena, &rpc);

    *answer = NULL;
    if (!error) {
        error = transact(rpc, command, arguments, n, deadline, &reply);
        jsonrpc_close(rpc);
    }
    if (!error && reply->type == JSONRPC_REPLY) {
        *answer = text_of(reply->result, arena);
    } else if (!error && reply->type == JSONRPC_ERROR) {
        reason = text_of(reply->error, arena);
    }
    jsonrpc_msg_destroy(reply);
    return (*answer ? NULL
            : arena_printf(arena, "ovs-vswitchd, asked for %s by its control "
                           "socket: %s", command,
                           reason ? reason
                           : ovs_retval_to_string(error ? error : EPROTO)));
}
