/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Longest stretch of a source line that is shown, in characters. */
enum { SHOWN_WIDTH = 100 };

void
diags_init(struct diags *diags, struct arena *arena)
{
    memset(diags, 0, sizeof *diags);
    diags->arena = arena;
    diags->max = DIAG_MAX;
}

/* Moves 's + n' to the start of a UTF-8 character. */
static size_t
utf8_floor(const char *s, size_t n)
{
    while (n && (s[n] & 0xc0) == 0x80) {
        n--;
    }
    return n;
}

/* A text that holds what an intent has chosen, in reasonable length: names
 * that are right are much shorter. */
static const char *
make_text(struct arena *arena, const char *format, va_list args)
{
    char *s = arena_vprintf(arena, format, args);

    return (strlen(s) <= DIAG_MAX_TEXT ? s
            : arena_printf(arena, "%.*s...",
                           (int) utf8_floor(s, DIAG_MAX_TEXT), s));
}

static size_t *
counter(struct diags *diags, enum diag_severity severity)
{
    return (severity == DIAG_ERROR ? &diags->n_errors
            : &diags->n_warnings);
}

bool
diags_are_full(const struct diags *diags, enum diag_severity severity)
{
    return (severity == DIAG_ERROR ? diags->n_errors : diags->n_warnings)
           >= diags->max;
}

struct diag *
diag_count(struct diags *diags, enum diag_severity severity)
{
    if (!diags_are_full(diags, severity)) {
        return NULL;
    }
    (*counter(diags, severity))++;
    return &diags->beyond;
}

struct diag *
diag_add(struct diags *diags, enum diag_severity severity, struct span span,
         const char *pointer, const char *cause, va_list args)
{
    struct diag *d = diag_count(diags, severity);

    if (d) {
        return d;
    }
    (*counter(diags, severity))++;
    d = vec_push(diags->arena, &diags->list);
    d->severity = severity;
    d->span = span;
    d->pointer = (pointer && strlen(pointer) <= DIAG_MAX_TEXT
                  ? arena_strdup(diags->arena, pointer) : NULL);
    d->cause = make_text(diags->arena, cause, args);
    return d;
}

struct diag *
diag_error(struct diags *diags, struct span span, const char *pointer,
           const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = diag_add(diags, DIAG_ERROR, span, pointer, cause, args);
    va_end(args);
    return d;
}

struct diag *
diag_warning(struct diags *diags, struct span span, const char *pointer,
             const char *cause, ...)
{
    va_list args;

    va_start(args, cause);
    struct diag *d = diag_add(diags, DIAG_WARNING, span, pointer, cause,
                              args);
    va_end(args);
    return d;
}

void
diags_append(struct diags *diags, const struct diags *from)
{
    size_t n_errors = diags->n_errors, n_warnings = diags->n_warnings;

    diags->n_errors += from->n_errors;
    diags->n_warnings += from->n_warnings;
    for (size_t i = 0; i < from->list.n; i++) {
        const struct diag *d = &from->list.v[i];

        if ((d->severity == DIAG_ERROR ? n_errors++ : n_warnings++)
            < diags->max) {
            *vec_push(diags->arena, &diags->list) = *d;
        }
    }
    if (from->unchecked) {
        diags->unchecked = from->unchecked;
    }
}

void
diag_remedy(struct diags *diags, struct diag *d, const char *format, ...)
{
    va_list args;

    if (d != &diags->beyond) {
        va_start(args, format);
        d->remedy = make_text(diags->arena, format, args);
        va_end(args);
    }
}

void
diag_see(struct diags *diags, struct diag *d, struct span span,
         const char *format, ...)
{
    va_list args;

    if (d != &diags->beyond && d->n_notes < DIAG_MAX_NOTES) {
        struct diag_note *note = &d->notes[d->n_notes++];

        va_start(args, format);
        note->span = span;
        note->text = make_text(diags->arena, format, args);
        va_end(args);
    }
}

/* Is 'c' a character that a terminal would obey, or that would make a text
 * look like another one (UAX #9's marks of direction)? */
static bool
is_harmful(int c)
{
    return (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x61c
            || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e)
            || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff);
}

/* Appends 'len' bytes that an intent may have chosen, made harmless: as many
 * characters as they have. */
static void
put_text(struct ds *ds, const char *s, size_t len)
{
    for (size_t i = 0, size; i < len; i += size) {
        int c = decode_character(s + i, len - i, &size);

        if (c == '\t' || c == '\r') {
            ds_put_char(ds, ' ');
        } else if (is_harmful(c)) {
            ds_put_char(ds, '?');
        } else {
            ds_put_buffer(ds, s + i, size);
        }
    }
}

static void
put_line(struct ds *ds, const char *s)
{
    put_text(ds, s, strlen(s));
    ds_put_char(ds, '\n');
}

