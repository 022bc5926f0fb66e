/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Meters of several bands, batch by batch, beside a model that takes each
 * packet by itself and has a token bucket of tests/proof/ for each band, and a
 * queue for each phantom queue. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "csum.h"
#include "dp-meter-private.h"
#include "dp-packet.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-thread.h"
#include "packets.h"
#include "proof/oracle.h"
#include "proof/queue.h"
#include "random.h"
#include "timeval.h"
#include "unit-gcra.h"
#include "unit.h"

enum {
    METER = 7,
    N_METERS = 300,
    N_BATCHES = 60,
    TOS_NOT_ECT = 0x28,         /* AF11, which has a drop precedence. */
    TOS_ECT = 0x2a,
    TOS_CE = 0x2b,
};

struct model_band {
    struct ofputil_meter_band conf;
    struct oracle bucket;
    struct queue queue;
    bool marks;                 /* The packet, if it is admitted? */
    struct ofputil_meter_band_stats stats;
};

struct model {
    uint16_t flags;
    uint16_t n_bands;
    struct model_band bands[DP_METER_MAX_BANDS];
    uint64_t packets, bytes;
};

/* A packet, and what the model says of it. */
struct expected {
    struct dp_packet *packet;   /* NULL: dropped. */
    int tos;                    /* -1: not IP. */
};

static void
draw_phantom(struct ofputil_meter_band *band)
{
    struct ofputil_microburst *mb = &band->microburst;

    if (random_range(2)) {
        mb->peak_rate = band->rate * (1 + random_range(3));
        mb->limit = random_range(3) ? 1518 + random_range(20000) : 0;
        mb->mark = 1 + random_range(mb->limit ? mb->limit : 10000);
        mb->depth = 1 + random_range(mb->limit ? mb->limit : 10000);
        if (random_range(2)) {
            mb->mark = mb->depth = 0;
        }
    }
}

static void
draw_band(struct ofputil_meter_band *band, bool pktps)
{
    /* Few rates, so that some bands have the same. */
    band->rate = (1 + random_range(3)) * (pktps ? 100000 : 1000000);
    band->burst_size = 1 + random_range(pktps ? 20 : 120);
    switch (random_range(pktps ? 2 : 4)) {
    case 0:
        band->type = OFPMBT13_DROP;
        break;
    case 1:
        band->type = OFPMBT13_DSCP_REMARK;
        band->prec_level = 1;
        break;
    default:
        band->type = OFPMBT13_EXPERIMENTER;
        band->microburst.exceed = random_range(4);
        band->microburst.dscp = random_range(64);
        draw_phantom(band);
        break;
    }
}

static void
draw_meter(struct model *m, struct dp_meters *ms)
{
    struct ofputil_meter_band bands[DP_METER_MAX_BANDS];
    bool pktps = !random_range(3);
    struct ofputil_meter_config config = {
        .meter_id = METER,
        .flags = (pktps ? OFPMF13_PKTPS : OFPMF13_KBPS) | OFPMF13_BURST,
        .n_bands = 1 + (random_range(2) ? random_range(DP_METER_MAX_BANDS)
                        : 0),
        .bands = bands,
    };

    memset(m, 0, sizeof *m);
    memset(bands, 0, sizeof bands);
    m->flags = config.flags;
    m->n_bands = config.n_bands;
    for (uint16_t i = 0; i < m->n_bands; i++) {
        draw_band(&bands[i], pktps);
        m->bands[i].conf = bands[i];
        oracle_init(&m->bands[i].bucket, pktps, bands[i].rate,
                    bands[i].burst_size * (pktps ? 1 : 1000), 0);
        queue_init(&m->bands[i].queue, bands[i].microburst.peak_rate,
                   bands[i].microburst.mark, bands[i].microburst.depth,
                   bands[i].microburst.limit, 0);
    }
    ck_assert_int_eq(dp_meters_set(ms, METER, &config), 0);
}

static struct dp_packet *
draw_packet(int *tos)
{
    uint32_t size = 64 + random_range(1455);
    struct dp_packet *packet = dp_packet_new(size);
    struct eth_header *eth = dp_packet_put_zeros(packet, size);

    *tos = (random_range(2) ? TOS_NOT_ECT
            : random_range(4) ? TOS_ECT : TOS_CE);
    eth->eth_type = htons(ETH_TYPE_IP);
    dp_packet_set_l3(packet, eth + 1);
    if (random_range(8)) {
        struct ip_header *ip = dp_packet_l3(packet);

        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_tos = *tos;
        ip->ip_csum = csum(ip, IP_HEADER_LEN);
    } else {
        *tos = -1;              /* An IP header of no version. */
    }
    return packet;
}

