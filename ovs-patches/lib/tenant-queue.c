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

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "tenant-queue-private.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tenant_queue);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

/* Records of the file. */

static void
count_left_out(struct tenant_queues *tqs)
{
    tq_set(&tqs->file.header->n_left_out, sset_count(&tqs->left_out));
}

static void
leave_out(struct tenant_queues *tqs, const char *key, const char *port,
          const char *what)
{
    if (sset_add(&tqs->left_out, key)) {
        count_left_out(tqs);
        VLOG_WARN_RL(&rl, "%s: there is no room to count %s", port, what);
    }
}

static void
take_in(struct tenant_queues *tqs, const char *key)
{
    if (sset_find_and_delete(&tqs->left_out, key)) {
        count_left_out(tqs);
    }
}

/* Nothing of the port is left out any more, since it is gone. */
static void
forget_left_out(struct tenant_queues *tqs, const char *port)
{
    size_t length = strlen(port);
    const char *key, *next;

    SSET_FOR_EACH_SAFE (key, next, &tqs->left_out) {
        if (!strncmp(key, port, length)
            && (!key[length] || key[length] == '\n')) {
            sset_delete(&tqs->left_out, SSET_NODE_FROM_NAME(key));
        }
    }
    count_left_out(tqs);
}

/* What a record is called in 'left_out', where a port has its name. */
static char *
record_key(const struct tenant_port *port, uint32_t tag, uint32_t queue)
{
    return xasprintf("%s\n%"PRIu32" %"PRIu32, port->name, tag, queue);
}

static void
write_queue(struct tenant_queues *tqs, uint32_t index,
            const struct tq_queue_data *data)
{
    struct tq_queue *queue = &tqs->file.queues[index];

    tq_begin(&queue->sequence);
    tq_put(&queue->data, data, sizeof *data);
    tq_end(&queue->sequence);
}

struct tenant_record *
tenant_port_take_record(struct tenant_port *port, uint32_t tag,
                        uint32_t queue, uint32_t core)
{
    struct tenant_queues *tqs = port->tqs;
    uint32_t hash = hash_2words(tag, queue);
    struct tq_queue_data data;
    struct tenant_record *r;
    char *key;

    HMAP_FOR_EACH_WITH_HASH (r, node, hash, &port->records) {
        if (r->tag == tag && r->queue == queue && !r->in_use) {
            data = tqs->file.queues[r->index].data;
            goto found;
        }
    }
    key = record_key(port, tag, queue);
    if (!tqs->n_free_queues) {
        leave_out(tqs, key, port->name, "another tenant's queue");
        free(key);
        return NULL;
    }
    take_in(tqs, key);
    free(key);
    r = xzalloc(sizeof *r);
    r->tag = tag;
    r->queue = queue;
    r->index = tqs->free_queues[--tqs->n_free_queues];
    hmap_insert(&port->records, &r->node, hash);
    data = (struct tq_queue_data) {
        .generation = port->generation,
        .port = port->index,
        .tag = tag,
        .queue = queue,
    };
    if (r->index >= tqs->file.header->n_queues_used) {
        tq_set(&tqs->file.header->n_queues_used, r->index + 1);
    }

found:
    r->in_use = true;
    data.core = core;
    write_queue(tqs, r->index, &data);
    return r;
}

void
tenant_port_leave_record(struct tenant_port *port, struct tenant_record *r)
{
    struct tq_queue_data data = port->tqs->file.queues[r->index].data;

    data.core = UINT64_MAX;
    write_queue(port->tqs, r->index, &data);
    r->in_use = false;
}

/* Ports. */

static void
write_port_id(struct tenant_port *port, const struct tq_port_id *id)
{
    struct tq_port *shm = &port->tqs->file.ports[port->index];

    tq_begin(&shm->sequence);
    tq_put(&shm->id, id, sizeof *id);
    tq_end(&shm->sequence);
}

/* Returns the index of a free record, or TQ_PORTS. */
static uint32_t
find_free_port(const struct tenant_queues *tqs)
{
    uint32_t i;

    for (i = 0; i < TQ_PORTS; i++) {
        if (!tq_get(&tqs->file.ports[i].id.generation)) {
            break;
        }
    }
    return i;
}

static struct tenant_port *
new_port(struct tenant_queues *tqs, const char *name, uint64_t index,
         uint64_t generation)
{
    struct tenant_port *port = xzalloc_cacheline(sizeof *port);

    port->tqs = tqs;
    port->name = xstrdup(name);
    port->index = index;
    port->generation = generation;
    port->n_refs = 1;
    hmap_init(&port->records);
    return port;
}

static struct tenant_port *
add_port(struct tenant_queues *tqs, const char *name)
{
    uint32_t index = find_free_port(tqs);
    struct tenant_port *port;
    uint64_t n_before;

    if (index >= TQ_PORTS) {
        leave_out(tqs, name, name, "what tenants send to it");
        return NULL;
    }
    take_in(tqs, name);
    atomic_add_relaxed(&tqs->n_generations, UINT64_C(1), &n_before);
    port = new_port(tqs, name, index, n_before + 1);
    tenant_burst_queue_init(&port->queue, &tqs->file.ports[index],
                            time_nsec());
    shash_add(&tqs->ports, name, port);
    if (index >= tqs->file.header->n_ports_used) {
        tq_set(&tqs->file.header->n_ports_used, index + 1);
    }
    return port;
}

