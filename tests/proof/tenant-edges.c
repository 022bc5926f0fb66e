/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "tenant-edges.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp-packet.h"
#include "packets.h"
#include "proof.h"
#include "reader.h"
#include "tenant-queue.h"
#include "tenant-queue-private.h"
#include "util.h"

/* A buffer that was somebody's has nothing of it, and a header that is added
 * or taken off changes nothing. */
static void
test_metadata(void)
{
    struct dp_packet *packet = dp_packet_new(64), *clone;

    memset(&packet->md, 0xff, sizeof packet->md);
    pkt_metadata_init(&packet->md, 1);
    proof_equal("tag of a new packet", packet->md.tenant_tag, 0);
    proof_equal("flags of a new packet", packet->md.tenant_flags, 0);

    packet->md.tenant_tag = 17;
    packet->md.tenant_flags = PKT_TENANT_MARKED;
    packet->md.skb_priority = 5;
    pkt_metadata_init_encap(&packet->md, 2);
    proof_equal("queue in a tunnel", packet->md.skb_priority, 5);
    pkt_metadata_init_tnl(&packet->md);
    clone = dp_packet_clone(packet);
    proof_equal("tag after a tunnel", clone->md.tenant_tag, 17);
    proof_equal("flags after a tunnel", clone->md.tenant_flags,
                PKT_TENANT_MARKED);
    dp_packet_delete(clone);
    dp_packet_delete(packet);
    proof_ok("the tag of a packet stays with it, and with it only");
}

/* A file without room. */

/* Sends a packet of 'tag'. */
static void
send_one(struct tenant_writer *w, uint32_t tag, uint64_t now)
{
    struct dp_packet *packet = dp_packet_new(64);
    struct dp_packet_batch batch;

    dp_packet_put_uninit(packet, 64);
    pkt_metadata_init(&packet->md, 1);
    packet->md.tenant_tag = tag;
    dp_packet_batch_init_packet(&batch, packet);
    tenant_writer_flush(w, &batch, now, now);
    dp_packet_delete_batch(&batch, true);
}

/* What finds no record is counted from when another port has freed some. */
static void
test_full(void)
{
    char *path = xasprintf("tenants.%ld", (long) getpid());
    struct tenant_queues *tqs = tenant_queues_create(path);
    struct tenant_writer *writers[2];
    struct reader reader;
    struct tq_port_id id;

    reader_open(&reader, path);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "p1" : "p0";

        tenant_queues_set_port(tqs, name, i, 0, 0);
        writers[i] = tenant_writer_create(tqs, name, i);
    }
    for (uint32_t i = 0; i < TQ_QUEUES; i++) {
        send_one(writers[0], i, 0);
    }
    send_one(writers[1], 17, 0);
    send_one(writers[1], 17, 0);
    reader_find_port(&reader, "p1", &id);
    proof_equal("packets without room",
                reader_sum(&reader, id.generation, 17, 0).packets, 0);
    proof_equal("keys left out", tq_get(&reader.header->n_left_out), 1);
    tenant_queues_del_port(tqs, "p0");
    tenant_writer_destroy(writers[0]);
    send_one(writers[1], 17, 0);
    proof_equal("packets with room again",
                reader_sum(&reader, id.generation, 17, 0).packets, 1);
    tenant_writer_destroy(writers[1]);
    tenant_queues_close(tqs);
    reader_close(&reader);
    free(path);
    proof_ok("who finds no room is counted from when there is some");
}

/* A thread that was kept from running writes nothing over what is newer. */
static void
test_late_event(void)
{
    static struct tenant_burst_queue queue;
    static struct tq_port shm;
    struct tenant_run run = { .tag = 17, .bytes = 1500 };
    uint64_t newer = 2 * TQ_EVENTS + 2;         /* Event TQ_EVENTS. */

    tenant_burst_queue_init(&queue, &shm, 1);
    tenant_burst_queue_reconfigure(&queue, 1000000, 1000, 1);
    shm.events[0].sequence = newer;
    for (uint64_t now = 1; shm.n_bursts < 2; now += 1000000) {
        tenant_burst_queue_add(&queue, &run, 1, 1, run.bytes, now, now);
    }
    proof_equal("a newer event", shm.events[0].sequence, newer);
    proof_equal("the next event", shm.events[1].sequence, 4);
    tenant_burst_queue_uninit(&queue);
    proof_ok("a late event is not written over a newer one");
}

/* A burst in which more drains than 64 bits can count, in tokens. */
static void
test_long_burst(void)
{
    static struct tenant_burst_queue queue;
    static struct tq_port shm;
    struct tenant_run run = { .tag = 17, .bytes = 1250000000 };
    const uint64_t second = 1000 * 1000 * 1000;
    const struct tq_event *event = &shm.events[0].event;
    uint64_t now = second, start = now;

    /* 100 Gbps for 1,000 s, behind what takes a tenth of a second. */
    tenant_burst_queue_init(&queue, &shm, 1);
    tenant_burst_queue_reconfigure(&queue, 100000000, 1000000, 1);
    tenant_burst_queue_add(&queue, &run, 1, 1, run.bytes, now, now);
    while (now < 1001 * second) {
        tenant_burst_queue_add(&queue, &run, 1, 1, run.bytes, now, now);
        now += second / 10;
    }
    tenant_burst_queue_observe(&queue, now + second);
    proof_equal("a long burst", shm.n_bursts, 1);
    proof_equal("its start", event->start_ns, start);
    proof_equal("its length", event->length_ns, 1000 * second + second / 10);
    proof_equal("its bytes", event->bytes, 10001 * (uint64_t) run.bytes);
    proof_equal("its depth", event->peak_depth, 2 * (uint64_t) run.bytes);
    tenant_burst_queue_uninit(&queue);
    proof_ok("a port that was busy for 1,000 s had a burst of that length");
}

void
tenant_edges(void)
{
    test_metadata();
    test_full();
    test_late_event();
    test_long_burst();
}
