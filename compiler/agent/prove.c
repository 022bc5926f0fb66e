/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/prove.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/compiled.h"
#include "agent/worker.h"
#include "base/diag.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "plan/prove.h"
#include "process.h"
#include "resident/prove.h"
#include "sema/policy.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(prove);

enum {
    AT_ONCE_MS = 50,            /* So long nothing else is done: a process for
                                 * it takes longer, where it has to be given
                                 * much. */
    GRACE_MS = 5000,            /* Until one that is late is killed. */
    MAX_SHOWN = 1,              /* Differences; there may be many. */
};

/* What the process writes: whether it is proved, and how much; then, a line
 * each, what is known; or why not, or why not yet, as text. */
#define PROVED "proved %"PRIuSIZE" of %"PRIuSIZE"\n"
#define REFUSED "refused\n"
#define LATE "late\n"

struct prover {
    struct worker worker;       /* What it has said is, once it has ended, what
                                 * is known, or why nothing is. */
    int skip;                   /* Where what is known begins there. */
    bool at_once;               /* It was proved without a process. */
    bool broken;                /* There was no process to be had. */
    long long int start;
    struct proof_cost cost;
};

struct prover *
prover_create(void)
{
    struct prover *p = xzalloc(sizeof *p);

    worker_init(&p->worker);
    return p;
}

void
prover_cancel(struct prover *p)
{
    worker_cancel(&p->worker);
    p->at_once = false;
}

void
prover_destroy(struct prover *p)
{
    if (p) {
        worker_destroy(&p->worker);
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
    long long int deadline = time_msec() + time_ms;
    struct plan_proof proof;
    struct diags diags;
    struct plan plan;

    diags_init(&diags, arena);
    compiled_plan(compiled, &plan, arena);
    policy = policy_resolve(compiled_intent(compiled, arena), arena, &diags);
    if (!policy) {              /* It was right when it was compiled. */
        ds_put_cstr(ds, REFUSED);
        diags_format(&diags, ds);
    } else if (plan_prove(&proof, policy, &plan, known, time_ms, 1,
                          arena)) {
        put_proved(proof.n_proved, proof.n_tenants, &proof.proved, ds);
    } else {
        ds_put_cstr(ds, proof.result.unproved && !proof.result.n_differences
                    && time_msec() >= deadline ? LATE : REFUSED);
        plan_proof_words(&proof.task, &proof.result, bridge, MAX_SHOWN, ds);
    }
}

/* What a process is to prove. */
struct task {
    const struct compiled *compiled;
    const struct proved *proved;
    const plan_names *known;
    const char *bridge;
    int time_ms;
};

/* What has changed is enough, or else it is all. */
static void
prove(const void *task_, struct ds *ds)
{
    const struct task *task = task_;
    struct arena *arena = arena_create();
    long long int start = time_msec();
    struct proved_count count;

    if (task->proved && proved_prove(task->proved, task->time_ms, &count)) {
        put_proved(count.n_proved, count.n_tenants, task->known, ds);
    } else {
        int rest_ms = task->time_ms - (time_msec() - start);

        prove_all(task->compiled, task->known, task->bridge, MAX(1, rest_ms),
                  arena, ds);
    }
}

bool
prover_try(struct prover *p, const struct proved *proved,
           const plan_names *known, int time_ms)
{
    struct proved_count count;

    prover_cancel(p);
    p->skip = 0;
    p->cost = (struct proof_cost) { .ms = 0 };
    p->start = time_msec();
    p->at_once = (proved
                  && proved_prove_soon(proved, MIN(time_ms, AT_ONCE_MS),
                                       &count));
    if (p->at_once) {
        VLOG_DBG("proved at once%s", count.seam ? " by what is decided"
                 : count.symmetry ? " by endpoints that are like it" : "");
        ds_clear(&p->worker.said);
        put_proved(count.n_proved, count.n_tenants, known, &p->worker.said);
    }
    return p->at_once;
}

void
prover_start(struct prover *p, const struct compiled *compiled,
             const struct proved *proved, const plan_names *known,
             const char *bridge, int time_ms)
{
    struct task task = { compiled, proved, known, bridge, time_ms };
    int error = worker_start(&p->worker, prove, &task, time_ms + GRACE_MS);

    if (error) {
        ds_put_format(&p->worker.said, "UNPROVED: no process for the proof: "
                      "%s\n", ovs_strerror(error));
        p->broken = true;
    }
}

/* Takes what a process that has ended with 'status' has said. */
static enum proof_state
judge(struct prover *p, int status)
{
    struct proof_cost *cost = &p->cost;

    if (status) {
        char *how = process_status_msg(status);

        ds_clear(&p->worker.said);
        ds_put_format(&p->worker.said, "UNPROVED: the process of the proof: "
                      "%s\n", how);
        free(how);
        return PROOF_BROKEN;
    }
    ovs_scan_len(ds_cstr(&p->worker.said), &p->skip, PROVED, &cost->n_proved,
                 &cost->n_tenants);
    return (p->skip ? PROOF_DONE
            : !strncmp(ds_cstr(&p->worker.said), LATE, strlen(LATE))
            ? PROOF_LATE : PROOF_REFUSED);
}

enum proof_state
prover_run(struct prover *p)
{
    int status = 0;

    if (p->broken) {
        p->broken = false;
        return PROOF_BROKEN;
    } else if (!p->worker.pid && !p->at_once) {
        return PROOF_NONE;
    }
    switch (p->at_once ? WORKER_ENDED : worker_run(&p->worker, &status)) {
    case WORKER_RUNS:
        return PROOF_RUNS;
    case WORKER_LATE:
        prover_cancel(p);
        ds_clear(&p->worker.said);
        ds_put_cstr(&p->worker.said, "UNPROVED: time is up\n");
        return PROOF_LATE;
    case WORKER_ENDED:
        break;
    }
    p->at_once = false;
    p->cost.ms = time_msec() - p->start;
    return judge(p, status);
}

void
prover_wait(struct prover *p)
{
    if (p->worker.pid) {
        worker_wait(&p->worker);
    } else if (p->broken || p->at_once) {
        poll_immediate_wake();
    }
}

bool
prover_is_busy(const struct prover *p)
{
    return p->worker.pid || p->broken || p->at_once;
}

struct proof_cost
prover_cost(const struct prover *p)
{
    return p->cost;
}

void
prover_known(struct prover *p, struct arena *arena, plan_names *known)
{
    const char *said = ds_cstr(&p->worker.said) + p->skip;
    char *text = arena_strdup(arena, said), *save;

    memset(known, 0, sizeof *known);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        *vec_push(arena, known) = line;
    }
}

const char *
prover_refusal(struct prover *p)
{
    const char *const heads[] = { REFUSED, LATE };
    const char *text = ds_cstr(&p->worker.said);

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        if (!strncmp(text, heads[i], strlen(heads[i]))) {
            return text + strlen(heads[i]);
        }
    }
    return text;
}
