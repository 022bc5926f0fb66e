/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/fold.h"
#include "hash.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "plan/record.h"
#include "process.h"
#include "push/journal.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(save);

enum {
    SAVE_MS = 2000,             /* What was pushed is kept when nothing has
                                 * been for so long... */
    SAVE_AGAIN_MS = 30000,      /* ...and if that fails, after this again. */
    PUT_OFF_MS = 20000,         /* No longer do changes put that off, if
                                 * nothing else keeps them, ... */
    MAX_JOURNAL = 64 * 1024 * 1024,     /* ...nor when the journal has so many
                                         * bytes. */
    TIMEOUT_MS = 60000,         /* For each time... */
    FINISH_MS = 5000,           /* ...and for the last. */
};

void
saver_init(struct agent *a, const char *journal)
{
    struct saver *s = &a->saver;

    worker_init(&s->worker);
    svec_init(&s->edits);
    s->whole = true;
    if (journal) {
        s->journal = push_kept_journal(&a->options->target, journal);
    }
}

void
saver_destroy(struct saver *s)
{
    worker_destroy(&s->worker);
    svec_destroy(&s->edits);
    journal_close(s->journal);
    journal_remove(s->next);
    free(s->trouble);
}

/* Keeps what is compiled.  Appends why it cannot, or nothing. */
static void
save(const void *agent, struct ds *ds)
{
    const struct agent *a = agent;
    struct arena *arena = arena_create();
    struct plan_record record;
    const char *reason;
    struct plan plan;

    compiled_record(a->compiled, &record, &plan, arena);
    record.verified = a->options->verify;
    record.proved = a->gate.known;
    reason = push_note(&a->options->target, &record,
                       a->saver.next ? journal_name(a->saver.next) : NULL,
                       a->saver.skip);
    if (reason) {
        ds_put_cstr(ds, reason);
    }
    arena_destroy(arena);
}

/* That of a process that has failed.  If it had begun to make its generation
 * the last one, the journal of the one before is gone. */
static void
drop_next(struct saver *s)
{
    journal_remove(s->next);
    s->next = NULL;
    if (s->journal && !journal_is_there(s->journal)) {
        saver_lose(s);
    }
}

/* What was begun last has ended, with this reason or none. */
static void
settle(struct saver *s, const char *reason)
{
    if (!reason) {
        journal_close(s->journal);
        s->skip = s->skip && !s->next;
        s->journal = s->next;
        s->next = NULL;
        s->saved = s->saving;
        s->own = true;
        s->folded = s->folds;
        s->known = s->folds ? s->known : s->knowing;
        s->since = s->saved == s->pushes ? 0 : time_msec();
    } else {
        if (!s->trouble || strcmp(s->trouble, reason)) {
            VLOG_WARN("what is applied is not kept: %s", reason);
        }
        s->at = time_msec() + SAVE_AGAIN_MS;
        s->since = time_msec();
        s->own &= !s->folds;
    }
    drop_next(s);
    free(s->trouble);
    s->trouble = nullable_xstrdup(reason);
}

/* The process has ended with 'status'. */
static void
take(struct saver *s, int status)
{
    const char *said = ds_cstr(&s->worker.said);
    char *how = (status ? process_status_msg(status)
                 : said[0] ? xstrdup(said) : NULL);

    settle(s, how);
    free(how);
}

/* May what is compiled be kept? */
static bool
is_put(const struct agent *a)
{
    return (compiled_is_ready(a->compiled) && keeper_is_equal(a->keeper)
            && !a->gate.held);
}

/* Why what was kept last is not what the intent says; or NULL. */
static const char *
unsaved(const struct agent *a)
{
    const struct saver *s = &a->saver;

    return (!a->options->target.state
            ? "BULKHEAD_STATEDIR is empty, so nothing is kept"
            : !is_put(a) ? "the bridge does not hold the intent yet, so no "
            "more is kept" : s->saved != s->pushes ? s->trouble : NULL);
}

static uint32_t
hash_known(const struct agent *a)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < a->gate.known.n; i++) {
        hash = hash_string(a->gate.known.v[i], hash);
    }
    return hash;
}

/* Does the node keep all that is to be kept, but for the hash of an intent? */
static bool
can_fold(const struct agent *a)
{
    const struct saver *s = &a->saver;

    return (s->own && s->journal && !s->no_fold
            && s->known == hash_known(a));
}

/* Begins the process that keeps it.  Returns 0 or a positive errno. */
static int
begin_process(struct agent *a)
{
    struct saver *s = &a->saver;

    if (s->folds) {
        int error = fold_start(&s->worker, &a->options->target, s->journal,
                               s->next, TIMEOUT_MS);

        s->no_fold = error != 0;
        return error;
    }
    s->knowing = hash_known(a);
    s->partial = compiled_is_partial(a->compiled);
    return worker_start(&s->worker, save, a, TIMEOUT_MS);
}

/* Begins what start() starts.  Returns false, after noting why, if it
 * cannot. */
