/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Eight senders of a tenant, behind 25 Gbps each, and a bystander share a FIFO
 * of 100 Gbps.  The tenant has a meter in front of it. */

#include <config.h>
#include "burst-loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter-models.h"
#include "phantom.h"
#include "proof/dctcp-sender.h"
#include "proof/proof.h"
#include "util.h"

enum {
    N_SENDERS = 8,
    FRAME = 1500,               /* 120 ns at 100 Gbps. */
    SMALL_FRAME = 250,          /* Of the bystander. */
    RTT_NS = 10000,             /* Without queueing. */
    BUFFER = 16 * 1024 * 1024,
    BURST_PERIOD_NS = 80000,
    MARK = 32768,
    LIMIT = 65536,
};

#define LINE_KBPS UINT64_C(100000000)
#define ACCESS_KBPS UINT64_C(25000000)
#define METER_KBPS UINT64_C(97500000)
#define BYSTANDER_KBPS UINT64_C(2000000)
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

enum senders {
    SENDERS_DCTCP,              /* RFC 8257: one window for each. */
    SENDERS_DEAF,               /* 18.75 Gbps each, whatever happens. */
    SENDERS_BURSTS,             /* 25 Gbps each for 10 to 20 us of 80 us. */
    N_KINDS
};

enum meters {
    METER_NONE,
    METER_OVS31,                /* Its burst is what comes in a ms. */
    METER_PHANTOM,              /* Marks above MARK, drops above LIMIT. */
    N_METERS
};

static const struct dctcp_path path = {
    .kbps = ACCESS_KBPS, .rtt_ns = RTT_NS, .frame = FRAME,
};

struct loop {
    enum senders kind;
    enum meters meter;
    struct proof_random random;
    union meter ovs31;
    struct phantom phantom;
    struct dctcp_sender senders[N_SENDERS];

    struct events events;

    uint64_t line_free;
    uint64_t from, end;         /* What is counted. */
    uint64_t sent, offered, dropped, marked;
    uint32_t *delays;           /* Of the bystander's packets, in ns. */
    size_t n_delays, allocated_delays;
};

/* Sends a packet of 'size' into the FIFO.  Returns when it leaves, 0 if the
 * buffer is full. */
static uint64_t
enqueue(struct loop *l, uint64_t now, uint32_t size)
{
    uint64_t start = MAX(now, l->line_free);

    if (start - now > serialization_ns(BUFFER, LINE_KBPS)) {
        return 0;
    }
    l->line_free = start + serialization_ns(size, LINE_KBPS);
    l->sent += l->line_free >= l->from && l->line_free < l->end ? size : 0;
    return l->line_free;
}

/* Returns false if the meter drops a packet. */
static bool
run_meter(struct loop *l, uint64_t now, bool *marked)
{
    struct phantom_batch b = {
        .since_ns = now, .now_ns = now,
    };
    const uint32_t size = FRAME;

    *marked = false;
    switch (l->meter) {
    case METER_OVS31:
        return meter_ovs31.admit(&l->ovs31, now, 1, FRAME);
    case METER_PHANTOM:
        phantom_offer(&l->phantom, &b, &size, 1);
        *marked = b.marked;
        return !b.capped;
    case METER_NONE:
    case N_METERS:
    default:
        return true;
    }
}

/* When a sender sends next that came to send at 'now', and listens to nobody.
 * Bursts are in step. */
static uint64_t
next_unasked(struct loop *l, uint64_t now)
{
    uint64_t step = serialization_ns(FRAME, ACCESS_KBPS * 3 / 4);
    uint64_t phase = (now - START) % BURST_PERIOD_NS;
    uint64_t period = (now - START) / BURST_PERIOD_NS;

    if (l->kind == SENDERS_DEAF) {
        return now + step / 2 + proof_below(&l->random, step + 1);
    }
    now += serialization_ns(FRAME, ACCESS_KBPS);
    if (phase > 10000 + period * 7919 % 10000) {
        now = START + (period + 1) * BURST_PERIOD_NS
              + proof_below(&l->random, 500);
    }
    return now;
}

