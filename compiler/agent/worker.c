/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/heap.h"
#include "openvswitch/poll-loop.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

/* For who waits for one that is killed: without a disk that lasts, it takes a
 * fraction of that. */
enum { STOP_MS = 20 };

/* Of one that gives way. */
enum { NICE = 10 };

void
worker_init(struct worker *w)
{
    w->pid = 0;
    ds_init(&w->said);
}

void
worker_destroy(struct worker *w)
{
    if (w->pid) {
        kill(w->pid, SIGKILL);
        close(w->fd);
    }
    ds_destroy(&w->said);
}

static bool
write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, data, n);

        if (written < 0 && errno != EINTR) {
            return false;
        }
        data += MAX(0, written);
        n -= MAX(0, written);
    }
    return true;
}

/* Makes the pipe.  Returns 0 or a positive errno. */
static int
prepare(struct worker *w, int fds[2])
{
    ovs_assert(!w->pid);
    ds_clear(&w->said);
    fds[0] = fds[1] = -1;
    return pipe(fds) || set_nonblocking(fds[0]) ? errno : 0;
}

/* The process has begun, unless there is an 'error', which is returned. */
static int
begun(struct worker *w, const int fds[2], long long int time_ms, int error)
{
    close(fds[1]);
    if (error) {
        close(fds[0]);
        w->pid = 0;
        return error;
    }
    w->fd = fds[0];
    w->deadline = time_msec() + time_ms;
    return 0;
}

int
worker_start(struct worker *w, void (*work)(const void *aux, struct ds *),
             const void *aux, long long int time_ms)
{
    pid_t parent = getpid();
    int fds[2], error = prepare(w, fds);

    w->copies = true;
    if (!error) {
        w->pid = fork();
        error = w->pid < 0 ? errno : 0;
    }
    if (!error && !w->pid) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        child_begin(parent, true);
        /* No socket of the daemon stays open by it. */
        if (!child_close_others(fds[1])) {
            _exit(EXIT_FAILURE);
        }
        work(aux, &ds);
        _exit(write_all(fds[1], ds_cstr(&ds), ds.length) ? EXIT_SUCCESS
              : EXIT_FAILURE);
    }
    return begun(w, fds, time_ms, error);
}

/* vfork(), which it is, copies no tables of pages. */
int
worker_spawn(struct worker *w, char *const argv[], long long int time_ms)
{
    posix_spawn_file_actions_t actions;
    int fds[2], error = prepare(w, fds);

    w->copies = false;
    if (!error) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                         O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
        error = posix_spawn(&w->pid, "/proc/self/exe", &actions, NULL, argv,
                            environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    return begun(w, fds, time_ms, error);
}

void
worker_begin(pid_t parent)
{
    child_begin(parent, true);
    if (!child_close_others(STDOUT_FILENO)) {
        _exit(EXIT_FAILURE);
    }
    setpriority(PRIO_PROCESS, 0, NICE);     /* It may not be allowed. */
}

/* Waits for the process, which has closed the pipe as its last deed, or is
 * killed. */
static int
end(struct worker *w)
{
    int status = 0;

    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
        continue;
    }
    close(w->fd);
    w->pid = 0;
    if (w->copies) {
        heap_make_whole();
    }
    return status;
}

/* Takes what has been written.  Returns true if there will be no more. */
static bool
drain(struct worker *w)
{
    char buffer[4096];
    ssize_t n;

    while ((n = read(w->fd, buffer, sizeof buffer)) > 0) {
        ds_put_buffer(&w->said, buffer, n);
    }
    return !n;
}

enum worker_news
worker_run(struct worker *w, int *status)
{
    if (drain(w)) {
        *status = end(w);
        return WORKER_ENDED;
    } else if (time_msec() < w->deadline) {
        return WORKER_RUNS;
    }
    kill(w->pid, SIGKILL);
    w->deadline = LLONG_MAX;
    return WORKER_LATE;
}

void
worker_wait(const struct worker *w)
{
    if (w->pid) {
        poll_fd_wait(w->fd, POLLIN);
        poll_timer_wait_until(w->deadline);
    }
}

bool
worker_is_killed(const struct worker *w)
{
    return w->pid && w->deadline == LLONG_MAX;
}

void
worker_cancel(struct worker *w)
{
    if (w->pid) {
        kill(w->pid, SIGKILL);
        end(w);
    }
}

bool
worker_stop(struct worker *w)
{
    struct pollfd pfd = { .fd = w->fd, .events = POLLIN };
    long long int deadline = time_msec() + STOP_MS;

    kill(w->pid, SIGKILL);
    w->deadline = LLONG_MAX;
    while (!drain(w)) {
        if (time_msec() >= deadline) {
            return false;
        }
        poll(&pfd, 1, STOP_MS);
    }
    end(w);
    return true;
}
