/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "meter-models.h"

#define DPDK_HZ UINT64_C(2500000000)
#define DPDK_MIN_PERIOD 100

static uint64_t
gcra_model_init(union meter *m, uint64_t kbps, uint64_t burst,
                uint64_t now_ns)
{
    struct gcra_conf conf;

    gcra_conf_init(&conf, GCRA_KBPS, kbps, burst * 8);
    gcra_init(&m->gcra, &conf, now_ns);
    return burst;
}

static bool
gcra_model_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
                 uint32_t bytes)
{
    return gcra_admit(&m->gcra, now_ns, n_packets, bytes);
}

static uint64_t
ovs31_init(union meter *m, uint64_t kbps, uint64_t burst, uint64_t now_ns)
{
    struct ovs31 *o = &m->ovs31;
    uint64_t kbit = (burst * 8 + 999) / 1000;

    o->used_us = now_ns / 1000;
    o->rate = kbps;
    o->max = kbit * 1000;
    o->bucket = o->max;
    o->max_delta_ms = o->max / kbps;
    return kbit * 125;
}

static bool
ovs31_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
            uint32_t bytes)
{
    struct ovs31 *o = &m->ovs31;
    uint64_t now_us = now_ns / 1000;
    int64_t delta_ms = now_us / 1000 - o->used_us / 1000;
    uint64_t bits = bytes * UINT64_C(8);

    (void) n_packets;
    if (delta_ms < 0) {
        delta_ms = 0;
    } else if (delta_ms > (int64_t) o->max_delta_ms) {
        delta_ms = o->max_delta_ms;
    }
    o->used_us = now_us;
    o->bucket += delta_ms * o->rate;
    if (o->bucket > o->max) {
        o->bucket = o->max;
    }
    if (o->bucket < bits) {
        return false;
    }
    o->bucket -= bits;
    return true;
}

static uint64_t
ovs32_init(union meter *m, uint64_t kbps, uint64_t burst, uint64_t now_ns)
{
    struct ovs32 *o = &m->ovs32;
    uint64_t kbit = (burst * 8 + 999) / 1000;

    o->rate = kbps;
    o->max = kbit * 1000;
    o->max_delta_ms = o->max / kbps;
    atomic_init(&o->used_ms, now_ns / 1000000);
    atomic_init(&o->bucket, o->max);
    return kbit * 125;
}

/* The thread that moves the time on adds the tokens. */
static void
ovs32_refill(struct ovs32 *o, uint64_t now_ms)
{
    uint64_t used_ms, bucket, sum, delta_ms;

    atomic_read_relaxed(&o->used_ms, &used_ms);
    do {
        if (used_ms >= now_ms) {
            return;
        }
    } while (!atomic_compare_exchange_weak_relaxed(&o->used_ms, &used_ms,
                                                   now_ms));

    delta_ms = now_ms - used_ms;
    if (delta_ms > o->max_delta_ms) {
        delta_ms = o->max_delta_ms;
    }
    atomic_read_relaxed(&o->bucket, &bucket);
    do {
        sum = bucket + delta_ms * o->rate;
        if (sum > o->max) {
            sum = o->max;
        }
    } while (!atomic_compare_exchange_weak_relaxed(&o->bucket, &bucket,
                                                   sum));
}

static bool
ovs32_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
            uint32_t bytes)
{
    struct ovs32 *o = &m->ovs32;
    uint64_t bits = bytes * UINT64_C(8);
    uint64_t bucket;

    (void) n_packets;
    ovs32_refill(o, now_ns / 1000000);
    atomic_read_relaxed(&o->bucket, &bucket);
    do {
        if (bucket < bits) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_relaxed(&o->bucket, &bucket,
                                                   bucket - bits));
    return true;
}

static void
rfc_bucket_init(struct rfc_bucket *b, uint64_t kbps, uint64_t size,
                uint64_t now_ns)
{
    b->last_ns = now_ns;
    b->bytes = size;
    b->size = size;
    b->rate = kbps * 125;
    b->rest = 0;
}

/* Adds the bytes that came since; returns those that found no room. */
static uint64_t
rfc_bucket_refill(struct rfc_bucket *b, uint64_t now_ns)
{
    unsigned __int128 gained;
    uint64_t bytes, room;

    gained = (unsigned __int128) (now_ns - b->last_ns) * b->rate + b->rest;
    bytes = gained / 1000000000;
    b->rest = gained % 1000000000;
    b->last_ns = now_ns;
    room = b->size - b->bytes;
    b->bytes += bytes < room ? bytes : room;
    return bytes < room ? 0 : bytes - room;
}

static bool
rfc_bucket_take(struct rfc_bucket *b, uint32_t bytes)
{
    if (b->bytes < bytes) {
        return false;
    }
    b->bytes -= bytes;
    return true;
}

