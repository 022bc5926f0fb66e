/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* What tenants send, and the bursts of ports, beside lines of packets that run
 * forward one by one: counts, bytes and depths must be exact, and so must the
 * bytes of each tenant in the queue when it was deepest.  All is read as
 * another program would: from the file, with its header alone.
 *
 * Threads that send, come and go meanwhile, and threads that send while
 * others read, must not change what is counted.  It is built a second time for
 * ThreadSanitizer. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp-packet.h"
#include "line.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "proof.h"
#include "reader.h"
#include "tenant-edges.h"
#include "tenant-queue.h"
#include "timeval.h"

enum { N_PORTS = 3, N_QUEUES = 3, N_WRITERS = 2, N_THREADS = 3 };

struct port {
    char name[8];
    uint32_t rate, threshold;
    struct line line;
    struct tq_counter sent[LINE_TAGS][N_QUEUES];
    uint64_t n_events;          /* That were compared. */
    struct tenant_writer *writers[N_WRITERS];
};

struct world {
    struct tenant_queues *tqs;
    struct reader reader;
    struct port ports[N_PORTS];
    struct proof_random *random;
    uint64_t now;
    uint64_t n_packets, n_events, n_kept, n_many;
};

static void
port_open_writers(struct world *w, struct port *p)
{
    for (int i = 0; i < N_WRITERS; i++) {
        tenant_writer_destroy(p->writers[i]);
        p->writers[i] = tenant_writer_create(w->tqs, p->name, i);
    }
}

/* A new port of this name. */
static void
port_start(struct world *w, struct port *p)
{
    static const uint32_t rates[] = { 1000000, 9999991, 25000000, 100000000 };

    p->rate = rates[proof_below(w->random, 4)];
    p->threshold = 1500 + proof_below(w->random, 100000);
    line_init(&p->line, p->rate, p->threshold, w->now);
    memset(p->sent, 0, sizeof p->sent);
    p->n_events = 0;
    tenant_queues_set_port(w->tqs, p->name, p - w->ports, p->rate,
                           p->threshold);
    port_open_writers(w, p);
}

static void
port_restart(struct world *w, struct port *p)
{
    for (int i = 0; i < N_WRITERS; i++) {
        tenant_writer_destroy(p->writers[i]);
        p->writers[i] = NULL;
    }
    tenant_queues_del_port(w->tqs, p->name);
    port_start(w, p);
}

/* Sends 'n' packets to 'p'; a tag stays for 'stay' of them, on average.
 * Returns their bytes. */
static uint32_t
port_send(struct world *w, struct port *p, uint32_t n, uint32_t stay)
{
    uint64_t before = p->line.bytes;
    uint32_t tag = 0;
    struct dp_packet_batch batch;
    struct dp_packet *packet;

    dp_packet_batch_init(&batch);
    line_advance(&p->line, w->now);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = 64 + proof_below(w->random, 1455);
        uint32_t queue = proof_below(w->random, N_QUEUES);

        if (!i || !proof_below(w->random, stay)) {
            /* A few tenants send most. */
            tag = proof_below(w->random, LINE_TAGS);
            tag = proof_below(w->random, tag + 1);
        }
        packet = dp_packet_new(size);
        dp_packet_put_uninit(packet, size);
        packet->md.tenant_tag = tag;
        packet->md.skb_priority = queue;
        dp_packet_batch_add(&batch, packet);
        line_put(&p->line, tag, size);
        p->sent[tag][queue].packets++;
        p->sent[tag][queue].bytes += size;
    }
    line_settle(&p->line);
    tenant_writer_flush(p->writers[proof_below(w->random, N_WRITERS)], &batch,
                        w->now, w->now);
    dp_packet_delete_batch(&batch, true);
    w->n_packets += n;
    return p->line.bytes - before;
}

/* Compares the shares of a burst with what was in the line. */
static void
check_shares(struct world *w, const struct tq_event *e,
             const struct line_burst *burst)
{
    uint64_t sum = e->other_bytes + e->unknown_bytes, n = 0, others = 0;

    for (int i = 0; i < LINE_TAGS; i++) {
        n += burst->bytes_of[i] != 0;
        others += burst->bytes_of[i];
    }
    proof_equal("tenants in the queue", e->n_tenants, n);
    proof_equal("bytes too long ago", e->unknown_bytes, 0);
    for (uint64_t i = 0; i < n && i < TQ_SHARES; i++) {
        const struct tq_share *share = &e->shares[i];

        proof_equal("share of a culprit or victim", share->bytes,
                    burst->bytes_of[share->tag]);
        if (i && share->bytes > e->shares[i - 1].bytes) {
            proof_fail("shares are not in order");
        }
        sum += share->bytes;
        others -= share->bytes;
    }
    proof_equal("bytes of others", e->other_bytes, others);
    proof_equal("sum of all shares", sum, e->peak_depth);
    w->n_many += n > TQ_SHARES;
    w->n_kept += burst->n_after > TENANT_LOG;
}

