/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <signal.h>
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

START_TEST(test_ends)
{
    struct worker w;
    int status;

    worker_init(&w);
    for (int i = 0; i < 2; i++) {
        ck_assert(!worker_start(&w, answer, "done", PATIENCE_MS));
        ck_assert_int_eq(await(&w, &status), WORKER_ENDED);
        ck_assert_int_eq(status, 0);
        ck_assert_str_eq(ds_cstr(&w.said), "done");
    }
    worker_destroy(&w);
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
    tcase_add_test(tc, test_late);
    return suite;
}
