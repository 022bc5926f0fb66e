/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "bystander.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/meter-models.h"
#include "csum.h"
#include "dctcp-sender.h"
#include "dp-meter.h"
#include "dp-packet.h"
#include "oracle.h"
#include "packets.h"
#include "proof.h"
#include "timeval.h"
#include "util.h"

enum {
    FRAME = 1500,               /* 120 ns at 100 Gbps. */
    SMALL_FRAME = 250,          /* Of the bystander. */
    RTT_NS = 10000,             /* Without queueing. */
    BUFFER = 16 * 1024 * 1024,
    STEP_NS = 80000,

    /* Meters; those of the tenants are from 0 on. */
    UPLINK = BYSTANDER_MAX_TENANTS,
    BYSTANDER,
    BYSTANDER_BURST = 8192,     /* Bytes. */
};

#define LINE_KBPS UINT64_C(100000000)
#define ACCESS_KBPS UINT64_C(25000000)
#define DEAF_KBPS (ACCESS_KBPS * 3 / 4)
#define BYSTANDER_KBPS UINT64_C(2000000)
#define OWED_KBPS (BYSTANDER_KBPS * 5 / 4)

static const struct dctcp_path path = {
    .kbps = ACCESS_KBPS, .rtt_ns = RTT_NS, .frame = FRAME,
};

struct sender {
    unsigned int tenant;
    struct dctcp_sender dctcp;
};

struct loop {
    const struct bystander_conf *conf;
    struct proof_random random;
    struct dp_meters meters;
    union meter ovs31[BYSTANDER_MAX_TENANTS];
    struct sender senders[BYSTANDER_MAX_SENDERS];
    struct events events;

    uint64_t start, from, end;  /* 'from' 'end': what is counted. */
    uint64_t line_free;
    uint64_t sent;              /* Bytes. */
    struct {
        uint64_t offered, dropped, marked, bytes;
    } counts[BYSTANDER_MAX_TENANTS];
    struct oracle owed;         /* What the bystander may send. */
    uint64_t n_refused;         /* Of that. */
    uint32_t *delays;           /* Of the bystander's packets, in ns. */
    size_t n_delays, allocated_delays;
};

/* Puts a packet of 'size' bytes into the FIFO.  Returns when it has left, 0 if
 * the buffer is full. */
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

/* A packet that is ECT(0). */
static struct dp_packet *
make_packet(uint32_t size)
{
    struct dp_packet *packet = dp_packet_new(size);
    struct eth_header *eth = dp_packet_put_zeros(packet, size);
    struct ip_header *ip = (struct ip_header *) (eth + 1);

    eth->eth_type = htons(ETH_TYPE_IP);
    dp_packet_set_l3(packet, ip);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = IP_ECN_ECT_0;
    ip->ip_csum = csum(ip, IP_HEADER_LEN);
    return packet;
}

/* Returns false if 'meter' drops a packet. */
static bool
run_meter(struct loop *l, uint32_t meter, uint64_t now, uint32_t size,
          bool *marked)
{
    struct dp_meter_clock clock = {
        .now_ns = now, .since_ns = now, .reread = true,
    };
    struct dp_packet_batch batch;
    bool passed;

    dp_packet_batch_init_packet(&batch, make_packet(size));
    dp_meters_run(&l->meters, meter, &batch, &clock);
    passed = !dp_packet_batch_is_empty(&batch);
    if (passed) {
        const struct ip_header *ip = dp_packet_l3(batch.packets[0]);

        *marked = (ip->ip_tos & IP_ECN_MASK) == IP_ECN_CE;
    }
    dp_packet_delete_batch(&batch, true);
    return passed;
}

static bool
passes(struct loop *l, unsigned int tenant, uint64_t now, bool *marked)
{
    *marked = false;
    switch (l->conf->meters) {
    case METERS_OVS31:
        return meter_ovs31.admit(&l->ovs31[l->conf->tenants[tenant].ovs31],
                                 now, 1, FRAME);
    case METERS_MICROBURST:
        return run_meter(l, tenant, now, FRAME, marked);
    case METERS_NONE:
    case N_METERS:
    default:
        return true;
    }
}

