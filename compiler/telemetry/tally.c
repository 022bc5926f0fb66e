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

void
tally_add_sample(struct tally *t, const struct sample *s)
{
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
