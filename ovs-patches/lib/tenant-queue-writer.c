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
    struct tenant_record *record; /* NULL if there was no room. */
    struct tq_counts pending;   /* What the file does not say yet. */
};

struct tenant_writer {
    struct tenant_queues *tqs;
    struct tenant_port *port;   /* NULL if there is none. */
    uint32_t core;
    struct hmap entries;        /* Contains 'struct entry's. */
    struct entry *last;         /* The last that was used. */
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
    e = xzalloc(sizeof *e);
    e->tag = tag;
    e->queue = queue;
    ovs_mutex_lock(&w->tqs->mutex);
    e->record = tenant_port_take_record(w->port, tag, queue, w->core);
    ovs_mutex_unlock(&w->tqs->mutex);
    hmap_insert(&w->entries, &e->node, hash);
    return e;
}

/* Adds what is pending in 'e' to its record. */
static void
publish(struct tenant_writer *w, struct entry *e)
{
    if (e->record) {
        struct tq_queue *queue = &w->tqs->file.queues[e->record->index];
        uint64_t *to = (uint64_t *) &queue->data.counts;
        const uint64_t *from = (const uint64_t *) &e->pending;

        tq_begin(&queue->sequence);
        for (size_t i = 0; i < sizeof e->pending / sizeof *from; i++) {
            tq_set(&to[i], tq_get(&to[i]) + from[i]);
        }
        tq_end(&queue->sequence);
    }
    memset(&e->pending, 0, sizeof e->pending);
}

static void
add(struct tq_counter *c, uint32_t bytes)
{
    c->packets++;
    c->bytes += bytes;
}

static void
count_packet(struct tq_counts *c, const struct dp_packet *packet,
             uint32_t size)
{
    add(&c->sent, size);
    if (packet->md.tenant_flags & PKT_TENANT_MARKED) {
        add(&c->marked, size);
    }
    if (packet->md.tenant_flags & PKT_TENANT_BORROWED) {
        add(&c->borrowed, size);
    }
}

void
tenant_writer_flush(struct tenant_writer *w,
                    const struct dp_packet_batch *batch,
                    uint64_t since_ns, uint64_t now_ns)
{
    struct entry *touched[NETDEV_MAX_BURST], *e = w->last;
    struct tenant_run runs[NETDEV_MAX_BURST];
    uint32_t n_touched = 0, n_runs = 0, bytes = 0;
    struct dp_packet *packet;

    if (!w->port) {
        return;
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        uint32_t tag = packet->md.tenant_tag;
        uint32_t queue = packet->md.skb_priority;
        uint32_t size = dp_packet_size(packet);

        if (!e || e->tag != tag || e->queue != queue) {
            e = find_entry(w, tag, queue);
        }
        if (!e->pending.sent.packets) {
            touched[n_touched++] = e;
        }
        count_packet(&e->pending, packet, size);
        if (!n_runs || runs[n_runs - 1].tag != tag) {
            runs[n_runs++] = (struct tenant_run) { .tag = tag };
        }
        runs[n_runs - 1].bytes += size;
        bytes += size;
    }
    w->last = e;
    for (uint32_t i = 0; i < n_touched; i++) {
        publish(w, touched[i]);
    }
    tenant_burst_queue_add(&w->port->queue, runs, n_runs,
                           dp_packet_batch_size(batch), bytes,
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
        struct entry *e = find_entry(w, packet->md.tenant_tag,
                                     packet->md.skb_priority);

        add(&e->pending.dropped, dp_packet_size(packet));
        publish(w, e);
    }
}

void
tenant_drop_batch(const struct dp_packet_batch *batch, size_t first)
{
    for (size_t i = first; i < dp_packet_batch_size(batch); i++) {
        tenant_drop(batch->packets[i]);
    }
}
