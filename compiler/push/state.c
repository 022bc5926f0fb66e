/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/state.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "openvswitch/dynamic-string.h"
#include "push/journal.h"
#include "timeval.h"
#include "util.h"

static const char *
record_path(const struct state *state, uint64_t generation)
{
    return arena_printf(state->arena, "%s/%"PRIu64".plan", state->dir,
                        generation);
}

/* The generation that a file is of, or 0. */
static uint64_t
parse_name(const char *name)
{
    char *end;
    uint64_t n;

    if (name[0] < '1' || name[0] > '9') {
        return 0;
    }
    errno = 0;
    n = strtoull(name, &end, 10);
    return !errno && n < INT64_MAX && !strcmp(end, ".plan") ? n : 0;
}

static int
compare_generations(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;

    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

static void
list_kept(struct state *state)
{
    DIR *dir = opendir(state->dir);
    struct dirent *entry;

    if (!dir) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        uint64_t generation = parse_name(entry->d_name);

        if (generation) {
            *vec_push(state->arena, &state->kept) = generation;
        }
    }
    closedir(dir);
    if (state->kept.n) {
        qsort(state->kept.v, state->kept.n, sizeof *state->kept.v,
              compare_generations);
    }
}

/* What is to be read. */
struct wanted {
    const struct state *state;
    uint64_t generation;
    size_t journal;             /* And of what has become of it since, so many
                                 * bytes, or JOURNAL_ALL. */
};

static const char *
check_record(const struct plan_record *record, void *wanted_,
             plan_names *edits)
{
    const struct wanted *wanted = wanted_;
    const struct state *state = wanted->state;

    if (record->generation != wanted->generation
        || strcmp(record->bridge, state->bridge)) {
        return "is of another bridge or generation";
    }
    return (wanted->journal && record->journal
            ? journal_read(state->dir, record->journal, wanted->journal,
                           state->arena, edits) : NULL);
}

/* Reads a generation, and so many bytes of what has become of it since.
 * Returns NULL, or the reason why there is none that can be trusted. */
static const char *
load(const struct state *state, uint64_t generation, size_t journal,
     struct plan_record *record)
{
    struct wanted wanted = { state, generation, journal };
    const char *path = record_path(state, generation);
    char *text = NULL;
    size_t len = 0;
    const char *reason = file_read_own(state->arena, path, &text, &len);

    if (!reason) {
        reason = plan_record_parse_edited(text, len, check_record, &wanted,
                                          state->arena, record);
    }
    return (reason ? arena_printf(state->arena, "%s: %s", path, reason)
            : NULL);
}

uint64_t
state_last(const struct state *state)
{
    return state->kept.n ? state->kept.v[0] : 0;
}

/* Who may write to the folder may put files of any kind there.  One that is
 * not there yet will be ours. */
static bool
is_ours(struct state *state)
{
    struct stat s;

    return (lstat(state->dir, &s)
            || (S_ISDIR(s.st_mode) && s.st_uid == geteuid()
                && !(s.st_mode & (S_IWGRP | S_IWOTH))));
}

void
state_open(struct state *state, const char *root, const char *bridge,
           struct arena *arena)
{
    *state = (struct state) { .arena = arena, .bridge = bridge, .root = root,
                              .what = arena_printf(arena, "bridge %s",
                                                   bridge) };
    if (!root) {
        return;
    }
    state->dir = arena_printf(arena, "%s/%s", root, bridge);
    if (!is_ours(state)) {
        *vec_push(arena, &state->warnings) = arena_printf(
            arena, "%s is not trusted, and nothing is kept there: it is no "
            "folder of this user's, or others may write to it", state->dir);
        state->dir = NULL;
    }
}

