/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/dd-private.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

static u128
highest(int width)
{
    return width == 128 ? ~(u128) 0 : ((u128) 1 << width) - 1;
}

struct dd *
dd_create(const uint8_t widths[], size_t n_digits)
{
    struct dd *dd = xzalloc(sizeof *dd);

    ovs_assert(n_digits <= MAX_DIGITS);
    dd->bound = MAX_DIGITS;
    dd->n_unique = dd->n_places = 1 << 12;
    dd->tags = xcalloc(dd->n_unique, sizeof *dd->tags);
    dd->unique = xcalloc(dd->n_unique, sizeof *dd->unique);
    dd->places = xcalloc(dd->n_places, sizeof *dd->places);
    dd->n_memories = MIN_MEMORIES;
    dd->memories = xcalloc(dd->n_memories, sizeof *dd->memories);
    for (size_t i = 0; i < n_digits; i++) {
        dd->wide[i] = widths[i] > 32;
        dd->ones[i] = dd_last(dd, i, highest(widths[i]));
    }
    dd->n_ones = dd->n_lasts;
    hmap_init(&dd->lists);
    return dd;
}

void
dd_destroy(struct dd *dd)
{
    if (dd) {
        free(dd->room);
        free(dd->tags);
        free(dd->unique);
        free(dd->lasts);
        free(dd->places);
        free(dd->stack);
        free(dd->memories);
        dd_forget_lists(dd);
        hmap_destroy(&dd->lists);
        free(dd);
    }
}

/* Where the place of 'last' is in 'places', or is to be. */
static uint32_t *
find_place(const struct dd *dd, u128 last)
{
    size_t at = mix_word(mix_word(0, last), last >> 64);

    for (at &= dd->n_places - 1;
         dd->places[at] && dd->lasts[dd->places[at] - 1] != last;
         at = (at + 1) & (dd->n_places - 1)) {
        continue;
    }
    return &dd->places[at];
}

static void
grow_places(struct dd *dd)
{
    dd->n_places *= 2;
    free(dd->places);
    dd->places = xcalloc(dd->n_places, sizeof *dd->places);
    for (size_t i = 0; i < dd->n_lasts; i++) {
        *find_place(dd, dd->lasts[i]) = i + 1;
    }
}

uint32_t
dd_place(struct dd *dd, u128 last)
{
    uint32_t *place = find_place(dd, last);

    if (*place) {
        return *place - 1;
    }
    if (dd->n_lasts >= dd->allocated_lasts) {
        dd->lasts = x2nrealloc(dd->lasts, &dd->allocated_lasts,
                               sizeof *dd->lasts);
    }
    dd->lasts[dd->n_lasts++] = last;
    *place = dd->n_lasts;
    if (dd->n_lasts * 2 > dd->n_places) {
        grow_places(dd);
    }
    return dd->n_lasts - 1;
}

/* But for the highest of each digit, which have the places that they had. */
static void
forget_values(struct dd *dd)
{
    memset(dd->places, 0, dd->n_places * sizeof *dd->places);
    dd->n_lasts = dd->n_ones;
    for (size_t i = 0; i < dd->n_lasts; i++) {
        *find_place(dd, dd->lasts[i]) = i + 1;
    }
}

void
dd_clear(struct dd *dd)
{
    memset(dd->tags, 0, dd->n_unique * sizeof *dd->tags);
    dd->n_memories = MIN_MEMORIES;
    memset(dd->memories, 0, dd->n_memories * sizeof *dd->memories);
    forget_values(dd);
    dd->n_nodes = dd->n_room = dd->n_stack = 0;
    dd->refused = dd->mixed = false;
    dd_forget_lists(dd);
}

void
dd_grow_stack(struct dd *dd)
{
    dd->stack = x2nrealloc(dd->stack, &dd->allocated_stack,
                           sizeof *dd->stack);
}

static uint64_t
hash_edges(int digit, const struct edge *edges, size_t n)
{
    uint64_t hash = mix_word(digit, n);

    for (size_t i = 0; i < n; i++) {
        hash = mix_word(hash, edges[i].last | (uint64_t) edges[i].to << 32);
    }
    return hash;
}

static uint8_t
tag_of(uint64_t hash)
{
    return 0x80 | hash >> 57;
}

static void
grow_unique(struct dd *dd)
{
    dd->n_unique *= 2;
    free(dd->tags);
    free(dd->unique);
    dd->tags = xcalloc(dd->n_unique, sizeof *dd->tags);
    dd->unique = xmalloc(dd->n_unique * sizeof *dd->unique);
    for (size_t f = 0; f < dd->n_room; f += node_of(dd, f)->n + 1) {
        const struct node *node = node_of(dd, f);
        uint64_t hash = hash_edges(node->digit, node->edges, node->n);
        size_t at = hash & (dd->n_unique - 1);

        while (dd->tags[at]) {
            at = (at + 1) & (dd->n_unique - 1);
        }
        dd->tags[at] = tag_of(hash);
        dd->unique[at] = f;
    }
}

