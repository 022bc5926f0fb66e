/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <stdlib.h>
#include <string.h>

#include "agent/files.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "plan/record.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(agent);

enum {
    SAVE_MS = 2000,             /* What was pushed is kept when nothing has
                                 * been for so long... */
    SAVE_AGAIN_MS = 30000,      /* ...and if that fails, after this again. */
};

char *
agent_try(const struct agent_options *options)
{
    struct compiled *c = compiled_create(options->names, options->n_names,
                                         options->node,
                                         options->target.bridge);
    char *errors = (compiled_try(c) ? NULL
                    : nullable_xstrdup(compiled_errors(c)));

    compiled_destroy(c);
    return errors;
}

struct agent *
agent_create(const struct agent_options *options)
{
    struct agent *a = xzalloc(sizeof *a);

    a->options = options;
    a->files = files_create(options->names, options->n_names);
    a->compiled = compiled_create(options->names, options->n_names,
                                  options->node, options->target.bridge);
    a->keeper = keeper_create(&options->target);
    gate_init(&a->gate, options);
    a->reload = true;
    return a;
}

void
agent_destroy(struct agent *a)
{
    if (a) {
        agent_save(a);
        gate_destroy(&a->gate);
        keeper_destroy(a->keeper);
        compiled_destroy(a->compiled);
        files_destroy(a->files);
        free(a->trouble);
        free(a);
    }
}

/* Takes what has changed in the files. */
static void
read_files(struct agent *a, const struct bridge_info *info)
{
    struct sset paths = SSET_INITIALIZER(&paths);
    struct resident_diff diff;
    const char *path;

    a->reload = files_run(a->files, &paths) || a->reload;
    if (a->reload) {
        files_rewatch(a->files);
        a->reload = false;
        gate_put(a, compiled_load(a->compiled, info), NULL);
        a->bridge_seqno = keeper_bridge_seqno(a->keeper);
    } else {
        SSET_FOR_EACH (path, &paths) {
            gate_put(a, compiled_load_file(a->compiled, path, info, &diff),
                     &diff);
        }
    }
    sset_destroy(&paths);
}

/* Takes interfaces that have come or gone, and what waited for a file. */
static void
follow_bridge(struct agent *a, const struct bridge_info *info)
{
    enum compiled_news news = COMPILED_CHANGED;
    struct resident_diff diff;

    if (a->bridge_seqno == keeper_bridge_seqno(a->keeper)
        && !compiled_wants_bind(a->compiled)) {
        return;
    }
    a->bridge_seqno = keeper_bridge_seqno(a->keeper);
    while (news == COMPILED_CHANGED) {
        news = compiled_bind(a->compiled, info, &diff);
        gate_put(a, news, &diff);
    }
}

static void
note_pushes(struct agent *a)
{
    uint64_t pushes = keeper_counts(a->keeper)->pushes;

    if (pushes != a->pushes) {
        a->pushes = pushes;
        a->save_at = time_msec() + SAVE_MS;
    } else if (a->saved != a->pushes && time_msec() >= a->save_at) {
        agent_save(a);
    }
}

void
agent_run(struct agent *a)
{
    const struct bridge_info *info;

    keeper_run(a->keeper);
    info = keeper_bridge(a->keeper);
    if (!info) {
        return;                 /* Nobody knows who is here. */
    }
    gate_run(a);
    if (!gate_is_closed(a)) {
        read_files(a, info);
        a->ready = true;
        if (compiled_is_ready(a->compiled)) {
            follow_bridge(a, info);
        }
    }
    gate_begin(a);
    note_pushes(a);
}

void
agent_wait(struct agent *a)
{
    keeper_wait(a->keeper);
    gate_wait(a);
    if (keeper_bridge(a->keeper) && !gate_is_closed(a)) {
        files_wait(a->files);
    }
    if (a->saved != a->pushes) {
        poll_timer_wait_until(a->save_at);
    }
}

bool
agent_is_ready(const struct agent *a)
{
    return a->ready;
}

void
agent_reload(struct agent *a)
{
    a->reload = true;
    poll_immediate_wake();
}

const char *
agent_save(struct agent *a)
{
    struct arena *arena;
    struct plan_record record;
    const char *reason;
    struct plan plan;

    if (a->saved == a->pushes || !keeper_is_equal(a->keeper)
        || a->gate.held) {
        a->save_at = time_msec() + SAVE_MS;
        return NULL;
    }
    arena = arena_create();
    compiled_record(a->compiled, &record, &plan, arena);
    record.verified = a->options->verify;
    record.proved = a->gate.known;
    reason = push_note(&a->options->target, &record);
    if (!reason) {
        a->saved = a->pushes;
    } else if (!a->trouble || strcmp(a->trouble, reason)) {
        VLOG_WARN("what is applied is not kept: %s", reason);
    }
    a->save_at = time_msec() + SAVE_AGAIN_MS;
    free(a->trouble);
    a->trouble = nullable_xstrdup(reason);
    arena_destroy(arena);
    return a->trouble;
}

const char *
agent_unsaved(const struct agent *a)
{
    return (!a->options->target.state
            ? "BULKHEAD_STATEDIR is empty, so nothing is kept"
            : !keeper_is_equal(a->keeper) || a->gate.held
            ? "the bridge does not hold the intent yet; see status"
            : a->saved != a->pushes ? a->trouble : NULL);
}