/* RFC 2697, color-blind.  Te gets what Tc has no room for; with an EBS of 0
 * that is nothing, so what is not green is red. */
static uint64_t
srtcm_init(union meter *m, uint64_t kbps, uint64_t burst, uint64_t now_ns)
{
    rfc_bucket_init(&m->rfc.c, kbps, burst, now_ns);
    rfc_bucket_init(&m->rfc.other, 0, 0, now_ns);
    return burst;
}

static bool
srtcm_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
            uint32_t bytes)
{
    uint64_t more = rfc_bucket_refill(&m->rfc.c, now_ns);
    struct rfc_bucket *e = &m->rfc.other;

    (void) n_packets;
    e->bytes = e->bytes + more < e->size ? e->bytes + more : e->size;
    return rfc_bucket_take(&m->rfc.c, bytes) || rfc_bucket_take(e, bytes);
}

void
rfc2698_init(struct rfc_meter *m, uint64_t cir, uint64_t cbs, uint64_t pir,
             uint64_t pbs, uint64_t now_ns)
{
    rfc_bucket_init(&m->c, cir, cbs, now_ns);
    rfc_bucket_init(&m->other, pir, pbs, now_ns);
}

enum rfc_color
rfc2698_color(struct rfc_meter *m, uint64_t now_ns, uint32_t bytes)
{
    rfc_bucket_refill(&m->c, now_ns);
    rfc_bucket_refill(&m->other, now_ns);
    if (!rfc_bucket_take(&m->other, bytes)) {
        return RFC_RED;
    }
    return rfc_bucket_take(&m->c, bytes) ? RFC_GREEN : RFC_YELLOW;
}

/* The limit is the peak; half of it is committed. */
static uint64_t
trtcm_init(union meter *m, uint64_t kbps, uint64_t burst, uint64_t now_ns)
{
    rfc2698_init(&m->rfc, kbps / 2, burst, kbps, burst, now_ns);
    return burst;
}

static bool
trtcm_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
            uint32_t bytes)
{
    (void) n_packets;
    return rfc2698_color(&m->rfc, now_ns, bytes) != RFC_RED;
}

/* RFC 4115, color-blind: green and yellow have buckets of their own, whose
 * sum is the limit.  Halves of a small burst would pass no packet, so all of
 * it is committed. */
static bool
rfc4115_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
              uint32_t bytes)
{
    (void) n_packets;
    rfc_bucket_refill(&m->rfc.c, now_ns);
    rfc_bucket_refill(&m->rfc.other, now_ns);
    return (rfc_bucket_take(&m->rfc.c, bytes)
            || rfc_bucket_take(&m->rfc.other, bytes));
}

static uint64_t
dpdk_init(union meter *m, uint64_t kbps, uint64_t burst, uint64_t now_ns)
{
    struct dpdk_bucket *d = &m->dpdk;
    uint64_t rate = kbps * 125;
    double period = (double) DPDK_HZ / rate;

    d->bytes_per_period = 1;
    if (period < DPDK_MIN_PERIOD) {
        d->bytes_per_period = DPDK_MIN_PERIOD / period;
        d->bytes_per_period += d->bytes_per_period * period < DPDK_MIN_PERIOD;
    }
    d->period = DPDK_HZ * d->bytes_per_period / rate;
    d->size = burst;
    d->bytes = burst;
    d->last = now_ns * 5 / 2;
    return burst;
}

static bool
dpdk_admit(union meter *m, uint64_t now_ns, uint32_t n_packets,
           uint32_t bytes)
{
    struct dpdk_bucket *d = &m->dpdk;
    uint64_t n_periods = (now_ns * 5 / 2 - d->last) / d->period;

    (void) n_packets;
    d->last += n_periods * d->period;
    d->bytes += n_periods * d->bytes_per_period;
    if (d->bytes > d->size) {
        d->bytes = d->size;
    }
    if (d->bytes < bytes) {
        return false;
    }
    d->bytes -= bytes;
    return true;
}

const struct meter_model meter_gcra = {
    "GCRA", gcra_model_init, gcra_model_admit,
};
const struct meter_model meter_ovs31 = { "OVS 3.1", ovs31_init, ovs31_admit };
const struct meter_model meter_ovs32 = { "OVS 3.2", ovs32_init, ovs32_admit };

const struct meter_model meter_models[] = {
    { "GCRA", gcra_model_init, gcra_model_admit },
    { "OVS 3.1", ovs31_init, ovs31_admit },
    { "OVS 3.2", ovs32_init, ovs32_admit },
    { "srTCM", srtcm_init, srtcm_admit },
    { "trTCM", trtcm_init, trtcm_admit },
    { "RFC 4115", srtcm_init, rfc4115_admit },
    { "rte_meter", dpdk_init, dpdk_admit },
};
const unsigned int n_meter_models = (sizeof meter_models
                                     / sizeof meter_models[0]);
