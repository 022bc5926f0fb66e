/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_ENDING_H
#define AGENT_ENDING_H 1

/* Signals that end the daemon: SIGTERM, SIGINT and SIGHUP.  Of Open vSwitch's
 * library alone the next poll_block() would end it, whatever was at work.  So
 * the first that comes asks for an end in order, and the second is the
 * library's.  Those that whoever has started it ignores stay ignored. */

#include <stdbool.h>

void ending_init(void);

/* Has one come? */
bool ending_is_asked(void);
void ending_wait(void);

#endif /* agent/ending.h */
