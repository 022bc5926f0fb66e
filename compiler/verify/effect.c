/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/effect.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "verify/pool.h"

struct effects {
    struct pool lists, outs, asked;
    dd_t none;
};

/* The first leaves are DD_NONE and DD_ALL. */
dd_t
effects_list(struct effects *e, const struct effect list[], size_t n)
{
    return DD_LEAF(pool_add(&e->lists, list, n * sizeof *list) + 2);
}

struct effects *
effects_create(void)
{
    struct effects *e = xzalloc(sizeof *e);

    pool_init(&e->lists);
    pool_init(&e->outs);
    pool_init(&e->asked);
    e->none = effects_list(e, &(struct effect) { .arg = 0 }, 0);
    return e;
}

void
effects_destroy(struct effects *e)
{
    if (e) {
        pool_destroy(&e->lists);
        pool_destroy(&e->outs);
        pool_destroy(&e->asked);
        free(e);
    }
}

dd_t
effects_one(struct effects *e, enum effect_kind kind, uint64_t arg)
{
    struct effect effect = { .kind = kind, .arg = arg };

    return effects_list(e, &effect, 1);
}

dd_t
effects_none(struct effects *e)
{
    return e->none;
}

const struct effect *
effects_get(const struct effects *e, dd_t leaf, size_t *n)
{
    size_t size;
    const void *list = pool_get(&e->lists, dd_leaf(leaf) - 2, &size);

    *n = size / sizeof(struct effect);
    return list;
}

dd_t
effects_join(struct effects *e, dd_t a, dd_t b)
{
    size_t n_a, n_b;
    const struct effect *first = effects_get(e, a, &n_a);
    const struct effect *second = effects_get(e, b, &n_b);
    struct effect few[32], *both = few;
    dd_t joined;

    if (n_a + n_b > ARRAY_SIZE(few)) {
        both = xmalloc((n_a + n_b) * sizeof *both);
    }
    memcpy(both, first, n_a * sizeof *both);
    memcpy(both + n_a, second, n_b * sizeof *both);
    joined = effects_list(e, both, n_a + n_b);
    if (both != few) {
        free(both);
    }
    return joined;
}

bool
effects_same(const struct effects *e, dd_t a, dd_t b)
{
    size_t n_a, n_b;
    const struct effect *x = effects_get(e, a, &n_a);
    const struct effect *y = effects_get(e, b, &n_b);

    for (size_t i = 0; i < n_a && n_a == n_b; i++) {
        bool cookie = x[i].kind == EFFECT_RULE || x[i].kind == EFFECT_END;

        if (x[i].kind != y[i].kind || (!cookie && x[i].arg != y[i].arg)) {
            return false;
        }
    }
    return n_a == n_b;
}

uint64_t
effects_add_out(struct effects *e, const struct out *out)
{
    return pool_add(&e->outs, out, sizeof *out);
}

const struct out *
effects_out(const struct effects *e, uint64_t id)
{
    size_t size;

    return pool_get(&e->outs, id, &size);
}

uint64_t
effects_add_asked(struct effects *e, const struct asked *asked)
{
    return pool_add(&e->asked, asked, sizeof *asked);
}

const struct asked *
effects_asked(const struct effects *e, uint64_t id)
{
    size_t size;

    return pool_get(&e->asked, id, &size);
}