/* Leaves the record of 'port' to another one. */
static void
free_port(struct tenant_port *port)
{
    static const struct tq_port no_port;
    struct tq_port *shm = &port->tqs->file.ports[port->index];

    write_port_id(port, &no_port.id);
    tq_put(&shm->empty_ns, &no_port.empty_ns,
           sizeof *shm - offsetof(struct tq_port, empty_ns));
    tenant_burst_queue_uninit(&port->queue);
}

void
tenant_port_unref(struct tenant_port *port)
{
    static const struct tq_queue_data no_queue;
    struct tenant_queues *tqs = port->tqs;
    struct tenant_record *r;
    uint64_t n_freed;

    if (--port->n_refs) {
        return;
    }
    HMAP_FOR_EACH_POP (r, node, &port->records) {
        write_queue(tqs, r->index, &no_queue);
        tqs->free_queues[tqs->n_free_queues++] = r->index;
        atomic_add_relaxed(&tqs->n_freed, UINT64_C(1), &n_freed);
        free(r);
    }
    hmap_destroy(&port->records);
    if (port->index != TQ_NO_PORT) {
        free_port(port);
    }
    free(port->name);
    free_cacheline(port);
}

/* What a queue takes for a burst, unless it was told. */
static uint32_t
default_threshold(uint64_t rate)
{
    return MAX(rate * 10 / 8000, 65536);        /* 10 us. */
}

void
tenant_queues_set_port(struct tenant_queues *tqs, const char *name,
                       uint32_t number, uint64_t rate, uint32_t threshold)
{
    struct tenant_port *port;
    struct tq_port_id id;

    rate = MIN(rate, UINT32_MAX);
    threshold = threshold ? threshold : default_threshold(rate);

    ovs_mutex_lock(&tqs->mutex);
    port = shash_find_data(&tqs->ports, name);
    if (!port) {
        port = add_port(tqs, name);
    }
    if (port) {
        memset(&id, 0, sizeof id);
        id.generation = port->generation;
        id.number = number;
        id.rate = rate;
        id.threshold = threshold;
        ovs_strlcpy((char *) id.name, name, sizeof id.name);
        if (memcmp(&id, &port->queue.shm->id, sizeof id)) {
            tenant_burst_queue_reconfigure(&port->queue, rate, threshold,
                                           time_nsec());
            write_port_id(port, &id);
        }
    }
    ovs_mutex_unlock(&tqs->mutex);
}

void
tenant_queues_del_port(struct tenant_queues *tqs, const char *name)
{
    struct tenant_port *port;

    ovs_mutex_lock(&tqs->mutex);
    port = shash_find_and_delete(&tqs->ports, name);
    if (port) {
        tenant_port_unref(port);
    }
    forget_left_out(tqs, name);
    ovs_mutex_unlock(&tqs->mutex);
}

void
tenant_queues_run(struct tenant_queues *tqs, uint64_t now_ns)
{
    struct shash_node *node;

    ovs_mutex_lock(&tqs->mutex);
    SHASH_FOR_EACH (node, &tqs->ports) {
        struct tenant_port *port = node->data;

        tenant_burst_queue_observe(&port->queue, now_ns);
    }
    ovs_mutex_unlock(&tqs->mutex);
}

/* All of them. */

int
tenant_queues_create(const char *path, struct tenant_queues **tqsp)
{
    struct tenant_queues *tqs = xzalloc(sizeof *tqs);
    int error = tenant_file_create(&tqs->file, path);

    if (error) {
        free(tqs);
        *tqsp = NULL;
        return error;
    }
    ovs_refcount_init(&tqs->ref_cnt);
    ovs_mutex_init(&tqs->mutex);
    shash_init(&tqs->ports);
    sset_init(&tqs->left_out);
    tqs->no_port = new_port(tqs, "(none)", TQ_NO_PORT, TQ_NO_PORT);
    tqs->free_queues = xmalloc(TQ_QUEUES * sizeof *tqs->free_queues);
    for (uint32_t i = 0; i < TQ_QUEUES; i++) {
        tqs->free_queues[tqs->n_free_queues++] = TQ_QUEUES - 1 - i;
    }
    *tqsp = tqs;
    return 0;
}

void
tenant_queues_ref(struct tenant_queues *tqs)
{
    ovs_refcount_ref(&tqs->ref_cnt);
}

void
tenant_queues_unref(struct tenant_queues *tqs)
{
    struct shash_node *node;

    if (ovs_refcount_unref(&tqs->ref_cnt) != 1) {
        return;
    }
    SHASH_FOR_EACH (node, &tqs->ports) {
        tenant_port_unref(node->data);
    }
    shash_destroy(&tqs->ports);
    sset_destroy(&tqs->left_out);
    tenant_port_unref(tqs->no_port);
    tenant_file_remove(&tqs->file);
    tenant_file_unmap(&tqs->file);
    ovs_mutex_destroy(&tqs->mutex);
    free(tqs->free_queues);
    free(tqs);
}

void
tenant_queues_close(struct tenant_queues *tqs)
{
    ovs_mutex_lock(&tqs->mutex);
    tenant_file_remove(&tqs->file);
    ovs_mutex_unlock(&tqs->mutex);
    ovsrcu_postpone(tenant_queues_unref, tqs);
}
