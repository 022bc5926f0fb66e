/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/files.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "openvswitch/hmap.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "hash.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(files);

enum {
    RETRY_MS = 1000,            /* Between two looks for a folder that cannot
                                 * be watched. */
    GONE_MS = 50,               /* After which a file that has gone is not
                                 * just being replaced. */
};

#define EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE \
                | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)

/* A watched folder. */
struct folder {
    struct hmap_node node;
    int wd;
    char *path;                 /* With a slash at its end. */
    bool all;                   /* Do all files of it count... */
    struct sset only;           /* ...or these? */
};

struct files {
    const char *const *names;
    size_t n;
    int fd;
    struct hmap folders;        /* Contains "struct folder"s, by 'wd'. */
    struct sset gone;           /* Files that went and did not come again. */
    long long int gone_until;   /* They may, until then. */
    bool incomplete;            /* Is there one that cannot be watched? */
    long long int next_try;
};

struct files *
files_create(const char *const names[], size_t n)
{
    struct files *f = xzalloc(sizeof *f);

    f->names = names;
    f->n = n;
    hmap_init(&f->folders);
    sset_init(&f->gone);
    f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (f->fd < 0) {
        ovs_fatal(errno, "inotify_init1");
    }
    files_rewatch(f);
    return f;
}

static void
clear(struct files *f)
{
    struct folder *folder;

    HMAP_FOR_EACH_POP (folder, node, &f->folders) {
        inotify_rm_watch(f->fd, folder->wd);
        sset_destroy(&folder->only);
        free(folder->path);
        free(folder);
    }
}

void
files_destroy(struct files *f)
{
    if (f) {
        clear(f);
        hmap_destroy(&f->folders);
        sset_destroy(&f->gone);
        close(f->fd);
        free(f);
    }
}

static struct folder *
find(const struct files *f, int wd)
{
    struct folder *folder;

    HMAP_FOR_EACH_WITH_HASH (folder, node, hash_int(wd, 0), &f->folders) {
        if (folder->wd == wd) {
            return folder;
        }
    }
    return NULL;
}

/* Says why a folder is not watched. */
static void
report(const char *path, int error)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 1);

    if (error == ENOSPC) {
        VLOG_WARN_RL(&rl, "%s cannot be watched, and is looked at every "
                     "second: the user has no inotify watch left, see "
                     "fs.inotify.max_user_watches", path);
    } else {
        VLOG_DBG("%s: %s", path, ovs_strerror(error));
    }
}

/* Watches the file 'only' of a folder, or, if that is NULL, all of it.  Takes
 * ownership of 'path'. */
static void
watch(struct files *f, char *path, const char *only)
{
    int wd = inotify_add_watch(f->fd, path, EVENTS | IN_ONLYDIR);
    struct folder *folder = wd >= 0 ? find(f, wd) : NULL;

    if (wd < 0) {
        report(path, errno);
        f->incomplete = true;
        free(path);
        return;
    } else if (folder) {
        free(path);
    } else {
        folder = xzalloc(sizeof *folder);
        folder->wd = wd;
        folder->path = path;
        sset_init(&folder->only);
        hmap_insert(&f->folders, &folder->node, hash_int(wd, 0));
    }
    if (only) {
        sset_add(&folder->only, only);
    } else {
        folder->all = true;
    }
}

void
files_rewatch(struct files *f)
{
    static const char *const inner[] = { "tenants/", "bindings/" };

    clear(f);
    f->incomplete = false;
    for (size_t i = 0; i < f->n; i++) {
        const char *name = f->names[i], *slash = strrchr(name, '/');

        if (!is_folder(name)) {
            watch(f, xmemdup0(name, slash - name + 1), slash + 1);
            f->incomplete = f->incomplete || access(name, F_OK);
            continue;
        }

        const char *end = name[strlen(name) - 1] == '/' ? "" : "/";
        watch(f, xasprintf("%s%s", name, end), NULL);
        for (size_t j = 0; j < ARRAY_SIZE(inner); j++) {
            char *path = xasprintf("%s%s%s", name, end, inner[j]);

            if (is_folder(path)) {
                watch(f, path, NULL);
            } else {
                free(path);
            }
        }
    }
    f->next_try = time_msec() + RETRY_MS;
}

/* Is 'name' one that an intent is read from? */
static bool
is_read(const struct folder *folder, const char *name)
{
    size_t len = strlen(name);

    return (sset_contains(&folder->only, name)
            || (folder->all && name[0] != '.' && len > 5
                && !strcmp(name + len - 5, ".json")));
}

static bool
is_link(const char *path)
{
    struct stat s;

    return !lstat(path, &s) && S_ISLNK(s.st_mode);
}

/* What is rewritten by taking it away first is not missed. */
static void
note_file(struct files *f, const char *path, uint32_t mask,
          struct sset *paths)
{
    if (mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) {
        sset_add(paths, path);
        sset_find_and_delete(&f->gone, path);
    } else if (mask & (IN_MOVED_FROM | IN_DELETE)) {
        sset_find_and_delete(paths, path);
        sset_add(&f->gone, path);
        f->gone_until = time_msec() + GONE_MS;
    }
}

/* Returns true if all is to be read. */
static bool
take_event(struct files *f, const struct inotify_event *event,
           struct sset *paths)
{
    const struct folder *folder = find(f, event->wd);
    char *path;
    bool link;

    if (event->mask & IN_Q_OVERFLOW) {
        return true;
    } else if (!folder || event->mask & IN_IGNORED) {
        return false;
    } else if (!event->len || event->mask & IN_ISDIR) {
        return true;
    }
    path = xasprintf("%s%s", folder->path, event->name);
    link = is_link(path);
    if (!link && is_read(folder, event->name)) {
        note_file(f, path, event->mask, paths);
    }
    free(path);
    return link;                /* To another file, whatever its name. */
}

bool
files_run(struct files *f, struct sset *paths)
{
    char buffer[4096] OVS_ALIGNED_VAR(8);
    bool all = false;
    ssize_t n;

    while ((n = read(f->fd, buffer, sizeof buffer)) > 0) {
        for (char *p = buffer; p < buffer + n; ) {
            const struct inotify_event *event = (const void *) p;

            all = take_event(f, event, paths) || all;
            p += sizeof *event + event->len;
        }
    }
    if ((f->incomplete && time_msec() >= f->next_try)
        || (!sset_is_empty(&f->gone) && time_msec() >= f->gone_until)) {
        all = true;
    }
    if (all) {
        sset_clear(&f->gone);
    }
    return all;
}

void
files_wait(struct files *f)
{
    poll_fd_wait(f->fd, POLLIN);
    if (f->incomplete) {
        poll_timer_wait_until(f->next_try);
    }
    if (!sset_is_empty(&f->gone)) {
        poll_timer_wait_until(f->gone_until);
    }
}
