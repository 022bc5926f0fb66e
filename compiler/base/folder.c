/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

static int
compare_entries(const void *a_, const void *b_)
{
    const struct folder_entry *a = a_;
    const struct folder_entry *b = b_;

    return strcmp(a->name, b->name);
}

bool
is_folder(const char *path)
{
    struct stat s;

    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

const char *
folder_read(struct arena *arena, const char *path, folder_vec *entries)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    size_t n_old = entries->n;
    int error;

    if (!dir) {
        return arena_strdup(arena, ovs_strerror(errno));
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;

        if (name[0] != '.' && name[strlen(name) - 1] != '~') {
            *vec_push(arena, entries) = (struct folder_entry) {
                arena_strdup(arena, name),
                is_folder(arena_printf(arena, "%s/%s", path, name)),
            };
        }
    }
    error = errno;
    closedir(dir);

    if (entries->n > n_old) {
        qsort(entries->v + n_old, entries->n - n_old, sizeof *entries->v,
              compare_entries);
    }
    return error ? arena_strdup(arena, ovs_strerror(error)) : NULL;
}
