/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/bursts.h"
#include "cli/watch.h"
#include "telemetry/follow.h"
#include "telemetry/names.h"
#include "telemetry/record.h"
#include "util.h"

enum { POLL_MS = 10 };          /* While recording. */
enum { DEFAULT_INTERVAL = 10 }; /* Seconds between counters, then. */
#define NS_PER_S UINT64_C(1000000000)

/* Bursts that began before are not listed, if it is 'now'. */
static uint64_t
since_ns(const struct cli_options *options, uint64_t now)
{
    uint64_t ns = options->since * NS_PER_S;

    return ns ? now - MIN(ns, now) : 0;
}

/* Prints those that are selected. */
static void
print_sample(const struct cli_options *options,
             const struct tenant_names *names, const struct sample *s)
{
    uint64_t since = since_ns(options, s->time_ns);

    for (size_t i = 0; i < s->bursts.n; i++) {
        const struct burst *b = &s->bursts.v[i];

        if (b->start_ns >= since && watch_selects_burst(options, names, b)) {
            bursts_print(options, names, b);
        }
    }
    for (size_t i = 0; i < s->missed.n; i++) {
        if (watch_selects_port(options, s->missed.v[i].port)) {
            bursts_print_missed(&s->missed.v[i]);
        }
    }
}

static void
print_doubts(const struct watch_names *w, const struct sample *s,
             struct arena *arena)
{
    watch_lines lines = VEC_INIT;

    watch_doubts(w, s, arena, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        fprintf(stderr, "bulkhead: warning: %s\n", lines.v[i]);
    }
}

/* Once. */
static int
list(const struct cli_options *options, struct watch_names *w,
     struct arena *arena)
{
    struct follower *f = watch_follower(options);
    struct sample s;
    const char *reason = follower_sample(f, arena, &s);

    if (reason) {
        cli_print_error(reason);
    } else {
        bursts_begin(options);
        print_sample(options, w->names, &s);
        bursts_end(options);
        watch_warn_unknown(options, w->names, &s);
        print_doubts(w, &s, arena);
    }
    follower_destroy(f);
    return reason ? EXIT_UNREACHABLE : EXIT_DONE;
}

/* What is recorded, until a signal comes. */
struct recording {
    const struct cli_options *options;
    struct watch_names *names;
    struct follower *follower;
    struct recorder *recorder;
    uint64_t next_ns;           /* When counters are due. */
    uint64_t n_bursts, n_missed;
    bool away;                  /* Nothing new comes now. */
};

/* Says why nothing new comes, or with NULL that it does, if that is new. */
static void
note_away(struct recording *r, const char *reason)
{
    if (reason && !r->away) {
        cli_print_error(reason);
        fputs("bulkhead: waiting for it\n", stderr);
    } else if (!reason && r->away) {
        fputs("bulkhead: it is there again\n", stderr);
    }
    r->away = reason;
}

/* Takes a sample and records it.  Returns NULL, or why it could not be
 * written. */
static const char *
record_sample(struct recording *r, struct arena *arena)
{
    struct sample s;
    const char *reason = follower_sample(r->follower, arena, &s);

    note_away(r, reason ? reason : watch_orphaned(&s, arena));
    if (reason) {
        return NULL;
    }
    watch_names_refresh(r->names, &s);
    reason = recorder_put_bursts(r->recorder, arena, &s, r->names->names);
    if (reason) {
        return reason;
    }
    r->n_bursts += s.bursts.n;
    for (size_t i = 0; i < s.missed.n; i++) {
        r->n_missed += s.missed.v[i].n;
    }
    print_sample(r->options, r->names->names, &s);
    if (s.clock_ns >= r->next_ns) {
        int interval = r->options->interval;

        r->next_ns = s.clock_ns + NS_PER_S * (interval ? interval
                                              : DEFAULT_INTERVAL);
        reason = recorder_put_sample(r->recorder, arena, &s,
                                     r->names->names);
    }
    return reason;
}

