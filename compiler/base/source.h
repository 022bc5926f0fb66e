/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_SOURCE_H
#define BASE_SOURCE_H 1

/* Source texts and places in them.
 *
 * A place is a pair of byte offsets into one text.  Lines and columns are
 * worked out only when a diagnostic is printed, from a line table built once
 * a text. */

#include <stddef.h>

#include "base/arena.h"

struct source {
    const char *name;           /* File name, as the user gave it. */
    const char *text;           /* 'len' bytes and a null terminator. */
    size_t len;
    const size_t *lines;        /* Offset of the start of each line. */
    size_t n_lines;             /* At least 1. */
};

/* A span of bytes in a text.  'source' is NULL for "nowhere". */
struct span {
    const struct source *source;
    size_t start, end;          /* start <= end <= source->len. */
};

struct source_pos {
    size_t line, column;        /* From 1.  Columns count characters. */
};

/* Makes a source of 'len' bytes of 'text', which must outlive it. */
const struct source *source_create(struct arena *, const char *name,
                                   const char *text, size_t len);

/* Reads a regular file of up to SOURCE_MAX_SIZE bytes.  On success stores the
 * source and returns NULL, otherwise returns a reason (in 'arena') that
 * does not repeat the name. */
#define SOURCE_MAX_SIZE (64 * 1024 * 1024)
const char *source_read(struct arena *, const char *file_name,
                        const struct source **);

/* The column takes time proportional to the length of the line. */
struct source_pos source_pos(const struct source *, size_t offset);
size_t source_line_number(const struct source *, size_t offset);

/* The text of line 'line' (from 1), without its newline. */
const char *source_line(const struct source *, size_t line, size_t *len);

/* Decodes the character at 's', which has 'len' > 0 bytes, and stores its size
 * in bytes.  A byte that begins no well-formed UTF-8 (RFC 3629) is a
 * character by itself, of value -1. */
int decode_character(const char *s, size_t len, size_t *size);

/* Characters, not bytes, in 'len' bytes. */
size_t count_characters(const char *, size_t len);

#endif /* base/source.h */
