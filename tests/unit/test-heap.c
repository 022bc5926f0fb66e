/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "unit.h"
#include "util.h"

enum {
    MUCH = 200 << 20,           /* Less than is set aside. */
    TAKEN = 16 << 20,
    HUGE_PAGE = 2 << 20,
    PATIENCE = 200,             /* Times 50 ms. */
};

/* What this process has in pages of 2 MB, in bytes. */
static size_t
huge_pages(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    unsigned long kb = 0;
    char line[256];

    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "AnonHugePages: %lu kB", &kb) == 1) {
            break;
        }
    }
    if (f) {
        fclose(f);
    }
    return kb * 1024;
}

/* Returns false if malloc() is another one's, such as AddressSanitizer's. */
static bool
expect_much(void)
{
    char *before;

    malloc_trim(0);
    before = sbrk(0);
    heap_expect_much();
    if (!mallinfo2().arena) {
        return false;
    }
    ck_assert_int_gt((char *) sbrk(0) - before, MUCH);
    return true;
}

START_TEST(what_is_set_aside_stays)
{
    if (expect_much()) {
        char *end = sbrk(0);

        for (size_t size = 16; size < TAKEN; size *= 2) {
            char *volatile p = xmalloc(size);

            free(p);
            ck_assert_ptr_eq(sbrk(0), end);
        }
    }
}
END_TEST

/* Every huge page is written to while another process shares it. */
START_TEST(divided_pages_become_whole)
{
    size_t before, divided;
    char *p, *volatile kept;
    int fds[2], i;
    pid_t pid;

    if (!expect_much()) {
        return;
    }
    kept = p = xmalloc(TAKEN);
    memset(p, 1, TAKEN);
    before = huge_pages();
    ck_assert_int_eq(pipe(fds), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        char c;

        close(fds[1]);
        _exit(read(fds[0], &c, 1));
    }
    for (size_t at = 0; at < TAKEN; at += HUGE_PAGE / 2) {
        kept[at] = 2;
    }
    close(fds[1]);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    divided = huge_pages();
    /* Else the kernel gives none, or makes none whole. */
    if (divided < before
        && !(madvise((void *) ROUND_UP((uintptr_t) p, HUGE_PAGE), HUGE_PAGE,
                     25 /* MADV_COLLAPSE */) && errno == EINVAL)) {
        heap_make_whole();
        for (i = 0; i < PATIENCE && huge_pages() < before; i++) {
            nanosleep(&(struct timespec) { .tv_nsec = 50000000 }, NULL);
        }
        ck_assert_int_lt(i, PATIENCE);
    }
    close(fds[0]);
    free(p);
}
END_TEST

Suite *
heap_suite(void)
{
    Suite *suite = suite_create("heap");
    TCase *tc = unit_case(suite, "pages");

    tcase_add_test(tc, what_is_set_aside_stays);
    tcase_add_test(tc, divided_pages_become_whole);
    return suite;
}
