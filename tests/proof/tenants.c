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
#include "pauses.h"
#include "proof.h"
#include "reader.h"
#include "tenant-edges.h"
#include "tenant-meters.h"
#include "tenant-queue.h"
#include "tenant-threads.h"
#include "timeval.h"

enum { N_PORTS = 3, N_QUEUES = 3, N_WRITERS = 2 };

struct port {
    char name[8];
    uint32_t rate, threshold;
    struct line line;
    struct tq_counts counts[LINE_TAGS][N_QUEUES];
    uint64_t periods[TQ_PERIODS];
    uint64_t n_events;          /* That were compared. */
    struct tenant_writer *writers[N_WRITERS];
};

pause_func *pause_at;

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
    memset(p->counts, 0, sizeof p->counts);
    memset(p->periods, 0, sizeof p->periods);
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

static void
tally(struct tq_counter *c, uint32_t size)
{
    c->packets++;
    c->bytes += size;
}

/* Returns a packet for 'p' of 'tag', and counts it. */
static struct dp_packet *
make_packet(struct world *w, struct port *p, uint32_t tag)
{
    uint32_t size = 64 + proof_below(w->random, 1455);
    uint32_t queue = proof_below(w->random, N_QUEUES);
    struct tq_counts *counts = &p->counts[tag][queue];
    struct dp_packet *packet = dp_packet_new(size);

    dp_packet_put_uninit(packet, size);
    pkt_metadata_init(&packet->md, 1);
    packet->md.tenant_tag = tag;
    packet->md.skb_priority = queue;
    tally(&counts->sent, size);
    if (!proof_below(w->random, 20)) {
        packet->md.tenant_flags |= PKT_TENANT_MARKED;
        tally(&counts->marked, size);
    }
    if (!proof_below(w->random, 30)) {
        packet->md.tenant_flags |= PKT_TENANT_BORROWED;
        tally(&counts->borrowed, size);
    }
    if (!proof_below(w->random, 25)) {
        packet->md.tenant_flags |= PKT_TENANT_REMARKED;
        tally(&counts->remarked, size);
    }
    return packet;
}

/* Drops some of 'batch', to 'p' by 'writer', while that sends; then more,
 * which is nobody's business. */
static void
drop_some(struct world *w, struct port *p, struct tenant_writer *writer,
          const struct dp_packet_batch *batch)
{
    size_t n = dp_packet_batch_size(batch), first;

    first = n - 1 - proof_below(w->random, n);
    tenant_writer_begin_send(writer);
    tenant_drop_batch(batch, first);
    tenant_writer_end_send();
    tenant_drop_batch(batch, 0);
    for (size_t i = first; i < n; i++) {
        const struct pkt_metadata *md = &batch->packets[i]->md;

        tally(&p->counts[md->tenant_tag][md->skb_priority].dropped,
              dp_packet_size(batch->packets[i]));
    }
}

/* Tells 'p' the depth of its line. */
static void
note_period(struct world *w, struct port *p)
{
    uint64_t period = w->now / TQ_PERIOD_NS;
    uint64_t *word = &p->periods[period % TQ_PERIODS];

    *word = MAX(*word, period << 32 | line_depth(&p->line));
}

/* Sends 'n' packets to 'p', which came in the last 'gap' ns; a tag stays for
 * 'stay' of them, on average.  Returns their bytes. */
static uint32_t
port_send(struct world *w, struct port *p, uint32_t n, uint32_t stay,
          uint64_t gap)
{
    struct tenant_writer *writer = p->writers[proof_below(w->random,
                                                          N_WRITERS)];
    uint64_t before = p->line.bytes;
    uint32_t tag = 0;
    struct dp_packet_batch batch;

    gap = MIN(gap, w->now - p->line.last);
    dp_packet_batch_init(&batch);
    line_advance(&p->line, w->now - MIN(gap, LINE_SPREAD_NS));
    for (uint32_t i = 0; i < n; i++) {
        if (!i || !proof_below(w->random, stay)) {
            /* A few tenants send most. */
            tag = proof_below(w->random, LINE_TAGS);
            tag = proof_below(w->random, tag + 1);
        }
        dp_packet_batch_add(&batch, make_packet(w, p, tag));
        line_put(&p->line, tag, dp_packet_size(batch.packets[i]));
    }
    line_settle(&p->line, w->now, gap);
    note_period(w, p);
    tenant_writer_flush(writer, &batch, w->now - gap, w->now);
    if (!proof_below(w->random, 10)) {
        drop_some(w, p, writer, &batch);
    }
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
        proof_equal("gap of a burst", e.gap_ns, burst->gap);
        check_shares(w, &e, burst);
        w->n_events++;
    }
}

