/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "dirs.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/uuid.h"
#include "sha1.h"
#include "socket-util.h"
#include "util.h"
#include "uuid.h"

#define SUFFIX ".journal"

struct journal {
    char *dir, *name;
    int fd;                     /* -1: of one that is to be removed. */
    char last[SHA1_HEX_DIGEST_LEN + 1];     /* SHA-1 of the last line. */
    size_t size;
};

/* Stores in 'hex' that of a line that comes after 'last'. */
static void
hash_line(const char *last, const char *edit, char hex[])
{
    uint8_t digest[SHA1_DIGEST_SIZE];
    struct sha1_ctx ctx;

    sha1_init(&ctx);
    sha1_update(&ctx, last, strlen(last));
    sha1_update(&ctx, edit, strlen(edit));
    sha1_final(&ctx, digest);
    sha1_to_hex(digest, hex);
}

static void
hash_name(const char *name, char hex[])
{
    hash_line(name, "", hex);
}

static char *
path_of(const char *dir, const char *name)
{
    return xasprintf("%s/%s"SUFFIX, dir, name);
}

/* One that state_sweep() removes. */
static char *
hidden_path_of(const char *dir, const char *name)
{
    return xasprintf("%s/%s"SUFFIX".new", dir, name);
}

/* That says in the run directory that it is not to be trusted, where its file
 * cannot be written. */
static char *
mark_path_of(const char *name)
{
    return xasprintf("%s/bulkhead-%s.void", ovs_rundir(), name);
}

static int
put_mark(const char *name)
{
    char *path = mark_path_of(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : 0;

    if (fd >= 0) {
        close(fd);
    }
    free(path);
    return error;
}

static bool
has_mark(const char *name)
{
    char *path = mark_path_of(name);
    bool there = !access(path, F_OK);

    free(path);
    return there;
}

static void
remove_mark(const char *name)
{
    char *path = mark_path_of(name);

    unlink(path);
    free(path);
}

struct journal *
journal_open(const char *dir, const char *name)
{
    struct journal *j = xzalloc(sizeof *j);

    j->dir = xstrdup(dir);
    j->name = xstrdup(name);
    j->fd = -1;
    return j;
}

const char *
journal_create(const char *dir, struct arena *arena, struct journal **jp)
{
    struct uuid uuid;
    struct journal *j;
    char *path;

    uuid_generate(&uuid);
    j = journal_open(dir, arena_printf(arena, UUID_FMT, UUID_ARGS(&uuid)));
    hash_name(j->name, j->last);
    path = path_of(dir, j->name);
    j->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW
                 | O_CLOEXEC, 0600);
    if (j->fd < 0) {
        const char *reason = arena_printf(arena, "cannot write %s: %s", path,
                                          ovs_strerror(errno));

        journal_close(j);
        free(path);
        return reason;
    }
    free(path);
    *jp = j;
    return NULL;
}

const char *
journal_name(const struct journal *j)
{
    return j->name;
}

size_t
journal_size(const struct journal *j)
{
    return j->size;
}

bool
journal_is_there(const struct journal *j)
{
    char *path = path_of(j->dir, j->name);
    bool there = !access(path, F_OK);

    free(path);
    return there;
}

int
journal_append(struct journal *j, const char *edits)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    size_t written;
    int error;

    hash_line(j->last, edits, hex);
    ds_put_format(&ds, "%s %s\n", hex, edits);
    error = write_fully(j->fd, ds.string, ds.length, &written);
    ovs_strlcpy(j->last, hex, sizeof j->last);
    j->size += ds.length;
    ds_destroy(&ds);
    return error;
}

void
journal_close(struct journal *j)
{
    if (j) {
        if (j->fd >= 0) {
            close(j->fd);
        }
        free(j->dir);
        free(j->name);
        free(j);
    }
}