static void
check_events(struct world *w, struct port *p, const struct tq_port *shm)
{
    proof_equal("bursts", tq_get(&shm->n_events), p->line.n_bursts);
    if (p->line.n_bursts > TQ_EVENTS) {
        p->n_events = MAX(p->n_events, p->line.n_bursts - TQ_EVENTS);
    }
    while (p->n_events < p->line.n_bursts) {
        const struct tq_event_slot *slot
            = &shm->events[p->n_events % TQ_EVENTS];
        const struct line_burst *burst
            = &p->line.bursts[p->n_events % LINE_BURSTS];
        struct tq_event e;

        if (!tq_copy(&slot->sequence, &slot->event, &e, sizeof e)
            || tq_get(&slot->sequence) != 2 * ++p->n_events) {
            proof_fail("burst %"PRIu64" was not recorded", p->n_events);
        }
        proof_equal("start of a burst", e.start_ns, burst->start);
        proof_equal("length of a burst", e.length_ns, burst->length);
        proof_equal("rise of a burst", e.rise_ns, burst->rise);
        proof_equal("peak of a burst", e.peak_depth, burst->peak);
        proof_equal("bytes of a burst", e.bytes, burst->bytes);
        check_shares(w, &e, burst);
        w->n_events++;
    }
}

static void
check_port(struct world *w, struct port *p)
{
    struct tq_port_id id;
    const struct tq_port *shm = reader_find_port(&w->reader, p->name, &id);

    if (!shm) {
        proof_fail("%s is not there", p->name);
    }
    tenant_queues_run(w->tqs, w->now);
    line_advance(&p->line, w->now);
    proof_equal("watermark", tq_get(&shm->watermark), p->line.watermark);
    for (uint32_t i = 0; i < LINE_TAGS; i++) {
        for (uint32_t j = 0; j < N_QUEUES; j++) {
            struct tq_counter sum = reader_sum(&w->reader, id.generation,
                                               i, j);

            proof_equal("packets", sum.packets, p->sent[i][j].packets);
            proof_equal("bytes", sum.bytes, p->sent[i][j].bytes);
        }
    }
    check_events(w, p, shm);
}

/* A burst whose end is so long after its peak that the packets of the peak are
 * not in the log anymore. */
static void
test_long_burst(struct world *w, struct port *p)
{
    port_restart(w, p);
    for (int i = 0; i < 20; i++) {
        port_send(w, p, NETDEV_MAX_BURST, 1);
    }
    for (int i = 0; i < TENANT_LOG / 4; i++) {
        w->now += port_send(w, p, 8, 1) * UINT64_C(8080000) / p->rate + 1;
    }
    w->now += UINT64_C(1) << 32;
    check_port(w, p);
}

static char *
make_path(void)
{
    return xasprintf("tenants.%ld", (long) getpid());
}

static void
test_exact(uint64_t n_batches, struct proof_random *random)
{
    struct world *w = xzalloc(sizeof *w);
    char *path = make_path();

    w->tqs = tenant_queues_create(path);
    w->random = random;
    /* Ahead of the clock, which is read when ports change. */
    w->now = time_nsec() + UINT64_C(86400) * 1000000000;
    reader_open(&w->reader, path);
    for (int i = 0; i < N_PORTS; i++) {
        sprintf(w->ports[i].name, "p%d", i);
        port_start(w, &w->ports[i]);
    }
    for (uint64_t i = 0; i < n_batches; i++) {
        struct port *p = &w->ports[proof_below(random, N_PORTS)];
        /* A batch is 25 KB: sometimes above the rate, sometimes below. */
        uint64_t batch_ns = UINT64_C(25000) * 8000000 / p->rate;

        w->now += proof_below(random, (i / 2000 % 3 + 1) * batch_ns / 2);
        if (!proof_below(random, 500)) {
            w->now += 400 * batch_ns;
        }
        port_send(w, p, 1 + proof_below(random, NETDEV_MAX_BURST), 4);
        if (!proof_below(random, 50)) {
            port_open_writers(w, p);
        } else if (!proof_below(random, 3000)) {
            port_restart(w, p);
        }
        if (!proof_below(random, 100)) {
            check_port(w, p);
        }
    }
    test_long_burst(w, &w->ports[0]);
    if (!w->n_events || !w->n_many || !w->n_kept) {
        proof_fail("no burst, none of many tenants, or none that was long");
    }
    for (int i = 0; i < N_PORTS; i++) {
        for (int j = 0; j < N_WRITERS; j++) {
            tenant_writer_destroy(w->ports[i].writers[j]);
        }
    }
    tenant_queues_close(w->tqs);
    proof_equal("closed", tq_get(&w->reader.header->closed), 1);
    proof_equal("the file is gone", access(path, F_OK) != 0, 1);
    reader_close(&w->reader);
    proof_ok("%"PRIu64" packets of %d tenants on %d ports, writers and ports "
             "that come and go: counts, bytes, watermarks and %"PRIu64
             " bursts exact, with all shares; %"PRIu64" of more tenants than "
             "a burst names, %"PRIu64" long after their peak", w->n_packets,
             LINE_TAGS, N_PORTS, w->n_events, w->n_many, w->n_kept);
    free(w);
    free(path);
}

