/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "openvswitch/dynamic-string.h"
#include "telemetry/follow.h"
#include "telemetry/json.h"
#include "telemetry/names.h"
#include "telemetry/record.h"
#include "util.h"

static void
note_last_burst(struct top *top, const struct burst *b)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    char time[64], depth[WATCH_TEXT], length[WATCH_TEXT];

    time_to_text(b->start_ns, time);
    ds_put_format(&ds, "%.26sZ %s %s in %s:", time, b->port,
                  watch_bytes(b->event.peak_depth, depth),
                  watch_ns(b->event.length_ns, length));
    for (unsigned int i = 0; i < b->n_shares; i++) {
        const struct tq_share *share = &b->event.shares[i];
        char buffer[32];

        ds_put_format(&ds, "%s %s %.0f%%%s", i ? "," : "",
                      tenant_names_text(top->names.names, share->tag, buffer),
                      100.0 * share->bytes / MAX(b->event.peak_depth, 1),
                      tq_is_culprit(&b->event, share) ? "" : " waited");
    }
    free(top->last_burst);
    top->last_burst = ds_steal_cstr(&ds);
}

static void
set_trouble(struct top *top, const char *reason)
{
    free(top->trouble);
    top->trouble = reason ? xstrdup(reason) : NULL;
}

/* Reads a recording up to the next sample. */
static const char *
read_replay(struct top *top, struct arena *arena, struct sample *s)
{
    for (;;) {
        struct replay_item item;
        const char *reason = replay_next(top->replay, arena,
                                         top->names.names, &item);

        if (reason || item.kind == REPLAY_END) {
            top->ended = !reason;
            return reason ? reason : "the recording ends here";
        } else if (item.kind == REPLAY_BURST) {
            tally_add(&top->tally, &item.burst);
            note_last_burst(top, &item.burst);
        } else if (item.kind == REPLAY_MISSED) {
            top->tally.n_missed += item.missed.n;
        } else {
            *s = item.sample;
            return NULL;
        }
    }
}

/* Takes the bursts of a sample of the switch. */
static void
take_bursts(struct top *top, const struct sample *s)
{
    watch_names_refresh(&top->names, s);
    tally_add_sample(&top->tally, s);
    if (s->bursts.n) {
        note_last_burst(top, &s->bursts.v[s->bursts.n - 1]);
    }
}

void
top_look(struct top *top)
{
    struct arena *arena;
    struct sample s;

    if (top->follower) {
        arena = arena_create();
        if (!follower_sample(top->follower, arena, &s)) {
            take_bursts(top, &s);
        }
        arena_destroy(arena);
    }
}

void
top_step(struct top *top)
{
    struct arena *arena = arena_create();
    struct sample s;
    const char *reason = (top->replay ? read_replay(top, arena, &s)
                          : follower_sample(top->follower, arena, &s));

    set_trouble(top, reason);
    if (reason) {
        arena_destroy(arena);
        return;
    }
    if (top->follower) {
        take_bursts(top, &s);
    }
    arena_destroy(top->arenas[0]);
    top->arenas[0] = top->arenas[1];
    top->samples[0] = top->samples[1];
    top->arenas[1] = arena;
    top->samples[1] = s;
    if (!top->arenas[0]) {      /* Nothing to compare with yet. */
        top->samples[0] = s;
    }
}

static void
print_lines(const watch_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        puts(lines->v[i]);
    }
}

static void
print(const struct top *top)
{
    struct arena *arena = arena_create();
    watch_lines lines = VEC_INIT;

    top_summary(top, arena, &lines);
    if (!top->trouble || top->ended) {
        top_ports(top, arena, 0, &lines);
        *vec_push(arena, &lines) = "";
        top_tenants(top, arena, 0, &lines);
    }
    print_lines(&lines);
    arena_destroy(arena);
}

/* Looks for bursts until 'ms' are over, or a signal comes. */
static void
look_for(struct top *top, unsigned int ms)
{
    for (; ms > TOP_TICK_MS && !watch_is_stopped(); ms -= TOP_TICK_MS) {
        watch_sleep_ms(TOP_TICK_MS);
        top_look(top);
    }
    watch_sleep_ms(ms);
}

/* Prints what is there every interval, or once: then, of a recording, what was
 * there last. */
static int
print_all(struct top *top, unsigned int interval_ms)
{
    bool once = top->options->once;

    watch_catch_signals();
    do {
        if (top->follower) {
            look_for(top, interval_ms);
        }
        if (watch_is_stopped()) {
            break;
        }
        top_step(top);
        if (top->trouble && !top->ended && (once || top->replay)) {
            cli_print_error(top->trouble);
            return top->replay ? EXIT_WRONG : EXIT_UNREACHABLE;
        }
        if (once ? top->follower || top->ended : !top->ended) {
            print(top);
            puts(once ? "" : "----");
        }
    } while (!cli_flush() && !top->ended && !(once && top->follower));
    return EXIT_DONE;
}

static int
run(struct top *top)
{
    int interval = top->options->interval ? top->options->interval : 1;

    top_step(top);
    if (top->trouble && top->ended) {
        cli_print_error("the recording has no samples of counters");
        return EXIT_WRONG;
    } else if (top->trouble) {
        cli_print_error(top->trouble);
        return top->replay ? EXIT_WRONG : EXIT_UNREACHABLE;
    } else if (!top->options->once && isatty(STDIN_FILENO)
               && isatty(STDOUT_FILENO)
               && top_screen(top, interval * 1000)) {
        return EXIT_DONE;
    }
    watch_warn_unknown(top->options, top->names.names, &top->samples[1]);
    return print_all(top, interval * 1000);
}

static int
open_source(struct top *top, struct arena *arena)
{
    const char *file = top->options->replay;
    const char *reason = NULL;

    if (file) {
        watch_names_init_empty(&top->names, top->options);
        reason = replay_open(file, arena, &top->replay);
        if (reason) {
            cli_print_error(reason);
        }
        return reason ? EXIT_WRONG : EXIT_DONE;
    }
    top->follower = watch_follower(top->options);
    return watch_names_init(&top->names, top->options);
}

int
cmd_top(const struct cli_options *options)
{
    struct top top = { .options = options };
    int status = watch_check(options, "top");
    struct arena *arena;

    if (status != EXIT_DONE) {
        return status;
    }
    arena = arena_create();
    tally_init(&top.tally);
    status = open_source(&top, arena);
    if (status == EXIT_DONE) {
        status = run(&top);
    }
    tally_destroy(&top.tally);
    watch_names_destroy(&top.names);
    follower_destroy(top.follower);
    replay_close(top.replay);
    arena_destroy(top.arenas[0]);
    arena_destroy(top.arenas[1]);
    arena_destroy(arena);
    free(top.last_burst);
    free(top.trouble);
    return status;
}
