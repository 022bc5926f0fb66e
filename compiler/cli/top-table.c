/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "cli/top-table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "util.h"

/* How a column comes out. */
struct layout {
    size_t widths[TOP_COLUMNS];         /* 0: it is left out. */
    size_t needed[TOP_COLUMNS];         /* To cut nothing short. */
};

void
top_table_add(struct top_table *t, struct arena *arena, const char *format,
              ...)
{
    struct top_row *row = vec_push(arena, &t->rows);
    char *text, *cell;
    va_list args;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    cell = arena_strdup(arena, text);
    free(text);
    for (size_t i = 0; i < t->n_columns; i++) {
        row->cells[i] = strsep(&cell, "\t");
    }
}

/* How much wider than the terminal is it? */
static size_t
excess(const struct top_table *t, const struct layout *l, size_t width)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_columns; i++) {
        n += l->widths[i] ? l->widths[i] + (n > 0) : 0;
    }
    return n - MIN(n, width);
}

/* Leaves out numbers until it fits, those of the least weight first, but none
 * of 'limit' or more. */
static void
drop_numbers(const struct top_table *t, struct layout *l, size_t width,
             int limit)
{
    while (excess(t, l, width)) {
        size_t least = t->n_columns;

        for (size_t i = 0; i < t->n_columns; i++) {
            if (l->widths[i] && t->columns[i].weight < limit
                && (least == t->n_columns
                    || t->columns[i].weight < t->columns[least].weight)) {
                least = i;
            }
        }
        if (least == t->n_columns) {
            break;
        }
        l->widths[least] = 0;
    }
}

/* Makes the columns of names no wider than usual... */
static void
limit_names(const struct top_table *t, struct layout *l, size_t width)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        if (l->widths[i] > t->columns[i].width
            && t->columns[i].weight == TOP_NAME) {
            l->widths[i] -= MIN(excess(t, l, width),
                                l->widths[i] - t->columns[i].width);
        }
    }
}

/* ...or as narrow as they must be, the widest first. */
static void
shorten_names(const struct top_table *t, struct layout *l, size_t width)
{
    enum { LEAST = 4 };

    while (excess(t, l, width)) {
        size_t widest = t->n_columns;

        for (size_t i = 0; i < t->n_columns; i++) {
            if (t->columns[i].weight == TOP_NAME) {
                l->widths[i] = MIN(l->widths[i], l->needed[i]);
                if (l->widths[i] > LEAST
                    && (widest == t->n_columns
                        || l->widths[i] > l->widths[widest])) {
                    widest = i;
                }
            }
        }
        if (widest == t->n_columns || !excess(t, l, width)) {
            break;
        }
        l->widths[widest]--;
    }
}

static void
lay_out(const struct top_table *t, size_t width, struct layout *l)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        l->needed[i] = strlen(t->columns[i].heading);
        for (size_t j = 0; j < t->rows.n; j++) {
            size_t n = strlen(t->rows.v[j].cells[i]);

            l->needed[i] = MAX(l->needed[i], n);
        }
        l->widths[i] = MAX(l->needed[i], t->columns[i].width);
    }
    if (width) {
        limit_names(t, l, width);
        drop_numbers(t, l, width, TOP_KEPT);
        shorten_names(t, l, width);
        drop_numbers(t, l, width, TOP_NAME);
    }
}

static void
print_line(const struct top_table *t, const struct layout *l,
           const char *const cells[], struct arena *arena, watch_lines *lines)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < t->n_columns; i++) {
        bool name = t->columns[i].weight == TOP_NAME;
        int width = l->widths[i];

        if (!width) {
            continue;
        }
        ds_put_format(&ds, "%s%*s", ds.length ? " " : "",
                      name ? -width : width, cells[i]);
        if (strlen(cells[i]) > l->widths[i]) {
            ds_truncate(&ds, ds.length - strlen(cells[i]) + width - 1);
            ds_put_char(&ds, '+');
        }
    }
    *vec_push(arena, lines) = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
}

void
top_table_print(const struct top_table *t, struct arena *arena, size_t width,
                watch_lines *lines)
{
    const char *headings[TOP_COLUMNS];
    struct layout l;

    for (size_t i = 0; i < t->n_columns; i++) {
        headings[i] = t->columns[i].heading;
    }
    lay_out(t, width, &l);
    print_line(t, &l, headings, arena, lines);
    for (size_t i = 0; i < t->rows.n; i++) {
        print_line(t, &l, t->rows.v[i].cells, arena, lines);
    }
}
