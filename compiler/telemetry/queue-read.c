/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/queue-file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "telemetry/fault.h"
#include "telemetry/queue-private.h"
#include "util.h"

enum { TRIES = 1000 };          /* To find a record that nobody writes. */
enum { PORT_TRIES = 10 };       /* To read a port that remains the same. */
#define NS_PER_S UINT64_C(1000000000)

/* A port of the file and what was read of it. */
struct view {
    const struct tq_port *shm;
    struct queue_port *port;
};

static uint64_t
clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static bool
copy_record(const uint64_t *sequence, const void *from, void *to, size_t size)
{
    for (int i = 0; i < TRIES; i++) {
        if (tq_copy(sequence, from, to, size)) {
            return true;
        }
    }
    return false;
}

/* A port's name goes to terminals and into files of others: bytes that are not
 * printable ASCII become "\xHH". */
static const char *
clean_name(struct arena *arena, const uint64_t words[TQ_NAME_WORDS])
{
    const char *from = (const char *) words;
    size_t size = TQ_NAME_WORDS * sizeof *words;
    char *name = arena_zalloc(arena, 4 * size + 1);
    char *to = name;

    for (size_t i = 0; i < size && from[i]; i++) {
        if (from[i] < ' ' || from[i] > '~') {
            to += sprintf(to, "\\x%02x", (unsigned char) from[i]);
        } else {
            *to++ = from[i];
        }
    }
    return name;
}

static uint64_t
depth_at(uint64_t empty_ns, uint64_t rate_kbps, uint64_t now_ns)
{
    uint64_t ns = empty_ns - MIN(empty_ns, now_ns);

    return MIN(ns, NS_PER_S) * rate_kbps / 8000000;
}

/* The greatest depth of the periods that began not longer than
 * SAMPLE_RECENT_NS ago. */
static uint64_t
recent_depth(const struct tq_port *shm, uint64_t now_ns)
{
    uint32_t now = now_ns / TQ_PERIOD_NS;
    uint32_t deepest = 0;

    for (int i = 0; i < TQ_PERIODS; i++) {
        uint64_t word = tq_get(&shm->periods[i]);
        uint32_t period = word >> 32;

        if (now - period <= SAMPLE_RECENT_NS / TQ_PERIOD_NS) {
            deepest = MAX(deepest, (uint32_t) word);
        }
    }
    return deepest;
}

static void
read_buckets(uint64_t to[TQ_BUCKETS], const uint64_t from[TQ_BUCKETS])
{
    for (int i = 0; i < TQ_BUCKETS; i++) {
        to[i] = tq_get(&from[i]);
    }
}

static void
read_port(const struct tq_port *shm, const struct tq_port_id *id,
          uint64_t now_ns, struct arena *arena, struct queue_port *port)
{
    *port = (struct queue_port) {
        .generation = id->generation,
        .name = clean_name(arena, id->name),
        .rate = id->rate,
        .threshold = id->threshold,
        .depth = depth_at(tq_get(&shm->empty_ns), id->rate, now_ns),
        .recent_depth = recent_depth(shm, now_ns),
        .max_depth = tq_get(&shm->watermark),
        .gap_ns = tq_get(&shm->gap_ns),
        .n_bursts = tq_get(&shm->n_bursts),
        .burst_bytes = tq_get(&shm->burst_bytes),
    };
    read_buckets(port->lengths, shm->lengths);
    read_buckets(port->depths, shm->depths);
}

/* Bursts. */

static struct queue_cursor *
find_cursor(struct queue_cursors *cursors, uint64_t generation)
{
    for (size_t i = 0; i < cursors->n; i++) {
        if (cursors->v[i].generation == generation) {
            return &cursors->v[i];
        }
    }
    cursors->v = xrealloc(cursors->v, (cursors->n + 1) * sizeof *cursors->v);
    cursors->v[cursors->n] = (struct queue_cursor) {
        .generation = generation,
    };
    return &cursors->v[cursors->n++];
}

