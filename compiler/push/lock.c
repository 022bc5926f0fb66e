/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "dirs.h"
#include "lockfile.h"
#include "timeval.h"
#include "util.h"

static char *
lock_name(const char *bridge)
{
    return xasprintf("%s/bulkhead-%s", ovs_rundir(), bridge);
}

/* The process that has the lock of the bridge, or 0. */
static pid_t
find_holder(const char *bridge)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char *name = lock_name(bridge), *file = lockfile_name(name);
    int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool found = (fd >= 0 && !fcntl(fd, F_GETLK, &lock)
                  && lock.l_type != F_UNLCK);

    if (fd >= 0) {
        close(fd);
    }
    free(name);
    free(file);
    return found ? lock.l_pid : 0;
}

const char *
push_agent(const char *bridge, struct arena *arena, pid_t *pid)
{
    const char *socket;

    *pid = find_holder(bridge);
    socket = arena_printf(arena, "%s/bulkheadd.%ld.ctl", ovs_rundir(),
                          (long int) *pid);
    return *pid && !access(socket, F_OK) ? socket : NULL;
}

const char *
push_lock(const struct push_target *target, struct arena *arena,
          struct lockfile **lock)
{
    char *name = lock_name(target->bridge);
    int error = lockfile_lock(name, lock);
    pid_t pid;

    free(name);
    /* No run directory, no switch: push_run() says so better. */
    if (!error || error == ENOENT) {
        return NULL;
    } else if (push_agent(target->bridge, arena, &pid)) {
        return arena_printf(arena, "bridge %s is kept by bulkheadd (process "
                            "%ld), which would undo this: change its intent, "
                            "or end it first", target->bridge,
                            (long int) pid);
    } else if (pid) {
        return arena_printf(arena, "bridge %s is held by process %ld: another "
                            "bulkhead that changes it, for which to wait, or "
                            "a bulkheadd whose --unixctl is not the default",
                            target->bridge, (long int) pid);
    }
    return arena_printf(arena, "bridge %s: cannot lock it in %s: %s",
                        target->bridge, ovs_rundir(), ovs_strerror(error));
}

const char *
push_lock_bridge(const struct push_target *target, struct arena *arena,
                 struct lockfile **lock)
{
    char *socket = xasprintf("%s/%s.mgmt", ovs_rundir(), target->bridge);
    const char *reason = NULL;
    struct bridge_info info;

    if (access(socket, F_OK)) {
        bridge_info_init(&info);
        reason = bridge_info_read(target->db, target->bridge,
                                  time_msec() + target->timeout_ms, arena,
                                  &info);
        bridge_info_destroy(&info);
    }
    free(socket);
    return reason ? reason : push_lock(target, arena, lock);
}
