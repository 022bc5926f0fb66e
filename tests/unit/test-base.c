/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <fcntl.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/partition.h"
#include "base/vec.h"
#include "unit.h"
#include "util.h"

static void
assert_zeroed(const char *p, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ck_assert_int_eq(p[i], 0);
    }
}

START_TEST(test_arena_alignment_and_zero)
{
    struct arena *arena = arena_create();

    /* Sizes around the block size, so that blocks are begun in all ways. */
    for (size_t size = 0; size < 70000; size += size < 100 ? 1 : 4099) {
        char *p = arena_zalloc(arena, size);

        ck_assert_uint_eq((uintptr_t) p % alignof(max_align_t), 0);
        assert_zeroed(p, size);
        memset(p, 0xff, size);
    }
    arena_destroy(arena);
    arena_destroy(NULL);
}
END_TEST

START_TEST(test_arena_objects_are_apart)
{
    enum { N = 2000 };
    struct arena *arena = arena_create();
    unsigned char *p[N];

    for (int i = 0; i < N; i++) {
        size_t size = 1 + i % 97;

        p[i] = arena_zalloc(arena, size);
        memset(p[i], i % 251, size);
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 1 + i % 97; j++) {
            ck_assert_uint_eq(p[i][j], i % 251);
        }
    }
    arena_destroy(arena);
}
END_TEST

START_TEST(test_arena_large_blocks)
{
    struct arena *arena = arena_create();
    char *small = arena_zalloc(arena, 16);
    char *large = arena_zalloc(arena, 8 * 1024 * 1024);
    char *next = arena_zalloc(arena, 16);

    memset(large, 0x55, 8 * 1024 * 1024);
    assert_zeroed(small, 16);
    assert_zeroed(next, 16);
    /* A large object does not end the block that was being filled. */
    ck_assert_ptr_eq(next, small + 16);

    large = arena_zalloc(arena, 64 * 1024);
    memset(large, 0x55, 64 * 1024);
    assert_zeroed(arena_zalloc(arena, 16), 16);
    arena_destroy(arena);
}
END_TEST

START_TEST(test_arena_strings)
{
    struct arena *arena = arena_create();
    char long_text[5000];

    ck_assert_str_eq(arena_strdup(arena, "word"), "word");
    ck_assert_str_eq(arena_strndup(arena, "word", 2), "wo");
    ck_assert_str_eq(arena_strndup(arena, "word", 0), "");
    ck_assert_str_eq(arena_printf(arena, "%s-%d", "n", 7), "n-7");
    ck_assert_str_eq(arena_printf(arena, "%s", ""), "");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    ck_assert_str_eq(arena_printf(arena, "%s", long_text), long_text);
    arena_destroy(arena);
}
END_TEST

START_TEST(test_vec_growth)
{
    struct arena *arena = arena_create();
    VEC(uint64_t) vec = VEC_INIT;

    for (size_t i = 0; i < 10000; i++) {
        uint64_t *p = vec_push(arena, &vec);

        ck_assert_uint_eq(*p, 0);
        *p = i * i;
        ck_assert_uint_eq(vec.n, i + 1);
        ck_assert_uint_ge(vec.allocated, vec.n);
    }
    for (size_t i = 0; i < vec.n; i++) {
        ck_assert_uint_eq(vec.v[i], i * i);
    }
    /* Doubling: no more than twice what is needed. */
    ck_assert_uint_le(vec.allocated, 2 * vec.n);
    arena_destroy(arena);
}
END_TEST

static const char *
nearest_of(const char *word, const char *const candidates[])
{
    struct nearest nearest = nearest_init(word);

    for (; *candidates; candidates++) {
        nearest_try(&nearest, *candidates);
    }
    return nearest.best ? nearest.best : "(none)";
}

START_TEST(test_nearest)
{
    static const char *const members[] = {
        "version", "fabric", "classes", "services", "tenants", NULL,
    };
    static const char *const short_ones[] = { "to", "from", NULL };
    static const char long_word[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    ck_assert_str_eq(nearest_of("tennants", members), "tenants");
    ck_assert_str_eq(nearest_of("tenant", members), "tenants");
    ck_assert_str_eq(nearest_of("verison", members), "version");
    ck_assert_str_eq(nearest_of("Fabric", members), "fabric");
    ck_assert_str_eq(nearest_of("clases", members), "classes");
    ck_assert_str_eq(nearest_of("FABRIC", members), "fabric");
    ck_assert_str_eq(nearest_of("ten", members), "tenants");
    ck_assert_str_eq(nearest_of("fr", short_ones), "(none)");
    ck_assert_str_eq(nearest_of("uplinks", members), "(none)");
    ck_assert_str_eq(nearest_of("form", short_ones), "from");
    ck_assert_str_eq(nearest_of("via", short_ones), "(none)");
    ck_assert_str_eq(nearest_of("tp", short_ones), "to");
    ck_assert_str_eq(nearest_of("ot", short_ones), "to");
    ck_assert_str_eq(nearest_of(long_word, members), "(none)");
    /* The nearest wins, not the first. */
    ck_assert_str_eq(nearest_of("abcdefg",
                                (const char *const[]) {
                                    "abcdeXX", "abcdefX", NULL }),
                     "abcdefX");
}
END_TEST

/* Begins each test in a folder of its own. */
static struct arena *
enter_folder(char dir[])
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert(!chdir(dir));
    return arena_create();
}