/* How long the burst of a step lasts, the same for all. */
static uint64_t
burst_ns(const struct loop *l, uint64_t now)
{
    return 10000 + (now - l->start) / STEP_NS * 7919 % 10000;
}

static enum bystander_traffic
traffic_of(const struct loop *l, unsigned int sender)
{
    return l->conf->tenants[l->senders[sender].tenant].traffic;
}

/* When a sender sends next that came to send at 'now', and listens to
 * nobody. */
static uint64_t
next_unasked(struct loop *l, unsigned int sender, uint64_t now)
{
    uint64_t gap = serialization_ns(FRAME, DEAF_KBPS);
    uint64_t phase = (now - l->start) % STEP_NS;

    if (traffic_of(l, sender) == TRAFFIC_DEAF) {
        return now + gap / 2 + proof_below(&l->random, gap + 1);
    }
    return (phase > burst_ns(l, now)
            ? now - phase + STEP_NS + proof_below(&l->random, 500)
            : now + serialization_ns(FRAME, ACCESS_KBPS));
}

static void
arrive(struct loop *l, const struct event *e)
{
    unsigned int tenant = l->senders[e->sender].tenant;
    bool marked, passed = passes(l, tenant, e->when, &marked);
    uint64_t leaves = passed ? enqueue(l, e->when, FRAME) : 0;

    if (e->when >= l->from) {
        l->counts[tenant].offered++;
        l->counts[tenant].dropped += !leaves;
        l->counts[tenant].marked += leaves && marked;
        l->counts[tenant].bytes += leaves ? FRAME : 0;
    }
    if (traffic_of(l, e->sender) <= TRAFFIC_STEPS) {
        events_push(&l->events, (struct event) {
            .when = (leaves ? leaves : e->when) + RTT_NS, .type = EV_ACK,
            .sender = e->sender, .marked = marked, .lost = !leaves,
        });
    } else {
        events_push(&l->events, (struct event) {
            .when = next_unasked(l, e->sender, e->when), .type = EV_ARRIVE,
            .sender = e->sender,
        });
    }
}

static void
step(struct loop *l, const struct event *e)
{
    struct dctcp_sender *s = &l->senders[e->sender].dctcp;

    s->left += burst_ns(l, e->when) * ACCESS_KBPS / 8000000;
    dctcp_sender_send(s, &path, &l->events, e->sender, e->when);
    events_push(&l->events, (struct event) {
        .when = e->when + STEP_NS, .type = EV_STEP, .sender = e->sender,
    });
}

static void
bystander(struct loop *l, uint64_t now)
{
    double mean = serialization_ns(SMALL_FRAME, BYSTANDER_KBPS);
    bool owed = oracle_take(&l->owed, now, 1, SMALL_FRAME);
    bool marked;

    if (l->conf->uplink_kbps && l->conf->meters == METERS_MICROBURST
        && !run_meter(l, BYSTANDER, now, SMALL_FRAME, &marked)) {
        l->n_refused += owed;
    } else {
        if (now >= l->from) {
            if (l->n_delays >= l->allocated_delays) {
                l->delays = x2nrealloc(l->delays, &l->allocated_delays,
                                       sizeof *l->delays);
            }
            l->delays[l->n_delays++] = MAX(now, l->line_free) - now;
        }
        l->n_refused += !enqueue(l, now, SMALL_FRAME);
    }
    events_push(&l->events, (struct event) {
        .when = now + 1 - mean * log(proof_unit(&l->random)),
        .type = EV_BYSTANDER,
    });
}

static void
set_meter(struct loop *l, uint32_t id, uint32_t kbps,
          const struct ofputil_microburst *microburst, bool borrows)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER, .rate = kbps,
        .microburst = *microburst,
    };
    const struct ofputil_meter_config config = {
        .meter_id = id, .flags = OFPMF13_KBPS | OFPMF13_BURST,
        .n_bands = 1, .bands = &band,
    };

    if (borrows) {
        band.microburst.parent = band.microburst.provider_parent = UPLINK;
    }
    if (dp_meters_set(&l->meters, id, &config)) {
        proof_fail("meter %u was refused", id);
    }
}

