/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What cmap.c promises, for ThreadSanitizer, which cannot see it: Open vSwitch
 * is not built for it.  A thread that finds a node sees all that the thread
 * that put it there had done before.  The linker puts these functions in
 * front of those of cmap.c (--wrap). */

#include <config.h>

#include <sanitizer/tsan_interface.h>

#include "cmap.h"

const struct cmap_node *__real_cmap_find(const struct cmap *, uint32_t);
size_t __real_cmap_insert(struct cmap *, struct cmap_node *, uint32_t);
size_t __real_cmap_replace(struct cmap *, struct cmap_node *,
                           struct cmap_node *, uint32_t);

const struct cmap_node *__wrap_cmap_find(const struct cmap *, uint32_t);
size_t __wrap_cmap_insert(struct cmap *, struct cmap_node *, uint32_t);
size_t __wrap_cmap_replace(struct cmap *, struct cmap_node *,
                           struct cmap_node *, uint32_t);

const struct cmap_node *
__wrap_cmap_find(const struct cmap *cmap, uint32_t hash)
{
    const struct cmap_node *node = __real_cmap_find(cmap, hash);

    __tsan_acquire(CONST_CAST(struct cmap *, cmap));
    return node;
}

size_t
__wrap_cmap_insert(struct cmap *cmap, struct cmap_node *node, uint32_t hash)
{
    __tsan_release(cmap);
    return __real_cmap_insert(cmap, node, hash);
}

size_t
__wrap_cmap_replace(struct cmap *cmap, struct cmap_node *old,
                    struct cmap_node *new, uint32_t hash)
{
    __tsan_release(cmap);
    return __real_cmap_replace(cmap, old, new, hash);
}
