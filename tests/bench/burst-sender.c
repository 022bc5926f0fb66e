/*
 * Copyright (c) 2026 The Bulkhead authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sends frames through a DPDK port at known moments, and says when.
 *
 * usage: burst-sender EAL-ARGUMENT... -- FRAME OTHER SIZE LINE PEAK DEPTH
 *
 * FRAME is how frames begin, in hex, and OTHER how each eighth of them does;
 * SIZE is their length in bytes.  LINE is how fast a burst is and PEAK the
 * rate of the queue that it would fill, in kbps; DEPTH is above how many bytes
 * that is a burst.  Commands come on standard input, a line each:
 *
 *     bursts SEED N GAP US...      N bursts of each of these lengths, in a
 *                                  random order, GAP us apart on average
 *     smooth KBPS MILLISECONDS     a frame at a time
 *
 * For each burst it prints a line: its length as wanted in us, when its first
 * and last frame were sent (CLOCK_MONOTONIC, ns), its frames, the longest time
 * between two of them (ns), how deep the queue was (bytes), and from when it
 * was deeper than DEPTH until it was empty (ns).  For smooth traffic: frames,
 * and the longest time between two.  After each command, "done".
 *
 * A frame that is late makes those after it late: they never come faster than
 * LINE, but for a single one. */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

enum { N_MBUFS = 8191, N_DESC = 1024, MAX_LENGTHS = 16 };

/* One in so many frames is of the other kind. */
enum { OTHER_EACH = 8 };

/* Before a burst, the program does not sleep for so long. */
#define SPIN_NS 200000

static struct sender {
    struct rte_mempool *pool, *other;
    uint16_t size;
    double line, peak;          /* In bytes a ns. */
    double depth;
} sender;

/* What was sent, and what it does to a queue that drains at the peak rate. */
struct trail {
    uint64_t start_ns, last_ns, gap_ns;
    uint64_t open_ns;           /* When the queue got deeper than 'depth'. */
    uint32_t frames;
    double depth, max_depth;
};

static void
die(const char *what)
{
    fprintf(stderr, "burst-sender: %s\n", what);
    exit(1);
}

static uint64_t
now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static void
wait_until(uint64_t when)
{
    if (when > now_ns() + SPIN_NS) {
        uint64_t wake = when - SPIN_NS;
        struct timespec ts = { wake / 1000000000, wake % 1000000000 };

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
    }
    while (now_ns() < when) {
        continue;
    }
}

static void
note(struct trail *t, uint64_t now)
{
    if (t->frames) {
        double drained = (now - t->last_ns) * sender.peak;

        t->gap_ns = RTE_MAX(t->gap_ns, now - t->last_ns);
        t->depth -= RTE_MIN(t->depth, drained);
    } else {
        t->start_ns = now;
    }
    t->frames++;
    t->last_ns = now;
    t->depth += sender.size;
    t->max_depth = RTE_MAX(t->max_depth, t->depth);
    if (t->depth > sender.depth && !t->open_ns) {
        t->open_ns = now;
    }
}

/* Sends frames 'interval' ns apart, from 'start' on and before 'end'. */
static void
send_frames(double interval, uint64_t start, uint64_t end, struct trail *t)
{
    memset(t, 0, sizeof *t);
    for (double due = 0; start + due < end; due += interval) {
        bool other = t->frames % OTHER_EACH == OTHER_EACH - 1;
        struct rte_mbuf *frame = rte_pktmbuf_alloc(other ? sender.other
                                                   : sender.pool);
        uint64_t now;

        if (!frame) {
            die("no buffers are left");
        }
        frame->data_len = frame->pkt_len = sender.size;
        wait_until(start + due);
        while (!rte_eth_tx_burst(0, 0, &frame, 1)) {
            continue;
        }
        now = now_ns();
        note(t, now);
        if (now > start + due + 2 * interval) {
            end += now - start - due;
            start = now;
            due = 0;
        }
    }
}

static void
shuffle(uint32_t *a, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = rand() % i, swap = a[i - 1];

        a[i - 1] = a[j];
        a[j] = swap;
    }
}

