/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "push/push.h"

enum { LOOK_MS = 200 };

static int
confirm(const struct push_target *target, struct arena *arena)
{
    struct push_diff diff;
    const char *reason = push_confirm(target, arena, &diff);

    cli_print_warnings(target->bridge, &diff);
    if (reason) {
        cli_print_error(reason);
        return EXIT_UNREACHABLE;
    }
    printf("%s: generation %"PRIu64" is confirmed\n", target->bridge,
           diff.generation);
    return EXIT_DONE;
}

int
cmd_confirm(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    struct push_target target = cli_target(options, arena);
    int status = confirm(&target, arena);

    arena_destroy(arena);
    return status;
}

/* Has Enter been pressed?  Waits a while for it; stores whether it can still
 * come. */
static bool
read_enter(bool *open)
{
    struct pollfd pollfd = { .fd = *open ? STDIN_FILENO : -1,
                             .events = POLLIN };
    char c;

    if (poll(&pollfd, 1, LOOK_MS) <= 0) {
        return false;
    } else if (read(STDIN_FILENO, &c, 1) != 1) {
        *open = false;
        return false;
    }
    return c == '\n';
}

/* Nothing waits any more: was it confirmed from elsewhere?  What is kept is
 * read again: it may have been read just before something came back. */
static int
tell_end(const struct push_target *target, uint64_t generation,
         struct arena *arena)
{
    struct push_diff diff;

    push_look(target, arena, &diff);
    if (diff.generation == generation) {
        printf("%s: generation %"PRIu64" is confirmed\n", target->bridge,
               generation);
        return EXIT_DONE;
    }
    fprintf(stderr, "bulkhead: bridge %s: generation %"PRIu64" was not "
            "confirmed; generation %"PRIu64" is what was there before\n",
            target->bridge, generation, diff.generation);
    return EXIT_UNREACHABLE;
}

int
cli_await(const struct push_target *target, uint64_t generation)
{
    struct arena *arena = arena_create();
    struct push_diff diff;
    bool open = isatty(STDIN_FILENO);
    int status = EXIT_DONE;

    if (open) {
        fflush(stdout);
        fputs("bulkhead: press Enter to confirm it\n", stderr);
        do {
            struct arena *look = arena_create();

            push_look(target, look, &diff);
            arena_destroy(look);        /* Only numbers are used of it. */
        } while (diff.guard.generation == generation && !read_enter(&open));
        status = (diff.guard.generation == generation
                  ? confirm(target, arena)
                  : tell_end(target, generation, arena));
    }
    arena_destroy(arena);
    return status;
}
