/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_FILES_H
#define AGENT_FILES_H 1

/* Tells when files of an intent change, by inotify(7): when whoever writes one
 * closes it, or another file takes its name.  What is still being written is
 * not looked at, and a file that has gone is missed only after 50 ms.  What
 * can be watched is found anew by files_rewatch(). */

#include <stdbool.h>

#include "sset.h"

struct files;

/* 'names' are absolute and must outlive it. */
struct files *files_create(const char *const names[], size_t n);
void files_destroy(struct files *);     /* Accepts NULL. */

/* Stores in 'paths' the files that have changed, and returns true if more has
 * than that: then all of the intent is to be read. */
bool files_run(struct files *, struct sset *paths);
void files_wait(struct files *);

/* Watches all folders that are there now. */
void files_rewatch(struct files *);

#endif /* agent/files.h */
