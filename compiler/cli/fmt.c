/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "cli/report.h"
#include "intent/files.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"

/* Does with 'text', which is 'source' laid out, what the options say. */
static int
deliver(const struct cli_options *options, const struct source *source,
        const struct ds *text, struct arena *arena)
{
    bool same = (text->length == source->len
                 && !memcmp(text->string, source->text, source->len));
    const char *reason = NULL;

    if (options->check) {
        if (!same) {
            puts(source->name);
        }
        return same ? EXIT_DONE : EXIT_WRONG;
    } else if (!options->write) {
        fputs(text->string, stdout);
    } else if (!same) {
        reason = file_rewrite(arena, source->name, text->string,
                              text->length);
    }
    if (reason) {
        cli_print_error(reason);
    }
    return reason ? EXIT_WRONG : EXIT_DONE;
}

static int
format_file(const struct cli_options *options, const struct source *source)
{
    struct arena *arena = arena_create();
    struct ds text = DS_EMPTY_INITIALIZER;
    const struct intent *intent;
    int status = EXIT_WRONG;
    struct diags diags;

    diags_init(&diags, arena);
    intent = intent_parse_part(source, arena, &diags);
    report_diags(&diags);
    if (intent) {
        intent_print(intent, &text);
        status = deliver(options, source, &text, arena);
    }
    ds_destroy(&text);
    arena_destroy(arena);
    return status;
}

int
cmd_fmt(const struct cli_options *options)
{
    struct arena *arena = arena_create();
    intent_files files = VEC_INIT;
    int status = EXIT_DONE;
    struct diags diags;

    diags_init(&diags, arena);
    if (!intent_read(options->intent, options->n_intent, arena, &diags,
                     &files)) {
        report_diags(&diags);
        status = EXIT_WRONG;
        files.n = 0;
    }
    for (size_t i = 0; i < files.n; i++) {
        if (format_file(options, files.v[i].source)) {
            status = EXIT_WRONG;
        }
    }
    arena_destroy(arena);
    return status;
}
