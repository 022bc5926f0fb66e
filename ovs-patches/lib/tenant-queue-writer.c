/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>
#include "tenant-queue.h"

#include <string.h>

#include "dp-packet.h"
#include "hash.h"
#include "ovs-thread.h"
#include "tenant-queue-private.h"
#include "util.h"

/* The writer of what this thread is sending, or NULL. */
DEFINE_STATIC_PER_THREAD_DATA(struct tenant_writer *, sender, NULL);

/* What it is in the file that a meter says. */
static const enum tq_reason tq_reasons[] = {
    [DP_REASON_RATE] = TQ_RATE,
    [DP_REASON_LIMIT] = TQ_LIMIT,
    [DP_REASON_PARENT] = TQ_PARENT,
    [DP_REASON_MISSING] = TQ_MISSING,
};

/* A (tag, queue) of a writer. */
struct entry {
    struct hmap_node node;      /* In struct tenant_writer's 'entries'. */
    uint32_t tag, queue;
    struct tq_queue *shm;       /* Of 'record'. */
    struct tenant_record *record; /* NULL if there was no room... */
    uint64_t n_freed;           /* ...when so many had been freed. */
};

/* A (tag, queue), in one word. */
#define KEY(TAG, QUEUE) ((uint64_t) (QUEUE) << 32 | (TAG))

/* The record of one that was sent lately, so that it is counted there without
 * a look at its entry. */
struct recent {
    uint64_t key;
    struct tq_queue *shm;       /* NULL if there is none here. */
};

enum { RECENT = 256 };           /* A power of 2. */

struct tenant_writer {
    struct tenant_queues *tqs;
    char *name;                 /* Of the port, NULL if it is of none. */
    struct tenant_port *port;   /* NULL if there was none... */
    uint64_t n_generations;     /* ...when so many had been added. */
    uint32_t core;
    struct hmap entries;        /* Contains 'struct entry's. */
    struct recent recent[RECENT]; /* Some of them, by get_recent(). */
};

static void
find_port(struct tenant_writer *w)
{
    ovs_mutex_lock(&w->tqs->mutex);
    atomic_read_relaxed(&w->tqs->n_generations, &w->n_generations);
    w->port = (w->name ? shash_find_data(&w->tqs->ports, w->name)
               : w->tqs->no_port);
    if (w->port) {
        w->port->n_refs++;
    }
    ovs_mutex_unlock(&w->tqs->mutex);
}

/* Returns true if 'w' has a port, by now: one that found no room when it was
 * added may have been added later. */
static bool
has_port(struct tenant_writer *w)
{
    if (OVS_UNLIKELY(!w->port)) {
        uint64_t n_generations;

        atomic_read_relaxed(&w->tqs->n_generations, &n_generations);
        if (n_generations != w->n_generations) {
            find_port(w);
        }
    }
    return w->port != NULL;
}

struct tenant_writer *
tenant_writer_create(struct tenant_queues *tqs, const char *name,
                     uint32_t core)
{
    struct tenant_writer *w = xzalloc(sizeof *w);

    tenant_queues_ref(tqs);
    w->tqs = tqs;
    w->name = nullable_xstrdup(name);
    w->core = core;
    hmap_init(&w->entries);
    find_port(w);
    return w;
}

void
tenant_writer_destroy(struct tenant_writer *w)
{
    struct entry *e;

    if (!w) {
        return;
    }
    if (w->port) {
        ovs_mutex_lock(&w->tqs->mutex);
        HMAP_FOR_EACH_POP (e, node, &w->entries) {
            if (e->record) {
                tenant_port_leave_record(w->port, e->record);
            }
            free(e);
        }
        tenant_port_unref(w->port);
        ovs_mutex_unlock(&w->tqs->mutex);
    }
    hmap_destroy(&w->entries);
    tenant_queues_unref(w->tqs);
    free(w->name);
    free(w);
}

bool
tenant_writer_is_of(const struct tenant_writer *w,
                    const struct tenant_queues *tqs)
{
    return w && w->tqs == tqs;
}

static void
take_record(struct tenant_writer *w, struct entry *e)
{
    ovs_mutex_lock(&w->tqs->mutex);
    atomic_read_relaxed(&w->tqs->n_freed, &e->n_freed);
    e->record = tenant_port_take_record(w->port, e->tag, e->queue, w->core);
    ovs_mutex_unlock(&w->tqs->mutex);
    if (e->record) {
        e->shm = &w->tqs->file.queues[e->record->index];
    }
}

