/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/cookies.h"

#include <stdlib.h>

#include "hash.h"
#include "util.h"

struct cookie_count {
    struct hmap_node node;
    uint64_t cookie;
    size_t n;
};

static struct cookie_count *
find(const struct cookies *c, uint64_t cookie)
{
    struct cookie_count *count;

    HMAP_FOR_EACH_WITH_HASH (count, node, hash_uint64(cookie), &c->counts) {
        if (count->cookie == cookie) {
            return count;
        }
    }
    return NULL;
}

void
cookies_add(struct cookies *c, uint64_t cookie)
{
    struct cookie_count *count = find(c, cookie);

    if (!count) {
        count = xzalloc(sizeof *count);
        count->cookie = cookie;
        hmap_insert(&c->counts, &count->node, hash_uint64(cookie));
    }
    count->n++;
}

void
cookies_remove(struct cookies *c, uint64_t cookie)
{
    struct cookie_count *count = find(c, cookie);

    if (!--count->n) {
        hmap_remove(&c->counts, &count->node);
        free(count);
    }
}

bool
cookies_hold(const struct cookies *c, uint64_t cookie)
{
    return find(c, cookie) != NULL;
}

void
cookies_init(struct cookies *c, const struct table_set *tables)
{
    hmap_init(&c->counts);
    for (size_t i = 0; i < tables->flows.n; i++) {
        cookies_add(c, tables->flows.v[i]->cookie);
    }
}

void
cookies_destroy(struct cookies *c)
{
    struct cookie_count *count;

    HMAP_FOR_EACH_POP (count, node, &c->counts) {
        free(count);
    }
    hmap_destroy(&c->counts);
}
