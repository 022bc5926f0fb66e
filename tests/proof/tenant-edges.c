/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "tenant-edges.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp-packet.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "pauses.h"
#include "proof.h"
#include "reader.h"
#include "tenant-queue.h"
#include "tenant-queue-private.h"
#include "timeval.h"
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
    const char *path = proof_file();
    struct tenant_queues *tqs;
    struct tenant_writer *writers[2];
    struct reader reader;
    struct tq_port_id id;

    tenant_queues_create(path, &tqs);
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
                reader_sum(&reader, id.generation, 17, 0).sent.packets, 0);
    proof_equal("keys left out", tq_get(&reader.header->n_left_out), 1);
    tenant_queues_del_port(tqs, "p0");
    tenant_writer_destroy(writers[0]);
    send_one(writers[1], 17, 0);
    proof_equal("packets with room again",
                reader_sum(&reader, id.generation, 17, 0).sent.packets, 1);
    proof_equal("keys left out", tq_get(&reader.header->n_left_out), 0);
    tenant_writer_destroy(writers[1]);
    tenant_queues_close(tqs);
    reader_close(&reader);
    proof_ok("who finds no room is counted from when there is some");
}

/* A port that found no room when it was added is counted once it was added
 * again, by the writer that it had before. */
static void
test_late_port(void)
{
    const char *path = proof_file();
    struct tenant_queues *tqs;
    struct tenant_writer *w;
    struct reader reader;
    struct tq_port_id id;

    tenant_queues_create(path, &tqs);
    reader_open(&reader, path);
    for (int i = 0; i <= TQ_PORTS; i++) {
        char name[8];

        sprintf(name, "p%d", i);
        tenant_queues_set_port(tqs, name, i, 0, 0);
    }
    w = tenant_writer_create(tqs, "p256", 0);
    send_one(w, 17, 0);
    tenant_queues_set_port(tqs, "p256", 256, 0, 0);
    tenant_queues_set_port(tqs, "p257", 257, 0, 0);
    proof_equal("ports left out", tq_get(&reader.header->n_left_out), 2);
    tenant_queues_del_port(tqs, "p257");
    proof_equal("ports left out", tq_get(&reader.header->n_left_out), 1);
    tenant_queues_del_port(tqs, "p7");
    send_one(w, 17, 0);
    proof_equal("the port is there",
                reader_find_port(&reader, "p256", &id) != NULL, 0);
    tenant_queues_set_port(tqs, "p256", 256, 0, 0);
    send_one(w, 17, 0);
    proof_equal("the port is there",
                reader_find_port(&reader, "p256", &id) != NULL, 1);
    proof_equal("ports left out", tq_get(&reader.header->n_left_out), 0);
    proof_equal("packets of a port with room again",
                reader_sum(&reader, id.generation, 17, 0).sent.packets, 1);
    tenant_writer_destroy(w);
    tenant_queues_close(tqs);
    reader_close(&reader);
    proof_ok("a port that gets room is counted by the writer that it had");
}

/* What the switch itself shows. */

static void
take_packets(unsigned int queue OVS_UNUSED, struct netdev_queue_stats *stats,
             void *packets)
{
    *(uint64_t *) packets = stats->tx_packets;
}

static uint64_t
dumped(struct tenant_queues *tqs, const char *port)
{
    uint64_t packets = 0;

    tenant_queues_dump_port(tqs, port, take_packets, &packets);
    return packets;
}

static void
check_shown(struct tenant_queues *tqs, uint64_t now, bool forget,
            const char *what)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    tenant_queues_show(tqs, now, false, forget, &s);
    if (!strstr(ds_cstr(&s), what)) {
        proof_fail("shown is not \"%s\" but:\n%s", what, ds_cstr(&s));
    }
    ds_destroy(&s);
}

