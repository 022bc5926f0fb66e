/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon.h"
#include "dirs.h"
#include "lockfile.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "push/ovsdb.h"
#include "push/push.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(confirm);

/* How often the watchdog looks whether somebody has decided, and how long it
 * waits when it could not go back. */
enum { LOOK_MS = 100, RETRY_MS = 1000 };

#define FORM "bulkhead-unconfirmed 1 %"PRIu64" %"PRIu64" %s\n"

static const char *
guard_path(const struct state *state)
{
    return arena_printf(state->arena, "%s/unconfirmed", state->dir);
}

static char *
pidfile_name(const char *bridge)
{
    return xasprintf("%s/bulkhead-confirm-%s.pid", ovs_rundir(), bridge);
}

static pid_t
find_watchdog(const char *bridge)
{
    char *name = pidfile_name(bridge);
    pid_t pid = read_pidfile(name);

    free(name);
    return MAX(0, pid);
}

static bool
parse_guard(const char *text, struct arena *arena, struct guard *guard)
{
    char until[sizeof "9999-12-31T23:59:59Z"];

    if (sscanf(text, "bulkhead-unconfirmed 1 %"SCNu64" %"SCNu64" %20[0-9TZ:-]",
               &guard->generation, &guard->back, until) != 3) {
        return false;
    }
    guard->until = arena_strdup(arena, until);
    return (guard->generation
            && !strcmp(text, arena_printf(arena, FORM, guard->generation,
                                          guard->back, guard->until)));
}

void
guard_read(struct state *state, struct guard *guard)
{
    const char *path, *reason;
    char *text = NULL;
    size_t len = 0;

    *guard = (struct guard) { .generation = 0 };
    if (!state->dir) {
        return;
    }
    path = guard_path(state);
    if (access(path, F_OK)
        && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
        guard->hidden = errno == EACCES;
        return;
    }
    reason = file_read_own(state->arena, path, &text, &len);
    if (reason || !parse_guard(text, state->arena, guard)) {
        *guard = (struct guard) { .generation = state_last(state) + 1 };
        *vec_push(state->arena, &state->warnings) = arena_printf(
            state->arena, "%s: %s", path, reason ? reason : "is damaged");
    }
    guard->watchdog = find_watchdog(state->bridge);
}

const char *
guard_hidden_reason(const char *bridge, struct arena *arena)
{
    return arena_printf(arena, "bridge %s: what is kept of it cannot be read "
                        "(Permission denied), so something may wait to be "
                        "confirmed; be the user who applied it", bridge);
}

const char *
guard_reason(const struct guard *guard, const char *bridge,
             struct arena *arena)
{
    if (guard->hidden) {
        return guard_hidden_reason(bridge, arena);
    } else if (guard->watchdog) {
        return arena_printf(
            arena, "bridge %s: generation %"PRIu64" waits to be confirmed "
            "until %s (process %ld); 'bulkhead confirm' or 'bulkhead "
            "rollback' first", bridge, guard->generation,
            guard->until ? guard->until : "an unknown time",
            (long int) guard->watchdog);
    }
    return NULL;
}

bool
guard_waits(struct state *state, const struct guard *guard)
{
    struct guard now;

    guard_read(state, &now);
    return (!state->dir || now.hidden
            || (now.generation && !now.until)
            || (now.generation == guard->generation && now.back == guard->back
                && !strcmp(now.until, guard->until)));
}

void
guard_remove(struct state *state)
{
    if (state->dir) {
        unlink(guard_path(state));
    }
}

/* Waits until the other end of the pipe 'fd' is closed. */
static void
wait_for_push(int fd)
{
    char c;

    while (read(fd, &c, 1) > 0 || errno == EINTR) {
        errno = 0;
    }
    close(fd);
}

/* Has somebody decided? */
static bool
is_over(const struct push_target *target, const struct guard *guard)
{
    struct arena *arena = arena_create();
    struct state state;
    bool over;

    state_open(&state, target->state, target->bridge, arena);
    over = !guard_waits(&state, guard);
    arena_destroy(arena);
    return over;
}

static void
watch(const struct push_target *target, const struct guard *guard,
      const struct plan_record *back)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(6, 6);
    long long int deadline = time_msec() + target->confirm_ms, lacking = 0;

    while (!is_over(target, guard)) {
        if (time_msec() >= deadline) {
            struct arena *arena = arena_create();
            const char *reason;

            bridge_info_forget();       /* What could not be read may be. */
            reason = guard_fire(target, guard, back, &lacking, arena);

            if (!reason) {
                arena_destroy(arena);
                return;
            }
            VLOG_ERR_RL(&rl, "cannot go back from generation %"PRIu64", which "
                        "was not confirmed; trying again: %s",
                        guard->generation, reason);
            arena_destroy(arena);
            deadline = time_msec() + RETRY_MS;
        }
        poll_timer_wait_until(MIN(deadline, time_msec() + LOOK_MS));
        poll_block();
    }
}

/* The child: becomes a daemon, and never returns. */
static void OVS_NO_RETURN
run_watchdog(const struct push_target *target, const struct guard *guard,
             const struct plan_record *back, int fd)
{
    char *name = pidfile_name(target->bridge);

    lockfile_postfork();
    vlog_set_levels(NULL, VLF_SYSLOG, VLL_WARN);
    set_pidfile(name);
    set_detach();
    set_no_chdir();             /* Names may be relative. */
    daemonize_start(false);
    daemonize_complete();
    free(name);

    wait_for_push(fd);
    watch(target, guard, back);
    exit(0);
}

/* Waits until the watchdog of what was decided before has seen that. */
static void
wait_for_predecessor(const char *bridge)
{
    for (int tries = 0; tries < 200 && find_watchdog(bridge); tries++) {
        xnanosleep(LOOK_MS * 1000 * 1000 / 10);
    }
}

/* Forks the watchdog, and waits until it stands by itself. */
static const char *
start_watchdog(const struct push_target *target, struct state *state,
               const struct guard *guard, const struct plan_record *back,
               int *fdp)
{
    int status, fds[2];
    pid_t pid;

    wait_for_predecessor(target->bridge);
    if (pipe2(fds, O_CLOEXEC)) {
        return arena_strdup(state->arena, ovs_strerror(errno));
    }
    fflush(NULL);
    bridge_info_forget();
    pid = fork();
    if (!pid) {
        close(fds[1]);
        run_watchdog(target, guard, back, fds[0]);
    }
    close(fds[0]);
    *fdp = fds[1];
    if (pid < 0 || waitpid(pid, &status, 0) != pid
        || !WIFEXITED(status) || WEXITSTATUS(status)) {
        close(fds[1]);
        return arena_printf(state->arena, "no process can be started that "
                            "would go back in time; may files be written in "
                            "%s?", ovs_rundir());
    }
    return NULL;
}

const char *
guard_arm(const struct push_target *target, struct state *state,
          struct guard *guard, const struct plan_record *back, int *fdp)
{
    const char *text, *reason;

    guard->until = plan_record_time(state->arena,
                                    time_wall() + target->confirm_ms / 1000);
    text = arena_printf(state->arena, FORM, guard->generation, guard->back,
                        guard->until);
    reason = file_prepare(state->arena, guard_path(state), text, strlen(text),
                          0600);
    if (!reason) {
        reason = file_install(state->arena, guard_path(state));
    }
    if (!reason) {
        reason = start_watchdog(target, state, guard, back, fdp);
        if (reason) {
            guard_remove(state);
        }
    }
    return reason;
}
