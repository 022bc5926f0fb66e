/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/slice-private.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hash.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/verify.h"

/* More is not looked at one by one. */
enum { MAX_GROWN = 16 };

const unsigned long *
slices_of(const struct slices *s, const struct table_flow *flow)
{
    return in_flow(s, flow);
}

struct table_flow *const *
slices_flows(const struct slices *s, size_t slice, size_t *n)
{
    *n = s->flows[slice].n;
    return s->flows[slice].v;
}

void
slice_add_flow(struct slices *s, struct table_flow *flow,
               const unsigned long who[])
{
    unsigned long *in = in_flow(s, flow);
    size_t i;

    BITMAP_FOR_EACH_1 (i, s->n, who) {
        struct slice_flows *flows = &s->flows[i];

        if (bitmap_is_set(in, i)) {
            continue;
        }
        bitmap_set1(in, i);
        if (flows->n >= flows->allocated) {
            flows->v = x2nrealloc(flows->v, &flows->allocated,
                                  sizeof *flows->v);
        }
        flows->v[flows->n++] = flow;
    }
}

void
slice_add_to(struct slices *s, unsigned long set[], const unsigned long more[])
{
    for (size_t i = 0; i < s->n_longs; i++) {
        s->changed |= (more[i] & ~set[i]) != 0;
        set[i] |= more[i];
    }
}

static uint32_t
hash_holding(enum field f, uint64_t value)
{
    return hash_uint64_basis(value, f);
}

struct holding *
slice_find(const struct slices *s, enum field f, uint64_t value)
{
    struct holding *h;

    HMAP_FOR_EACH_WITH_HASH (h, node, hash_holding(f, value), &s->by_value) {
        if (h->field == f && h->value == value) {
            return h;
        }
    }
    return NULL;
}

bool
slices_hold(const struct slices *s, enum field f, uint64_t value,
            const unsigned long who[])
{
    const struct holding *h = slice_find(s, f, value);
    bool some = false;

    for (size_t i = 0; i < s->n_longs; i++) {
        some |= ((any_of(s, f)[i] | (h ? h->who[i] : 0)) & who[i]) != 0;
    }
    return some;
}

bool
slices_call(const struct slices *s, uint32_t meter, const unsigned long who[])
{
    return slices_hold(s, CALLED, meter, who);
}

void
slices_add_calling(const struct slices *s, uint32_t meter,
                   unsigned long who[])
{
    const struct holding *h = slice_find(s, CALLED, meter);

    if (h) {
        bitmap_or(who, h->who, s->n);
    }
}

static void
note_grown(struct slices *s, enum field f, uint64_t value)
{
    if (s->n_grown >= s->allocated_grown) {
        s->grown = x2nrealloc(s->grown, &s->allocated_grown,
                              sizeof *s->grown);
    }
    s->grown[s->n_grown++] = (struct grown) { f, value };
}

static void
add_masked(const struct slices *s, struct masked *m, const struct holding *h)
{
    if (!((h->value ^ m->value) & m->mask)) {
        bitmap_or(m->who, h->who, s->n_longs * BITMAP_ULONG_BITS);
    }
}

void
slice_hold(struct slices *s, enum field f, uint64_t value,
           const unsigned long who[])
{
    struct holding *h = slice_find(s, f, value);
    bool grows = false;

    if (!h) {
        h = xzalloc(sizeof *h + s->n_longs * sizeof *h->who);
        h->field = f;
        h->value = value;
        h->next = s->of_field[f];
        s->of_field[f] = h;
        hmap_insert(&s->by_value, &h->node, hash_holding(f, value));
    }
    for (size_t i = 0; i < s->n_longs; i++) {
        grows |= (who[i] & ~h->who[i]) != 0;
        h->who[i] |= who[i];
    }
    if (grows && is_noted(f)) {
        for (struct masked *m = s->masked[f]; m; m = m->next) {
            add_masked(s, m, h);
        }
        note_grown(s, f, value);
    }
}

const struct masked *
slice_masked(struct slices *s, enum field f, uint64_t value, uint64_t mask)
{
    struct masked *m;

    for (m = s->masked[f]; m; m = m->next) {
        if (m->value == value && m->mask == mask) {
            return m;
        }
    }
    m = xzalloc(sizeof *m + s->n_longs * sizeof *m->who);
    m->value = value;
    m->mask = mask;
    m->next = s->masked[f];
    s->masked[f] = m;
    for (const struct holding *h = s->of_field[f]; h; h = h->next) {
        add_masked(s, m, h);
    }
    return m;
}

/* Each port is of one slice; those of which nothing is said here are of the
 * last. */
static void
hold_ports(struct slices *s, const struct verify_task *task)
{
    const struct policy *policy = task->policy;

    bitmap_set1(s->some, s->n - 1);
    slice_add_to(s, any_of(s, F_IN_PORT), s->some);
    bitmap_set0(s->some, s->n - 1);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        bitmap_set1(s->some, i);
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];

            if (e->bound && !strcmp(e->node->name.s, task->node)) {
                slice_hold(s, F_IN_PORT, ofp_to_u16(table_set_port(
                         task->tables, e->intent->interface.s)), s->some);
            }
        }
        bitmap_set0(s->some, i);
    }
}