/* What 'band' makes of a packet that exceeds it; false: it drops it. */
static bool
model_exceed(struct model_band *band, uint32_t size, int *tos)
{
    struct ofputil_microburst_stats *mb = &band->stats.microburst;
    bool pass = true;

    band->stats.packet_count++;
    band->stats.byte_count += size;
    if (band->conf.type == OFPMBT13_DROP) {
        pass = false;
    } else if (band->conf.type == OFPMBT13_DSCP_REMARK) {
        *tos += *tos < 0 ? 0 : 8;       /* AF11 to AF12. */
    } else if (band->conf.microburst.exceed == OFPUTIL_MICROBURST_DROP) {
        pass = false;
    } else if (band->conf.microburst.exceed == OFPUTIL_MICROBURST_DSCP) {
        *tos = *tos < 0 ? -1 : band->conf.microburst.dscp << 2 | (*tos & 3);
    } else if (band->conf.microburst.exceed == OFPUTIL_MICROBURST_ECN) {
        pass = *tos >= 0 && *tos & 3;
        band->marks |= pass;
    }
    mb->exceeded.packets += pass;
    mb->exceeded.bytes += pass ? size : 0;
    return pass;
}

/* Returns true if a phantom queue drops the packet. */
static bool
model_cap(struct model *m, uint64_t now, uint32_t size)
{
    for (uint16_t i = 0; i < m->n_bands; i++) {
        struct model_band *band = &m->bands[i];
        enum queue_verdict v = QUEUE_PASS;

        if (band->conf.microburst.peak_rate) {
            queue_advance(&band->queue, now);
            v = queue_put(&band->queue, size);
        }
        band->marks = v == QUEUE_MARK;
        if (v == QUEUE_DROP) {
            band->stats.packet_count++;
            band->stats.byte_count += size;
            band->stats.microburst.capped.packets++;
            band->stats.microburst.capped.bytes += size;
            return true;
        }
    }
    return false;
}

/* Marks a packet that is admitted. */
static void
model_mark(struct model *m, uint32_t size, int *tos)
{
    for (uint16_t i = 0; i < m->n_bands; i++) {
        struct model_band *band = &m->bands[i];

        if (band->marks && *tos >= 0 && *tos & 3 && (*tos & 3) != 3) {
            *tos |= 3;
            band->stats.microburst.marked.packets++;
            band->stats.microburst.marked.bytes += size;
        }
    }
}

static bool
model_packet(struct model *m, uint64_t now, uint32_t size, int *tos)
{
    struct model_band *acting = NULL;

    m->packets++;
    m->bytes += size;
    if (model_cap(m, now, size)) {
        return false;
    }
    for (uint16_t i = 0; i < m->n_bands; i++) {
        struct model_band *band = &m->bands[i];

        if (oracle_take(&band->bucket, now, 1, size)) {
            band->stats.microburst.green.packets++;
            band->stats.microburst.green.bytes += size;
        } else if (!acting || band->conf.rate > acting->conf.rate) {
            acting = band;
        }
    }
    if (acting && !model_exceed(acting, size, tos)) {
        return false;
    }
    model_mark(m, size, tos);
    return true;
}

static void
compare_batch(struct dp_packet_batch *batch, const struct expected *expected,
              uint32_t n)
{
    uint32_t n_left = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct ip_header *ip;

        if (!expected[i].packet) {
            continue;
        }
        ck_assert_uint_lt(n_left, dp_packet_batch_size(batch));
        ck_assert_ptr_eq(batch->packets[n_left], expected[i].packet);
        ip = dp_packet_l3(batch->packets[n_left++]);
        ck_assert_int_eq(ip->ip_tos, MAX(expected[i].tos, 0));
        ck_assert(expected[i].tos < 0 || !csum(ip, IP_HEADER_LEN));
    }
    ck_assert_uint_eq(n_left, dp_packet_batch_size(batch));
}

static void
run_batch(struct model *m, struct dp_meters *ms, uint64_t base, uint64_t now)
{
    struct dp_meter_clock clock = { .now_ns = base + now, .reread = true };
    struct expected expected[NETDEV_MAX_BURST];
    uint32_t n = 1 + random_range(NETDEV_MAX_BURST);
    struct dp_packet_batch batch;

    dp_packet_batch_init(&batch);
    for (uint32_t i = 0; i < n; i++) {
        struct dp_packet *packet = draw_packet(&expected[i].tos);

        expected[i].packet = packet;
        dp_packet_batch_add(&batch, packet);
        if (!model_packet(m, now, dp_packet_size(packet),
                          &expected[i].tos)) {
            expected[i].packet = NULL;
        }
    }
    dp_meters_run(ms, METER, &batch, &clock);
    compare_batch(&batch, expected, n);
    dp_packet_delete_batch(&batch, true);
}

