/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "openvswitch/vlog.h"
#include "resident/prove.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(prepare);

/* Proofs of changes of tenants with many endpoints take seconds to prepare:
 * another process does that, one tenant after the other, while nothing else is
 * done.  As long as it is there, what this one changes in memory is copied for
 * it, so it is ended once something comes. */

enum {
    TIMEOUT_MS = 60000,
    AGAIN_MS = 1000,            /* After it was ended, or could not begin. */
    NICE = 10,
};

void
preparer_init(struct preparer *p)
{
    worker_init(&p->worker);
    p->tenant = NULL;
}

void
preparer_destroy(struct preparer *p)
{
    worker_destroy(&p->worker);
    free(p->tenant);
}

/* What a process is to prepare. */
struct task {
    struct proved *proved;
    const struct intent *intent;
    const char *tenant;
};

static void
prepare(const void *task_, struct ds *ds)
{
    const struct task *task = task_;

    setpriority(PRIO_PROCESS, 0, NICE);     /* It may not be allowed. */
    proved_prepare_left(task->proved, task->intent, task->tenant, ds);
}

/* Is somebody else at work, or about to be? */
static bool
is_busy(const struct agent *a)
{
    const struct saver *s = &a->saver;

    return (a->gate.held || prover_is_busy(a->gate.prover) || s->worker.pid
            || s->asked || (s->saved != s->pushes && !s->trouble));
}

bool
preparer_begin(struct agent *a)
{
    struct gate *g = &a->gate;
    struct preparer *p = &g->preparer;
    const char *tenant = proved_left(g->proved);
    struct arena *arena;

    if (p->worker.pid) {        /* It is killed, and has not ended yet. */
        g->rest_at = LLONG_MAX;
        return true;
    } else if (!tenant) {
        return false;
    }
    g->rest_at = time_msec() + AGAIN_MS;
    if (!is_busy(a)) {
        struct task task = { .proved = g->proved };

        free(p->tenant);
        p->tenant = xstrdup(tenant);
        arena = arena_create();
        task.intent = compiled_intent(a->compiled, arena);
        task.tenant = p->tenant;
        if (!worker_start(&p->worker, prepare, &task, TIMEOUT_MS)) {
            VLOG_DBG("proofs of %s are being prepared", tenant);
            g->rest_at = LLONG_MAX;
        }
        arena_destroy(arena);
    }
    return true;
}

/* Takes what the process has found, or that it found nothing. */
static void
take(struct gate *g, bool found)
{
    const struct ds *said = &g->preparer.worker.said;
    bool taken = (g->proved
                  && proved_take(g->proved, g->preparer.tenant,
                                 found ? ds_cstr_ro(said) : "",
                                 found ? said->length : 0));

    VLOG_DBG("proofs of %s are %sprepared by a process", g->preparer.tenant,
             taken ? "" : "not ");
}

void
preparer_run(struct agent *a)
{
    struct gate *g = &a->gate;
    struct worker *w = &g->preparer.worker;
    bool killed = worker_is_killed(w);
    int status;

    if (!w->pid) {
        return;
    } else if (!killed && is_busy(a)) {
        preparer_yield(a);
        return;
    }
    switch (worker_run(w, &status)) {
    case WORKER_RUNS:
        return;
    case WORKER_LATE:
        take(g, false);
        return;
    case WORKER_ENDED:
        if (!killed) {
            take(g, !status);
        }
        break;
    }
    if (g->rest_at) {
        g->rest_at = time_msec() + (killed ? AGAIN_MS : 0);
    }
}

void
preparer_yield(struct agent *a)
{
    struct gate *g = &a->gate;
    struct worker *w = &g->preparer.worker;

    if (w->pid && !worker_is_killed(w) && worker_stop(w)) {
        g->rest_at = time_msec() + AGAIN_MS;
    }
}

void
preparer_wait(const struct agent *a)
{
    worker_wait(&a->gate.preparer.worker);
}