/* Forgets the ports that are gone. */
static void
prune_cursors(struct queue_cursors *cursors, const struct sample *s)
{
    size_t n = 0;

    for (size_t i = 0; i < cursors->n; i++) {
        if (sample_port(s, cursors->v[i].generation)) {
            cursors->v[n++] = cursors->v[i];
        }
    }
    cursors->n = n;
}

/* Appends a burst, unless it is none that the writer can have written. */
static void
add_burst(struct sample *s, struct arena *arena,
          const struct queue_port *port, const struct tq_event *e)
{
    struct burst *burst;

    if (e->unknown_bytes > e->peak_depth) {
        s->n_unread++;
        return;
    }
    burst = vec_push(arena, &s->bursts);
    burst->generation = port->generation;
    burst->port = port->name;
    burst->start_ns = (s->time_ns - s->clock_ns
                       + MIN(e->start_ns, s->clock_ns));
    burst->event = *e;
    burst->n_shares = MIN(e->n_tenants, TQ_SHARES);
}

/* Reads burst number 'n'.  One that is still being written is left for the
 * next time; the time after, it counts as one that nobody kept. */
static bool
read_burst(struct sample *s, struct arena *arena, const struct view *view,
           struct queue_cursor *cursor, uint64_t *n_missed)
{
    const struct tq_event_slot *slot
        = &view->shm->events[cursor->next % TQ_EVENTS];
    uint64_t sequence = 2 * cursor->next + 2;
    struct tq_event e;

    if (copy_record(&slot->sequence, &slot->event, &e, sizeof e)
        && tq_get(&slot->sequence) == sequence) {
        add_burst(s, arena, view->port, &e);
    } else if (tq_get(&slot->sequence) < sequence && !cursor->waited) {
        cursor->waited = true;
        return false;
    } else {
        ++*n_missed;
    }
    cursor->waited = false;
    cursor->next++;
    return true;
}

static void
read_bursts(struct sample *s, struct arena *arena, const struct view *view,
            struct queue_cursor *cursor)
{
    uint64_t end = tq_get(&view->shm->n_events);
    uint64_t n_missed = 0;

    cursor->next = MIN(cursor->next, end);
    if (end - cursor->next > TQ_EVENTS) {
        n_missed = end - cursor->next - TQ_EVENTS;
        cursor->next = end - TQ_EVENTS;
        cursor->waited = false;
    }
    while (cursor->next < end
           && read_burst(s, arena, view, cursor, &n_missed)) {
        continue;
    }
    if (n_missed) {
        *vec_push(arena, &s->missed) = (struct missed) {
            view->port->name, n_missed,
        };
    }
}

/* All of it. */

/* Counts a record that could not be read.  Is it 'kept'? */
static bool
is_kept(struct sample *s, bool kept)
{
    s->n_unread++;
    s->n_unknown += !kept;
    return kept;
}

/* A port as it was read last, without bursts. */
static void
put_kept_port(const struct kept_port *kept, struct arena *arena,
              struct sample *s)
{
    if (is_kept(s, kept->id.generation
                && !sample_port(s, kept->id.generation))) {
        struct queue_port *port = vec_push(arena, &s->ports);

        *port = kept->port;
        port->name = clean_name(arena, kept->id.name);
    }
}

/* Reads 'port', if it is one, and keeps it.  Returns false, and has read
 * nothing, if it became another one meanwhile. */
static bool
read_port_once(const struct tq_port *port, struct arena *arena,
               struct queue_cursors *cursors, struct sample *s,
               struct kept_port *kept)
{
    uint64_t sequence = tq_get(&port->sequence);
    struct queue_cursor *cursor, cursor_before;
    const struct sample before = *s;
    struct tq_port_id id;
    struct view view;

