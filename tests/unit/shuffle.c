/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <stdlib.h>

#include "openvswitch/dynamic-string.h"
#include "unit.h"

static void
put_span(struct ds *ds, struct span span)
{
    ds_put_buffer(ds, span.source->text + span.start, span.end - span.start);
}

/* Fills 'order' with 0 to 'n' - 1 in an order of chance (Fisher-Yates). */
static void
shuffle_order(size_t *order, size_t n, unsigned int *seed)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = rand_r(seed) % (i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}

static void
put_shuffled(struct ds *ds, struct arena *arena, const struct value *value,
             unsigned int *seed)
{
    bool object = value->type == VALUE_OBJECT;

    if (!object && value->type != VALUE_ARRAY) {
        put_span(ds, value->span);
        return;
    }

    size_t *order = arena_zalloc(arena, (value->n + 1) * sizeof *order);
    shuffle_order(order, value->n, seed);
    ds_put_char(ds, object ? '{' : '[');
    for (size_t i = 0; i < value->n; i++) {
        const struct value *v = &value->elems[order[i]];

        ds_put_cstr(ds, i ? ",\n" : "");
        if (object) {
            put_span(ds, v->key_span);
            ds_put_char(ds, ':');
        }
        put_shuffled(ds, arena, v, seed);
    }
    ds_put_char(ds, object ? '}' : ']');
}

const char *
unit_shuffle(struct arena *arena, const struct value *value,
             unsigned int seed)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_shuffled(&ds, arena, value, &seed);
    const char *text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}