int
journal_remove(struct journal *j)
{
    int error = 0;

    if (j) {
        struct arena *arena = arena_create();

        error = journal_unlink(j->dir, j->name);
        file_sync_folder(arena, arena_printf(arena, "%s/", j->dir));
        arena_destroy(arena);
        journal_close(j);
    }
    return error;
}

/* Adds the lines of 'text', which it changes. */
static const char *
read_lines(char *text, const char *name, struct arena *arena,
           plan_names *edits)
{
    char last[SHA1_HEX_DIGEST_LEN + 1], hex[SHA1_HEX_DIGEST_LEN + 1];
    char *end;

    hash_name(name, last);
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        if (end - text < SHA1_HEX_DIGEST_LEN + 1
            || text[SHA1_HEX_DIGEST_LEN] != ' ') {
            return "has been changed";
        }
        hash_line(last, text + SHA1_HEX_DIGEST_LEN + 1, hex);
        if (memcmp(hex, text, SHA1_HEX_DIGEST_LEN)) {
            return "has been changed";
        }
        ovs_strlcpy(last, hex, sizeof last);
        *vec_push(arena, edits) = text + SHA1_HEX_DIGEST_LEN + 1;
    }
    return NULL;
}

const char *
journal_read(const char *dir, const char *name, size_t size,
             struct arena *arena, plan_names *edits)
{
    struct uuid uuid;
    const char *path, *reason;
    char *text = NULL;
    size_t len = 0;

    if (!uuid_from_string(&uuid, name)) {
        return "names no journal";
    }
    path = arena_printf(arena, "%s/%s"SUFFIX, dir, name);
    if (has_mark(name)) {
        return arena_printf(arena, "%s: could not be removed, and what was "
                            "applied since was not kept", path);
    }
    if (access(path, F_OK) && errno == ENOENT) {
        return "has no journal any more: what was applied since was not kept";
    }
    reason = file_read_own(arena, path, &text, &len);
    if (!reason && size != JOURNAL_ALL) {
        reason = (len < size || (size && text[size - 1] != '\n')
                  ? "is cut short" : NULL);
        len = MIN(len, size);
        text[len] = '\0';
    }
    if (!reason) {
        reason = (memchr(text, '\0', len) ? "has been changed"
                  : read_lines(text, name, arena, edits));
    }
    return reason ? arena_printf(arena, "%s: %s", path, reason) : NULL;
}

/* An empty line is none of ours. */
static int
spoil(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    int error = fd < 0 || write(fd, "\n", 1) != 1 ? errno : 0;

    if (fd >= 0) {
        close(fd);
    }
    return error;
}

int
journal_unlink(const char *dir, const char *name)
{
    char *path = path_of(dir, name);
    int error = unlink(path) && errno != ENOENT ? spoil(path) : 0;

    free(path);
    return error ? put_mark(name) : 0;
}

void
journal_hide(const char *dir, const char *name)
{
    char *path = path_of(dir, name), *hidden = hidden_path_of(dir, name);

    if (rename(path, hidden)) {
        journal_unlink(dir, name);
    }
    free(path);
    free(hidden);
}

void
journal_show(const char *dir, const char *name)
{
    char *path = path_of(dir, name), *hidden = hidden_path_of(dir, name);

    rename(hidden, path);
    remove_mark(name);
    free(path);
    free(hidden);
}

void
journal_sweep(const char *dir, const char *but)
{
    char *kept = xasprintf("%s"SUFFIX, but);
    struct dirent *entry;
    DIR *d = opendir(dir);

    while (d && (entry = readdir(d))) {
        if (string_ends_with(entry->d_name, SUFFIX)
            && strcmp(entry->d_name, kept)
            && !unlinkat(dirfd(d), entry->d_name, 0)) {
            entry->d_name[strlen(entry->d_name) - strlen(SUFFIX)] = '\0';
            remove_mark(entry->d_name);
        }
    }
    if (d) {
        closedir(d);
    }
    free(kept);
}