/* Reads what is kept, of the last one's journal so many bytes. */
static void
read_kept(struct state *state, size_t journal)
{
    struct arena *arena = state->arena;
    struct plan_record *record = arena_zalloc(arena, sizeof *record);
    const char *reason = "";

    if (!state->dir) {
        return;
    }
    /* Twice: who has no lock may meet a new one, and the old one's journal
     * gone. */
    for (int i = 0; i < 2 && reason; i++) {
        state->kept.n = 0;
        list_kept(state);
        if (!state->kept.n) {
            return;
        }
        reason = load(state, state_last(state), journal, record);
    }
    state->current = reason ? NULL : record;
    if (reason) {
        *vec_push(arena, &state->warnings) = arena_printf(
            arena, "what is kept of generation %"PRIu64" is not trusted: %s",
            state_last(state), reason);
        if (!load(state, state_last(state), 0, record)) {
            state->distrusted = record;
        }
    } else if (record->generation != state_last(state)) {
        state->unwritten = true;
        *vec_push(arena, &state->kept) = record->generation;
        qsort(state->kept.v, state->kept.n, sizeof *state->kept.v,
              compare_generations);
    }
}

void
state_read(struct state *state, const char *root, const char *bridge,
           struct arena *arena)
{
    state_open(state, root, bridge, arena);
    read_kept(state, JOURNAL_ALL);
}

void
state_sweep(const struct state *state)
{
    DIR *dir = state->dir ? opendir(state->dir) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (file_is_new(entry->d_name)) {
            unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

const char *
state_make(struct state *state)
{
    const char *const dirs[] = { state->root, state->dir };

    if (!state->dir) {
        return "there is no folder for it";
    }
    for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
        const char *reason = file_make_folder(state->arena, dirs[i], 0700);

        if (reason) {
            return arena_printf(state->arena, "cannot make the folder %s: %s;"
                                " BULKHEAD_STATEDIR names another", dirs[i],
                                reason);
        }
    }
    return NULL;
}

static const char *
prepare(struct state *state, const struct plan_record *record)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *reason;

    plan_record_format(record, &ds);
    reason = file_prepare(state->arena,
                          record_path(state, record->generation),
                          ds.string, ds.length, 0600);
    ds_destroy(&ds);
    return reason;
}

/* Gives 'record' an empty journal. */
static const char *
make_journal(const struct state *state, struct plan_record *record)
{
    struct journal *journal;
    const char *reason = journal_create(state->dir, state->arena, &journal);

    if (!reason) {
        record->journal = arena_strdup(state->arena, journal_name(journal));
        journal_close(journal);
    }
    return reason;
}

const char *
state_write_current(struct state *state)
{
    struct plan_record *record;
    const char *reason;

    if (!state->unwritten) {
        return NULL;
    }
    record = arena_zalloc(state->arena, sizeof *record);
    *record = *state->current;
    record->edited = false;
    reason = make_journal(state, record);
    reason = reason ? reason : prepare(state, record);
    reason = (reason ? reason
              : file_install(state->arena,
                             record_path(state, record->generation)));
    if (!reason) {
        state->current = record;
        state->unwritten = false;
    }
    return reason;
}

const char *
state_prepare(struct state *state, struct plan_record *record)
{
    const char *reason;

    state_sweep(state);
    reason = state_make(state);
    if (!reason && record->generation != state_last(state)) {
        reason = state_write_current(state);
    }
    if (!reason && !record->journal) {
        reason = make_journal(state, record);
    }
    return reason ? reason : prepare(state, record);
}

void
state_withdraw(const struct state *state)
{
    if (state->current && state->current->journal) {
        journal_hide(state->dir, state->current->journal);
    }
}

void
state_restore(const struct state *state)
{
    if (state->current && state->current->journal) {
        journal_show(state->dir, state->current->journal);
    }
}

const char *
state_commit(struct state *state, const struct plan_record *record,
             uint64_t replaces)
{
    const char *path = record_path(state, record->generation), *reason;
    bool more = state->wanted && state->wanted != record->generation;
    generation_vec kept = VEC_INIT;

    /* First, so that who has the old one sees whether this was begun. */
    journal_sweep(state->dir, record->journal);
    reason = file_install(state->arena, path);
    if (reason) {
        return reason;
    }
    *vec_push(state->arena, &kept) = record->generation;
    for (size_t i = 0; i < state->kept.n; i++) {
        uint64_t generation = state->kept.v[i];

        if (generation == record->generation) {
            continue;
        } else if (generation != state->wanted
                   && (generation == replaces
                       || kept.n + more >= STATE_MAX_KEPT)) {
            unlink(record_path(state, generation));
        } else {
            *vec_push(state->arena, &kept) = generation;
            more &= generation != state->wanted;
        }
    }
    state->kept = kept;
    state->current = record;
    state->unwritten = false;
    return NULL;
}

