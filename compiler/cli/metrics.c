/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/watch.h"
#include "openvswitch/dynamic-string.h"
#include "telemetry/follow.h"
#include "telemetry/serve.h"
#include "telemetry/tally.h"
#include "util.h"

enum { POLL_MS = 100 };         /* For bursts, which the switch forgets. */

struct exporter {
    struct watch_names names;
    struct follower *follower;
    struct tally tally;
    char *trouble;              /* Why there is no telemetry, or NULL. */
};

/* Says why there is no telemetry, or with NULL that there is, if that is
 * news. */
static void
note_trouble(struct exporter *e, const char *reason)
{
    if (nullable_string_is_equal(reason, e->trouble)) {
        return;
    }
    cli_print_error(reason ? reason : "telemetry can be read again");
    free(e->trouble);
    e->trouble = nullable_xstrdup(reason);
}

/* Looks for bursts.  Returns false if there is no telemetry now. */
static bool
take_sample(struct exporter *e, struct arena *arena, struct sample *s)
{
    const char *reason = follower_sample(e->follower, arena, s);

    if (!reason) {
        watch_names_refresh(&e->names, s);
        tally_add_sample(&e->tally, s);
        reason = watch_orphaned(s, arena);
    }
    note_trouble(e, reason);
    return !reason;
}

static void
put_page(void *e_, enum metrics_form form, struct ds *ds)
{
    struct arena *arena = arena_create();
    struct exporter *e = e_;
    struct sample s;
    bool up = take_sample(e, arena, &s);

    metrics_format(form, up ? &s : NULL, &e->tally, e->names.names, ds);
    arena_destroy(arena);
}

static void
print_page(struct exporter *e)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_page(e, METRICS_TEXT, &ds);
    fputs(ds_cstr(&ds), stdout);
    ds_destroy(&ds);
}

static int
serve(const struct cli_options *options, struct exporter *e)
{
    struct arena *arena = arena_create();
    struct metrics_server *server;
    const char *reason = metrics_server_open(options->listen, put_page, e,
                                             arena, &server);

    if (reason) {
        cli_print_error(reason);
        arena_destroy(arena);
        return EXIT_UNREACHABLE;
    }
    puts(metrics_server_url(server));
    fflush(stdout);
    watch_catch_signals();
    while (!watch_is_stopped()) {
        struct arena *temporary = arena_create();
        struct sample s;

        take_sample(e, temporary, &s);
        arena_destroy(temporary);
        metrics_server_run(server, POLL_MS);
    }
    metrics_server_close(server);
    arena_destroy(arena);
    return EXIT_DONE;
}

int
cmd_metrics(const struct cli_options *options)
{
    int status = watch_check(options, "metrics");
    struct exporter e = { .trouble = NULL };

    if (status == EXIT_DONE && options->listen
        && !metrics_listen_is_valid(options->listen)) {
        fprintf(stderr, "bulkhead: --listen takes [ADDRESS:]PORT, an address "
                "and no name, IPv6 in brackets, not '%s'\n", options->listen);
        status = EXIT_USAGE;
    }
    if (status != EXIT_DONE) {
        return status;
    }
    status = watch_names_init(&e.names, options);
    if (status == EXIT_DONE) {
        e.follower = watch_follower(options);
        tally_init(&e.tally);
        if (options->once) {
            print_page(&e);
        } else {
            status = serve(options, &e);
        }
        tally_destroy(&e.tally);
        follower_destroy(e.follower);
        free(e.trouble);
    }
    watch_names_destroy(&e.names);
    return status;
}
