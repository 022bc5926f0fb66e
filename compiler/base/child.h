/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_CHILD_H
#define BASE_CHILD_H 1

/* A process that was forked to compute something, and does not act for the one
 * that began it. */

#include <stdbool.h>
#include <sys/types.h>

/* Called first in the process: it ends with 'parent', which began it, and logs
 * nothing, as what it opens may be taken for the log.  No signal does what it
 * is for in the parent: those that ask that to end, which whole groups get,
 * end the process, or if it 'outlasts' them leave it at its work. */
void child_begin(pid_t parent, bool outlasts);

/* Closes each descriptor above that of standard error but 'fd'.  Returns
 * false if that cannot be done. */
bool child_close_others(int fd);

#endif /* base/child.h */