#define COMPARE(IS, SHOULD)                             \
    ck_assert_uint_eq((IS).packets, (SHOULD).packets);  \
    ck_assert_uint_eq((IS).bytes, (SHOULD).bytes)

static void
compare_stats(const struct model *m, const struct dp_meters *ms)
{
    struct ofputil_meter_band_stats bands[DP_METER_MAX_BANDS];
    struct ofputil_meter_stats stats = { .bands = bands };

    ck_assert_int_eq(dp_meters_get(ms, METER, &stats, DP_METER_MAX_BANDS),
                     0);
    ck_assert_uint_eq(stats.packet_in_count, m->packets);
    ck_assert_uint_eq(stats.byte_in_count, m->bytes);
    ck_assert_uint_eq(stats.n_bands, m->n_bands);
    for (uint16_t i = 0; i < m->n_bands; i++) {
        const struct ofputil_meter_band_stats *should = &m->bands[i].stats;

        ck_assert_uint_eq(bands[i].packet_count, should->packet_count);
        ck_assert_uint_eq(bands[i].byte_count, should->byte_count);
        COMPARE(bands[i].microburst.green, should->microburst.green);
        COMPARE(bands[i].microburst.exceeded, should->microburst.exceeded);
        COMPARE(bands[i].microburst.marked, should->microburst.marked);
        COMPARE(bands[i].microburst.capped, should->microburst.capped);
        ck_assert_uint_eq(bands[i].microburst.dropped.packets,
                          should->packet_count
                          - should->microburst.exceeded.packets
                          - should->microburst.capped.packets);
    }
}

START_TEST(test_batches)
{
    struct dp_meters ms;

    random_set_seed(unit_gcra_seed() + 1);
    dp_meters_init(&ms, DP_METER_DROP | DP_METER_DSCP_REMARK
                        | DP_METER_MICROBURST | DP_METER_PHANTOM);
    for (int i = 0; i < N_METERS; i++) {
        uint64_t now = 0, base;
        struct model m;

        draw_meter(&m, &ms);
        base = time_nsec();
        for (int j = 0; j < N_BATCHES; j++) {
            now += random_range(100000);
            run_batch(&m, &ms, base, now);
        }
        compare_stats(&m, &ms);
        ck_assert_int_eq(dp_meters_del(&ms, METER, NULL, 0), 0);
    }
    dp_meters_destroy(&ms);
}
END_TEST

START_TEST(test_missing_meter)
{
    struct dp_meter_clock clock = { .now_ns = 1 };
    struct dp_packet_batch batch;
    struct dp_meters ms;
    int tos;

    dp_meters_init(&ms, DP_METER_DROP);
    dp_packet_batch_init_packet(&batch, draw_packet(&tos));
    dp_meters_run(&ms, METER, &batch, &clock);
    ck_assert(dp_packet_batch_is_empty(&batch));
    dp_meters_destroy(&ms);
}
END_TEST

static void *
bring_packet(void *ms)
{
    struct dp_meter_clock clock = { .now_ns = time_nsec() };
    struct dp_packet_batch batch;
    int tos;

    dp_packet_batch_init_packet(&batch, draw_packet(&tos));
    dp_meters_run(ms, METER, &batch, &clock);
    dp_packet_delete_batch(&batch, true);
    return NULL;
}

/* The first thread alone counts as who owns the counters. */
START_TEST(test_owner)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_DROP, .rate = 1000000, .burst_size = 1000,
    };
    struct ofputil_meter_config config = {
        .flags = OFPMF13_KBPS | OFPMF13_BURST, .n_bands = 1, .bands = &band,
    };
    const struct dp_owned_counter *c;
    struct dp_meters ms;

    dp_meters_init(&ms, DP_METER_DROP);
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    bring_packet(&ms);
    for (int i = 0; i < 2; i++) {
        xpthread_join(ovs_thread_create("second", bring_packet, &ms), NULL);
    }
    bring_packet(&ms);
    c = &dp_meter_lookup(&ms, METER)->conforming;
    ck_assert_uint_eq(c->own.packets, 2);
    ck_assert_uint_eq(c->others.packets, 2);
    ck_assert_int_eq(dp_meters_del(&ms, METER, NULL, 0), 0);
    dp_meters_destroy(&ms);
}
END_TEST

Suite *
dp_meter_suite(void)
{
    Suite *suite = suite_create("dp-meter");
    TCase *tc = unit_case(suite, "batches");

    tcase_add_test(tc, test_batches);
    tcase_add_test(tc, test_missing_meter);
    tcase_add_test(tc, test_owner);
    return suite;
}