static struct slices *
create(const struct verify_task *task)
{
    struct slices *s = xzalloc(sizeof *s);

    s->tables = task->tables;
    s->n = task->policy->tenants.n + 1;
    s->n_longs = bitmap_n_longs(s->n);
    hmap_init(&s->by_value);
    s->any = xcalloc(N_HELD * s->n_longs, sizeof *s->any);
    s->at = xcalloc((UINT8_MAX + 1) * s->n_longs, sizeof *s->at);
    s->n_in = MAX(s->tables->flows.n, 1);
    s->in = xcalloc(s->n_in * s->n_longs, sizeof *s->in);
    s->flows = xcalloc(s->n, sizeof *s->flows);
    s->asks = xcalloc(s->n_in, sizeof *s->asks);
    for (size_t i = 0; i < s->tables->flows.n; i++) {
        s->asks[i] = slice_asks(s->tables->flows.v[i]);
    }
    s->some = xcalloc(2 * s->n_longs, sizeof *s->some);
    hold_ports(s, task);
    return s;
}

static void
visit_all(struct slices *s)
{
    s->changed = false;
    s->n_grown = 0;
    for (size_t i = 0; i < s->tables->flows.n && !s->broken; i++) {
        slice_visit_flow(s, s->tables->flows.v[i]);
    }
}

/* Those that ask for something that has grown. */
static void
visit_some(struct slices *s)
{
    struct grown grown = s->grown[--s->n_grown];
    uint64_t bits = slice_ask_bits(grown.field, grown.value);
    uint64_t all = slice_ask_all_bits(grown.field);

    for (size_t i = 0; i < s->tables->flows.n && !s->broken; i++) {
        if ((s->asks[i] & bits) == bits || (s->asks[i] & all) == all) {
            slice_visit_flow(s, s->tables->flows.v[i]);
        }
    }
}

/* Says all that follows from what has changed.  Returns false if that is not
 * known. */
static bool
settle(struct slices *s)
{
    while ((s->changed || s->n_grown) && !s->broken) {
        if (s->changed || s->n_grown > MAX_GROWN) {
            visit_all(s);
        } else {
            visit_some(s);
        }
    }
    return !s->broken;
}

struct slices *
slices_create(const struct verify_task *task)
{
    struct slices *s = create(task);
    unsigned long *all = at_table(s, 0);

    bitmap_set_multiple(all, 0, s->n, true);
    for (enum field f = F_IN_PORT + 1; f < F_FIRST_OF_PACKET; f++) {
        if (is_noted(f)) {
            slice_hold(s, f, 0, all);
        }
    }
    s->changed = true;
    if (!settle(s)) {
        slices_destroy(s);
        return NULL;
    }
    return s;
}

bool
slices_add(struct slices *s, struct table_flow *flow)
{
    size_t n = s->n_in;

    if (flow->order >= n) {
        s->n_in = flow->order * 2;
        s->in = xrealloc(s->in, s->n_in * s->n_longs * sizeof *s->in);
        s->asks = xrealloc(s->asks, s->n_in * sizeof *s->asks);
    }
    memset(in_flow(s, flow), 0, s->n_longs * sizeof *s->in);
    s->asks[flow->order] = slice_asks(flow);
    slice_visit_flow(s, flow);
    return settle(s);
}

static void
take_out(struct slice_flows *flows, const struct table_flow *gone)
{
    size_t i = 0;

    while (flows->v[i] != gone) {
        i++;
    }
    flows->v[i] = flows->v[--flows->n];
}

void
slices_remove(struct slices *s, const struct table_flow *gone, size_t last)
{
    size_t i;

    BITMAP_FOR_EACH_1 (i, s->n, in_flow(s, gone)) {
        take_out(&s->flows[i], gone);
    }
    memmove(in_flow(s, gone), s->in + last * s->n_longs,
            s->n_longs * sizeof *s->in);
    s->asks[gone->order] = s->asks[last];
}

bool
slices_add_port(struct slices *s, size_t slice, ofp_port_t port)
{
    memset(s->some, 0, s->n_longs * sizeof *s->some);
    bitmap_set1(s->some, slice);
    slice_hold(s, F_IN_PORT, ofp_to_u16(port), s->some);
    return settle(s);
}

void
slices_destroy(struct slices *s)
{
    struct holding *h;

    if (s) {
        HMAP_FOR_EACH_POP (h, node, &s->by_value) {
            free(h);
        }
        hmap_destroy(&s->by_value);
        for (size_t f = 0; f < N_HELD; f++) {
            struct masked *m, *next;

            for (m = s->masked[f]; m; m = next) {
                next = m->next;
                free(m);
            }
        }
        for (size_t i = 0; i < s->n; i++) {
            free(s->flows[i].v);
        }
        free(s->flows);
        free(s->any);
        free(s->at);
        free(s->in);
        free(s->asks);
        free(s->grown);
        free(s->some);
        free(s);
    }
}
