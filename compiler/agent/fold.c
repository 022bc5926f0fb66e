/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "push/journal.h"
#include "push/push.h"
#include "util.h"

/* What the program is called then, in the place of its own name, and in the
 * list of processes. */
#define FOLD_NAME "bulkheadd: keeps what has changed"

enum { PARENT = 1, STATE, BRIDGE, JOURNAL, SIZE, NEXT, N_ARGUMENTS };

int
fold_start(struct worker *w, const struct push_target *target,
           const struct journal *journal, const struct journal *next,
           long long int time_ms)
{
    char *parent = xasprintf("%d", (int) getpid());
    char *bytes = xasprintf("%"PRIuSIZE, journal_size(journal));
    char *const argv[N_ARGUMENTS + 1] = {
        CONST_CAST(char *, FOLD_NAME), [PARENT] = parent,
        [STATE] = CONST_CAST(char *, target->state),
        [BRIDGE] = CONST_CAST(char *, target->bridge),
        [JOURNAL] = CONST_CAST(char *, journal_name(journal)),
        [SIZE] = bytes, [NEXT] = CONST_CAST(char *, journal_name(next)),
    };
    int error = worker_spawn(w, argv, time_ms);

    free(parent);
    free(bytes);
    return error;
}

bool
fold_is_asked(int argc, char *argv[])
{
    return argc == N_ARGUMENTS && !strcmp(argv[0], FOLD_NAME);
}

int
fold_run(char *argv[])
{
    struct push_target target = {
        .state = argv[STATE], .bridge = argv[BRIDGE],
    };
    struct arena *arena = arena_create();
    const char *reason;

    worker_begin(atoi(argv[PARENT]));
    reason = push_fold(&target, argv[JOURNAL],
                       strtoull(argv[SIZE], NULL, 10), argv[NEXT], arena);
    if (reason) {
        fputs(reason, stdout);
    }
    arena_destroy(arena);
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