/* A record that its writer has left in the middle is shown as it was. */
static void
test_shown(void)
{
    const char *path = proof_file();
    struct tenant_queues *tqs;
    uint64_t now = time_nsec() + 1000000000, *sequence;
    const char *name = "p\33[2J";
    struct tenant_writer *w;

    tenant_queues_create(path, &tqs);
    tenant_queues_set_port(tqs, name, 0, 1000000, 0);
    w = tenant_writer_create(tqs, name, 0);
    send_one(w, 17, now);
    send_one(w, 17, now);
    proof_equal("packets shown", dumped(tqs, name), 2);
    sequence = &tqs->file.queues[0].sequence;
    tq_begin(sequence);
    proof_equal("packets shown of a record that is written",
                dumped(tqs, name), 2);
    check_shown(tqs, now, false, "tag:17 queue:0 sent:2/128 ");
    tq_end(sequence);
    send_one(w, 17, now);
    proof_equal("packets shown after that", dumped(tqs, name), 3);

    check_shown(tqs, now, true, "port p\\033[2J (0):");
    now += 1000000;
    check_shown(tqs, now, false, " max_depth:192 recent_max_depth:0 ");
    send_one(w, 17, now);
    check_shown(tqs, now, false, " max_depth:192 recent_max_depth:64 ");
    tenant_writer_destroy(w);
    tenant_queues_close(tqs);
    proof_ok("the switch shows what it has counted, whoever is writing");
}

static void
test_thresholds(void)
{
    static const struct {
        uint64_t rate, threshold, becomes;
    } cases[] = {
        { 1000000, 0, 65536 }, { 100000000, 0, 125000 }, { 1000000, 99, 99 },
    };
    const char *path = proof_file();
    struct tenant_queues *tqs;
    struct reader reader;
    struct tq_port_id id;

    tenant_queues_create(path, &tqs);
    reader_open(&reader, path);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        tenant_queues_set_port(tqs, "p0", 0, cases[i].rate,
                               cases[i].threshold);
        reader_find_port(&reader, "p0", &id);
        proof_equal("threshold", id.threshold, cases[i].becomes);
    }
    tenant_queues_close(tqs);
    reader_close(&reader);
    proof_ok("a threshold that is not given is of the rate, but not less "
             "than 64 KiB");
}

static void
test_culprits(void)
{
    struct tq_event e = {
        .peak_depth = 100, .unknown_bytes = 10, .n_tenants = 3,
        .shares = { { 1, 31 }, { 2, 30 }, { 3, 29 } },
    };

    proof_equal("more than an even share", tq_is_culprit(&e, &e.shares[0]), 1);
    proof_equal("an even share", tq_is_culprit(&e, &e.shares[1]), 0);
    proof_equal("less", tq_is_culprit(&e, &e.shares[2]), 0);
    e.n_tenants = 1;
    proof_equal("the only one", tq_is_culprit(&e, &e.shares[2]), 1);
    proof_ok("a culprit has more than an even share of what is known");
}

/* Queues by themselves. */

/* A packet of so many bytes comes, after 'since' and until 'now'. */
static void
add_one(struct tenant_burst_queue *q, uint32_t tag, uint32_t bytes,
        uint64_t since, uint64_t now)
{
    uint64_t run = tenant_run(tag, bytes);

    tenant_burst_queue_add(q, &run, 1, 1, bytes, since, now);
}

