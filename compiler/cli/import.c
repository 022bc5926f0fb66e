/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "cli/report.h"
#include "import/import.h"
#include "intent/intent.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sema/policy.h"

/* The same with a line for each member. */
static const char *
break_lines(const char *text, struct arena *arena)
{
    struct json *json = json_from_string(text);
    char *lines = json_to_string(json, JSSF_PRETTY | JSSF_SORT);
    const char *copy = arena_printf(arena, "%s\n", lines);

    free(lines);
    json_destroy(json);
    return copy;
}

/* Lays out the text of an intent.  If it is wrong, prints why, by the lines of
 * what it puts in 'out', which is for people to mend. */
static bool
lay_out(const char *text, struct arena *arena, struct ds *out)
{
    const char *lines = break_lines(text, arena);
    const struct source *source = source_create(arena, "standard output",
                                                lines, strlen(lines));
    const struct intent *intent;
    struct diags diags;

    diags_init(&diags, arena);
    intent = intent_parse(source, arena, &diags);
    if (intent && policy_resolve(intent, arena, &diags)) {
        intent_print(intent, out);
        return true;
    }
    report_diags(&diags);
    ds_put_cstr(out, lines);
    return false;
}

/* Of a database's server, how to get a file. */
static const char *
how_to_dump(const char *name, struct arena *arena)
{
    if (strncmp(name, "unix:", 5) && strncmp(name, "tcp:", 4)
        && strncmp(name, "ssl:", 4)) {
        return "";
    }
    return arena_printf(arena, "\nwrite a file by 'ovsdb-client -f json dump "
                        "%s OVN_Northbound >nb.json', and import that", name);
}

/* Reads the files; prints what is wrong. */
static const struct source **
read_files(const struct cli_options *options, struct arena *arena)
{
    size_t n = options->n_intent - 1;
    const struct source **sources = arena_zalloc(arena, n * sizeof *sources);

    for (size_t i = 0; i < n; i++) {
        const char *name = options->intent[i + 1];
        const char *reason = source_read(arena, name, &sources[i]);

        if (reason) {
            cli_print_error(arena_printf(arena, "cannot read %s: %s%s", name,
                                         reason, how_to_dump(name, arena)));
            return NULL;
        }
    }
    return sources;
}

static int
import(const struct cli_options *options, struct arena *arena)
{
    const struct source **sources = read_files(options, arena);
    struct ds out = DS_EMPTY_INITIALIZER;
    const char *text = NULL;
    struct diags diags;
    bool right;

    if (!sources) {
        return EXIT_WRONG;
    }
    diags_init(&diags, arena);
    text = (!strcmp(options->intent[0], "ovn")
            ? import_ovn(sources, options->n_intent - 1, arena, &diags)
            : import_k8s(sources, options->n_intent - 1,
                         (options->tenant_per
                          && !strcmp(options->tenant_per, "namespace")),
                         arena, &diags));
    report_diags(&diags);
    right = text && lay_out(text, arena, &out);
    fputs(ds_cstr(&out), stdout);
    ds_destroy(&out);
    return right ? EXIT_DONE : EXIT_WRONG;
}

int
cmd_import(const struct cli_options *options)
{
    struct arena *arena;
    int status;

    bool ovn = options->n_intent && !strcmp(options->intent[0], "ovn");

    if ((!ovn && (!options->n_intent || strcmp(options->intent[0], "k8s")))
        || options->n_intent < 2) {
        fputs("bulkhead: 'import' takes k8s or ovn, and files: the objects "
              "that kubectl has printed, or the tables that ovsdb-client has; "
              "'bulkhead --help' shows the usage\n", stderr);
        return EXIT_USAGE;
    }
    if (ovn && options->tenant_per) {
        fputs("bulkhead: '--tenant-per' is for 'import k8s'\n", stderr);
        return EXIT_USAGE;
    }
    arena = arena_create();
    status = import(options, arena);
    arena_destroy(arena);
    return status;
}