static void
check_counter(const char *what, const struct tq_counter *is,
              const struct tq_counter *should)
{
    proof_equal(what, is->packets, should->packets);
    proof_equal(what, is->bytes, should->bytes);
}

static void
check_counts(struct world *w, const struct port *p, uint64_t generation)
{
    for (uint32_t i = 0; i < LINE_TAGS; i++) {
        for (uint32_t j = 0; j < N_QUEUES; j++) {
            const struct tq_counts *should = &p->counts[i][j];
            struct tq_counts is = reader_sum(&w->reader, generation, i, j);

            check_counter("sent", &is.sent, &should->sent);
            check_counter("dropped", &is.dropped, &should->dropped);
            check_counter("marked", &is.marked, &should->marked);
            check_counter("borrowed", &is.borrowed, &should->borrowed);
            check_counter("remarked", &is.remarked, &should->remarked);
        }
    }
}

static void
check_queue(const struct port *p, const struct tq_port *shm)
{
    proof_equal("watermark", tq_get(&shm->watermark), p->line.watermark);
    proof_equal("longest gap", tq_get(&shm->gap_ns), p->line.gap);
    if (p->line.empty) {
        proof_equal("when it is empty", tq_get(&shm->empty_ns),
                    p->line.empty);
    }
    for (int i = 0; i < TQ_PERIODS; i++) {
        proof_equal("a period", tq_get(&shm->periods[i]), p->periods[i]);
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
    for (int i = 0; i < N_PORTS; i++) {
        line_advance(&w->ports[i].line, w->now);
    }
    check_counts(w, p, id.generation);
    check_queue(p, shm);
    check_events(w, p, shm);
}

/* A burst whose end is so long after its peak that the packets of the peak are
 * not in the log anymore. */
static void
test_long_burst(struct world *w, struct port *p)
{
    port_restart(w, p);
    for (int i = 0; i < 20; i++) {
        port_send(w, p, NETDEV_MAX_BURST, 1, 0);
    }
    for (int i = 0; i < TENANT_LOG / 4; i++) {
        w->now += port_send(w, p, 8, 1, 0) * UINT64_C(8080000) / p->rate + 1;
    }
    w->now += UINT64_C(1) << 32;
    check_port(w, p);
}

/* Polls are late now and then, once in a while by much. */
static uint64_t
random_gap(struct world *w, uint64_t batch_ns)
{
    switch (proof_below(w->random, 8)) {
    case 0:
        return proof_below(w->random, 3 * batch_ns);
    case 1:
        return UINT64_MAX;      /* As long ago as it can be. */
    default:
        return 0;
    }
}

static void
test_exact(uint64_t n_batches, struct proof_random *random)
{
    struct world *w = xzalloc(sizeof *w);
    const char *path = proof_file();

    tenant_queues_create(path, &w->tqs);
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
            w->now += 800 * batch_ns;
        }
        port_send(w, p, 1 + proof_below(random, NETDEV_MAX_BURST), 4,
                  random_gap(w, batch_ns));
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
}

int
main(int argc, char *argv[])
{
    struct proof_options options = proof_start(argc, argv);
    struct proof_random random;

    proof_random_init(&random, options.seed);
    tenant_edges();
    test_exact(options.longer ? 1000000 : 30000, &random);
    tenant_meters(options.longer ? 1000000 : 30000, &random);
    tenant_threads(options.longer ? 200000 : 4000, &random);
    return 0;
}