static void
set_meters(struct loop *l)
{
    const struct bystander_conf *conf = l->conf;

    dp_meters_init(&l->meters, DP_METER_MICROBURST | DP_METER_PHANTOM
                   | DP_METER_PARENT);
    if (conf->uplink_kbps) {
        set_meter(l, UPLINK, conf->uplink_kbps, &(struct ofputil_microburst) {
            .burst_bytes = conf->uplink_burst }, false);
        set_meter(l, BYSTANDER, OWED_KBPS, &(struct ofputil_microburst) {
            .burst_bytes = BYSTANDER_BURST, .weight = 1 }, true);
    }
    for (unsigned int i = 0; i < conf->n_tenants; i++) {
        const struct bystander_tenant *t = &conf->tenants[i];

        set_meter(l, i, t->kbps, &t->band, t->borrows);
    }
}

static void
start_sender(struct loop *l, uint8_t i)
{
    struct dctcp_sender *s = &l->senders[i].dctcp;
    enum bystander_traffic traffic = traffic_of(l, i);

    dctcp_sender_init(s, FRAME, traffic == TRAFFIC_GREEDY);
    if (traffic == TRAFFIC_GREEDY) {
        dctcp_sender_send(s, &path, &l->events, i,
                          l->start + proof_below(&l->random, RTT_NS));
    } else {
        events_push(&l->events, (struct event) {
            .when = l->start + proof_below(&l->random, 1000), .sender = i,
            .type = traffic == TRAFFIC_STEPS ? EV_STEP : EV_ARRIVE,
        });
    }
}

static void
start(struct loop *l)
{
    uint8_t n = 0;

    /* The clock of those meters has whole ms. */
    l->start = ROUND_UP(time_nsec(), UINT64_C(1000000000));
    l->from = l->start + l->conf->ns / 5;
    l->end = l->start + l->conf->ns;
    proof_random_init(&l->random, l->conf->seed);
    oracle_init(&l->owed, false, OWED_KBPS, BYSTANDER_BURST * 8, l->start);
    bystander(l, l->start);
    for (unsigned int i = 0; i < l->conf->n_tenants; i++) {
        uint32_t kbps = l->conf->ovs31_kbps[i];

        if (kbps) {
            meter_ovs31.init(&l->ovs31[i], kbps, kbps / 8, l->start);
        }
        for (unsigned int j = 0; j < l->conf->tenants[i].n_senders; j++) {
            l->senders[n].tenant = i;
            start_sender(l, n++);
        }
    }
}

static int
compare_delays(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static struct bystander_result
judge(struct loop *l)
{
    double line = (l->end - l->from) * (LINE_KBPS / 8e6);
    struct bystander_result r;

    qsort(l->delays, l->n_delays, sizeof *l->delays, compare_delays);
    memset(&r, 0, sizeof r);
    r.median_us = l->delays[l->n_delays / 2] / 1e3;
    r.p99_us = l->delays[l->n_delays * 99 / 100] / 1e3;
    r.worst_us = l->delays[l->n_delays - 1] / 1e3;
    r.n_refused = l->n_refused;
    r.used = l->sent / line;
    for (unsigned int i = 0; i < l->conf->n_tenants; i++) {
        double offered = MAX(l->counts[i].offered, 1);

        r.tenants[i].got = l->counts[i].bytes / line;
        r.tenants[i].dropped = l->counts[i].dropped / offered;
        r.tenants[i].marked = l->counts[i].marked / offered;
    }
    return r;
}

struct bystander_result
bystander_run(const struct bystander_conf *conf)
{
    struct loop *l = xzalloc(sizeof *l);
    struct bystander_result result;

    l->conf = conf;
    set_meters(l);
    start(l);
    while (l->events.heap[0].when < l->end) {
        struct event e = events_pop(&l->events);

        if (e.type == EV_ARRIVE) {
            arrive(l, &e);
        } else if (e.type == EV_ACK) {
            dctcp_sender_acknowledge(&l->senders[e.sender].dctcp, &path,
                                     &l->events, &e);
        } else if (e.type == EV_STEP) {
            step(l, &e);
        } else {
            bystander(l, e.when);
        }
    }
    result = judge(l);
    dp_meters_destroy(&l->meters);
    events_free(&l->events);
    free(l->delays);
    free(l);
    return result;
}
