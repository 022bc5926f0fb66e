/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_CONTROL_H
#define PUSH_CONTROL_H 1

/* Control sockets, as ovs-appctl(8) uses them, under a deadline:
 * unixctl_client_transact() has none. */

#include <stddef.h>

#include "base/arena.h"

/* Sends the command to the socket of that file, and stores its answer, or what
 * refuses it, in the arena.  Returns 0 or a positive errno; then both are
 * NULL. */
int control_transact(const char *socket, const char *command,
                     const char *const arguments[], size_t n,
                     long long int deadline, struct arena *,
                     const char **answer, const char **refusal);

/* The same of ovs-vswitchd.  Returns NULL, or a reason, in the arena too; then
 * '*answer' is NULL. */
const char *control_ask(const char *command, const char *const arguments[],
                        size_t n, long long int deadline, struct arena *,
                        const char **answer);

#endif /* push/control.h */
