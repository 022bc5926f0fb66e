/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_CONTROL_H
#define PUSH_CONTROL_H 1

/* The control socket of ovs-vswitchd, as ovs-appctl(8) uses it, under a
 * deadline: unixctl_client_transact() has none. */

#include <stddef.h>

#include "base/arena.h"

/* Sends the command and stores its answer, in the arena.  Returns NULL, or a
 * reason, in the arena too; then '*answer' is NULL. */
const char *control_ask(const char *command, const char *const arguments[],
                        size_t n, long long int deadline, struct arena *,
                        const char **answer);

#endif /* push/control.h */