/* Takes a record for 'e', which has none, if any was freed meanwhile. */
static void
retake_record(struct tenant_writer *w, struct entry *e)
{
    uint64_t n_freed;

    atomic_read_relaxed(&w->tqs->n_freed, &n_freed);
    if (n_freed != e->n_freed) {
        take_record(w, e);
    }
}

static struct entry *
add_entry(struct tenant_writer *w, uint32_t tag, uint32_t queue, uint32_t hash)
{
    struct entry *e = xzalloc(sizeof *e);

    e->tag = tag;
    e->queue = queue;
    take_record(w, e);
    hmap_insert(&w->entries, &e->node, hash);
    return e;
}

static struct entry *
find_entry(struct tenant_writer *w, uint32_t tag, uint32_t queue)
{
    uint32_t hash = hash_2words(tag, queue);
    struct entry *e;

    HMAP_FOR_EACH_WITH_HASH (e, node, hash, &w->entries) {
        if (e->tag == tag && e->queue == queue) {
            return e;
        }
    }
    return add_entry(w, tag, queue, hash);
}

/* Tags are small and consecutive: no hash spreads better.  The packets of one
 * tag in another queue are 32 places away. */
static struct recent *
get_recent(struct tenant_writer *w, uint64_t key)
{
    return &w->recent[(key + (key >> 27)) % RECENT];
}

/* Keeps what is rare out of the loop over packets, which needs the
 * registers. */
#define APART __attribute__((__noinline__))

/* Finds the record of 'key' for get_record(). */
APART static struct tq_queue *
find_record(struct tenant_writer *w, uint64_t key)
{
    struct entry *e = find_entry(w, key, key >> 32);

    if (!e->shm) {
        retake_record(w, e);
    }
    *get_recent(w, key) = (struct recent) { key, e->shm };
    return e->shm;
}

/* Returns the record of 'key', NULL if there is no room for one. */
static inline struct tq_queue *
get_record(struct tenant_writer *w, uint64_t key)
{
    const struct recent *r = get_recent(w, key);

    return OVS_LIKELY(r->key == key && r->shm) ? r->shm : find_record(w, key);
}

static void
increase(struct tq_counter *c, uint64_t packets, uint64_t bytes)
{
    tq_set(&c->packets, tq_get(&c->packets) + packets);
    tq_set(&c->bytes, tq_get(&c->bytes) + bytes);
}

/* Adds to what the record of 'key' counts as sent. */
static inline void
publish_sent(struct tenant_writer *w, uint64_t key,
             uint64_t packets, uint64_t bytes)
{
    struct tq_queue *shm = get_record(w, key);

    if (OVS_LIKELY(shm)) {
        tq_begin(&shm->sequence);
        increase(&shm->data.counts.sent, packets, bytes);
        tq_end(&shm->sequence);
    }
}

/* Adds '*more' to what the record of 'key' counts. */
static void
publish(struct tenant_writer *w, uint64_t key, const struct tq_counts *more)
{
    struct tq_queue *shm = get_record(w, key);

    if (shm) {
        struct tq_counts *counts = &shm->data.counts;

        tq_begin(&shm->sequence);
        increase(&counts->sent, more->sent.packets, more->sent.bytes);
        increase(&counts->dropped, more->dropped.packets, more->dropped.bytes);
        increase(&counts->marked, more->marked.packets, more->marked.bytes);
        increase(&counts->borrowed,
                 more->borrowed.packets, more->borrowed.bytes);
        increase(&counts->remarked,
                 more->remarked.packets, more->remarked.bytes);
        tq_end(&shm->sequence);
    }
}

/* Adds to what the record of 'key' counts as dropped by meters. */
static void
publish_metered(struct tenant_writer *w, uint64_t key, enum tq_reason reason,
                uint64_t packets, uint64_t bytes)
{
    struct tq_queue *shm = get_record(w, key);

    if (shm) {
        tq_begin(&shm->sequence);
        increase(&shm->data.counts.metered[reason], packets, bytes);
        tq_end(&shm->sequence);
    }
}

static void
add(struct tq_counter *c, uint32_t bytes)
{
    c->packets++;
    c->bytes += bytes;
}

