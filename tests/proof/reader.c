/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proof.h"

#define MAX_WAIT_NS UINT64_C(10000000000)

void
reader_open(struct reader *r, const char *path)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    int fd = open(path, O_RDONLY);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

    if (size < 0 || fcntl(fd, F_OFD_GETLK, &lock)) {
        proof_fail("%s: %s", path, strerror(errno));
    } else if (lock.l_type == F_UNLCK) {
        proof_fail("%s: nobody has locked it to write it", path);
    }
    r->map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    r->header = (const void *) r->map;
    if (r->map == MAP_FAILED || memcmp(r->header->magic, TQ_MAGIC, 8)
        || r->header->version != TQ_VERSION
        || r->header->file_size != (uint64_t) size) {
        proof_fail("%s: not such a file", path);
    }
}

void
reader_close(struct reader *r)
{
    munmap((void *) r->map, r->header->file_size);
}

static const struct tq_port *
reader_port(const struct reader *r, uint32_t index)
{
    return (const void *) (r->map + r->header->port_offset
                           + index * r->header->port_size);
}

const struct tq_port *
reader_find_port(const struct reader *r, const char *name,
                 struct tq_port_id *id)
{
    for (uint32_t i = 0; i < tq_get(&r->header->n_ports_used); i++) {
        const struct tq_port *port = reader_port(r, i);

        while (!tq_copy(&port->sequence, &port->id, id, sizeof *id)) {
            continue;
        }
        if (id->generation && !strcmp((const char *) id->name, name)) {
            return port;
        }
    }
    return NULL;
}

static void
add(struct tq_counter *sum, const struct tq_counter *c)
{
    sum->packets += c->packets;
    sum->bytes += c->bytes;
}

/* Waits until nobody writes '*q', but not for ever. */
static void
read_queue(const struct tq_queue *q, struct tq_queue_data *data)
{
    uint64_t start = proof_clock_ns();

    while (!tq_copy(&q->sequence, &q->data, data, sizeof *data)) {
        if (proof_clock_ns() - start > MAX_WAIT_NS) {
            proof_fail("a record is being written all the time");
        }
    }
}

struct tq_counts
reader_sum(const struct reader *r, uint64_t generation, uint64_t tag,
           uint64_t queue)
{
    struct tq_counts sum = { .sent = { 0, 0 } };

    for (uint64_t i = 0; i < tq_get(&r->header->n_queues_used); i++) {
        const struct tq_queue *q
            = (const void *) (r->map + r->header->queue_offset
                              + i * r->header->queue_size);
        struct tq_queue_data data;

        read_queue(q, &data);
        if (data.generation == generation && data.tag == tag
            && data.queue == queue) {
            add(&sum.sent, &data.counts.sent);
            add(&sum.dropped, &data.counts.dropped);
            add(&sum.marked, &data.counts.marked);
            add(&sum.borrowed, &data.counts.borrowed);
            add(&sum.remarked, &data.counts.remarked);
            for (int j = 0; j < TQ_REASONS; j++) {
                add(&sum.metered[j], &data.counts.metered[j]);
            }
        }
    }
    return sum;
}
