/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ranges.h"

#include <stdlib.h>

#include "import/name.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

void
ranges_add(struct arena *arena, port_ranges *ranges, int first, int last)
{
    if (first <= last) {
        *vec_push(arena, ranges) = (struct port_range) { first, last };
    }
}

static int
compare_ranges(const void *a_, const void *b_)
{
    const struct port_range *a = a_, *b = b_;

    return a->first != b->first ? (a->first < b->first ? -1 : 1) : 0;
}

port_ranges
ranges_join(struct arena *arena, const port_ranges *ranges)
{
    port_ranges sorted = VEC_INIT, out = VEC_INIT;

    for (size_t i = 0; i < ranges->n; i++) {
        *vec_push(arena, &sorted) = ranges->v[i];
    }
    if (sorted.n) {
        qsort(sorted.v, sorted.n, sizeof *sorted.v, compare_ranges);
    }
    for (size_t i = 0; i < sorted.n; i++) {
        struct port_range *last = out.n ? &out.v[out.n - 1] : NULL;

        if (last && sorted.v[i].first <= last->last + 1) {
            last->last = MAX(last->last, sorted.v[i].last);
        } else {
            *vec_push(arena, &out) = sorted.v[i];
        }
    }
    return out;
}

port_ranges
ranges_common(struct arena *arena, const port_ranges *a, const port_ranges *b,
              size_t *work)
{
    port_ranges x = ranges_join(arena, a), y = ranges_join(arena, b);
    port_ranges out = VEC_INIT;
    size_t i = 0, j = 0;

    *work += a->n + b->n;
    while (i < x.n && j < y.n) {
        ranges_add(arena, &out, MAX(x.v[i].first, y.v[j].first),
                   MIN(x.v[i].last, y.v[j].last));
        if (x.v[i].last < y.v[j].last) {
            i++;
        } else {
            j++;
        }
    }
    return out;
}

const char *
ranges_define(struct arena *arena, struct json *services,
              const char *protocol, const port_ranges *ranges)
{
    struct json *service = json_object_create();
    struct json *ports = json_array_create_empty();
    struct ds name = DS_EMPTY_INITIALIZER;
    const char *s;

    ds_put_cstr(&name, protocol);
    for (size_t i = 0; i < ranges->n; i++) {
        int first = ranges->v[i].first, last = ranges->v[i].last;

        ds_put_format(&name, i ? ".%d" : "-%d", first);
        if (last > first) {
            ds_put_format(&name, "-%d", last);
            json_array_add(ports, json_string_create_nocopy(
                xasprintf("%d-%d", first, last)));
        } else {
            json_array_add(ports, json_integer_create(first));
        }
    }
    s = import_name(arena, ds_cstr(&name));
    json_object_put_string(service, "protocol", protocol);
    json_object_put(service, "ports", ports);
    json_object_put(services, s, service);
    ds_destroy(&name);
    return s;
}
