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

#define SUFFIX ".new"

/* The largest file that is read: a plan has a million flows at most. */
enum { MAX_SIZE = 1024 * 1024 * 1024 };

static const char *
new_name(struct arena *arena, const char *path)
{
    return arena_printf(arena, "%s"SUFFIX, path);
}

bool
file_is_new(const char *name)
{
    return string_ends_with(name, SUFFIX);
}

static const char *
complaint(struct arena *arena, const char *path, int error)
{
    return arena_printf(arena, "cannot write %s: %s%s", path,
                        ovs_strerror(error),
                        error == ENOENT ? "; make its folder first" : "");
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

/* Writes to 'new', which is open as 'fd' and will be 'path', and closes it.
 * Gives it the rights of 'like', if it is not NULL. */
static const char *
fill(struct arena *arena, const char *path, const char *new, int fd,
     const void *data, size_t len, const struct stat *like)
{
    size_t written;
    int error = write_fully(fd, data, len, &written);

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

/* Makes a file, never through a link that somebody has put there; -1 if one
 * is there, or for another reason in errno. */
static int
create(const char *new, mode_t mode)
{
    return open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                mode);
}

const char *
file_prepare(struct arena *arena, const char *path, const void *data,
             size_t len, mode_t mode)
{
    const char *new = new_name(arena, path);
    int fd;

    unlink(new);
    fd = create(new, mode);
    return (fd < 0 ? complaint(arena, path, errno)
            : fill(arena, path, new, fd, data, len, NULL));
}

/* Makes a file beside 'path' whose name nobody has. */
static int
create_beside(struct arena *arena, const char *path, mode_t mode,
              const char **new)
{
    enum { MAX_TRIES = 1000 };
    int fd = -1;

    for (int i = 0; i < MAX_TRIES && fd < 0 && (!i || errno == EEXIST); i++) {
        *new = arena_printf(arena, "%s.%ld.%d"SUFFIX, path, (long) getpid(),
                            i);
        fd = create(*new, mode);
    }
    return fd;
}

/* Waits until the folder of 'path' is on the disk with the names in it.  Some
 * file systems know no such thing; then there is nothing to wait for. */
void
file_sync_folder(struct arena *arena, const char *path)
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
file_settle(struct arena *arena, const char *path, const char *new)
{
    if (rename(new, path)) {
        int error = errno;

        unlink(new);
        return complaint(arena, path, error);
    }
    file_sync_folder(arena, path);
    return NULL;
}

const char *
file_install(struct arena *arena, const char *path)
{
    return file_settle(arena, path, new_name(arena, path));
}

static const char *
stage(struct arena *arena, const char *path, const void *data, size_t len,
      mode_t mode, const struct stat *like, const char **new)
{
    int fd = create_beside(arena, path, mode, new);

    return (fd < 0 ? complaint(arena, path, errno)
            : fill(arena, path, *new, fd, data, len, like));
}

const char *
file_stage(struct arena *arena, const char *path, const void *data,
           size_t len, mode_t mode, const char **new)
{
    return stage(arena, path, data, len, mode, NULL, new);
}

static const char *
replace(struct arena *arena, const char *path, const void *data, size_t len,
        mode_t mode, const struct stat *like)
{
    const char *new;
    const char *reason = stage(arena, path, data, len, mode, like, &new);

    return reason ? reason : file_settle(arena, path, new);
}

/* Writes to what is there: a device, a FIFO, or what a link leads to. */
static const char *
write_through(struct arena *arena, const char *path, const void *data,
              size_t len, mode_t mode, int flags)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags, mode);
    size_t written;
    int error = fd < 0 ? errno : write_fully(fd, data, len, &written);

    if (fd >= 0 && close(fd) && !error) {
        error = errno;
    }
    return error ? complaint(arena, path, error) : NULL;
}

/* Is it the file that the command prints to, as /dev/stdout can be? */
static bool
is_stdout(const struct stat *file)
{
    struct stat s;

    return (!fstat(STDOUT_FILENO, &s) && s.st_dev == file->st_dev
            && s.st_ino == file->st_ino);
}

const char *
file_output(struct arena *arena, const char *path, const void *data,
            size_t len, mode_t mode)
{
    struct stat s;
    char *name;

    if (stat(path, &s)) {
        bool dangles = !lstat(path, &s) && S_ISLNK(s.st_mode);

        return (dangles ? write_through(arena, path, data, len, mode,
                                        O_CREAT | O_TRUNC)
                : replace(arena, path, data, len, mode, NULL));
    } else if (!S_ISREG(s.st_mode) || is_stdout(&s)) {
        return write_through(arena, path, data, len, mode, O_APPEND);
    }
    name = realpath(path, NULL);
    if (name) {
        path = arena_strdup(arena, name);
        free(name);
    }
    return replace(arena, path, data, len, mode, NULL);
}

const char *
file_rewrite(struct arena *arena, const char *path, const void *data,
             size_t len)
{
    char *name = realpath(path, NULL);
    const char *real = name ? arena_strdup(arena, name) : NULL;
    struct stat old;

    free(name);
    if (!real || stat(real, &old)) {
        return complaint(arena, path, errno);
    }
    return replace(arena, real, data, len, 0600, &old);
}

void
file_abandon(struct arena *arena, const char *path)
{
    unlink(new_name(arena, path));
}

/* Could only we have written the file that is open as 'fd'?  Stores its
 * size. */
static const char *
check_file(int fd, size_t *size)
{
    struct stat s;

    if (fstat(fd, &s)) {
        return ovs_strerror(errno);
    }
    *size = s.st_size;
    return (!S_ISREG(s.st_mode) ? "is no regular file"
            : s.st_uid != geteuid() ? "is another user's"
            : s.st_mode & (S_IWGRP | S_IWOTH) ? "may be written by others"
            : s.st_size > MAX_SIZE ? "is too large" : NULL);
}

const char *
file_make_folder(struct arena *arena, const char *path, mode_t mode)
{
    char *above = arena_strdup(arena, path);

    for (char *p = above + 1;
         (p = strchr(p, '/')) != NULL && p[strspn(p, "/")]; p++) {
        *p = '\0';
        if (mkdir(above, 0755) && errno != EEXIST) {
            return arena_strdup(arena, ovs_strerror(errno));
        }
        *p = '/';
    }
    return (mkdir(path, mode) && errno != EEXIST
            ? arena_strdup(arena, ovs_strerror(errno)) : NULL);
}

const char *
file_read_own(struct arena *arena, const char *path, char **text,
              size_t *len)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *reason;
    size_t size = 0;
    int error;

    if (fd < 0) {
        return arena_strdup(arena, ovs_strerror(errno));
    }
    reason = check_file(fd, &size);
    if (!reason) {
        *text = arena_zalloc(arena, size + 1);
        error = read_fully(fd, *text, size, len);
        reason = error && error != EOF ? ovs_strerror(error) : NULL;
    }
    close(fd);
    return reason ? arena_strdup(arena, reason) : NULL;
}