/* Threads. */

enum { SIZE = 100 };            /* Of each packet: a torn record shows. */

struct sender {
    pthread_t thread;
    struct tenant_queues *tqs;
    struct proof_random random;
    uint32_t core;
    uint64_t n_batches;
    uint64_t sent[LINE_TAGS];
};

static void *
sender_main(void *s_)
{
    struct sender *s = s_;
    struct tenant_writer *w = NULL;

    for (uint64_t i = 0; i < s->n_batches; i++) {
        struct dp_packet_batch batch;
        uint64_t now = time_nsec();

        if (!w || !proof_below(&s->random, 100)) {
            tenant_writer_destroy(w);
            w = tenant_writer_create(s->tqs, "p0", s->core);
        }
        dp_packet_batch_init(&batch);
        for (int j = 0; j < 8; j++) {
            struct dp_packet *packet = dp_packet_new(SIZE);

            dp_packet_put_uninit(packet, SIZE);
            packet->md.tenant_tag = proof_below(&s->random, LINE_TAGS);
            s->sent[packet->md.tenant_tag]++;
            dp_packet_batch_add(&batch, packet);
        }
        tenant_writer_flush(w, &batch, now, now);
        dp_packet_delete_batch(&batch, true);
        ovsrcu_quiesce();
    }
    tenant_writer_destroy(w);
    return NULL;
}

static atomic_bool stop;

/* Reads all the time, much more often than 1000 times a second: no sum ever
 * falls, none is torn. */
static void *
watcher_main(void *reader)
{
    uint64_t before[LINE_TAGS] = { 0 };
    struct tq_port_id id;
    bool stopped;

    reader_find_port(reader, "p0", &id);
    do {
        for (uint32_t i = 0; i < LINE_TAGS; i++) {
            struct tq_counter sum = reader_sum(reader, id.generation, i, 0);

            if (sum.bytes != sum.packets * SIZE || sum.packets < before[i]) {
                proof_fail("a reader saw %"PRIu64" packets of %"PRIu64
                           " bytes", sum.packets, sum.bytes);
            }
            before[i] = sum.packets;
        }
        atomic_read_relaxed(&stop, &stopped);
    } while (!stopped);
    return NULL;
}

static void
test_threads(uint64_t n_batches, struct proof_random *random)
{
    struct sender senders[N_THREADS];
    char *path = make_path();
    struct tenant_queues *tqs = tenant_queues_create(path);
    struct reader reader;
    struct tq_port_id id;
    pthread_t watcher;

    tenant_queues_set_port(tqs, "p0", 0, 1000000, 1000);
    reader_open(&reader, path);
    watcher = ovs_thread_create("watcher", watcher_main, &reader);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        struct sender *s = &senders[i];

        memset(s, 0, sizeof *s);
        s->tqs = tqs;
        s->core = i;
        s->n_batches = n_batches;
        proof_random_init(&s->random, proof_random(random));
        s->thread = ovs_thread_create("sender", sender_main, s);
    }
    unlink(path);               /* Nobody who sends notices. */
    for (uint32_t i = 0; i < N_THREADS; i++) {
        xpthread_join(senders[i].thread, NULL);
    }
    atomic_store_relaxed(&stop, true);
    xpthread_join(watcher, NULL);

    reader_find_port(&reader, "p0", &id);
    for (uint32_t i = 0; i < LINE_TAGS; i++) {
        uint64_t sent = 0;

        for (uint32_t j = 0; j < N_THREADS; j++) {
            sent += senders[j].sent[i];
        }
        proof_equal("packets of all threads",
                    reader_sum(&reader, id.generation, i, 0).packets, sent);
    }
    tenant_queues_close(tqs);
    reader_close(&reader);
    free(path);
    proof_ok("%d threads that send, come and go while another reads: all is "
             "counted, and never torn", N_THREADS);
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    struct proof_random random;

    proof_random_init(&random, options.seed);
    tenant_edges();
    test_exact(options.longer ? 1000000 : 30000, &random);
    test_threads(options.longer ? 200000 : 5000, &random);
    return 0;
}
