/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "reacting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "borrow.h"
#include "dctcp-sender.h"
#include "oracle.h"
#include "proof.h"
#include "util.h"

enum {
    N = REACTING_SENDERS,
    FRAME = 1500,
    RTT_NS = 10000,
    BURST = 65536,              /* Of a sender, and its reach. */
    UPLINK_BURST = 600000,
};

#define LINE_KBPS UINT64_C(100000000)
#define ACCESS_KBPS UINT64_C(25000000)
#define DEAF_KBPS (ACCESS_KBPS * 3 / 4)
#define OWED_KBPS UINT64_C(2000000)
#define START (UINT64_C(3600) * 1000 * 1000 * 1000)

static const struct dctcp_path path = {
    .kbps = ACCESS_KBPS, .rtt_ns = RTT_NS, .frame = FRAME,
};

struct sender {
    struct gcra owed;
    struct oracle oracle;
    struct borrow_member member;
    struct dctcp_sender dctcp;
    uint64_t got;               /* Bytes. */
};

struct loop {
    const struct reacting_conf *conf;
    struct proof_random random;
    struct borrow_pool uplink;
    struct sender senders[N];
    struct events events;
    uint64_t fifo_free, from, end;
    uint64_t n_heard, n_dropped, n_marked;      /* Of those that react. */
    struct reacting_result result;
};

static bool
is_deaf(const struct loop *l, unsigned int i)
{
    return i >= N - l->conf->n_deaf;
}

static unsigned int
weight_of(unsigned int i)
{
    return 1 + i % 4;
}

/* Does a frame of 's' conform, thanks to what it is owed or what it may
 * borrow? */
static bool
conforms(struct loop *l, struct sender *s, uint64_t now)
{
    bool is_owed = oracle_take(&s->oracle, now, 1, FRAME);
    bool admitted = gcra_admit(&s->owed, now, 1, FRAME);
    uint64_t depth;

    if (admitted) {
        borrow_debit(&l->uplink, now, FRAME);
    } else {
        admitted = borrow_admit(&s->member, now, FRAME);
    }
    l->result.n_owed_refused += is_owed && !admitted;
    depth = gcra_depth(&l->uplink.queue, now) / GCRA_BYTE;
    l->result.pool_bytes = MAX(l->result.pool_bytes, depth);
    return admitted;
}

/* Returns when a frame that comes to the FIFO leaves it. */
static uint64_t
enqueue(struct loop *l, uint64_t now)
{
    uint64_t start = MAX(now, l->fifo_free);
    uint64_t depth = (start - now) * LINE_KBPS / 8000000 + FRAME;

    if (now >= l->from) {
        l->result.fifo_bytes = MAX(l->result.fifo_bytes, depth);
    }
    l->fifo_free = start + serialization_ns(FRAME, LINE_KBPS);
    return l->fifo_free;
}

static void
arrive(struct loop *l, const struct event *e)
{
    struct sender *s = &l->senders[e->sender];
    bool deaf = is_deaf(l, e->sender);
    bool conforming = conforms(l, s, e->when);
    bool marked = !conforming && l->conf->marks && !deaf;
    bool passes = conforming || marked;
    uint64_t leaves = passes ? enqueue(l, e->when) : e->when;

    if (passes && leaves >= l->from && leaves < l->end) {
        s->got += FRAME;
    }
    if (deaf) {
        uint64_t gap = serialization_ns(FRAME, DEAF_KBPS);

        events_push(&l->events, (struct event) {
            .when = e->when + gap / 2 + proof_below(&l->random, gap + 1),
            .type = EV_ARRIVE, .sender = e->sender,
        });
        return;
    }
    if (e->when >= l->from) {
        l->n_heard++;
        l->n_dropped += !passes;
        l->n_marked += marked;
    }
    events_push(&l->events, (struct event) {
        .when = leaves + RTT_NS, .type = EV_ACK, .sender = e->sender,
        .marked = marked, .lost = !passes,
    });
}

static void
start(struct loop *l)
{
    struct gcra_conf uplink, owed;

    gcra_conf_init(&uplink, GCRA_KBPS, LINE_KBPS, UPLINK_BURST * 8);
    gcra_conf_init(&owed, GCRA_KBPS, OWED_KBPS, BURST * 8);
    borrow_pool_init(&l->uplink, &uplink, NULL, START);
    l->result.bound_bytes = UPLINK_BURST + N * BURST;
    for (uint8_t i = 0; i < N; i++) {
        struct sender *s = &l->senders[i];

        gcra_init(&s->owed, &owed, START);
        oracle_init(&s->oracle, false, OWED_KBPS, BURST * 8, START);
        borrow_join(&s->member, &l->uplink, weight_of(i), BURST);
        if (is_deaf(l, i)) {
            events_push(&l->events, (struct event) {
                .when = START + proof_below(&l->random, 1000),
                .type = EV_ARRIVE, .sender = i,
            });
        } else {
            dctcp_sender_init(&s->dctcp, FRAME, true);
            dctcp_sender_send(&s->dctcp, &path, &l->events, i,
                              START + proof_below(&l->random, RTT_NS));
        }
    }
}

static void
judge(struct loop *l)
{
    double line = (l->end - l->from) * (LINE_KBPS / 8e6);
    double owed = (l->end - l->from) * (OWED_KBPS / 8e6);
    double shares[2] = { 0, 0 }, gots[2] = { 0, 0 };
    struct reacting_result *r = &l->result;
    unsigned int weights = 0;

    for (unsigned int i = 0; i < N; i++) {
        weights += weight_of(i);
    }
    for (unsigned int i = 0; i < N; i++) {
        double share = owed + (line - N * owed) * weight_of(i) / weights;
        double got = l->senders[i].got;

        shares[is_deaf(l, i)] += share;
        gots[is_deaf(l, i)] += got;
        r->l1 += fabs(got - share) / line;
    }
    r->used = (gots[0] + gots[1]) / line;
    r->heard = shares[0] ? gots[0] / shares[0] : 0;
    r->deaf = shares[1] ? gots[1] / shares[1] : 0;
    r->dropped = (double) l->n_dropped / MAX(l->n_heard, 1);
    r->marked = (double) l->n_marked / MAX(l->n_heard, 1);
}

struct reacting_result
reacting_run(const struct reacting_conf *conf)
{
    struct loop *l = xzalloc_cacheline(sizeof *l);
    struct reacting_result result;

    l->conf = conf;
    l->from = START + conf->ns / 5;
    l->end = START + conf->ns;
    proof_random_init(&l->random, conf->seed);
    start(l);
    while (l->events.heap[0].when < l->end) {
        struct event e = events_pop(&l->events);

        if (e.type == EV_ARRIVE) {
            arrive(l, &e);
        } else {
            dctcp_sender_acknowledge(&l->senders[e.sender].dctcp, &path,
                                     &l->events, &e);
        }
    }
    judge(l);
    result = l->result;
    events_free(&l->events);
    free_cacheline(l);
    return result;
}
