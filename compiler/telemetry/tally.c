/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/tally.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sset.h"
#include "util.h"

void
tally_init(struct tally *t)
{
    memset(t, 0, sizeof *t);
    hmap_init(&t->entries);
}

void
tally_destroy(struct tally *t)
{
    struct tally_entry *e;

    HMAP_FOR_EACH_POP (e, node, &t->entries) {
        free(e->port);
        free(e);
    }
    hmap_destroy(&t->entries);
}

/* More tenants than ports of one switch have at a time; beyond, bursts are
 * counted without them. */
enum { MAX_ENTRIES = 65536 };

/* How often it is looked which ports there are, and after how long without its
 * port an entry is dropped, in ns. */
#define SWEEP_NS UINT64_C(60000000000)
#define KEEP_NS (15 * SWEEP_NS)

static uint32_t
hash_key(const char *port, uint64_t tag)
{
    return hash_string(port, hash_uint64(tag));
}

static struct tally_entry *
find_entry(const struct tally *t, const char *port, uint64_t tag)
{
    struct tally_entry *e;

    HMAP_FOR_EACH_WITH_HASH (e, node, hash_key(port, tag), &t->entries) {
        if (e->tag == tag && !strcmp(e->port, port)) {
            return e;
        }
    }
    return NULL;
}

/* Finds the entry or makes it; NULL if there are too many. */
static struct tally_entry *
get_entry(struct tally *t, const char *port, uint64_t tag)
{
    struct tally_entry *e = find_entry(t, port, tag);

    if (!e && hmap_count(&t->entries) < MAX_ENTRIES) {
        e = xzalloc(sizeof *e);
        e->port = xstrdup(port);
        e->tag = tag;
        hmap_insert(&t->entries, &e->node, hash_key(port, tag));
    }
    return e;
}

void
tally_add(struct tally *t, const struct burst *b)
{
    t->n_bursts++;
    for (unsigned int i = 0; i < b->n_shares; i++) {
        const struct tq_share *share = &b->event.shares[i];
        struct tally_entry *e = get_entry(t, b->port, share->tag);

        if (e) {
            struct tally_role *role = (tq_is_culprit(&b->event, share)
                                       ? &e->culprit : &e->victim);

            role->n++;
            role->bytes += share->bytes;
        }
    }
}

/* Drops entries of ports that have been gone for long: others of their names
 * may come, or none, ever. */
static void
sweep(struct tally *t, const struct sample *s)
{
    struct sset there = SSET_INITIALIZER(&there);
    struct tally_entry *e;

    for (size_t i = 0; i < s->ports.n; i++) {
        sset_add(&there, s->ports.v[i].name);
    }
    HMAP_FOR_EACH_SAFE (e, node, &t->entries) {
        if (!e->there_ns || sset_contains(&there, e->port)) {
            e->there_ns = s->clock_ns;
        } else if (s->clock_ns - e->there_ns >= KEEP_NS) {
            hmap_remove(&t->entries, &e->node);
            free(e->port);
            free(e);
        }
    }
    sset_destroy(&there);
}

void
tally_add_sample(struct tally *t, const struct sample *s)
{
    if (s->clock_ns - t->swept_ns >= SWEEP_NS) {
        t->swept_ns = s->clock_ns;
        sweep(t, s);
    }
    for (size_t i = 0; i < s->bursts.n; i++) {
        tally_add(t, &s->bursts.v[i]);
    }
    for (size_t i = 0; i < s->missed.n; i++) {
        t->n_missed += s->missed.v[i].n;
    }
}

const struct tally_entry *
tally_find(const struct tally *t, const char *port, uint64_t tag)
{
    return find_entry(t, port, tag);
}
