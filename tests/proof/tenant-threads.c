/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "tenant-threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dp-packet.h"
#include "line.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "pauses.h"
#include "proof.h"
#include "reader.h"
#include "tenant-queue.h"
#include "timeval.h"

enum { N_THREADS = 3 };
enum { SIZE = 100 };            /* Of each packet: a torn record shows. */
enum { PAUSE_EVERY = 64, PAUSE_NS = 20000 };

struct sender {
    pthread_t thread;
    struct tenant_queues *tqs;
    struct proof_random random;
    uint32_t core;
    uint64_t sent[LINE_TAGS];
};

struct watcher {
    pthread_t thread;
    struct reader reader;
    uint64_t n_changes;         /* That it waits for. */
};

static atomic_bool stop;
static struct ovs_barrier barrier;      /* All of them start at once. */
static __thread struct proof_random *pauses; /* NULL if it never pauses. */

static void
pause_now_and_then(const uint64_t *word OVS_UNUSED)
{
    if (pauses && !proof_below(pauses, PAUSE_EVERY)) {
        nanosleep(&(struct timespec) { .tv_nsec = PAUSE_NS }, NULL);
    }
}

static bool
goes_on(void)
{
    bool stopped;

    atomic_read_relaxed(&stop, &stopped);
    return !stopped;
}

static void
send_batch(struct sender *s, struct tenant_writer *w)
{
    uint64_t now = time_nsec();
    struct dp_packet_batch batch;

    dp_packet_batch_init(&batch);
    for (int i = 0; i < 8; i++) {
        struct dp_packet *packet = dp_packet_new(SIZE);

        dp_packet_put_uninit(packet, SIZE);
        pkt_metadata_init(&packet->md, 1);
        packet->md.tenant_tag = proof_below(&s->random, LINE_TAGS);
        s->sent[packet->md.tenant_tag]++;
        dp_packet_batch_add(&batch, packet);
    }
    tenant_writer_flush(w, &batch, now, now);
    dp_packet_delete_batch(&batch, true);
}

static void *
sender_main(void *s_)
{
    struct tenant_writer *w = NULL;
    struct proof_random random;
    struct sender *s = s_;

    proof_random_init(&random, proof_random(&s->random));
    pauses = &random;
    ovs_barrier_block(&barrier);
    while (goes_on()) {
        if (!w || !proof_below(&s->random, 100)) {
            tenant_writer_destroy(w);
            w = tenant_writer_create(s->tqs, "p0", s->core);
        }
        send_batch(s, w);
        ovsrcu_quiesce();
    }
    tenant_writer_destroy(w);
    return NULL;
}

/* Reads all the time, much more often than 1000 times a second: no sum ever
 * falls, none is torn. */
static void *
watcher_main(void *w_)
{
    uint64_t before[LINE_TAGS] = { 0 }, n_changes = 0;
    struct watcher *w = w_;
    struct tq_port_id id;

    reader_find_port(&w->reader, "p0", &id);
    ovs_barrier_block(&barrier);
    while (n_changes < w->n_changes) {
        for (uint32_t i = 0; i < LINE_TAGS; i++) {
            struct tq_counter sum
                = reader_sum(&w->reader, id.generation, i, 0).sent;

            if (sum.bytes != sum.packets * SIZE || sum.packets < before[i]) {
                proof_fail("a reader saw %"PRIu64" packets of %"PRIu64
                           " bytes", sum.packets, sum.bytes);
            }
            n_changes += sum.packets != before[i];
            before[i] = sum.packets;
        }
    }
    atomic_store_relaxed(&stop, true);
    return NULL;
}

static void
start_senders(struct sender senders[], struct tenant_queues *tqs,
              struct proof_random *random)
{
    memset(senders, 0, N_THREADS * sizeof *senders);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        senders[i].tqs = tqs;
        senders[i].core = i;
        proof_random_init(&senders[i].random, proof_random(random));
        senders[i].thread = ovs_thread_create("sender", sender_main,
                                              &senders[i]);
    }
}

static void
check_sums(const struct reader *reader, const struct sender senders[])
{
    struct tq_port_id id;

    reader_find_port(reader, "p0", &id);
    for (uint32_t i = 0; i < LINE_TAGS; i++) {
        uint64_t sent = 0;

        for (uint32_t j = 0; j < N_THREADS; j++) {
            sent += senders[j].sent[i];
        }
        proof_equal("packets of all threads",
                    reader_sum(reader, id.generation, i, 0).sent.packets,
                    sent);
    }
}

void
tenant_threads(uint64_t n_changes, struct proof_random *random)
{
    const char *path = proof_file();
    struct tenant_queues *tqs;
    struct watcher watcher = { .n_changes = n_changes };
    struct sender senders[N_THREADS];

    tenant_queues_create(path, &tqs);
    tenant_queues_set_port(tqs, "p0", 0, 1000000, 1000);
    reader_open(&watcher.reader, path);
    pause_at = pause_now_and_then;
    ovs_barrier_init(&barrier, N_THREADS + 1);
    watcher.thread = ovs_thread_create("watcher", watcher_main, &watcher);
    start_senders(senders, tqs, random);
    unlink(path);               /* Nobody who sends notices. */
    xpthread_join(watcher.thread, NULL);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        xpthread_join(senders[i].thread, NULL);
    }
    pause_at = NULL;
    check_sums(&watcher.reader, senders);
    tenant_queues_close(tqs);
    reader_close(&watcher.reader);
    ovs_barrier_destroy(&barrier);
    proof_ok("%d threads that send, pause, come and go while another reads "
             "%"PRIu64" changes: all is counted, and never torn", N_THREADS,
             n_changes);
}
