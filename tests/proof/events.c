/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "events.h"

#include <stdlib.h>

#include "util.h"

void
events_push(struct events *e, struct event event)
{
    size_t i = e->n++;

    if (i >= e->allocated) {
        e->heap = x2nrealloc(e->heap, &e->allocated, sizeof *e->heap);
    }
    for (; i && e->heap[(i - 1) / 2].when > event.when; i = (i - 1) / 2) {
        e->heap[i] = e->heap[(i - 1) / 2];
    }
    e->heap[i] = event;
}

struct event
events_pop(struct events *e)
{
    struct event first = e->heap[0], last = e->heap[--e->n];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < e->n
            && e->heap[child + 1].when < e->heap[child].when) {
            child++;
        }
        if (child >= e->n || e->heap[child].when >= last.when) {
            break;
        }
        e->heap[i] = e->heap[child];
        i = child;
    }
    e->heap[i] = last;
    return first;
}

void
events_free(struct events *e)
{
    free(e->heap);
}
