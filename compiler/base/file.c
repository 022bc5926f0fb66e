/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "socket-util.h"
#include "util.h"

static const char *
new_name(struct arena *arena, const char *path)
{
    return arena_printf(arena, "%s.new", path);
}

static const char *
complaint(struct arena *arena, const char *path, int error)
{
    return arena_printf(arena, "cannot write %s: %s", path,
                        ovs_strerror(error));
}

/* Gives 'fd' the owner and the mode of 'like'. */
static bool
take_rights(int fd, const struct stat *like)
{
    struct stat s;

    return (!fstat(fd, &s)
            && ((s.st_uid == like->st_uid && s.st_gid == like->st_gid)
                || !fchown(fd, like->st_uid, like->st_gid))
            && !fchmod(fd, like->st_mode & 07777));
}

/* As file_prepare(), then with the rights of 'like', if it is not NULL. */
static const char *
prepare(struct arena *arena, const char *path, const void *data, size_t len,
        mode_t mode, const struct stat *like)
{
    const char *new = new_name(arena, path);
    size_t written;
    int error, fd;

    /* Never through a link that somebody has put there. */
    unlink(new);
    fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              mode);
    if (fd < 0) {
        return complaint(arena, path, errno);
    }
    error = write_fully(fd, data, len, &written);
    if (!error && ((like && !take_rights(fd, like)) || fsync(fd))) {
        error = errno;
    }
    if (close(fd) && !error) {
        error = errno;
    }
    if (error) {
        unlink(new);
        return complaint(arena, path, error);
    }
    return NULL;
}

const char *
file_prepare(struct arena *arena, const char *path, const void *data,
             size_t len, mode_t mode)
{
    return prepare(arena, path, data, len, mode, NULL);
}

/* Waits until the folder of 'path' is on the disk with the names in it.  Some
 * file systems know no such thing; then there is nothing to wait for. */
static void
sync_folder(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dir = (!slash ? "." : slash == path ? "/"
                       : arena_strndup(arena, path, slash - path));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

const char *
file_install(struct arena *arena, const char *path)
{
    if (rename(new_name(arena, path), path)) {
        int error = errno;

        file_abandon(arena, path);
        return complaint(arena, path, error);
    }
    sync_folder(arena, path);
    return NULL;
}

const char *
file_replace(struct arena *arena, const char *path, const void *data,
             size_t len, mode_t mode)
{
    const char *reason = file_prepare(arena, path, data, len, mode);

    return reason ? reason : file_install(arena, path);
}

const char *
file_rewrite(struct arena *arena, const char *path, const void *data,
             size_t len)
{
    char *name = realpath(path, NULL);
    const char *real = name ? arena_strdup(arena, name) : NULL;
    const char *reason;
    struct stat old;

    free(name);
    if (!real || stat(real, &old)) {
        return complaint(arena, path, errno);
    }
    reason = prepare(arena, real, data, len, 0600, &old);
    return reason ? reason : file_install(arena, real);
}

void
file_abandon(struct arena *arena, const char *path)
{
    unlink(new_name(arena, path));
}
