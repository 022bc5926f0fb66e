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

/* A (tag, queue) of a writer. */
struct entry {
    struct hmap_node node;      /* In struct tenant_writer's 'entries'. */
    uint32_t tag, queue;
    struct tq_queue *shm;       /* Of 'record'. */
    struct tenant_record *record; /* NULL if there was no room... */
    uint64_t n_freed;           /* ...when so many had been freed. */
};

enum { RECENT = 64 };           /* A power of 2. */

struct tenant_writer {
    struct tenant_queues *tqs;
    struct tenant_port *port;   /* NULL if there is none. */
    uint32_t core;
    struct hmap entries;        /* Contains 'struct entry's. */
    struct entry *recent[RECENT]; /* Some of them, by get_slot(). */
};

struct tenant_writer *
tenant_writer_create(struct tenant_queues *tqs, const char *name,
                     uint32_t core)
{
    struct tenant_writer *w = xzalloc(sizeof *w);

    tenant_queues_ref(tqs);
    w->tqs = tqs;
    w->core = core;
    hmap_init(&w->entries);
    ovs_mutex_lock(&tqs->mutex);
    w->port = shash_find_data(&tqs->ports, name);
    if (w->port) {
        w->port->n_refs++;
    }
    ovs_mutex_unlock(&tqs->mutex);
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

/* Tags are small and consecutive: no hash spreads better. */
static struct entry **
get_slot(struct tenant_writer *w, uint32_t tag, uint32_t queue)
{
    return &w->recent[(tag + queue * (RECENT / 8)) % RECENT];
}

static void
increase(struct tq_counter *c, const struct tq_counter *more)
{
    tq_set(&c->packets, tq_get(&c->packets) + more->packets);
    tq_set(&c->bytes, tq_get(&c->bytes) + more->bytes);
}

/* Adds '*more' to what the record of 'tag' and 'queue' counts.  'only_sent'
 * says that the rest of it is not set. */
static inline void
publish(struct tenant_writer *w, uint32_t tag, uint32_t queue,
        const struct tq_counts *more, bool only_sent)
{
    struct entry **slot = get_slot(w, tag, queue);
    struct entry *e = *slot;

    if (OVS_UNLIKELY(!e || e->tag != tag || e->queue != queue)) {
        e = *slot = find_entry(w, tag, queue);
    }
    if (OVS_UNLIKELY(!e->shm)) {
        retake_record(w, e);
    }
    if (OVS_LIKELY(e->shm)) {
        struct tq_counts *counts = &e->shm->data.counts;

        tq_begin(&e->shm->sequence);
        increase(&counts->sent, &more->sent);
        if (OVS_UNLIKELY(!only_sent)) {
            increase(&counts->dropped, &more->dropped);
            increase(&counts->marked, &more->marked);
            increase(&counts->borrowed, &more->borrowed);
        }
        tq_end(&e->shm->sequence);
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
}

static bool
is_of(const struct dp_packet *packet, uint32_t tag, uint32_t queue)
{
    return (packet->md.tenant_tag == tag
            && packet->md.skb_priority == queue);
}

/* Counts the packets from number 'first' of 'batch' that have its tag and
 * queue, up to the first that has not, as '*run'.  Returns how many. */
static size_t
count_run(struct tenant_writer *w, const struct dp_packet_batch *batch,
          size_t first, struct tenant_run *run)
{
    uint32_t tag = batch->packets[first]->md.tenant_tag;
    uint32_t queue = batch->packets[first]->md.skb_priority;
    size_t n = dp_packet_batch_size(batch), i;
    struct tq_counts counts;
    uint16_t flags = 0;
    uint32_t bytes = 0;

    for (i = first; i < n && is_of(batch->packets[i], tag, queue); i++) {
        bytes += dp_packet_size(batch->packets[i]);
        flags |= batch->packets[i]->md.tenant_flags;
    }
    if (OVS_UNLIKELY(flags)) {
        memset(&counts, 0, sizeof counts);
        for (size_t j = first; j < i; j++) {
            count_flags(&counts, batch->packets[j]->md.tenant_flags,
                        dp_packet_size(batch->packets[j]));
        }
    }
    counts.sent.packets = i - first;
    counts.sent.bytes = bytes;
    publish(w, tag, queue, &counts, !flags);
    *run = (struct tenant_run) { tag, bytes };
    return i - first;
}

void
tenant_writer_flush(struct tenant_writer *w,
                    const struct dp_packet_batch *batch,
                    uint64_t since_ns, uint64_t now_ns)
{
    size_t n_packets = dp_packet_batch_size(batch);
    struct tenant_run runs[NETDEV_MAX_BURST];
    uint32_t n_runs = 0, bytes = 0;

    if (!w->port) {
        return;
    }
    for (size_t i = 0; i < n_packets;) {
        struct tenant_run run;

        i += count_run(w, batch, i, &run);
        bytes += run.bytes;
        if (n_runs && runs[n_runs - 1].tag == run.tag) {
            runs[n_runs - 1].bytes += run.bytes;    /* Of another queue. */
        } else {
            runs[n_runs++] = run;
        }
    }
    tenant_burst_queue_add(&w->port->queue, runs, n_runs, n_packets, bytes,
                           since_ns, now_ns);
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
        publish(w, packet->md.tenant_tag, packet->md.skb_priority, &counts,
                false);
    }
}

void
tenant_drop_batch(const struct dp_packet_batch *batch, size_t first)
{
    for (size_t i = first; i < dp_packet_batch_size(batch); i++) {
        tenant_drop(batch->packets[i]);
    }
}
