/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/prove.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/compiled.h"
#include "base/diag.h"
#include "fatal-signal.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "plan/prove.h"
#include "process.h"
#include "resident/prove.h"
#include "sema/policy.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

enum {
    GRACE_MS = 5000,            /* Until one that is late is killed. */
    MAX_SHOWN = 1,              /* Differences; there may be many. */
};

/* What the process writes: whether it is proved, and how much; then, a line
 * each, what is known; or why not, as text. */
#define PROVED "proved %"PRIuSIZE" of %"PRIuSIZE"\n"
#define REFUSED "refused\n"

struct prover {
    pid_t pid;                  /* 0: none. */
    int fd;                     /* What it writes. */
    struct ds said;             /* What it has written; once it has ended, what
                                 * is known, or why nothing is. */
    int skip;                   /* Where what is known begins there. */
    bool broken;                /* There was no process to be had. */
    long long int start, deadline;
    struct proof_cost cost;
};

struct prover *
prover_create(void)
{
    struct prover *p = xzalloc(sizeof *p);

    ds_init(&p->said);
    return p;
}

/* Waits for the process, which has closed the pipe as its last deed, or is
 * killed.  Returns how it ended. */
static int
end(struct prover *p)
{
    int status = 0;

    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {
        continue;
    }
    close(p->fd);
    p->pid = 0;
    p->cost.ms = time_msec() - p->start;
    return status;
}

void
prover_cancel(struct prover *p)
{
    if (p->pid) {
        kill(p->pid, SIGKILL);
        end(p);
    }
}

void
prover_destroy(struct prover *p)
{
    if (p) {
        prover_cancel(p);
        ds_destroy(&p->said);
        free(p);
    }
}

/* In the process. */

static void
put_proved(size_t n_proved, size_t n_tenants, const plan_names *known,
           struct ds *ds)
{
    ds_put_format(ds, PROVED, n_proved, n_tenants);
    for (size_t i = 0; i < known->n; i++) {
        ds_put_format(ds, "%s\n", known->v[i]);
    }
}

static void
prove_all(const struct compiled *compiled, const plan_names *known,
          const char *bridge, int time_ms, struct arena *arena, struct ds *ds)
{
    const struct policy *policy;
    struct plan_proof proof;
    struct diags diags;
    struct plan plan;

    diags_init(&diags, arena);
    compiled_plan(compiled, &plan, arena);
    policy = policy_resolve(compiled_intent(compiled, arena), arena, &diags);
    if (!policy) {              /* It was right when it was compiled. */
        ds_put_cstr(ds, REFUSED);
        diags_format(&diags, ds);
    } else if (plan_prove(&proof, policy, &plan, known, time_ms, arena)) {
        put_proved(proof.n_proved, proof.n_tenants, &proof.proved, ds);
    } else {
        ds_put_cstr(ds, REFUSED);
        plan_proof_words(&proof.task, &proof.result, bridge, MAX_SHOWN, ds);
    }
}

/* What has changed is enough, or else it is all. */
static void
prove(const struct compiled *compiled, const struct proved *proved,
      const plan_names *known, const char *bridge, int time_ms, struct ds *ds)
{
    struct arena *arena = arena_create();
    long long int start = time_msec();
    size_t n_proved, n_tenants;

    if (proved && proved_prove(proved, compiled_intent(compiled, arena),
                               time_ms, &n_proved, &n_tenants)) {
        put_proved(n_proved, n_tenants, known, ds);
    } else {
        time_ms -= time_msec() - start;
        prove_all(compiled, known, bridge, MAX(1, time_ms), arena, ds);
    }
}

/* It must not act for the daemon: no socket stays open by it, and no signal
 * does what it is for there. */
static void
become_a_stranger(pid_t parent, int fd)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGALRM };

    fatal_signal_fork();
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        signal(signals[i], SIG_DFL);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    if ((fd > STDERR_FILENO + 1
         && close_range(STDERR_FILENO + 1, fd - 1, 0))
        || close_range(fd + 1, ~0U, 0)) {
        _exit(EXIT_FAILURE);
    }
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

