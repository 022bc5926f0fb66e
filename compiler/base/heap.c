/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/heap.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"

enum {
    HEAP_EXPECTED = 256 << 20,
    HUGE_PAGE = 2 << 20,
    OWN_MAPPING = 32 << 20,     /* What is larger gets one, as by default what
                                 * is larger than HEAP_FIRST. */
    HEAP_FIRST = 128 << 10,     /* No heap begins larger. */
    SMALLEST_PAGE = 4096,
    MAX_HEAPS = 4,              /* As many as threads parse a plan. */
};

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25        /* Since Linux 6.1; older ones refuse it. */
#endif

/* What is in pages of 2 MB. */
static struct {
    char *start;
    size_t size;
    atomic_flag busy;           /* Does a thread make them whole? */
} heap = { .busy = ATOMIC_FLAG_INIT };

/* Does the administrator let processes have such pages?  MADV_COLLAPSE makes
 * them all the same. */
static bool
may_be_huge(void)
{
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    char line[64];
    bool may = f && fgets(line, sizeof line, f) && !strstr(line, "[never]");

    if (f) {
        fclose(f);
    }
    return may;
}

void
heap_expect_much(void)
{
    void *volatile first;       /* Else the compiler leaves malloc() out. */
    char *end;

    heap.start = (char *) ROUND_UP((uintptr_t) sbrk(0), HUGE_PAGE);
    /* Others, of threads, grow page by page, but where they share one they
     * wait for each other. */
    mallopt(M_ARENA_MAX, MAX_HEAPS);
    mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
    /* Above all that is free at first, or the first free() gives it back. */
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP_EXPECTED);
    mallopt(M_TOP_PAD, HEAP_EXPECTED);
    first = malloc(2 * HEAP_FIRST);     /* Makes the heap grow. */
    free(first);
    mallopt(M_TOP_PAD, HUGE_PAGE);
    end = sbrk(0);
    if (end > heap.start && may_be_huge()) {
        heap.size = ROUND_DOWN((size_t) (end - heap.start), HUGE_PAGE);
        madvise(heap.start, heap.size, MADV_HUGEPAGE);
    }
}

/* How much of it the heap has come to. */
static size_t
used(void)
{
    static unsigned char there[HUGE_PAGE / SMALLEST_PAGE];
    size_t n = 0;

    while (n < heap.size && !mincore(heap.start + n, HUGE_PAGE, there)
           && memchr(there, 1, sizeof there)) {
        n += HUGE_PAGE;
    }
    return n;
}

static void *
make_whole(void *aux OVS_UNUSED)
{
    madvise(heap.start, used(), MADV_COLLAPSE);
    atomic_flag_clear(&heap.busy);
    return NULL;
}

void
heap_make_whole(void)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;

    if (!heap.size || atomic_flag_test_and_set(&heap.busy)) {
        return;
    }
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attr, make_whole, NULL)) {
        atomic_flag_clear(&heap.busy);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}
