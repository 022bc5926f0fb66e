/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_TOP_TABLE_H
#define CLI_TOP_TABLE_H 1

/* A table that shows whole numbers or none: where a terminal is too narrow,
 * columns are left out, and long names are cut short and end with "+". */

#include "cli/watch.h"

enum { TOP_COLUMNS = 11 };      /* At most. */

/* The weight of a column: those of less are left out first. */
enum {
    TOP_KEPT = 100,             /* Only after names have become short. */
    TOP_NAME = 1000,            /* It is of names, and stays. */
};

struct top_column {
    const char *heading;
    size_t width;               /* It is wider if it must. */
    int weight;
};

struct top_row {
    const char *cells[TOP_COLUMNS];
};

struct top_table {
    const struct top_column *columns;
    size_t n_columns;
    VEC(struct top_row) rows;
};

/* Adds a row; tabs stand between its cells. */
void top_table_add(struct top_table *, struct arena *, const char *format,
                   ...) OVS_PRINTF_FORMAT(3, 4);

/* Makes lines of it, the first of which are the headings; 'width' is that of
 * the terminal, or 0. */
void top_table_print(const struct top_table *, struct arena *, size_t width,
                     watch_lines *);

#endif /* cli/top-table.h */
