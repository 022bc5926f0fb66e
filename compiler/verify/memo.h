/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_MEMO_H
#define VERIFY_MEMO_H 1

/* Diagrams, or other numbers, that are known for a key. */

#include "verify/dd.h"
#include "verify/pool.h"

struct memo {
    struct pool keys;
    dd_t *v;
    size_t allocated;
};

void memo_init(struct memo *);
void memo_destroy(struct memo *);

/* What is known for the key: DD_NONE at first.  The place is good until the
 * next call. */
dd_t *memo_find(struct memo *, const void *key, size_t size);

#endif /* verify/memo.h */
