/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_POOL_H
#define VERIFY_POOL_H 1

/* Things that stand once and have a number: the same bytes are the same. */

#include <stddef.h>
#include <stdint.h>

#include "openvswitch/hmap.h"

struct pool_item;

struct pool {
    struct hmap map;
    struct pool_item **v;
    size_t n, allocated;
};

void pool_init(struct pool *);
void pool_destroy(struct pool *);

/* The number of these bytes. */
uint32_t pool_add(struct pool *, const void *data, size_t size);

/* The bytes, which stay where they are, aligned for 64 bits. */
const void *pool_get(const struct pool *, uint32_t id, size_t *size);

#endif /* verify/pool.h */