static int
record_until_stopped(struct recording *r)
{
    const char *file = r->options->record;
    int status = EXIT_DONE;

    bursts_begin(r->options);
    while (!cli_flush() && !watch_is_stopped() && status == EXIT_DONE) {
        struct arena *arena = arena_create();
        const char *reason = record_sample(r, arena);

        if (reason) {
            cli_print_error(reason);
            status = EXIT_WRONG;
        }
        arena_destroy(arena);
        watch_sleep_ms(status == EXIT_DONE ? POLL_MS : 0);
    }
    bursts_end(r->options);
    fprintf(stderr, "bulkhead: %"PRIu64" bursts are in %s%s\n", r->n_bursts,
            file, r->n_missed ? "; others were missed" : "");
    return status;
}

/* Is there telemetry?  If not, nobody waits for it overnight. */
static const char *
check_telemetry(const struct watch_names *w, struct arena *arena)
{
    struct follower *f = watch_follower(w->options);
    struct sample s;
    const char *reason = follower_sample(f, arena, &s);

    if (!reason) {
        watch_warn_unknown(w->options, w->names, &s);
        print_doubts(w, &s, arena);
    }
    follower_destroy(f);
    return reason;
}

static int
record(const struct cli_options *options, struct watch_names *w,
       struct arena *arena)
{
    struct recording r = { .options = options, .names = w };
    const char *reason = check_telemetry(w, arena);
    int status;

    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    r.follower = watch_follower(options);
    reason = recorder_open(options->record, arena, &r.recorder);
    if (reason) {
        cli_print_error(reason);
        status = EXIT_WRONG;
    } else {
        watch_catch_signals();
        status = record_until_stopped(&r);
    }
    recorder_close(r.recorder);
    follower_destroy(r.follower);
    return status;
}

/* Returns false after printing what is wrong. */
static bool
replay_items(const struct cli_options *options, struct replay *replay,
             uint64_t since, struct tenant_names *names)
{
    struct replay_item item;
    bool ok;

    do {
        struct arena *arena = arena_create();
        const char *reason = replay_next(replay, arena, names, &item);

        ok = !reason;
        if (reason) {
            cli_print_error(reason);
        } else if (item.kind == REPLAY_BURST && item.burst.start_ns >= since
                   && watch_selects_burst(options, names, &item.burst)) {
            bursts_print(options, names, &item.burst);
        } else if (item.kind == REPLAY_MISSED
                   && watch_selects_port(options, item.missed.port)) {
            bursts_print_missed(&item.missed);
        }
        arena_destroy(arena);
    } while (ok && item.kind != REPLAY_END);
    return ok;
}

static int
replay(const struct cli_options *options, struct arena *arena)
{
    struct tenant_names *names = tenant_names_create();
    struct replay *recording;
    const char *reason = replay_open(options->replay, arena, &recording);
    int status = EXIT_DONE;

    if (reason) {
        cli_print_error(reason);
        status = EXIT_WRONG;
    } else {
        uint64_t end = options->since ? replay_find_end(options->replay) : 0;

        bursts_begin(options);
        if (!replay_items(options, recording, since_ns(options, end),
                          names)) {
            status = EXIT_WRONG;
        } else if (replay_was_cut(recording)) {
            fprintf(stderr, "bulkhead: warning: %s ends within a line, which "
                    "is left out: recording was cut off there\n",
                    options->replay);
        }
        bursts_end(options);
    }
    replay_close(recording);
    tenant_names_destroy(names);
    return status;
}

int
cmd_bursts(const struct cli_options *options)
{
    int status = watch_check(options, "bursts");
    struct watch_names names;
    struct arena *arena;

    if (status == EXIT_DONE && options->replay && options->record) {
        fputs("bulkhead: --record and --replay exclude each other\n", stderr);
        status = EXIT_USAGE;
    }
    if (status != EXIT_DONE) {
        return status;
    }
    arena = arena_create();
    if (options->replay) {
        status = replay(options, arena);
    } else {
        status = watch_names_init(&names, options);
        if (status == EXIT_DONE) {
            status = (options->record ? record(options, &names, arena)
                      : list(options, &names, arena));
        }
        watch_names_destroy(&names);
    }
    arena_destroy(arena);
    return status;
}