void
diag_put_snippet(struct ds *ds, const struct span *span, char mark)
{
    struct source_pos pos = source_pos(span->source, span->start);
    size_t len;
    const char *line = source_line(span->source, pos.line, &len);
    size_t at = span->start - (line - span->source->text);
    size_t end = MIN(len, at + MAX(1, span->end - span->start));
    size_t from = at > SHOWN_WIDTH / 2 ? utf8_floor(line, at - 40) : 0;
    size_t to = len;

    if (to - from > SHOWN_WIDTH) {
        to = utf8_floor(line, from + SHOWN_WIDTH);
    }
    ds_put_cstr(ds, from ? "    ..." : "    ");
    put_text(ds, line + from, to - from);
    ds_put_cstr(ds, to < len ? "...\n" : "\n");

    ds_put_cstr(ds, from ? "       " : "    ");
    ds_put_char_multiple(ds, ' ', count_characters(line + from, at - from));
    end = MIN(end, to);
    ds_put_char_multiple(ds, mark,
                         end > at ? count_characters(line + at, end - at) : 1);
    ds_put_char(ds, '\n');
}

void
diag_put_place(struct ds *ds, const struct span *span)
{
    if (span->source) {
        struct source_pos pos = source_pos(span->source, span->start);

        put_text(ds, span->source->name, strlen(span->source->name));
        ds_put_format(ds, ":%"PRIuSIZE":%"PRIuSIZE, pos.line, pos.column);
    }
}

/* Appends 's' between a terminal's colours on and off (ECMA-48 SGR). */
static void
put_coloured(struct ds *ds, const char *s, const char *colour)
{
    if (colour) {
        ds_put_format(ds, "\33[%sm%s\33[0m", colour, s);
    } else {
        ds_put_cstr(ds, s);
    }
}

/* Appends a message about the place, if there is one, and the text there. */
static void
put_message(struct ds *ds, const struct span *span, const char *label,
            const char *text, char mark, const char *colour)
{
    struct ds snippet = DS_EMPTY_INITIALIZER;

    diag_put_place(ds, span);
    if (span->source) {
        ds_put_cstr(ds, ": ");
    }
    put_coloured(ds, label, colour);
    ds_put_cstr(ds, ": ");
    put_line(ds, text);
    if (span->source) {
        char *marks;

        diag_put_snippet(&snippet, span, mark);
        ds_chomp(&snippet, '\n');
        marks = strrchr(ds_cstr(&snippet), '\n') + 1;
        ds_put_buffer(ds, snippet.string, marks - snippet.string);
        put_coloured(ds, marks, colour);
        ds_put_char(ds, '\n');
    }
    ds_destroy(&snippet);
}

static void
diag_format(struct ds *ds, const struct diag *d, bool coloured)
{
    bool error = d->severity == DIAG_ERROR;

    put_message(ds, &d->span, error ? "error" : "warning", d->cause, '^',
                !coloured ? NULL : error ? "1;31" : "1;35");
    if (d->pointer && d->pointer[0]) {
        ds_put_cstr(ds, "  at ");
        put_line(ds, d->pointer);
    }
    if (d->remedy) {
        ds_put_cstr(ds, "  remedy: ");
        put_line(ds, d->remedy);
    }
    for (size_t i = 0; i < d->n_notes; i++) {
        put_message(ds, &d->notes[i].span, "note", d->notes[i].text, '~',
                    coloured ? "1;36" : NULL);
    }
}

/* Is 'a' in front of 'b'? */
static bool
is_before(const struct span *a, const struct span *b)
{
    int order = (a->source == b->source ? 0
                 : strcmp(a->source ? a->source->name : "",
                          b->source ? b->source->name : ""));

    return order ? order < 0 : a->start < b->start;
}

void
diags_sort(struct diags *diags)
{
    struct diag *v = diags->list.v;

    /* There are few, and those of one place keep their order. */
    for (size_t i = 1; i < diags->list.n; i++) {
        struct diag d = v[i];
        size_t j = i;

        for (; j > 0 && is_before(&d.span, &v[j - 1].span); j--) {
            v[j] = v[j - 1];
        }
        v[j] = d;
    }
}

void
diags_format(struct diags *diags, struct ds *ds)
{
    diags_sort(diags);
    for (size_t i = 0; i < diags->list.n; i++) {
        diag_format(ds, &diags->list.v[i], diags->colour);
    }
    diags_format_rest(diags, ds);
}

void
diags_format_rest(const struct diags *diags, struct ds *ds)
{
    size_t n_more = diags->n_errors + diags->n_warnings - diags->list.n;

    if (n_more) {
        ds_put_format(ds, "... and %"PRIuSIZE" more\n", n_more);
    }
    if (diags->unchecked) {
        ds_put_format(ds, "%s are checked when these errors are mended\n",
                      diags->unchecked);
    }
}