/* A thread that was kept from running writes nothing over what is newer. */
static void
test_late_event(void)
{
    static struct tenant_burst_queue queue;
    static struct tq_port shm;
    uint64_t newer = 2 * TQ_EVENTS + 2;         /* Event TQ_EVENTS. */

    tenant_burst_queue_init(&queue, &shm, 1);
    tenant_burst_queue_reconfigure(&queue, 1000000, 1000, 1);
    shm.events[0].sequence = newer;
    for (uint64_t now = 1; shm.n_bursts < 2; now += 1000000) {
        add_one(&queue, 17, 1500, now, now);
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
    const uint32_t bytes = 1250000000;
    const uint64_t second = 1000 * 1000 * 1000;
    const struct tq_event *event = &shm.events[0].event;
    uint64_t now = second, start = now;

    /* 100 Gbps for 1,000 s, behind what takes a tenth of a second. */
    tenant_burst_queue_init(&queue, &shm, 1);
    tenant_burst_queue_reconfigure(&queue, 100000000, 1000000, 1);
    add_one(&queue, 17, bytes, now, now);
    while (now < 1001 * second) {
        add_one(&queue, 17, bytes, now, now);
        now += second / 10;
    }
    tenant_burst_queue_observe(&queue, now + second);
    proof_equal("a long burst", shm.n_bursts, 1);
    proof_equal("its start", event->start_ns, start);
    proof_equal("its length", event->length_ns, 1000 * second + second / 10);
    proof_equal("its bytes", event->bytes, 10001 * (uint64_t) bytes);
    proof_equal("its depth", event->peak_depth, 2 * (uint64_t) bytes);
    tenant_burst_queue_uninit(&queue);
    proof_ok("a port that was busy for 1,000 s had a burst of that length");
}

/* Another rate ends a burst, and what is left may begin the next. */
static void
test_reconfigured(void)
{
    static struct tenant_burst_queue queue;
    static struct tq_port shm;
    const struct tq_event *event = &shm.events[0].event;
    const uint64_t start = 1000000000, us = 1000;

    tenant_burst_queue_init(&queue, &shm, 1);
    tenant_burst_queue_reconfigure(&queue, 1000000, 1000, 1);
    add_one(&queue, 17, 12500, start, start);
    tenant_burst_queue_reconfigure(&queue, 2000000, 6499, start + 40 * us);
    proof_equal("a burst under another rate", shm.n_bursts, 1);
    proof_equal("none is open", shm.open_ns, 0);
    proof_equal("its length", event->length_ns, 40 * us);
    proof_equal("its bytes", event->bytes, 5000);
    proof_equal("its depth", event->peak_depth, 12500);
    proof_equal("when it is empty", shm.empty_ns, start + 40 * us);
    add_one(&queue, 17, 1500, start + 50 * us, start + 50 * us);
    proof_equal("the next burst", shm.open_ns, start + 50 * us);
    tenant_burst_queue_observe(&queue, start + 76 * us);
    proof_equal("two bursts", shm.n_bursts, 2);
    proof_equal("depth of the second", shm.events[1].event.peak_depth, 6500);
    tenant_burst_queue_reconfigure(&queue, 0, 6499, start + 80 * us);
    add_one(&queue, 17, 1500, start + 90 * us, start + 90 * us);
    proof_equal("no rate, no queue", shm.empty_ns, start + 80 * us);
    tenant_burst_queue_uninit(&queue);
    proof_ok("another rate ends a burst");
}

/* What does not fit adds nothing to a queue, which is as deep as before. */
static void
test_full_queue(void)
{
    static struct tenant_burst_queue queue;
    static struct tq_port shm;
    uint64_t now = TQ_PERIOD_NS;

    tenant_burst_queue_init(&queue, &shm, 1);
    tenant_burst_queue_reconfigure(&queue, 1000000, 1000, 1);
    for (int i = 0; i < 3; i++) {
        add_one(&queue, 17, 1500000000, now, now);
    }
    proof_equal("a full queue", shm.watermark, 3000000000);
    now += TQ_PERIOD_NS;
    add_one(&queue, 17, 1500000000, now, now);
    proof_equal("its depth later", (uint32_t) shm.periods[2],
                3000000000 - 12500000);
    tenant_burst_queue_uninit(&queue);
    proof_ok("a full queue is as deep as it is");
}

static struct tenant_burst_queue opened;
static struct tq_port opened_shm;
static int n_looks;

/* Another thread opens a burst when this one has seen that there is none. */
static void
open_meanwhile(const uint64_t *word)
{
    if (word == &opened_shm.open_ns && ++n_looks == 2) {
        add_one(&opened, 18, 9000, 800, 1000);
    }
}

static void
test_opened_meanwhile(void)
{
    const struct tq_event *event = &opened_shm.events[0].event;

    tenant_burst_queue_init(&opened, &opened_shm, 1);
    tenant_burst_queue_reconfigure(&opened, 1000000, 1000, 1);
    pause_at = open_meanwhile;
    add_one(&opened, 17, 1500, 1000, 1000);
    pause_at = NULL;
    tenant_burst_queue_observe(&opened, 1000000);
    proof_equal("one burst", opened_shm.n_bursts, 1);
    proof_equal("what both sent", event->peak_depth, 10500);
    proof_equal("tenants", event->n_tenants, 2);
    proof_equal("the longer gap", event->gap_ns, 200);
    tenant_burst_queue_uninit(&opened);
    proof_ok("threads that open a burst at once lose nothing of it");
}

void
tenant_edges(void)
{
    test_metadata();
    test_full();
    test_late_port();
    test_shown();
    test_thresholds();
    test_culprits();
    test_reconfigured();
    test_full_queue();
    test_opened_meanwhile();
    test_late_event();
    test_long_burst();
}