void
state_forget(struct state *state, uint64_t generation)
{
    size_t n = 0;

    for (size_t i = 0; i < state->kept.n; i++) {
        if (state->kept.v[i] != generation
            || (state->current && generation == state->current->generation)) {
            state->kept.v[n++] = state->kept.v[i];
        } else {
            unlink(record_path(state, generation));
        }
    }
    state->kept.n = n;
}

const char *
state_fold(struct state *state, const char *from, size_t size,
           const char *journal)
{
    struct plan_record *record = arena_zalloc(state->arena, sizeof *record);
    const char *reason;

    read_kept(state, size);
    if (!state->current) {
        return (state->warnings.n ? state->warnings.v[0]
                : "nothing is kept any more");
    } else if (!nullable_string_is_equal(state->current->journal, from)) {
        return "what is kept was kept by somebody else";
    }
    *record = *state->current;
    record->edited = false;
    record->journal = journal;
    reason = state_prepare(state, record);
    return reason ? reason : state_commit(state, record, 0);
}

void
state_abandon(struct state *state, const struct plan_record *record)
{
    if (state->dir) {
        file_abandon(state->arena, record_path(state, record->generation));
        if (record->journal) {
            journal_unlink(state->dir, record->journal);
        }
        rmdir(state->dir);      /* Stays unless it is empty. */
    }
}

/* The last one, as far as it is known. */
static const struct plan_record *
last_record(const struct state *s)
{
    return s->current ? s->current : s->distrusted;
}

struct plan_record *
state_record(const struct state *state, const struct plan_record *order)
{
    struct plan_record *record = arena_zalloc(state->arena, sizeof *record);
    const struct plan_record *last = last_record(state);
    bool same = last && plan_same(last->plan, order->plan);

    *record = *order;
    record->generation = state_last(state) + !same;
    record->bridge = state->bridge;
    record->time = plan_record_time(state->arena, time_wall());
    record->held = record->journal = NULL;
    record->edited = false;
    return record;
}

bool
state_is_of_other(const struct state *state, const char *node)
{
    const struct plan_record *last = last_record(state);

    return last && last->plan->flows.n && strcmp(last->plan->node, node);
}

const char *
state_other_reason(const struct state *state, const char *node)
{
    return arena_printf(state->arena, "bridge %s has the plan of node '%s', "
                        "and this one is of node '%s'; name the right one, or "
                        "if the node has another name now, 'bulkhead clear "
                        "--bridge %s' first", state->bridge,
                        last_record(state)->plan->node, node, state->bridge);
}

/* Loads the generation, which is kept; 'chosen' if the operator named it. */
static const char *
load_chosen(struct state *state, uint64_t generation, bool chosen,
            const char *node, struct plan_record *record)
{
    const char *reason = NULL;

    if (state->current && state->current->generation == generation) {
        *record = *state->current;
    } else {
        reason = load(state, generation, 0, record);
    }
    if (!reason && node && record->plan->node[0]
        && strcmp(record->plan->node, node)) {
        return arena_printf(state->arena, "generation %"PRIu64" of %s is of "
                            "node %s, not %s; name that node, or another one "
                            "with --to",
                            generation, state->what, record->plan->node,
                            node);
    }
    return (reason && !chosen
            ? arena_printf(state->arena, "%s; %s", reason, state->kept.n > 2
                           ? "name another one with --to" : "no other one is "
                           "kept: apply the intent that was applied before")
            : reason);
}

const char *
state_choose(struct state *state, uint64_t to, const char *node,
             struct plan_record *record)
{
    const char *list = "", *what;

    for (size_t i = 0; i < state->kept.n; i++) {
        uint64_t generation = state->kept.v[i];

        if (to ? generation == to : i == 1) {
            return load_chosen(state, generation, to != 0, node, record);
        }
        list = arena_printf(state->arena, "%s %"PRIu64, list, generation);
    }
    what = to ? arena_printf(state->arena, "generation %"PRIu64, to)
           : "earlier generation";
    return arena_printf(state->arena, "%s: there is no %s to go back to; kept "
                        "are:%s", state->what, what,
                        list[0] ? list : " none");
}
