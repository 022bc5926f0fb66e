/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/source.h"
#include "unit.h"

static const struct source *
make(struct arena *arena, const char *text)
{
    return source_create(arena, "f", text, strlen(text));
}

static void
assert_pos(const struct source *source, size_t offset, size_t line,
           size_t column)
{
    struct source_pos pos = source_pos(source, offset);

    ck_assert_uint_eq(pos.line, line);
    ck_assert_uint_eq(pos.column, column);
}

static void
assert_line(const struct source *source, size_t line, const char *text)
{
    size_t len;
    const char *s = source_line(source, line, &len);

    ck_assert_uint_eq(len, strlen(text));
    ck_assert_mem_eq(s, text, len);
}

START_TEST(test_positions)
{
    struct arena *arena = arena_create();
    const struct source *source = make(arena, "ab\n\ncde\n");

    ck_assert_uint_eq(source->n_lines, 4);
    assert_pos(source, 0, 1, 1);
    assert_pos(source, 2, 1, 3);        /* The newline itself. */
    assert_pos(source, 3, 2, 1);
    assert_pos(source, 4, 3, 1);
    assert_pos(source, 6, 3, 3);
    assert_pos(source, 8, 4, 1);        /* The end. */
    assert_line(source, 1, "ab");
    assert_line(source, 2, "");
    assert_line(source, 3, "cde");
    assert_line(source, 4, "");
    arena_destroy(arena);
}
END_TEST

START_TEST(test_columns_count_characters)
{
    struct arena *arena = arena_create();
    /* u-umlaut is 2 bytes, the euro sign 3, a face 4. */
    const struct source *source = make(arena,
        "\xc3\xbc" "\xe2\x82\xac" "\xf0\x9f\x98\x80" "x");

    assert_pos(source, 0, 1, 1);
    assert_pos(source, 2, 1, 2);
    assert_pos(source, 5, 1, 3);
    assert_pos(source, 9, 1, 4);
    ck_assert_uint_eq(count_characters(source->text, source->len), 4);
    arena_destroy(arena);
}
END_TEST

START_TEST(test_last_line_without_newline)
{
    struct arena *arena = arena_create();
    const struct source *source = make(arena, "ab\ncd");

    ck_assert_uint_eq(source->n_lines, 2);
    assert_line(source, 2, "cd");
    assert_pos(source, 5, 2, 3);
    arena_destroy(arena);
}
END_TEST

START_TEST(test_empty)
{
    struct arena *arena = arena_create();
    const struct source *source = make(arena, "");

    ck_assert_uint_eq(source->n_lines, 1);
    assert_line(source, 1, "");
    assert_pos(source, 0, 1, 1);
    arena_destroy(arena);
}
END_TEST

START_TEST(test_many_lines)
{
    struct arena *arena = arena_create();
    char text[3000];

    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = i % 3 == 2 ? '\n' : 'x';
    }

    const struct source *source = source_create(arena, "f", text,
                                                sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        assert_pos(source, i, i / 3 + 1, i % 3 + 1);
    }
    arena_destroy(arena);
}
END_TEST

/* A folder of the test's own, "/tmp/...". */
static char folder[64];

static void
make_folder(void)
{
    strcpy(folder, "/tmp/bulkhead-unit.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
remove_folder(void)
{
    char path[100];

    snprintf(path, sizeof path, "%s/it", folder);
    unlink(path);
    rmdir(folder);
}

static const char *
read_it(struct arena *arena, const struct source **source)
{
    return source_read(arena, arena_printf(arena, "%s/it", folder), source);
}

START_TEST(test_read)
{
    struct arena *arena = arena_create();
    const struct source *source;
    FILE *file = fopen(arena_printf(arena, "%s/it", folder), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("a\nb\0c", 1, 5, file), 5);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_ptr_null(read_it(arena, &source));
    ck_assert_uint_eq(source->len, 5);
    ck_assert_mem_eq(source->text, "a\nb\0c\0", 6);
    ck_assert_str_eq(source->name, arena_printf(arena, "%s/it", folder));
    arena_destroy(arena);
}
END_TEST

START_TEST(test_read_refuses)
{
    struct arena *arena = arena_create();
    const struct source *source;
    const char *path = arena_printf(arena, "%s/it", folder);

    ck_assert_str_eq(read_it(arena, &source), "No such file or directory");
    ck_assert_ptr_null(source);
    ck_assert_ptr_nonnull(strstr(source_read(arena, folder, &source),
                                 "irectory"));

    /* Nobody writes to it: a blocking open() would hang, until the test
     * times out. */
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_str_eq(read_it(arena, &source), "Not a regular file");
    unlink(path);

    ck_assert_str_eq(source_read(arena, "/dev/zero", &source),
                     "Not a regular file");

    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ftruncate(fileno(file), SOURCE_MAX_SIZE + 1L), 0);
    fclose(file);
    ck_assert_str_eq(read_it(arena, &source), "Larger than 64 MiB");
    arena_destroy(arena);
}
END_TEST

Suite *
source_suite(void)
{
    Suite *suite = suite_create("source");
    TCase *tc = unit_case(suite, "positions");

    tcase_add_test(tc, test_positions);
    tcase_add_test(tc, test_columns_count_characters);
    tcase_add_test(tc, test_last_line_without_newline);
    tcase_add_test(tc, test_empty);
    tcase_add_test(tc, test_many_lines);
    tc = unit_case(suite, "read");
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, test_read);
    tcase_add_test(tc, test_read_refuses);
    return suite;
}
