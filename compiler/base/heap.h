/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BASE_HEAP_H
#define BASE_HEAP_H 1

/* The heap of a process that takes much memory in little time: in pages of
 * 2 MB where the kernel gives them to who asks ("madvise" or "always" in
 * /sys/kernel/mm/transparent_hugepage/enabled), since the first touch of each
 * small one costs more than what is done with it.  Addresses are set aside,
 * and no memory.  It is what GLIBC_TUNABLES=glibc.malloc.hugetlb=1 does for
 * who sets it, for the first 256 MB.
 *
 * To be called first in main(); does nothing where malloc() is not glibc's. */
void heap_expect_much(void);

/* While a process that was forked lives, the kernel divides each page of 2 MB
 * that is written to, and leaves it so; some milliseconds for who uses many of
 * them next.  To be called when it has ended: a thread, so that nothing waits,
 * has the kernel make them whole again (MADV_COLLAPSE, Linux 6.1). */
void heap_make_whole(void);

#endif /* base/heap.h */
