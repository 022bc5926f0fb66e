/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/sample.h"

#include <stdlib.h>
#include <string.h>

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int
compare_ports(const void *a_, const void *b_)
{
    const struct queue_port *a = a_, *b = b_;
    int order = strcmp(a->name, b->name);

    return order ? order : compare_numbers(a->generation, b->generation);
}

static int
compare_totals(const void *a_, const void *b_)
{
    const struct queue_total *a = a_, *b = b_;

    return (a->generation != b->generation
            ? compare_numbers(a->generation, b->generation)
            : a->tag != b->tag ? compare_numbers(a->tag, b->tag)
            : compare_numbers(a->queue, b->queue));
}

static int
compare_bursts(const void *a_, const void *b_)
{
    const struct burst *a = a_, *b = b_;
    int order = compare_numbers(a->start_ns, b->start_ns);

    return order ? order : strcmp(a->port, b->port);
}

static void
sort(void *v, size_t n, size_t size, int (*compare)(const void *,
                                                    const void *))
{
    if (n) {
        qsort(v, n, size, compare);
    }
}

static void
add_counts(struct tq_counts *to, const struct tq_counts *from)
{
    const uint64_t *source = (const uint64_t *) from;
    uint64_t *sum = (uint64_t *) to;

    for (size_t i = 0; i < sizeof *to / sizeof *sum; i++) {
        sum[i] += source[i];
    }
}

static void
merge_totals(queue_total_vec *totals)
{
    size_t n = 0;

    for (size_t i = 0; i < totals->n; i++) {
        if (n && !compare_totals(&totals->v[n - 1], &totals->v[i])) {
            add_counts(&totals->v[n - 1].counts, &totals->v[i].counts);
        } else {
            totals->v[n++] = totals->v[i];
        }
    }
    totals->n = n;
}

void
sample_sort(struct sample *s)
{
    sort(s->ports.v, s->ports.n, sizeof *s->ports.v, compare_ports);
    sort(s->totals.v, s->totals.n, sizeof *s->totals.v, compare_totals);
    sort(s->bursts.v, s->bursts.n, sizeof *s->bursts.v, compare_bursts);
    merge_totals(&s->totals);
}

const struct queue_port *
sample_port(const struct sample *s, uint64_t generation)
{
    for (size_t i = 0; i < s->ports.n; i++) {
        if (s->ports.v[i].generation == generation) {
            return &s->ports.v[i];
        }
    }
    return NULL;
}

const char *
sample_port_name(const struct sample *s, uint64_t generation)
{
    const struct queue_port *port = sample_port(s, generation);

    return (port ? port->name : generation == TQ_NO_PORT ? "(none)" : NULL);
}

const struct queue_total *
sample_total(const struct sample *s, uint64_t generation, uint64_t tag,
             uint64_t queue)
{
    struct queue_total key = {
        .generation = generation, .tag = tag, .queue = queue,
    };

    return (s->totals.n
            ? bsearch(&key, s->totals.v, s->totals.n, sizeof key,
                      compare_totals) : NULL);
}
