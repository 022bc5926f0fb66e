/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H 1

/* What is in a folder. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

struct folder_entry {
    const char *name;
    bool is_folder;             /* Or a link to one. */
};

VEC_TYPEDEF(folder_vec, struct folder_entry);

/* Appends the entries of the folder 'path', sorted by the bytes of their
 * names, without those that editors and systems hide: ".NAME" and "NAME~".
 * Returns NULL, or a reason (in 'arena') that does not repeat the path. */
const char *folder_read(struct arena *, const char *path, folder_vec *);

/* Is 'path' a folder, or a link to one? */
bool is_folder(const char *path);

#endif /* base/folder.h */
