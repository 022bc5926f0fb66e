/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "base/partition.h"

void
partition_init(struct partition *p, size_t n, struct arena *arena)
{
    size_t size = (n + 1) * sizeof(size_t);

    *p = (struct partition) {
        .part = arena_zalloc(arena, size), .size = arena_zalloc(arena, size),
        .here = arena_zalloc(arena, size), .other = arena_zalloc(arena, size),
        .touched = arena_zalloc(arena, size),
    };
}

void
partition_add(struct partition *p, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        p->part[i] = p->n;
    }
    if (n) {
        p->size[p->n++] = n;
    }
}

void
partition_refine(struct partition *p, const size_t set[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t part = p->part[set[i]];

        if (!p->here[part]++) {
            p->touched[p->n_touched++] = part;
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t *part = &p->part[set[i]];

        if (p->here[*part] < p->size[*part]) {
            if (!p->other[*part]) {
                p->other[*part] = p->n++;
            }
            *part = p->other[*part];
        }
    }
    while (p->n_touched) {
        size_t part = p->touched[--p->n_touched];

        if (p->other[part]) {
            p->size[part] -= p->here[part];
            p->size[p->other[part]] = p->here[part];
        }
        p->here[part] = p->other[part] = 0;
    }
}