static bool
begin(struct agent *a)
{
    const struct push_target *target = &a->options->target;
    struct arena *arena = arena_create();
    struct saver *s = &a->saver;
    const char *reason = NULL;
    int error;

    if (target->state) {
        reason = push_begin_journal(target, arena, &s->next);
    }
    if (!reason) {
        error = begin_process(a);
        reason = error ? ovs_strerror(error) : NULL;
    }
    if (reason) {
        settle(s, reason);
    } else {
        s->whole = !s->next;
    }
    arena_destroy(arena);
    return !reason;
}

/* In a process: of a large plan it takes longer than a change may wait. */
static void
start(struct agent *a)
{
    struct saver *s = &a->saver;

    if (!is_put(a)) {
        s->at = time_msec() + SAVE_MS;
        return;
    }
    s->saving = s->pushes;
    s->folds = !s->asked && can_fold(a);
    s->answers = s->asked;
    s->asked = false;
    if (s->folds && !journal_size(s->journal)) {
        s->saved = s->pushes;   /* What was put is what was there. */
        s->since = 0;
        free(s->trouble);
        s->trouble = NULL;
    } else if (!begin(a)) {
        s->answers = false;
        s->answer = s->trouble;
    }
}

/* Looks what has become of the process. */
static void
watch(struct saver *s)
{
    bool killed = worker_is_killed(&s->worker);
    int status;

    switch (worker_run(&s->worker, &status)) {
    case WORKER_RUNS:
        break;
    case WORKER_LATE:
        settle(s, "took more than 60 s");
        break;
    case WORKER_ENDED:
        if (!killed) {
            take(s, status);
        }
        drop_next(s);
        break;
    }
    if (!s->worker.pid || worker_is_killed(&s->worker)) {
        s->answers = false;
        s->answer = s->trouble;
    }
}

/* Must the whole be kept though something changes?  What is in the journal is
 * not lost. */
static bool
is_overdue(const struct saver *s)
{
    return (s->journal ? journal_size(s->journal) >= MAX_JOURNAL
            : time_msec() >= s->since + PUT_OFF_MS);
}

/* Lets the next begin when nothing has changed for a while, unless it has been
 * put off for long. */
static void
put_off(struct saver *s)
{
    long long int now = time_msec();

    s->since = s->since ? s->since : now;
    s->at = is_overdue(s) ? now : now + SAVE_MS;
}

void
saver_run(struct agent *a)
{
    uint64_t pushes = keeper_counts(a->keeper)->pushes;
    struct saver *s = &a->saver;

    if (pushes != s->pushes) {
        s->pushes = pushes;
        put_off(s);
    }
    if (s->worker.pid) {
        watch(s);
    }
    s->stopped = s->stopped && s->worker.pid;
    if (s->worker.pid) {        /* One that is late may last. */
        s->asked &= s->stopped || !worker_is_killed(&s->worker);
    } else if (s->asked && ((s->saved == s->pushes && !s->folded)
                            || !is_put(a) || !a->options->target.state)) {
        s->asked = false;
        s->answer = unsaved(a);
    } else if (s->asked || (s->saved != s->pushes && time_msec() >= s->at)) {
        start(a);
    }
}

void
saver_hurry(struct agent *a)
{
    struct saver *s = &a->saver;
    long long int now = time_msec();

    s->pushes = keeper_counts(a->keeper)->pushes;
    if (s->pushes != s->saved) {
        put_off(s);
        if (!s->journal && now >= s->hurried + SAVE_MS) {
            s->at = now;
        }
    }
    s->hurried = now;
}

void
saver_yield(struct agent *a)
{
    struct saver *s = &a->saver;
    long long int now = time_msec();

    if (s->worker.pid && !s->folds && !s->asked && !s->answers
        && !worker_is_killed(&s->worker) && !is_overdue(s)) {
        s->stopped = !worker_stop(&s->worker);
        if (!s->stopped) {
            drop_next(s);
        }
        s->at = now + SAVE_MS;
    }
}

void
saver_wait(const struct agent *a)
{
    const struct saver *s = &a->saver;

    if (s->asked && (!s->worker.pid || (worker_is_killed(&s->worker)
                                        && !s->stopped))) {
        poll_immediate_wake();
    } else if (s->worker.pid) {
        worker_wait(&s->worker);
    } else if (s->saved != s->pushes) {
        poll_timer_wait_until(s->at);
    }
}

void
saver_finish(struct agent *a)
{
    long long int deadline = time_msec() + FINISH_MS;
    const char *reason;

    agent_save(a);
    saver_run(a);
    while (!agent_has_saved(a, &reason) && time_msec() < deadline) {
        saver_wait(a);
        poll_timer_wait_until(deadline);
        poll_block();
        saver_run(a);
    }
}

void
agent_save(struct agent *a)
{
    a->saver.asked = true;
}

bool
agent_has_saved(const struct agent *a, const char **reason)
{
    const struct saver *s = &a->saver;

    *reason = s->answer;
    return !s->asked && !s->answers;
}
