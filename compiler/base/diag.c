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
}

struct diag *
diag_add(struct diags *diags, enum diag_severity severity, struct span span,
         const char *pointer, const char *cause, va_list args)
{
    size_t *count = (severity == DIAG_ERROR ? &diags->n_errors
                     : &diags->n_warnings);
    struct diag *d = (*count < DIAG_MAX
                      ? vec_push(diags->arena, &diags->list)
                      : arena_zalloc(diags->arena, sizeof *d));

    (*count)++;
    d->severity = severity;
    d->span = span;
    d->pointer = pointer;
    d->cause = arena_vprintf(diags->arena, cause, args);
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
diag_remedy(struct diags *diags, struct diag *d, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    d->remedy = arena_vprintf(diags->arena, format, args);
    va_end(args);
}

void
diag_see(struct diags *diags, struct diag *d, struct span span,
         const char *format, ...)
{
    va_list args;

    if (d->n_notes < DIAG_MAX_NOTES) {
        struct diag_note *note = &d->notes[d->n_notes++];

        va_start(args, format);
        note->span = span;
        note->text = arena_vprintf(diags->arena, format, args);
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

/* Moves 's + n' to the start of a UTF-8 character. */
static size_t
utf8_floor(const char *s, size_t n)
{
    while (n && (s[n] & 0xc0) == 0x80) {
        n--;
    }
    return n;
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

/* Begins a message about the place, if there is one. */
static void
put_prefix(struct ds *ds, const struct span *span)
{
    diag_put_place(ds, span);
    if (span->source) {
        ds_put_cstr(ds, ": ");
    }
}

static void
diag_format(struct ds *ds, const struct diag *d)
{
    put_prefix(ds, &d->span);
    ds_put_cstr(ds, d->severity == DIAG_ERROR ? "error: " : "warning: ");
    put_line(ds, d->cause);
    if (d->span.source) {
        diag_put_snippet(ds, &d->span, '^');
    }
    if (d->pointer && d->pointer[0]) {
        ds_put_cstr(ds, "  at ");
        put_line(ds, d->pointer);
    }
    if (d->remedy) {
        ds_put_cstr(ds, "  remedy: ");
        put_line(ds, d->remedy);
    }
    for (size_t i = 0; i < d->n_notes; i++) {
        const struct diag_note *note = &d->notes[i];

        put_prefix(ds, &note->span);
        ds_put_cstr(ds, "note: ");
        put_line(ds, note->text);
        if (note->span.source) {
            diag_put_snippet(ds, &note->span, '~');
        }
    }
}

static int
compare_places(const void *a_, const void *b_)
{
    const struct diag *const *ap = a_;
    const struct diag *const *bp = b_;
    const struct span *a = &(*ap)->span;
    const struct span *b = &(*bp)->span;

    if (a->source != b->source) {
        int order = strcmp(a->source ? a->source->name : "",
                           b->source ? b->source->name : "");

        if (order) {
            return order;
        }
    }
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    /* Keep the order in which they were found. */
    return *ap < *bp ? -1 : *ap > *bp;
}

void
diags_format(const struct diags *diags, struct ds *ds)
{
    size_t n = diags->list.n;
    size_t n_all = diags->n_errors + diags->n_warnings;
    const struct diag **sorted = xmalloc(MAX(1, n) * sizeof *sorted);

    for (size_t i = 0; i < n; i++) {
        sorted[i] = &diags->list.v[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_places);
    for (size_t i = 0; i < n; i++) {
        diag_format(ds, sorted[i]);
    }
    free(sorted);

    if (n_all > n) {
        ds_put_format(ds, "... and %"PRIuSIZE" more\n", n_all - n);
    }
    if (diags->unchecked) {
        ds_put_format(ds, "%s are checked when these errors are mended\n",
                      diags->unchecked);
    }
}