static void
leave_folder(struct arena *arena, const char *dir)
{
    const char *command = arena_printf(arena, "rm -r '%s'", dir);

    ck_assert(!chdir("/") && !system(command));
    arena_destroy(arena);
}

/* Has the file, or what it leads to, the text? */
static void
holds(const char *path, const char *text)
{
    char buffer[16];
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, buffer, sizeof buffer);

    ck_assert_int_eq(n, strlen(text));
    ck_assert(!memcmp(buffer, text, n) && !close(fd));
}

static mode_t
kind_of(const char *path)
{
    struct stat s;

    ck_assert(!lstat(path, &s));
    return s.st_mode & S_IFMT;
}

START_TEST(test_output_keeps_links)
{
    char dir[] = "/tmp/test-base.XXXXXX";
    struct arena *arena = enter_folder(dir);

    ck_assert_ptr_null(file_output(arena, "file", "old", 3, 0666));
    ck_assert(!symlink("file", "link") && !symlink("none", "dangling"));
    ck_assert_ptr_null(file_output(arena, "link", "new", 3, 0666));
    ck_assert_int_eq(kind_of("link"), S_IFLNK);
    ck_assert_int_eq(kind_of("file"), S_IFREG);
    holds("file", "new");
    ck_assert_ptr_null(file_output(arena, "dangling", "x", 1, 0666));
    ck_assert_int_eq(kind_of("dangling"), S_IFLNK);
    holds("none", "x");
    leave_folder(arena, dir);
}
END_TEST

START_TEST(test_output_writes_through)
{
    char dir[] = "/tmp/test-base.XXXXXX";
    struct arena *arena = enter_folder(dir);
    const char *reason;
    char byte;
    int fd;

    ck_assert(!mkfifo("fifo", 0600));
    fd = open("fifo", O_RDONLY | O_NONBLOCK);
    ck_assert_ptr_null(file_output(arena, "fifo", "x", 1, 0666));
    ck_assert_int_eq(read(fd, &byte, 1), 1);
    ck_assert_int_eq(kind_of("fifo"), S_IFIFO);
    close(fd);
    /* A copy of /dev/full, where nodes may be made and opened. */
    if (!mknod("full", S_IFCHR | 0600, makedev(1, 7))) {
        fd = open("full", O_WRONLY);
        reason = file_output(arena, "full", "x", 1, 0666);
        ck_assert_ptr_nonnull(reason);
        ck_assert_int_eq(kind_of("full"), S_IFCHR);
        ck_assert(fd < 0 || strstr(reason, "No space left"));
        close(fd);
    }
    leave_folder(arena, dir);
}
END_TEST

/* None is no part: there is room for one a thing. */
START_TEST(test_partition)
{
    static const size_t set[] = { 1, 2 };
    struct partition p;
    struct arena *arena = arena_create();

    partition_init(&p, 3, arena);
    for (int i = 0; i < 100; i++) {
        partition_add(&p, 0, 0);
    }
    partition_add(&p, 0, 3);
    ck_assert_uint_eq(p.n, 1);
    partition_refine(&p, set, ARRAY_SIZE(set));
    ck_assert_uint_eq(p.n, 2);
    ck_assert_uint_ne(p.part[0], p.part[1]);
    ck_assert_uint_eq(p.part[1], p.part[2]);
    partition_refine(&p, set, ARRAY_SIZE(set));
    ck_assert_uint_eq(p.n, 2);
    arena_destroy(arena);
}
END_TEST

Suite *
base_suite(void)
{
    Suite *suite = suite_create("base");
    TCase *tc = unit_case(suite, "arena");

    tcase_add_test(tc, test_arena_alignment_and_zero);
    tcase_add_test(tc, test_arena_objects_are_apart);
    tcase_add_test(tc, test_arena_large_blocks);
    tcase_add_test(tc, test_arena_strings);
    tc = unit_case(suite, "vec");
    tcase_add_test(tc, test_vec_growth);
    tc = unit_case(suite, "nearest");
    tcase_add_test(tc, test_nearest);
    tc = unit_case(suite, "partition");
    tcase_add_test(tc, test_partition);
    tc = unit_case(suite, "output");
    tcase_add_test(tc, test_output_keeps_links);
    tcase_add_test(tc, test_output_writes_through);
    return suite;
}
