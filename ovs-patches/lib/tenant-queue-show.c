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

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "tenant-queue-private.h"
#include "util.h"

/* What all threads together have sent to (port, tag, queue). */
struct total {
    uint64_t tag, queue;
    struct tq_counts counts;
};

/* What is shown of a port. */
struct view {
    struct tq_port_id id;
    const struct tq_port *shm;  /* NULL: there is no port. */
    uint64_t now_ns;
    uint64_t depth;
    uint64_t recent;            /* Watermark since it was reset. */
    struct total *totals;       /* By tag and queue. */
    size_t n_totals;
};

/* Reading. */

enum { TRIES = 1000 };          /* To find a record that nobody writes. */

/* Reads what '*queue' counts to '*counts'; leaves that as it is if somebody
 * writes it all the time, as a thread that is kept from running does. */
static void
read_counts(const struct tq_queue *queue, struct tq_counts *counts)
{
    for (int i = 0; i < TRIES; i++) {
        struct tq_counts now;

        if (tq_copy(&queue->sequence, &queue->data.counts, &now,
                    sizeof now)) {
            *counts = now;
            break;
        }
    }
}

static int
compare_totals(const void *a_, const void *b_)
{
    const struct total *a = a_, *b = b_;

    if (a->tag != b->tag) {
        return a->tag < b->tag ? -1 : 1;
    }
    return a->queue < b->queue ? -1 : a->queue > b->queue;
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

/* Makes one of those of 'n' totals, sorted, that have the same key, and
 * returns how many are left. */
static size_t
merge_totals(struct total *totals, size_t n)
{
    size_t n_merged = 0;

    for (size_t i = 0; i < n; i++) {
        if (n_merged && !compare_totals(&totals[n_merged - 1], &totals[i])) {
            add_counts(&totals[n_merged - 1].counts, &totals[i].counts);
        } else {
            totals[n_merged++] = totals[i];
        }
    }
    return n_merged;
}

static void
read_totals(struct tenant_port *port, struct view *view)
{
    struct tenant_record *r;

    view->totals = xmalloc(hmap_count(&port->records) * sizeof *view->totals);
    HMAP_FOR_EACH (r, node, &port->records) {
        read_counts(&port->tqs->file.queues[r->index], &r->seen);
        view->totals[view->n_totals++] = (struct total) {
            .tag = r->tag,
            .queue = r->queue,
            .counts = r->seen,
        };
    }
    qsort(view->totals, view->n_totals, sizeof *view->totals, compare_totals);
    view->n_totals = merge_totals(view->totals, view->n_totals);
}

/* Reads event number 'n'.  Returns false if it is not there anymore, or not
 * yet. */
static bool
read_event(const struct tq_port *port, uint64_t n, struct tq_event *event)
{
    const struct tq_event_slot *slot = &port->events[n % TQ_EVENTS];

    return tq_copy(&slot->sequence, &slot->event, event, sizeof *event)
           && tq_get(&slot->sequence) == 2 * n + 2;
}

/* Text. */

static const char *
role(const struct tq_event *e, const struct tq_share *share)
{
    return tq_is_culprit(e, share) ? "culprit" : "victim";
}

static void
format_histogram(struct ds *s, const char *name, const uint64_t buckets[])
{
    ds_put_format(s, "    %s:", name);
    for (int i = 0; i < TQ_BUCKETS; i++) {
        uint64_t n = tq_get(&buckets[i]);

        if (n) {
            ds_put_format(s, " %"PRIu64"+:%"PRIu64, UINT64_C(1) << i, n);
        }
    }
    ds_put_char(s, '\n');
}

static void
format_event(struct ds *s, const struct tq_event *e, uint64_t now_ns)
{
    ds_put_format(s, "    burst: age_ns:%"PRIu64" length_ns:%"PRIu64
                  " rise_ns:%"PRIu64" max_depth:%"PRIu64" byte_count:%"PRIu64
                  " max_gap_ns:%"PRIu64" tenants:%"PRIu64"\n",
                  now_ns - e->start_ns, e->length_ns, e->rise_ns,
                  e->peak_depth, e->bytes, e->gap_ns, e->n_tenants);
    for (uint64_t i = 0; i < MIN(e->n_tenants, TQ_SHARES); i++) {
        ds_put_format(s, "      tag:%"PRIu64" byte_count:%"PRIu64" %s\n",
                      e->shares[i].tag, e->shares[i].bytes,
                      role(e, &e->shares[i]));
    }
    if (e->other_bytes || e->unknown_bytes) {
        ds_put_format(s, "      others:%"PRIu64" unknown:%"PRIu64"\n",
                      e->other_bytes, e->unknown_bytes);
    }
}

static void
format_bursts(struct ds *s, const struct view *v)
{
    uint64_t n = tq_get(&v->shm->n_events);

    ds_put_format(s, "  depth:%"PRIu64" max_depth:%"PRIu64
                  " recent_max_depth:%"PRIu64" max_gap_ns:%"PRIu64"\n",
                  v->depth, tq_get(&v->shm->watermark), v->recent,
                  tq_get(&v->shm->gap_ns));
    ds_put_format(s, "  bursts: count:%"PRIu64" byte_count:%"PRIu64"\n",
                  tq_get(&v->shm->n_bursts), tq_get(&v->shm->burst_bytes));
    if (n) {
        format_histogram(s, "length_ns", v->shm->lengths);
        format_histogram(s, "max_depth", v->shm->depths);
    }
    for (uint64_t i = n - MIN(n, TQ_EVENTS); i < n; i++) {
        struct tq_event event;

        if (read_event(v->shm, i, &event)) {
            format_event(s, &event, v->now_ns);
        }
    }
}

static void
format_counter(struct ds *s, const char *name, const struct tq_counter *c)
{
    ds_put_format(s, " %s:%"PRIu64"/%"PRIu64, name, c->packets, c->bytes);
}

/* Only what is not 0. */
static void
format_metered(struct ds *s, const struct tq_counter metered[TQ_REASONS])
{
    for (int i = 0; i < TQ_REASONS; i++) {
        if (metered[i].packets) {
            ds_put_format(s, " metered_%s:%"PRIu64"/%"PRIu64,
                          tq_reason_name(i), metered[i].packets,
                          metered[i].bytes);
        }
    }
}

static void
format_queue(struct ds *s, const struct view *v)
{
    if (v->id.rate) {
        ds_put_format(s, " rate:%"PRIu64" threshold:%"PRIu64"\n", v->id.rate,
                      v->id.threshold);
        format_bursts(s, v);
    } else {
        ds_put_cstr(s, " rate:unknown\n");
    }
}

static void
format_port(struct ds *s, const struct view *v)
{
    const char *name = (const char *) v->id.name;

    ds_put_cstr(s, "port ");
    ds_put_printable(s, name, strlen(name));
    if (v->shm) {
        ds_put_format(s, " (%"PRIu64"):", v->id.number);
        format_queue(s, v);
    } else {
        ds_put_cstr(s, ":\n");
    }
    for (size_t i = 0; i < v->n_totals; i++) {
        const struct total *t = &v->totals[i];

        ds_put_format(s, "  tag:%"PRIu64" queue:%"PRIu64, t->tag, t->queue);
        format_counter(s, "sent", &t->counts.sent);
        format_counter(s, "dropped", &t->counts.dropped);
        format_counter(s, "marked", &t->counts.marked);
        format_counter(s, "borrowed", &t->counts.borrowed);
        format_counter(s, "remarked", &t->counts.remarked);
        format_metered(s, t->counts.metered);
        ds_put_char(s, '\n');
    }
}

/* JSON. */

static void
put_number(struct json *object, const char *name, uint64_t value)
{
    json_object_put(object, name, json_integer_create(value));
}

/* Only what is not empty: { "1024": 3 }. */
static void
put_histogram(struct json *object, const char *name, const uint64_t buckets[])
{
    struct json *json = json_object_create();

    for (int i = 0; i < TQ_BUCKETS; i++) {
        uint64_t n = tq_get(&buckets[i]);

        if (n) {
            json_object_put_nocopy(json,
                                   xasprintf("%"PRIu64, UINT64_C(1) << i),
                                   json_integer_create(n));
        }
    }
    json_object_put(object, name, json);
}

static struct json *
event_to_json(const struct tq_event *e, uint64_t now_ns)
{
    struct json *json = json_object_create();
    struct json *shares = json_array_create_empty();

    for (uint64_t i = 0; i < MIN(e->n_tenants, TQ_SHARES); i++) {
        struct json *share = json_object_create();

        put_number(share, "tag", e->shares[i].tag);
        put_number(share, "byte_count", e->shares[i].bytes);
        json_object_put_string(share, "role", role(e, &e->shares[i]));
        json_array_add(shares, share);
    }
    put_number(json, "age_ns", now_ns - e->start_ns);
    put_number(json, "length_ns", e->length_ns);
    put_number(json, "rise_ns", e->rise_ns);
    put_number(json, "max_depth", e->peak_depth);
    put_number(json, "byte_count", e->bytes);
    put_number(json, "max_gap_ns", e->gap_ns);
    put_number(json, "tenants", e->n_tenants);
    put_number(json, "others", e->other_bytes);
    put_number(json, "unknown", e->unknown_bytes);
    json_object_put(json, "shares", shares);
    return json;
}

static void
put_bursts(struct json *port, const struct view *v)
{
    uint64_t n = tq_get(&v->shm->n_events);
    struct json *events = json_array_create_empty();

    put_number(port, "rate", v->id.rate);
    put_number(port, "threshold", v->id.threshold);
    put_number(port, "depth", v->depth);
    put_number(port, "max_depth", tq_get(&v->shm->watermark));
    put_number(port, "recent_max_depth", v->recent);
    put_number(port, "max_gap_ns", tq_get(&v->shm->gap_ns));
    put_number(port, "count", tq_get(&v->shm->n_bursts));
    put_number(port, "byte_count", tq_get(&v->shm->burst_bytes));
    put_histogram(port, "length_ns", v->shm->lengths);
    put_histogram(port, "depths", v->shm->depths);
    for (uint64_t i = n - MIN(n, TQ_EVENTS); i < n; i++) {
        struct tq_event event;

        if (read_event(v->shm, i, &event)) {
            json_array_add(events, event_to_json(&event, v->now_ns));
        }
    }
    json_object_put(port, "bursts", events);
}

static void
put_counter(struct json *object, const char *name, const struct tq_counter *c)
{
    struct json *json = json_object_create();

    put_number(json, "packet_count", c->packets);
    put_number(json, "byte_count", c->bytes);
    json_object_put(object, name, json);
}

static void
put_metered(struct json *queue, const struct tq_counter metered[TQ_REASONS])
{
    struct json *json = json_object_create();

    for (int i = 0; i < TQ_REASONS; i++) {
        put_counter(json, tq_reason_name(i), &metered[i]);
    }
    json_object_put(queue, "metered", json);
}

static struct json *
port_to_json(const struct view *v)
{
    struct json *port = json_object_create();
    struct json *queues = json_array_create_empty();

    json_object_put_string(port, "port", (const char *) v->id.name);
    if (v->shm) {
        put_number(port, "number", v->id.number);
    }
    if (v->id.rate) {
        put_bursts(port, v);
    }
    for (size_t i = 0; i < v->n_totals; i++) {
        const struct total *t = &v->totals[i];
        struct json *queue = json_object_create();

        put_number(queue, "tag", t->tag);
        put_number(queue, "queue", t->queue);
        put_counter(queue, "sent", &t->counts.sent);
        put_counter(queue, "dropped", &t->counts.dropped);
        put_counter(queue, "marked", &t->counts.marked);
        put_counter(queue, "borrowed", &t->counts.borrowed);
        put_counter(queue, "remarked", &t->counts.remarked);
        put_metered(queue, t->counts.metered);
        json_array_add(queues, queue);
    }
    json_object_put(port, "queues", queues);
    return port;
}

/* Both. */

static void
take_view(struct tenant_port *port, uint64_t now_ns, bool forget,
          struct view *view)
{
    view->id = port->queue.shm->id;
    view->shm = port->queue.shm;
    view->now_ns = now_ns;
    tenant_burst_queue_observe(&port->queue, now_ns);
    view->depth = tenant_burst_queue_depth(&port->queue, now_ns);
    atomic_read_relaxed(&port->queue.recent, &view->recent);
    if (forget) {
        atomic_store_relaxed(&port->queue.recent, UINT64_C(0));
    }
    read_totals(port, view);
}

/* The same of what has no port. */
static void
take_portless_view(struct tenant_port *no_port, struct view *view)
{
    ovs_strlcpy((char *) view->id.name, no_port->name, sizeof view->id.name);
    read_totals(no_port, view);
}

void
tenant_queues_show(struct tenant_queues *tqs, uint64_t now_ns, bool as_json,
                   bool forget, struct ds *s)
{
    struct json *array = json_array_create_empty();
    const struct shash_node **nodes;
    struct view *views;
    uint64_t n_left_out;
    size_t n;

    /* A thread that sends may be waiting meanwhile. */
    ovs_mutex_lock(&tqs->mutex);
    n = shash_count(&tqs->ports);
    nodes = shash_sort(&tqs->ports);
    views = xcalloc(n + 1, sizeof *views);
    for (size_t i = 0; i < n; i++) {
        take_view(nodes[i]->data, now_ns, forget, &views[i]);
    }
    if (!hmap_is_empty(&tqs->no_port->records)) {
        take_portless_view(tqs->no_port, &views[n++]);
    }
    n_left_out = tq_get(&tqs->file.header->n_left_out);
    ovs_mutex_unlock(&tqs->mutex);

    for (size_t i = 0; i < n; i++) {
        if (as_json) {
            json_array_add(array, port_to_json(&views[i]));
        } else {
            format_port(s, &views[i]);
        }
        free(views[i].totals);
    }
    if (as_json) {
        json_to_ds(array, JSSF_SORT, s);
    } else if (n_left_out) {
        ds_put_format(s, "left out, for lack of room: %"PRIu64"\n",
                      n_left_out);
    }
    json_destroy(array);
    free(nodes);
    free(views);
}

/* Queues, whatever their tags. */

static int
compare_queues(const void *a_, const void *b_)
{
    const struct total *a = a_, *b = b_;

    return a->queue < b->queue ? -1 : a->queue > b->queue;
}

int
tenant_queues_dump_port(struct tenant_queues *tqs, const char *name,
                        netdev_dump_queue_stats_cb *cb, void *aux)
{
    struct view view = { .n_totals = 0 };
    struct tenant_port *port;

    ovs_mutex_lock(&tqs->mutex);
    port = shash_find_data(&tqs->ports, name);
    if (port) {
        read_totals(port, &view);
    }
    ovs_mutex_unlock(&tqs->mutex);

    qsort(view.totals, view.n_totals, sizeof *view.totals, compare_queues);
    for (size_t i = 0; i < view.n_totals; ) {
        struct total t = view.totals[i];
        struct netdev_queue_stats stats = { .created = LLONG_MIN };

        while (++i < view.n_totals && view.totals[i].queue == t.queue) {
            add_counts(&t.counts, &view.totals[i].counts);
        }
        stats.tx_packets = t.counts.sent.packets - t.counts.dropped.packets;
        stats.tx_bytes = t.counts.sent.bytes - t.counts.dropped.bytes;
        stats.tx_errors = t.counts.dropped.packets;
        if (t.counts.sent.packets) {
            cb(t.queue, &stats, aux);
        }
    }
    free(view.totals);
    return port ? 0 : ENODEV;
}
