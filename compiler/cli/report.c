/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "cli/show.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

static struct json *held;       /* An array; NULL: text is wanted. */

void
report_as_json(void)
{
    held = json_array_create_empty();
}

/* Does whoever reads standard error see colours?  See no-color.org. */
static bool
wants_colour(void)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    return (isatty(STDERR_FILENO) && term && strcmp(term, "dumb")
            && !(no_color && *no_color));
}

/* Adds a text, in which a byte that is no UTF-8, as in names of files, becomes
 * U+FFFD. */
static void
put_utf8(struct json *object, const char *key, const char *s)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    size_t len = s ? strlen(s) : 0;

    for (size_t i = 0, size; i < len; i += size) {
        if (decode_character(s + i, len - i, &size) < 0) {
            ds_put_cstr(&ds, "\xef\xbf\xbd");
        } else {
            ds_put_buffer(&ds, s + i, size);
        }
    }
    show_put(object, key, s ? ds_cstr(&ds) : NULL);
    ds_destroy(&ds);
}

static void
put_line_and_column(struct json *object, const struct source_pos *pos)
{
    show_put_number(object, "line", pos->line);
    show_put_number(object, "column", pos->column);
}

static struct json *
span_to_json(const struct span *span, const char *message)
{
    struct json *object = json_object_create();

    put_utf8(object, "message", message);
    put_utf8(object, "file", span->source ? span->source->name : NULL);
    if (span->source) {
        struct source_pos start = source_pos(span->source, span->start);
        struct source_pos end = source_pos(span->source,
                                           MAX(span->start, span->end));
        struct json *json = json_object_create();

        put_line_and_column(object, &start);
        put_line_and_column(json, &end);
        json_object_put(object, "end", json);
    } else {
        show_put(object, "line", NULL);
        show_put(object, "column", NULL);
        show_put(object, "end", NULL);
    }
    return object;
}

static void
hold(const char *severity, const struct diag *d)
{
    struct json *object = span_to_json(&d->span, d->cause);
    struct json *notes = json_array_create_empty();

    show_put(object, "severity", severity);
    put_utf8(object, "pointer", d->pointer);
    put_utf8(object, "remedy", d->remedy);
    for (size_t i = 0; i < d->n_notes; i++) {
        json_array_add(notes, span_to_json(&d->notes[i].span,
                                           d->notes[i].text));
    }
    json_object_put(object, "notes", notes);
    json_array_add(held, object);
}

/* What is of no place. */
static void
hold_note(const char *text)
{
    struct diag d;

    memset(&d, 0, sizeof d);
    d.cause = text;
    hold("note", &d);
}

void
report_diags(struct diags *diags)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    diags_sort(diags);
    if (!held) {
        diags->colour = wants_colour();
        diags_format(diags, &ds);
        fputs(ds_cstr(&ds), stderr);
        ds_destroy(&ds);
        return;
    }
    for (size_t i = 0; i < diags->list.n; i++) {
        const struct diag *d = &diags->list.v[i];

        hold(d->severity == DIAG_ERROR ? "error" : "warning", d);
    }
    diags_format_rest(diags, &ds);
    for (char *save = NULL, *line = strtok_r(ds_cstr(&ds), "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        hold_note(line);
    }
    ds_destroy(&ds);
}

void
report_names(const char *label, const char *const *names, unsigned int n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    unsigned int shown = held ? n : MIN(n, DIAG_MAX);

    if (n) {
        ds_put_format(&ds, "%s:", label);
        for (unsigned int i = 0; i < shown; i++) {
            ds_put_format(&ds, " %s", names[i]);
        }
        if (shown < n) {
            ds_put_format(&ds, " ... and %u more", n - shown);
        }
        if (held) {
            hold_note(ds_cstr(&ds));
        } else {
            fprintf(stderr, "%s\n", ds_cstr(&ds));
        }
    }
    ds_destroy(&ds);
}

void
report_end(void)
{
    if (held) {
        show_json(held);
        held = NULL;
    }
}
