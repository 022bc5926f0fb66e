/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "util.h"

const struct source *
source_create(struct arena *arena, const char *name, const char *text,
              size_t len)
{
    struct source *source = arena_zalloc(arena, sizeof *source);
    VEC(size_t) lines = VEC_INIT;

    *vec_push(arena, &lines) = 0;
    for (const char *p = text; (p = memchr(p, '\n', text + len - p)); ) {
        *vec_push(arena, &lines) = ++p - text;
    }

    source->name = arena_strdup(arena, name);
    source->text = text;
    source->len = len;
    source->lines = lines.v;
    source->n_lines = lines.n;
    return source;
}

/* Reads all of 'fd', of which 'size' bytes are expected. */
static const char *
read_all(struct arena *arena, int fd, size_t size, char **textp, size_t *lenp)
{
    char *text = arena_zalloc(arena, size + 1);
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, text + len, size - len);

        if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0) {
            return arena_strdup(arena, ovs_strerror(errno));
        } else if (!n) {
            break;
        }
        len += n;
    }
    *textp = text;
    *lenp = len;
    return NULL;
}

const char *
source_read(struct arena *arena, const char *file_name,
            const struct source **sourcep)
{
    /* O_NONBLOCK so that a FIFO without a writer cannot hang us. */
    int fd = open(file_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *error;
    struct stat s;
    char *text = NULL;
    size_t len = 0;

    *sourcep = NULL;
    if (fd < 0) {
        return arena_strdup(arena, ovs_strerror(errno));
    }

    if (fstat(fd, &s)) {
        error = arena_strdup(arena, ovs_strerror(errno));
    } else if (!S_ISREG(s.st_mode)) {
        error = (S_ISDIR(s.st_mode) ? "Is a directory, not a file"
                 : "Not a regular file");
    } else if (s.st_size > SOURCE_MAX_SIZE) {
        error = arena_printf(arena, "Larger than %d MiB",
                             SOURCE_MAX_SIZE / 1024 / 1024);
    } else {
        error = read_all(arena, fd, s.st_size, &text, &len);
    }
    close(fd);

    if (!error) {
        *sourcep = source_create(arena, file_name, text, len);
    }
    return error;
}

/* Index of the line that holds 'offset'. */
static size_t
line_index(const struct source *source, size_t offset)
{
    size_t low = 0, high = source->n_lines;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (source->lines[mid] <= offset) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

size_t
source_line_number(const struct source *source, size_t offset)
{
    return line_index(source, offset) + 1;
}

struct source_pos
source_pos(const struct source *source, size_t offset)
{
    size_t i = line_index(source, offset);
    size_t start = source->lines[i];

    return (struct source_pos) {
        .line = i + 1,
        .column = 1 + count_characters(source->text + start, offset - start),
    };
}

const char *
source_line(const struct source *source, size_t line, size_t *len)
{
    size_t start = source->lines[line - 1];
    const char *text = source->text + start;
    const char *end = memchr(text, '\n', source->len - start);

    *len = end ? end - text : source->len - start;
    return text;
}

int
decode_character(const char *s_, size_t len, size_t *size)
{
    static const int minimum[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = (const unsigned char *) s_;
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    int c = n == 1 ? s[0] : s[0] & (0x7f >> n);

    *size = 1;
    if ((s[0] >= 0x80 && s[0] < 0xc0) || s[0] >= 0xf8 || n > len) {
        return -1;
    }
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return -1;
        }
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < minimum[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        return -1;
    }
    *size = n;
    return c;
}

size_t
count_characters(const char *s, size_t len)
{
    size_t n = 0;

    for (size_t i = 0, size; i < len; i += size) {
        decode_character(s + i, len - i, &size);
        n++;
    }
    return n;
}