    if (!copy_record(&port->sequence, &port->id, &id, sizeof id)) {
        put_kept_port(kept, arena, s);
        return true;
    } else if (!id.generation || sample_port(s, id.generation)) {
        kept->id.generation = 0;
        return true;
    }
    view = (struct view) { port, vec_push(arena, &s->ports) };
    cursor = find_cursor(cursors, id.generation);
    cursor_before = *cursor;
    read_port(port, &id, s->clock_ns, arena, view.port);
    read_bursts(s, arena, &view, cursor);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (tq_get(&port->sequence) == sequence) {
        *kept = (struct kept_port) { id, *view.port };
        return true;
    }
    *cursor = cursor_before;
    s->ports.n = before.ports.n;
    s->bursts.n = before.bursts.n;
    s->missed.n = before.missed.n;
    s->n_unread = before.n_unread;
    return false;
}

static void
read_ports(const struct queue_file *f, struct arena *arena,
           struct queue_cursors *cursors, struct sample *s)
{
    const struct tq_header *h = &f->header;
    const struct tq_header *shm = (const void *) f->map;
    uint64_t n = MIN(h->n_ports, tq_get(&shm->n_ports_used));

    for (uint64_t i = 0; i < n; i++) {
        const struct tq_port *port = (const void *) (f->map + h->port_offset
                                                     + i * h->port_size);
        int tries = 0;

        while (!read_port_once(port, arena, cursors, s, &f->ports[i])) {
            if (++tries >= PORT_TRIES) {
                put_kept_port(&f->ports[i], arena, s);
                break;
            }
        }
    }
    for (uint64_t i = n; i < h->n_ports; i++) {
        f->ports[i].id.generation = 0;
    }
}

/* Reads record 'i', whose last members may not be there. */
static bool
read_queue(const struct queue_file *f, uint64_t i,
           struct tq_queue_data *data)
{
    const struct tq_header *h = &f->header;
    const struct tq_queue *queue = (const void *) (
        f->map + h->queue_offset + i * h->queue_size);
    size_t size = MIN(h->queue_size - offsetof(struct tq_queue, data),
                      sizeof *data);

    memset(data, 0, sizeof *data);
    return copy_record(&queue->sequence, &queue->data, data, size);
}

/* Does it count for a port that was read, or for none? */
static bool
has_port(const struct queue_file *f, const struct tq_queue_data *data)
{
    if (data->port == TQ_NO_PORT) {
        return data->generation == TQ_NO_PORT;
    }
    return (data->generation && data->port < f->header.n_ports
            && data->generation == f->ports[data->port].id.generation);
}

static void
read_queues(const struct queue_file *f, struct arena *arena, struct sample *s)
{
    const struct tq_header *h = &f->header;
    const struct tq_header *shm = (const void *) f->map;
    uint64_t n = MIN(h->n_queues, tq_get(&shm->n_queues_used));

    for (uint64_t i = 0; i < n; i++) {
        struct tq_queue_data data;
        bool ok = read_queue(f, i, &data);

        if (ok) {
            f->queues[i] = data;
        }
        if ((ok || is_kept(s, f->queues[i].generation))
            && has_port(f, &f->queues[i])) {
            const struct tq_queue_data *kept = &f->queues[i];

            *vec_push(arena, &s->totals) = (struct queue_total) {
                .generation = kept->generation, .tag = kept->tag,
                .queue = kept->queue, .counts = kept->counts,
            };
        }
    }
}

const char *
queue_file_read(struct queue_file *f, struct arena *arena,
                struct queue_cursors *cursors, struct sample *s)
{
    const struct tq_header *shm = (const void *) f->map;

    *s = (struct sample) {
        .time_ns = clock_ns(CLOCK_REALTIME),
        .clock_ns = clock_ns(CLOCK_MONOTONIC),
        .pid = f->header.pid,
        .closed = tq_get(&shm->closed) != 0,
        .n_left_out = tq_get(&shm->n_left_out),
    };
    s->orphaned = !s->closed && !queue_file_has_writer(f);
    read_ports(f, arena, cursors, s);
    read_queues(f, arena, s);
    if (fault_happened()) {
        return arena_printf(arena, "%s "QUEUE_FILE_CUT, f->path);
    }
    prune_cursors(cursors, s);
    sample_sort(s);
    return NULL;
}