static void
arrive(struct loop *l, const struct event *e)
{
    bool marked, passed = run_meter(l, e->when, &marked);
    uint64_t leaves = passed ? enqueue(l, e->when, FRAME) : 0;

    if (e->when >= l->from) {
        l->offered++;
        l->dropped += !leaves;
        l->marked += leaves && marked;
    }
    if (l->kind == SENDERS_DCTCP) {
        events_push(&l->events, (struct event) {
            .when = (leaves ? leaves : e->when) + RTT_NS, .type = EV_ACK,
            .sender = e->sender, .marked = marked, .lost = !leaves,
        });
    } else {
        events_push(&l->events, (struct event) {
            .when = next_unasked(l, e->when), .type = EV_ARRIVE,
            .sender = e->sender,
        });
    }
}

static void
bystander(struct loop *l, uint64_t now)
{
    double mean = serialization_ns(SMALL_FRAME, BYSTANDER_KBPS);

    if (now >= l->from) {
        if (l->n_delays >= l->allocated_delays) {
            l->delays = x2nrealloc(l->delays, &l->allocated_delays,
                                   sizeof *l->delays);
        }
        l->delays[l->n_delays++] = MAX(now, l->line_free) - now;
    }
    enqueue(l, now, SMALL_FRAME);
    events_push(&l->events, (struct event) {
        .when = now + 1 - mean * log(proof_unit(&l->random)),
        .type = EV_BYSTANDER,
    });
}

static void
loop_init(struct loop *l, uint64_t seed)
{
    struct phantom_conf conf;

    proof_random_init(&l->random, seed);
    meter_ovs31.init(&l->ovs31, METER_KBPS, METER_KBPS / 8, START);
    phantom_conf_init(&conf, 1, METER_KBPS, MARK, MARK, LIMIT, 0);
    phantom_init(&l->phantom, &conf, START);
    bystander(l, START);
    for (uint8_t i = 0; i < N_SENDERS; i++) {
        dctcp_init(&l->senders[i].dctcp, FRAME);
        if (l->kind == SENDERS_DCTCP) {
            dctcp_sender_send(&l->senders[i], &path, &l->events, i,
                              START + proof_below(&l->random, RTT_NS));
        } else {
            events_push(&l->events, (struct event) {
                .when = START + proof_below(&l->random, 1000),
                .type = EV_ARRIVE, .sender = i,
            });
        }
    }
}

static int
compare_delays(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void
measure(enum senders kind, enum meters meter, uint64_t ns, uint64_t seed)
{
    static const char *const kinds[] = { "DCTCP", "ignore ECN", "bursts" };
    static const char *const meters[] = {
        "none", "Open vSwitch 3.1", "phantom queue",
    };
    struct loop *l = xzalloc(sizeof *l);

    l->kind = kind;
    l->meter = meter;
    l->from = START + ns / 5;
    l->end = START + ns;
    loop_init(l, seed);
    while (l->events.heap[0].when < l->end) {
        struct event e = events_pop(&l->events);

        if (e.type == EV_ARRIVE) {
            arrive(l, &e);
        } else if (e.type == EV_ACK) {
            dctcp_sender_acknowledge(&l->senders[e.sender], &path,
                                     &l->events, &e);
        } else {
            bystander(l, e.when);
        }
    }
    qsort(l->delays, l->n_delays, sizeof *l->delays, compare_delays);
    printf("%-11s %-17s %9.2f %9.2f %9.2f %7.2f %9.2f\n", kinds[kind],
           meters[meter], l->delays[l->n_delays / 2] / 1e3,
           l->delays[l->n_delays * 99 / 100] / 1e3,
           l->sent * 8e8 / LINE_KBPS / (l->end - l->from),
           100.0 * l->dropped / l->offered, 100.0 * l->marked / l->offered);
    events_free(&l->events);
    free(l->delays);
    free(l);
}

void
burst_loop_print(bool longer, uint64_t seed)
{
    printf("\nWhat a bystander of 2 Gbps waits for 8 senders on a FIFO of "
           "100 Gbps,\nwith a meter of 97.5 Gbps\n\n"
           "%-11s %-17s %9s %9s %9s %7s %9s\n", "senders", "meter",
           "median us", "p99 us", "line %", "drop %", "marked %");
    for (int kind = 0; kind < N_KINDS; kind++) {
        for (int meter = 0; meter < N_METERS; meter++) {
            measure(kind, meter, UINT64_C(1000000) * (longer ? 400 : 50),
                    seed);
        }
    }
}
