/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "unit.h"
#include "util.h"

/* What closes descriptors, test-worker.c asks. */

enum { PATIENCE_MS = 10000 };

static void
do_nothing(int sig OVS_UNUSED)
{
}

/* How a process ends that gets the signal. */
static int
end_by(int sig, bool outlasts)
{
    pid_t parent = getpid(), pid = fork();
    int status;

    if (!pid) {
        child_begin(parent, outlasts);
        raise(sig);
        _exit(EXIT_SUCCESS);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

START_TEST(test_signals)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGALRM };

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        int status;

        signal(signals[i], do_nothing);
        status = end_by(signals[i], false);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        status = end_by(signals[i], true);
        if (signals[i] == SIGALRM) {
            ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
        } else {
            ck_assert_int_eq(status, 0);
        }
    }
}
END_TEST

/* One whose parent has ended before it could ask to end with it. */
START_TEST(test_orphan)
{
    pid_t pid = fork();
    int status;

    if (!pid) {
        child_begin(getpid(), false);
        _exit(EXIT_SUCCESS);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
}
END_TEST

/* Begins a process that says who it is, and would never end.  Returns as soon
 * as it has said it. */
static void
begin_and_end(int fd)
{
    pid_t parent = getpid(), pid;
    int fds[2];
    char c;

    ck_assert(!pipe(fds));
    if (!fork()) {
        child_begin(parent, true);
        pid = getpid();
        ignore(write(fd, &pid, sizeof pid));
        ignore(write(fds[1], "", 1));
        for (;;) {
            pause();
        }
    }
    ignore(read(fds[0], &c, 1));
    _exit(EXIT_SUCCESS);
}

START_TEST(test_ends_with_parent)
{
    struct pollfd end = { .events = POLLIN };
    int fds[2];
    pid_t pid;

    ck_assert(!pipe(fds));
    if (!fork()) {
        begin_and_end(fds[1]);
    }
    close(fds[1]);
    ck_assert_int_eq(read(fds[0], &pid, sizeof pid), sizeof pid);
    end.fd = fds[0];
    if (!poll(&end, 1, PATIENCE_MS)) {
        kill(pid, SIGKILL);
        ck_abort_msg("it is still there");
    }
    ck_assert_int_eq(read(fds[0], &pid, sizeof pid), 0);
}
END_TEST

Suite *
child_suite(void)
{
    Suite *suite = suite_create("child");
    TCase *tc = unit_case(suite, "child");

    tcase_add_test(tc, test_signals);
    tcase_add_test(tc, test_orphan);
    tcase_add_test(tc, test_ends_with_parent);
    return suite;
}
