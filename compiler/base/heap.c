/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"

enum {
    HEAP_EXPECTED = 256 << 20,
    HUGE_PAGE = 2 << 20,
    OWN_MAPPING = 32 << 20,     /* What is larger gets one, as by default what
                                 * is larger than HEAP_FIRST. */
    HEAP_FIRST = 128 << 10,     /* No heap begins larger. */
};

void
heap_expect_much(void)
{
    uintptr_t start = ROUND_UP((uintptr_t) sbrk(0), HUGE_PAGE), end;
    void *volatile first;       /* Else the compiler leaves malloc() out. */

    mallopt(M_ARENA_MAX, 1);    /* Others, of threads, grow page by page. */
    mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
    mallopt(M_TRIM_THRESHOLD, HEAP_EXPECTED);
    mallopt(M_TOP_PAD, HEAP_EXPECTED);
    first = malloc(2 * HEAP_FIRST);     /* Makes the heap grow. */
    free(first);
    mallopt(M_TOP_PAD, HUGE_PAGE);
    end = (uintptr_t) sbrk(0);
    if (end > start) {
        madvise((void *) start, end - start, MADV_HUGEPAGE);
    }
}