/* Ends with what the process writes. */
static void OVS_NO_RETURN
work(const struct compiled *compiled, const struct proved *proved,
     const plan_names *known, const char *bridge, int time_ms, pid_t parent,
     int fd)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    become_a_stranger(parent, fd);
    prove(compiled, proved, known, bridge, time_ms, &ds);
    _exit(write_all(fd, ds_cstr(&ds), ds.length) ? EXIT_SUCCESS
          : EXIT_FAILURE);
}

void
prover_start(struct prover *p, const struct compiled *compiled,
             const struct proved *proved, const plan_names *known,
             const char *bridge, int time_ms)
{
    pid_t parent = getpid();
    int fds[2] = { -1, -1 };

    prover_cancel(p);
    ds_clear(&p->said);
    p->skip = 0;
    p->cost = (struct proof_cost) { .ms = 0 };
    p->start = time_msec();
    p->deadline = p->start + time_ms + GRACE_MS;
    if (pipe(fds) || set_nonblocking(fds[0]) || (p->pid = fork()) < 0) {
        ds_put_format(&p->said, "UNPROVED: no process for the proof: %s\n",
                      ovs_strerror(errno));
        p->pid = 0;
        p->broken = true;
        close(fds[0]);
        close(fds[1]);
        return;
    } else if (!p->pid) {
        work(compiled, proved, known, bridge, time_ms, parent, fds[1]);
    }
    close(fds[1]);
    p->fd = fds[0];
}

/* Takes what a process that has ended with 'status' has said. */
static enum proof_state
judge(struct prover *p, int status)
{
    struct proof_cost *cost = &p->cost;

    if (status) {
        char *how = process_status_msg(status);

        ds_clear(&p->said);
        ds_put_format(&p->said, "UNPROVED: the process of the proof: %s\n",
                      how);
        free(how);
        return PROOF_BROKEN;
    }
    ovs_scan_len(ds_cstr(&p->said), &p->skip, PROVED, &cost->n_proved,
                 &cost->n_tenants);
    return p->skip ? PROOF_DONE : PROOF_REFUSED;
}

enum proof_state
prover_run(struct prover *p)
{
    char buffer[4096];
    ssize_t n;

    if (!p->pid) {
        bool broken = p->broken;

        p->broken = false;
        return broken ? PROOF_BROKEN : PROOF_NONE;
    }
    while ((n = read(p->fd, buffer, sizeof buffer)) > 0) {
        ds_put_buffer(&p->said, buffer, n);
    }
    if (!n) {
        return judge(p, end(p));
    } else if (time_msec() >= p->deadline) {
        prover_cancel(p);
        ds_clear(&p->said);
        ds_put_cstr(&p->said, "UNPROVED: time is up\n");
        return PROOF_REFUSED;
    }
    return PROOF_RUNS;
}

void
prover_wait(struct prover *p)
{
    if (p->pid) {
        poll_fd_wait(p->fd, POLLIN);
        poll_timer_wait_until(p->deadline);
    } else if (p->broken) {
        poll_immediate_wake();
    }
}

bool
prover_is_busy(const struct prover *p)
{
    return p->pid || p->broken;
}

struct proof_cost
prover_cost(const struct prover *p)
{
    return p->cost;
}

void
prover_known(struct prover *p, struct arena *arena, plan_names *known)
{
    char *text = arena_strdup(arena, ds_cstr(&p->said) + p->skip), *save;

    memset(known, 0, sizeof *known);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        *vec_push(arena, known) = line;
    }
}

const char *
prover_refusal(struct prover *p)
{
    const char *text = ds_cstr(&p->said);

    return text + (!strncmp(text, REFUSED, strlen(REFUSED))
                   ? strlen(REFUSED) : 0);
}