static void
count_flags(struct tq_counts *c, uint16_t flags, uint32_t size)
{
    if (flags & PKT_TENANT_MARKED) {
        add(&c->marked, size);
    }
    if (flags & PKT_TENANT_BORROWED) {
        add(&c->borrowed, size);
    }
    if (flags & PKT_TENANT_REMARKED) {
        add(&c->remarked, size);
    }
}

static uint64_t
key_of(const struct dp_packet *packet)
{
    return KEY(packet->md.tenant_tag, packet->md.skb_priority);
}

/* Counts the packets of 'batch' from number 'first' up to 'end', of 'bytes'
 * bytes, to some of which a meter did something. */
APART static void
publish_flagged(struct tenant_writer *w, const struct dp_packet_batch *batch,
                size_t first, size_t end, uint32_t bytes)
{
    struct tq_counts counts = { .sent = { end - first, bytes } };

    for (size_t i = first; i < end; i++) {
        count_flags(&counts, batch->packets[i]->md.tenant_flags,
                    dp_packet_size(batch->packets[i]));
    }
    publish(w, key_of(batch->packets[first]), &counts);
}

/* Counts packets of 'batch' from number '*i' on that have the same '*key', the
 * one of that packet, and returns their bytes.  Advances '*i' and '*key' to
 * what follows. */
static inline uint32_t
count_run(struct tenant_writer *w, const struct dp_packet_batch *batch,
          size_t *i, uint64_t *key)
{
    size_t n = dp_packet_batch_size(batch), first = *i, end = first;
    uint64_t next = *key;
    uint16_t flags = 0;
    uint32_t bytes = 0;

    do {
        bytes += dp_packet_size(batch->packets[end]);
        flags |= batch->packets[end]->md.tenant_flags;
        end++;
    } while (end < n && (next = key_of(batch->packets[end])) == *key);

    if (OVS_LIKELY(!flags)) {
        publish_sent(w, *key, end - first, bytes);
    } else {
        publish_flagged(w, batch, first, end, bytes);
    }
    *i = end;
    *key = next;
    return bytes;
}

void
tenant_writer_flush(struct tenant_writer *w,
                    const struct dp_packet_batch *batch,
                    uint64_t since_ns, uint64_t now_ns)
{
    size_t n_packets = dp_packet_batch_size(batch);
    uint64_t runs[NETDEV_MAX_BURST];
    uint32_t n_runs = 0, bytes = 0;
    uint64_t key, last;

    if (!n_packets || !has_port(w)) {
        return;
    }
    key = key_of(batch->packets[0]);
    last = ~key << 32;          /* Of another tag. */
    for (size_t i = 0; i < n_packets;) {
        uint32_t tag = key;
        uint32_t run_bytes = count_run(w, batch, &i, &key);

        bytes += run_bytes;
        if (OVS_LIKELY(last >> 32 != tag)) {
            n_runs++;
        } else {
            run_bytes += tenant_run_bytes(last);    /* Of another queue. */
        }
        last = runs[n_runs - 1] = tenant_run(tag, run_bytes);
    }
    tenant_burst_queue_add(&w->port->queue, runs, n_runs, n_packets, bytes,
                           since_ns, now_ns);
}

void
tenant_writer_metered(struct tenant_writer *w,
                      struct dp_packet *const packets[],
                      const uint8_t reasons[], size_t n)
{
    if (!has_port(w)) {
        return;
    }
    for (size_t i = 0; i < n;) {
        uint64_t key = key_of(packets[i]), bytes = 0;
        size_t first = i;

        do {
            bytes += dp_packet_size(packets[i]);
            i++;
        } while (i < n && key_of(packets[i]) == key
                 && reasons[i] == reasons[first]);
        publish_metered(w, key, tq_reasons[reasons[first]], i - first,
                        bytes);
    }
}

void
tenant_writer_begin_send(struct tenant_writer *w)
{
    *sender_get() = w;
}

void
tenant_writer_end_send(void)
{
    *sender_get() = NULL;
}

void
tenant_drop(const struct dp_packet *packet)
{
    struct tenant_writer *w = *sender_get();

    if (w && w->port) {
        struct tq_counts counts = { .dropped = { 0, 0 } };

        add(&counts.dropped, dp_packet_size(packet));
        publish(w, key_of(packet), &counts);
    }
}

void
tenant_drop_batch(const struct dp_packet_batch *batch, size_t first)
{
    for (size_t i = first; i < dp_packet_batch_size(batch); i++) {
        tenant_drop(batch->packets[i]);
    }
}
