/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_FILE_H
#define BASE_FILE_H 1

/* Files that are there as a whole or not at all, also after a crash: a new
 * one is written beside the old, which it then replaces.
 *
 * All return NULL, or a reason in the arena. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"

/* Writes 'len' bytes to PATH.new, in place of what was there, and waits until
 * they are on the disk.  When that fails, nothing of it stays.  For folders
 * that hold only what is ours. */
const char *file_prepare(struct arena *, const char *path, const void *data,
                         size_t len, mode_t);

/* Makes PATH.new, which is complete, PATH. */
const char *file_install(struct arena *, const char *path);

/* Writes beside PATH, by a name that no other file has, which it stores.  When
 * that fails, nothing of it stays. */
const char *file_stage(struct arena *, const char *path, const void *data,
                       size_t len, mode_t, const char **new);

/* Makes 'new', which is complete, PATH.  When that fails, 'new' is gone. */
const char *file_settle(struct arena *, const char *path, const char *new);

/* Both, for what a user names: of a link, the file that it leads to; and what
 * is no regular file, as a device or a FIFO, is written to. */
const char *file_output(struct arena *, const char *path, const void *data,
                        size_t len, mode_t);

/* Replaces the file PATH, or the one that it is a link to, by one of the same
 * owner and mode. */
const char *file_rewrite(struct arena *, const char *path, const void *data,
                         size_t len);

/* Takes back file_prepare(). */
void file_abandon(struct arena *, const char *path);

/* Is it a name of such a file, which nobody has installed? */
bool file_is_new(const char *name);

/* Waits until the folder of 'path' is on the disk with the names in it, where
 * the file system knows of such. */
void file_sync_folder(struct arena *, const char *path);

/* Makes the folder, unless it is there, and those above it, which all may
 * read. */
const char *file_make_folder(struct arena *, const char *path, mode_t);

/* Reads all of a file, with a '\0' behind it, if it is a regular one that only
 * its owner can have written, which is who runs this. */
const char *file_read_own(struct arena *, const char *path, char **text,
                          size_t *len);

#endif /* base/file.h */
