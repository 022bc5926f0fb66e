/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include "openvswitch/vlog.h"
#include "plan/record.h"
#include "push/journal.h"
#include "resident/resident.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(note);

enum {
    MAX_PENDING = 16 * 1024 * 1024,     /* In bytes, as long as nothing is
                                         * proved. */
};

/* No edit says what will be put. */
static void
note_whole(struct saver *s)
{
    s->whole = true;
    svec_clear(&s->edits);
    s->n_pending = 0;
}

/* Appends the edit that says the change, or nothing if it changes nothing that
 * is kept.  Returns false if none says it. */
static bool
format_edit(struct agent *a, const struct resident_diff *diff, struct ds *ds)
{
    bool partial = compiled_is_partial(a->compiled);
    struct arena *arena = arena_create();
    bool ok = resident_diff_format(diff, plan_record_time(arena, time_wall()),
                                   a->saver.partial, partial, ds);

    a->saver.partial = partial;
    arena_destroy(arena);
    return ok;
}

void
saver_note(struct agent *a, enum compiled_news news,
           const struct resident_diff *diff)
{
    struct saver *s = &a->saver;
    struct ds ds = DS_EMPTY_INITIALIZER;

    if (news == COMPILED_SAME || s->whole) {
        return;
    }
    if (news == COMPILED_CHANGED && (s->journal || s->next)
        && s->n_pending < MAX_PENDING && format_edit(a, diff, &ds)) {
        s->n_pending += ds.length;
        if (ds.length) {
            svec_add(&s->edits, ds_cstr(&ds));
        }
    } else {
        note_whole(s);
    }
    ds_destroy(&ds);
}

void
saver_lose(struct saver *s)
{
    int error, next_error;

    if (s->folds && s->worker.pid && !worker_is_killed(&s->worker)) {
        s->stopped = !worker_stop(&s->worker);  /* It has nothing to fold. */
    }
    s->skip = s->skip || (s->journal && journal_size(s->journal));
    error = journal_remove(s->journal);
    next_error = journal_remove(s->next);
    s->journal = s->next = NULL;
    if (error || next_error) {
        VLOG_ERR("what is kept is not what is applied, and cannot be removed: "
                 "%s; remove it, or it comes back after a crash",
                 ovs_strerror(error ? error : next_error));
    }
    note_whole(s);
}

static void
append(struct saver *s, struct journal *journal, const char *edits)
{
    int error = journal ? journal_append(journal, edits) : 0;

    if (error) {
        VLOG_WARN("what changes cannot be kept: %s", ovs_strerror(error));
        saver_lose(s);
    }
}

void
saver_put(struct agent *a)
{
    struct saver *s = &a->saver;

    if (s->whole) {
        if (!kept_is_meant(a)) {
            saver_lose(s);
        }
    } else if (s->edits.n) {
        char *all = svec_join(&s->edits, ",", "]");
        char *line = xasprintf("[%s", all);

        append(s, s->next, line);
        append(s, s->journal, line);
        svec_clear(&s->edits);
        s->n_pending = 0;
        free(line);
        free(all);
    }
}
