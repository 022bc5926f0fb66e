/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/worker.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "unit.h"
#include "util.h"

enum { PATIENCE_MS = 10000 };

/* Waits until it is late or has ended. */
static enum worker_news
await(struct worker *w, int *status)
{
    long long int deadline = time_msec() + PATIENCE_MS;
    enum worker_news news;

    while ((news = worker_run(w, status)) == WORKER_RUNS
           && time_msec() < deadline) {
        worker_wait(w);
        poll_timer_wait_until(deadline);
        poll_block();
    }
    return news;
}

static void
answer(const void *text, struct ds *ds)
{
    ds_put_cstr(ds, text);
}

static void
hang(const void *aux OVS_UNUSED, struct ds *ds OVS_UNUSED)
{
    for (;;) {
        pause();
    }
}

static void
outlive_signals(const void *aux, struct ds *ds)
{
    raise(SIGTERM);
    raise(SIGINT);
    raise(SIGHUP);
    answer(aux, ds);
}

/* Says which of some descriptors are open. */
static void
list_open(const void *aux OVS_UNUSED, struct ds *ds)
{
    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            ds_put_format(ds, "%d ", fd);
        }
    }
}

/* As kernels before 5.9 have it, and some filters of containers. */
static bool
refuse_close_range(void)
{
    struct sock_filter insns[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { ARRAY_SIZE(insns), insns };

    return (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Is but one descriptor open in the process, besides those of all? */
static void
assert_closes(void)
{
    struct worker w;
    int status, n;

    worker_init(&w);
    ck_assert(!worker_start(&w, list_open, NULL, PATIENCE_MS));
    ck_assert_int_eq(await(&w, &status), WORKER_ENDED);
    ck_assert_int_eq(status, 0);
    ck_assert_msg(ovs_scan(ds_cstr(&w.said), "0 1 2 %*d %n", &n)
                  && !ds_cstr(&w.said)[n], "open: %s", ds_cstr(&w.said));
    worker_destroy(&w);
}

START_TEST(test_closes)
{
    enum { PIPE = 400, HIGH = 900 };

    for (int fd = 0; fd < HIGH; ) {
        fd = dup(STDERR_FILENO);
        ck_assert_int_ge(fd, 0);
    }
    ck_assert(!close(PIPE) && !close(PIPE + 1));
    assert_closes();
    if (refuse_close_range()) {         /* Else by no filter here. */
        ck_assert(close_range(HIGH, HIGH, 0) && errno == ENOSYS);
        assert_closes();
    }
}
END_TEST

START_TEST(test_ends)
{
    struct worker w;
    int status;

    worker_init(&w);
    for (int i = 0; i < 2; i++) {
        ck_assert(!worker_start(&w, i ? outlive_signals : answer, "done",
                                PATIENCE_MS));
        ck_assert_int_eq(await(&w, &status), WORKER_ENDED);
        ck_assert_int_eq(status, 0);
        ck_assert_str_eq(ds_cstr(&w.said), "done");
    }
    worker_destroy(&w);
}
END_TEST

/* Of a program that is run anew: it has no descriptors of the daemon's, and
 * gives way to it. */
START_TEST(test_begins)
{
    pid_t parent = getpid(), pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (!pid) {
        int fd = dup(STDERR_FILENO);

        worker_begin(parent);
        _exit(fcntl(fd, F_GETFD) >= 0 ? 1
              : fcntl(STDOUT_FILENO, F_GETFD) < 0 ? 2
              : getpriority(PRIO_PROCESS, 0) <= 0 ? 3 : 0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x",
                  status);
}
END_TEST

START_TEST(test_late)
{
    struct worker w;
    int status;

    worker_init(&w);
    ck_assert(!worker_start(&w, hang, NULL, 50));
    ck_assert(!worker_is_killed(&w));
    ck_assert_int_eq(await(&w, &status), WORKER_LATE);
    ck_assert(worker_is_killed(&w));
    ck_assert_int_eq(await(&w, &status), WORKER_ENDED);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert(!worker_is_killed(&w));
    worker_destroy(&w);
}
END_TEST

Suite *
worker_suite(void)
{
    Suite *suite = suite_create("worker");
    TCase *tc = unit_case(suite, "worker");

    tcase_add_test(tc, test_ends);
    tcase_add_test(tc, test_begins);
    tcase_add_test(tc, test_late);
    tcase_add_test(tc, test_closes);
    return suite;
}
