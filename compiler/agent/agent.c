/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <stdlib.h>

#include "agent/files.h"
#include "openvswitch/poll-loop.h"
#include "util.h"

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
    const char *journal;

    a->options = options;
    a->files = files_create(options->names, options->n_names);
    a->compiled = compiled_create(options->names, options->n_names,
                                  options->node, options->target.bridge);
    a->keeper = keeper_create(&options->target);
    gate_init(&a->gate, options, &journal);
    saver_init(a, journal);
    a->reload = true;
    return a;
}

void
agent_destroy(struct agent *a)
{
    if (a) {
        saver_finish(a);
        gate_destroy(&a->gate);
        keeper_destroy(a->keeper);
        compiled_destroy(a->compiled);
        files_destroy(a->files);
        saver_destroy(&a->saver);
        free(a);
    }
}

/* Takes what has changed in the files. */
static void
read_files(struct agent *a, const struct bridge_info *info)
{
    struct sset paths = SSET_INITIALIZER(&paths);
    struct resident_diff diff;
    enum compiled_news news;
    const char *path;

    a->reload = files_run(a->files, &paths) || a->reload;
    if (a->reload || !sset_is_empty(&paths)) {
        preparer_yield(a);
        saver_yield(a);
    }
    if (a->reload) {
        files_rewatch(a->files);
        a->reload = false;
        news = compiled_load(a->compiled, info);
        gate_put(a, news, NULL);
        if (news == COMPILED_ANEW) {    /* Else it is by the last good one. */
            a->bridge_seqno = keeper_bridge_seqno(a->keeper);
        }
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
    preparer_yield(a);
    saver_yield(a);
    while (news == COMPILED_CHANGED) {
        news = compiled_bind(a->compiled, info, &diff);
        gate_put(a, news, &diff);
    }
}

/* Takes what is new of the files and of the bridge. */
static void
follow(struct agent *a, const struct bridge_info *info)
{
    gate_run(a);
    if (!gate_is_closed(a)) {
        read_files(a, info);
        a->ready = true;
        if (compiled_is_ready(a->compiled)) {
            follow_bridge(a, info);
        }
    }
    gate_begin(a);
}

void
agent_run(struct agent *a)
{
    const struct bridge_info *info;

    keeper_run(a->keeper);
    info = keeper_bridge(a->keeper);
    if (info) {                 /* Else nobody knows who is here. */
        follow(a, info);
    }
    saver_run(a);
    gate_rest(a);
    keeper_ask(a->keeper);
}

void
agent_wait(struct agent *a)
{
    keeper_wait(a->keeper);
    gate_wait(a);
    if (keeper_bridge(a->keeper) && !gate_is_closed(a)) {
        files_wait(a->files);
    }
    saver_wait(a);
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