static void
send_bursts(uint32_t n_each, uint32_t gap_us, const uint32_t *lengths,
            uint32_t n_lengths)
{
    uint32_t n = n_each * n_lengths;
    uint32_t *order = calloc(n, sizeof *order);
    struct trail *trails = calloc(n, sizeof *trails);
    uint64_t at = now_ns();

    if (!order || !trails) {
        die("out of memory");
    }
    for (uint32_t i = 0; i < n; i++) {
        order[i] = lengths[i % n_lengths];
    }
    shuffle(order, n);
    for (uint32_t i = 0; i < n; i++) {
        at += UINT64_C(500) * gap_us + UINT64_C(1000) * (rand() % gap_us);
        at = RTE_MAX(at, now_ns() + 500 * gap_us);
        send_frames(sender.size / sender.line, at,
                    at + UINT64_C(1000) * order[i], &trails[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct trail *t = &trails[i];
        uint64_t empty = t->last_ns + t->depth / sender.peak;

        printf("%u %lu %lu %u %lu %.0f %lu\n", order[i], t->start_ns,
               t->last_ns, t->frames, t->gap_ns, t->max_depth,
               t->open_ns ? empty - t->open_ns : 0);
    }
    free(order);
    free(trails);
}

static void
send_smoothly(double kbps, uint64_t ms)
{
    uint64_t start = now_ns();
    struct trail t;

    send_frames(sender.size * 8e6 / kbps, start, start + ms * 1000000, &t);
    printf("%u %lu\n", t.frames, t.gap_ns);
}

static void
obey(char *line)
{
    char *command = strtok(line, " \n");
    uint64_t numbers[3 + MAX_LENGTHS];
    uint32_t lengths[MAX_LENGTHS];
    size_t n = 0;
    char *word;

    while (n < RTE_DIM(numbers) && (word = strtok(NULL, " \n"))) {
        numbers[n++] = strtoull(word, NULL, 10);
    }
    if (command && !strcmp(command, "bursts") && n > 3) {
        for (size_t i = 3; i < n; i++) {
            lengths[i - 3] = numbers[i];
        }
        srand(numbers[0]);
        send_bursts(numbers[1], numbers[2], lengths, n - 3);
    } else if (command && !strcmp(command, "smooth") && n == 2) {
        send_smoothly(numbers[0], numbers[1]);
    } else {
        die("no such command");
    }
    puts("done");
    fflush(stdout);
}

/* All frames of a pool are the same, so they are written once. */
static void
fill_frame(struct rte_mempool *pool, void *hex_, void *mbuf,
           unsigned int index)
{
    const char *hex = hex_;
    struct rte_mbuf *frame = mbuf;
    uint8_t *data = (uint8_t *) frame->buf_addr + RTE_PKTMBUF_HEADROOM;
    unsigned int byte;

    (void) pool, (void) index;
    memset(data, 0, sender.size);
    for (int i = 0; i < sender.size && sscanf(hex + 2 * i, "%2x", &byte) == 1;
         i++) {
        data[i] = byte;
    }
}

static struct rte_mempool *
create_pool(const char *name, char *hex)
{
    struct rte_mempool *pool = rte_pktmbuf_pool_create(
        name, N_MBUFS, 0, 0, RTE_PKTMBUF_HEADROOM + 2048, SOCKET_ID_ANY);

    if (!pool) {
        die("no memory for frames");
    }
    rte_mempool_obj_iter(pool, fill_frame, hex);
    return pool;
}

static void
open_port(void)
{
    struct rte_eth_conf conf = { 0 };

    if (rte_eth_dev_configure(0, 1, 1, &conf)
        || rte_eth_rx_queue_setup(0, 0, N_DESC, SOCKET_ID_ANY, NULL,
                                  sender.pool)
        || rte_eth_tx_queue_setup(0, 0, N_DESC, SOCKET_ID_ANY, NULL)
        || rte_eth_dev_start(0)) {
        die("no port");
    }
}

int
main(int argc, char *argv[])
{
    struct sched_param priority = { .sched_priority = 1 };
    char line[256];
    int n = rte_eal_init(argc, argv);

    if (n < 0 || argc - n != 7) {
        die("wrong usage");
    }
    argv += n;
    sender.size = atoi(argv[3]);
    sender.line = atof(argv[4]) / 8e6;
    sender.peak = atof(argv[5]) / 8e6;
    sender.depth = atof(argv[6]);
    sender.pool = create_pool("frames", argv[1]);
    sender.other = create_pool("others", argv[2]);
    open_port();

    /* Without the right to it, bursts are disturbed more often. */
    sched_setscheduler(0, SCHED_FIFO, &priority);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        obey(line);
    }
    return 0;
}