static dd_t
add_node(struct dd *dd, int digit, const struct edge *edges, size_t n)
{
    dd_t f = dd->n_room;
    struct node *node;

    ovs_assert(n < 1 << 24 && dd->n_room + n < DD_LEAF_BIT - 1);
    while (dd->n_room + n + 1 > dd->allocated_room) {
        dd->room = x2nrealloc(dd->room, &dd->allocated_room,
                              sizeof *dd->room);
    }
    node = node_of(dd, f);
    node->n = n;
    node->digit = digit;
    node->stamp = 0;
    memcpy(node->edges, edges, n * sizeof *edges);
    dd->n_room += n + 1;
    dd->n_nodes++;
    return f;
}

static bool
is_node(const struct node *node, int digit, const struct edge *edges,
        size_t n)
{
    return (node->digit == digit && node->n == n
            && !memcmp(node->edges, edges, n * sizeof *edges));
}

dd_t
dd_make(struct dd *dd, int digit, size_t base)
{
    const struct edge *edges = &dd->stack[base];
    size_t n = dd->n_stack - base;
    uint64_t hash;
    size_t at;
    dd_t f;

    dd->n_stack = base;
    if (n == 1 && digit != dd->bound) {
        return edges[0].to;
    }
    hash = hash_edges(digit, edges, n);
    for (at = hash & (dd->n_unique - 1); dd->tags[at];
         at = (at + 1) & (dd->n_unique - 1)) {
        f = dd->unique[at];
        if (dd->tags[at] == tag_of(hash)
            && is_node(node_of(dd, f), digit, edges, n)) {
            return f;
        }
    }
    f = add_node(dd, digit, edges, n);
    dd->tags[at] = tag_of(hash);
    dd->unique[at] = f;
    if (dd->n_nodes * 3 > dd->n_unique * 2) {
        grow_unique(dd);
    }
    if (dd->n_nodes / 2 > dd->n_memories) {
        dd_grow_memories(dd);
    }
    return f;
}

dd_t
dd_range(struct dd *dd, int digit, u128 first, u128 last)
{
    size_t base = dd->n_stack;

    if (first > 0) {
        dd_push_edge(dd, base, dd_last(dd, digit, first - 1), DD_NONE);
    }
    dd_push_edge(dd, base, dd_last(dd, digit, last), DD_ALL);
    if (last < dd_value(dd, digit, dd->ones[digit])) {
        dd_push_edge(dd, base, dd->ones[digit], DD_NONE);
    }
    return dd_make(dd, digit, base);
}

dd_t
dd_bits(struct dd *dd, int digit, u128 value, u128 mask)
{
    u128 ones = dd_value(dd, digit, dd->ones[digit]), low, wild, run = 0;
    size_t base = dd->n_stack, n = 0;

    mask &= ones;
    value &= mask;
    if (!mask) {
        return DD_ALL;
    }
    low = (mask & -mask) - 1;           /* The wild bits below all others. */
    wild = ones & ~mask & ~low;         /* Those above. */
    do {
        u128 first = value | run;

        if (n++ >= DD_MAX_RUNS) {
            dd->refused = true;
            dd->n_stack = base;
            return DD_NONE;
        }
        if (first > 0) {
            dd_push_edge(dd, base, dd_last(dd, digit, first - 1), DD_NONE);
        }
        dd_push_edge(dd, base, dd_last(dd, digit, first | low), DD_ALL);
        run = (run - wild) & wild;      /* The next subset of 'wild'. */
    } while (run);
    if (dd->stack[dd->n_stack - 1].last != dd->ones[digit]) {
        dd_push_edge(dd, base, dd->ones[digit], DD_NONE);
    }
    return dd_make(dd, digit, base);
}

bool
dd_is_refused(const struct dd *dd)
{
    return dd->refused;
}

size_t
dd_n_nodes(const struct dd *dd)
{
    return dd->n_nodes;
}

size_t
dd_bytes(const struct dd *dd)
{
    return (dd->allocated_room * sizeof *dd->room
            + dd->n_unique * (sizeof *dd->tags + sizeof *dd->unique)
            + dd->allocated_lasts * sizeof *dd->lasts
            + dd->n_places * sizeof *dd->places
            + dd->allocated_stack * sizeof *dd->stack
            + dd->n_memories * sizeof *dd->memories);
}
