/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* A meter of one band and its phantom queue, packet by packet. */

#include <config.h>

#include "dp-meter.h"
#include "dp-packet.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-thread.h"
#include "packets.h"
#include "phantom.h"
#include "timeval.h"
#include "unit.h"

enum {
    METER = 7,
    TOS_ECT = 0x2a,
};

/* One of IPv4 that is ECN-capable. */
static struct dp_packet *
make_packet(void)
{
    struct dp_packet *packet = dp_packet_new(1514);
    struct eth_header *eth = dp_packet_put_zeros(packet, 1514);
    struct ip_header *ip = (struct ip_header *) (eth + 1);

    eth->eth_type = htons(ETH_TYPE_IP);
    dp_packet_set_l3(packet, ip);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = TOS_ECT;
    return packet;
}

/* Offers two packets, 10 us later, that came in the last 'gap_ns', and returns
 * how many packets are marked so far. */
static uint64_t
offer_two(struct dp_meters *ms, struct dp_meter_clock *clock, uint64_t gap_ns)
{
    struct ofputil_meter_band_stats bands[2];
    struct ofputil_meter_stats stats = { .bands = bands };
    struct dp_packet_batch batch;

    dp_packet_batch_init(&batch);
    dp_packet_batch_add(&batch, make_packet());
    dp_packet_batch_add(&batch, make_packet());
    clock->now_ns += 10000;
    clock->since_ns = gap_ns ? clock->now_ns - gap_ns : 0;
    dp_meters_run(ms, METER, &batch, clock);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), 2);
    dp_packet_delete_batch(&batch, true);
    ck_assert_int_eq(dp_meters_get(ms, METER, &stats, 2), 0);
    ck_assert_uint_eq(bands[0].microburst.bursts.max_gap_ns, 1000);
    return bands[0].microburst.marked.packets;
}

/* Two packets that came during a poll gap are not both there at its end. */
START_TEST(test_gap)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER,
        .rate = 1000000,
        .microburst = {
            .burst_bytes = 65536, .peak_rate = 12112000, .mark = 2000,
        },
    };
    struct ofputil_meter_band two[] = {
        band, { .rate = 1000000, .burst_size = 1000 },
    };
    struct ofputil_meter_config config = {
        .flags = OFPMF13_KBPS | OFPMF13_BURST, .n_bands = 1, .bands = two,
    };
    struct ofputil_meter_band_stats bands[2];
    struct ofputil_meter_stats stats = { .bands = bands };
    struct dp_meter_clock clock = { .reread = true };
    struct dp_meters ms;

    dp_meters_init(&ms, DP_METER_DROP | DP_METER_MICROBURST
                   | DP_METER_PHANTOM);
    ck_assert(!dp_meters_need_polls(&ms));
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    ck_assert(dp_meters_need_polls(&ms));
    clock.now_ns = time_nsec();
    ck_assert_uint_eq(offer_two(&ms, &clock, 1000), 0); /* 1514 bytes ago. */
    ck_assert_uint_eq(offer_two(&ms, &clock, 0), 1);

    /* Another band leaves the first as it is, and has passed nothing yet. */
    two[1].type = OFPMBT13_DROP;
    config.n_bands = 2;
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    clock.now_ns = MAX(clock.now_ns, time_nsec());
    ck_assert_int_eq(dp_meters_get(&ms, METER, &stats, 2), 0);
    ck_assert_uint_eq(stats.packet_in_count, 4);
    ck_assert_uint_eq(bands[0].microburst.green.packets, 4);
    ck_assert_uint_eq(bands[0].microburst.bursts.max_gap_ns, 1000);
    ck_assert_uint_eq(bands[1].microburst.green.packets, 0);
    ck_assert_uint_eq(offer_two(&ms, &clock, 1000), 1);
    ck_assert_uint_eq(offer_two(&ms, &clock, 0), 2);

    ck_assert_int_eq(dp_meters_del(&ms, METER, NULL, 0), 0);
    ck_assert(!dp_meters_need_polls(&ms));
    dp_meters_destroy(&ms);
}
END_TEST

/* Nor are they in what was deepest. */
START_TEST(test_gap_depth)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER,
        .rate = 1000000,
        .microburst = { .burst_bytes = 65536, .peak_rate = 12112000 },
    };
    struct ofputil_meter_config config = {
        .flags = OFPMF13_KBPS | OFPMF13_BURST, .n_bands = 1, .bands = &band,
    };
    struct ofputil_meter_band_stats stats_of_band;
    struct ofputil_meter_stats stats = { .bands = &stats_of_band };
    struct dp_meter_clock clock = { .reread = true };
    struct dp_meters ms;

    dp_meters_init(&ms, DP_METER_MICROBURST | DP_METER_PHANTOM);
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    clock.now_ns = time_nsec();
    ck_assert_uint_eq(offer_two(&ms, &clock, 1000), 0);
    ck_assert_int_eq(dp_meters_get(&ms, METER, &stats, 1), 0);
    ck_assert_uint_eq(stats_of_band.microburst.bursts.max_depth, 1514);
    dp_meters_destroy(&ms);
}
END_TEST

/* Offers a packet to meter 'id', and returns true if it is admitted. */
static bool
offer_to(struct dp_meters *ms, uint32_t id, struct dp_meter_clock clock)
{
    struct dp_packet *packet = dp_packet_new(1514);
    struct dp_packet_batch batch;
    bool admitted;

    dp_packet_put_zeros(packet, 1514);
    dp_packet_batch_init_packet(&batch, packet);
    dp_meters_run(ms, id, &batch, &clock);
    admitted = !dp_packet_batch_is_empty(&batch);
    dp_packet_delete_batch(&batch, true);
    return admitted;
}

/* The same at 'now_ns'. */
static bool
offer_one(struct dp_meters *ms, uint64_t now_ns, bool reread)
{
    return offer_to(ms, METER, (struct dp_meter_clock) {
        .now_ns = now_ns, .reread = reread });
}

/* What exceeds the rate is in the phantom queue, and is looked at again before
 * it drops. */
START_TEST(test_exceeding)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER,
        .rate = 1000000,
        .microburst = { .burst_bytes = 1514, .peak_rate = 1000000 },
    };
    struct ofputil_meter_config config = {
        .flags = OFPMF13_KBPS | OFPMF13_BURST, .n_bands = 1, .bands = &band,
    };
    struct ofputil_meter_band_stats stats_of_band;
    struct ofputil_meter_stats stats = { .bands = &stats_of_band };
    struct dp_meters ms;
    uint64_t now_ns;

    dp_meters_init(&ms, DP_METER_MICROBURST | DP_METER_PHANTOM);
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    now_ns = time_nsec();
    xnanosleep(100000);                 /* Eight packets. */
    ck_assert(offer_one(&ms, now_ns, true));
    ck_assert(!offer_one(&ms, now_ns, true));
    ck_assert(offer_one(&ms, now_ns, false));

    now_ns += 1000000000;
    ck_assert(offer_one(&ms, now_ns, true));
    for (int i = 0; i < 3; i++) {
        ck_assert(!offer_one(&ms, now_ns, true));
    }
    ck_assert_int_eq(dp_meters_get(&ms, METER, &stats, 1), 0);
    ck_assert_uint_eq(stats_of_band.microburst.bursts.max_depth, 4 * 1514);
    ck_assert_uint_eq(stats_of_band.microburst.dropped.packets, 4);

    band.microburst.exceed = OFPUTIL_MICROBURST_PASS;
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    ck_assert(offer_one(&ms, now_ns, true));
    dp_meters_destroy(&ms);
}
END_TEST

/* Adds meter 'id', of a packet in 12 us, which borrows from 'parent'. */
static void
set_meter(struct dp_meters *ms, uint32_t id, uint32_t peak_rate,
          uint32_t parent)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER,
        .rate = 1000000,
        .microburst = {
            .burst_bytes = 1514, .peak_rate = peak_rate,
            .parent = parent != 0, .provider_parent = parent,
        },
    };
    struct ofputil_meter_config config = {
        .flags = OFPMF13_KBPS | OFPMF13_BURST, .n_bands = 1, .bands = &band,
    };

    ck_assert_int_eq(dp_meters_set(ms, id, &config), 0);
}

/* Returns true if a packet is admitted once the time, which is fresh, has room
 * for none, but the clock has. */
static bool
is_read_again(struct dp_meters *ms, uint32_t id)
{
    struct dp_meter_clock clock = { .now_ns = time_nsec(), .fresh = true };

    offer_to(ms, id, clock);
    ck_assert(!offer_to(ms, id, (struct dp_meter_clock) {
        .now_ns = clock.now_ns, .reread = true }));
    xnanosleep(50000);
    return offer_to(ms, id, clock);
}

static void *
offer_old(void *ms)
{
    offer_one(ms, time_nsec(), true);
    return NULL;
}

/* The clock is read again before packets drop if another thread may have come
 * with a later time, and only then. */
START_TEST(test_fresh)
{
    enum { PARENT = METER + 1, CHILD };
    struct dp_meters ms;

    dp_meters_init(&ms, DP_METER_MICROBURST | DP_METER_PHANTOM
                   | DP_METER_PARENT);
    set_meter(&ms, METER, _i ? 1000000 : 0, 0);
    ck_assert(!is_read_again(&ms, METER));
    xpthread_join(ovs_thread_create("other", offer_old, &ms), NULL);
    ck_assert(is_read_again(&ms, METER));

    set_meter(&ms, PARENT, _i ? 1000000 : 0, 0);
    ck_assert(!is_read_again(&ms, PARENT));
    set_meter(&ms, CHILD, _i ? 1000000 : 0, PARENT);
    ck_assert(is_read_again(&ms, PARENT));
    ck_assert(is_read_again(&ms, CHILD));
    dp_meters_destroy(&ms);
}
END_TEST

/* What comes once the queue is empty is not of the burst before. */
START_TEST(test_open_burst)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_EXPERIMENTER,
        .rate = 1000000,
        .microburst = {         /* 1514 bytes take a us. */
            .burst_bytes = 65536, .peak_rate = 12112000, .depth = 3000,
        },
    };
    struct ofputil_meter_config config = {
        .flags = OFPMF13_KBPS | OFPMF13_BURST, .n_bands = 1, .bands = &band,
    };
    struct ofputil_meter_band_stats stats_of_band;
    struct ofputil_meter_stats stats = { .bands = &stats_of_band };
    const struct ofputil_microburst_bursts *bursts
        = &stats_of_band.microburst.bursts;
    struct dp_meters ms;
    uint64_t now_ns;

    dp_meters_init(&ms, DP_METER_MICROBURST | DP_METER_PHANTOM);
    ck_assert_int_eq(dp_meters_set(&ms, METER, &config), 0);
    now_ns = time_nsec();
    for (int i = 0; i < 3; i++) {
        ck_assert(offer_one(&ms, now_ns, true));
    }
    ck_assert(offer_one(&ms, now_ns + 10000, true));
    xnanosleep(100000);
    ck_assert_int_eq(dp_meters_get(&ms, METER, &stats, 1), 0);
    ck_assert_uint_eq(bursts->n_bursts, 1);
    ck_assert_uint_eq(bursts->max_depth, 3 * 1514);
    ck_assert_uint_eq(bursts->n_bytes, 3 * 1514);
    ck_assert_uint_eq(bursts->events[0].length_ns, 3000);
    dp_meters_destroy(&ms);
}
END_TEST

/* Polls are noted only while a meter has a phantom queue, whichever way it
 * loses it. */
START_TEST(test_need_polls)
{
    struct dp_meters ms;

    dp_meters_init(&ms, DP_METER_MICROBURST | DP_METER_PHANTOM);
    for (int i = 0; i < 2; i++) {
        set_meter(&ms, METER, 0, 0);
        ck_assert(!dp_meters_need_polls(&ms));
        set_meter(&ms, METER, 1000000, 0);
        ck_assert(dp_meters_need_polls(&ms));
    }
    set_meter(&ms, METER + 1, 1000000, 0);
    set_meter(&ms, METER, 0, 0);
    ck_assert(dp_meters_need_polls(&ms));
    ck_assert_int_eq(dp_meters_del(&ms, METER, NULL, 0), 0);
    ck_assert(dp_meters_need_polls(&ms));
    ck_assert_int_eq(dp_meters_del(&ms, METER + 1, NULL, 0), 0);
    ck_assert(!dp_meters_need_polls(&ms));
    dp_meters_destroy(&ms);
}
END_TEST

/* The three ways to ask a phantom queue. */
enum { ADMIT, ADMIT_BOTH, OFFER, N_WAYS };

/* Asks '*p' about two packets of 10,000 bytes that came since 'since_ns', and
 * returns true if none of them is marked. */
static bool
ask(struct phantom *p, int way, uint64_t since_ns, uint64_t now_ns)
{
    static const uint32_t sizes[] = { 10000, 10000 };
    struct phantom_batch batch = { .since_ns = since_ns, .now_ns = now_ns };
    struct gcra_both both = {
        .now_ns = now_ns, .second_ns = now_ns,
        .sizes = sizes, .n = 2, .bytes = 20000,
    };
    struct gcra_conf conf;
    struct gcra share;

    switch (way) {
    case ADMIT:
        return phantom_admit(p, since_ns, now_ns, 2, 20000);
    case ADMIT_BOTH:
        ck_assert_int_eq(gcra_conf_init(&conf, GCRA_KBPS, 1, 160000), 0);
        gcra_init(&share, &conf, now_ns);
        return phantom_admit_both(p, &share, since_ns, &both) == GCRA_BOTH;
    default:
        phantom_offer(p, &batch, sizes, 2);
        return !batch.marked;
    }
}

/* However long ago the last poll was, the queue drains for 100 ms of it. */
START_TEST(test_longest_gap)
{
    uint64_t last_ns = time_nsec(), now_ns = last_ns + 10 * GCRA_MAX_SPREAD_NS;
    struct phantom_stats stats;
    struct phantom_conf conf;
    struct phantom p;

    /* In 100 ms, 15,000 bytes drain... */
    ck_assert_int_eq(phantom_conf_init(&conf, 1, 1200, 5000, 0, 0, 0), 0);
    phantom_init(&p, &conf, last_ns);
    ck_assert(ask(&p, _i, last_ns, now_ns));
    phantom_read(&p, now_ns, &stats);
    ck_assert_uint_eq(stats.gap_ns, now_ns - last_ns);

    /* ...or a few less. */
    ck_assert_int_eq(phantom_conf_init(&conf, 1, 1199, 5000, 0, 0, 0), 0);
    phantom_init(&p, &conf, last_ns);
    ck_assert(!ask(&p, _i, last_ns, now_ns));
}
END_TEST

static bool
is_open(const void *open_ns, uint64_t start_ns)
{
    return *(const uint64_t *) open_ns == start_ns;
}

/* Two bursts, and a thread that comes late with what it knows of the first;
 * only the low half of their starts is kept. */
START_TEST(test_burst_number)
{
    const uint64_t first = UINT64_C(7) << 32 | 1000, second = first + 500;
    atomic_uint64_t number = ATOMIC_VAR_INIT(0);
    uint64_t open = first;

    ck_assert_uint_eq(burst_number_get(&number, first), 0);
    ck_assert(burst_number_raise(&number, first, 9000, is_open, &open));
    ck_assert(!burst_number_raise(&number, first, 9000, is_open, &open));
    ck_assert(!burst_number_raise(&number, first, 8999, is_open, &open));
    ck_assert_uint_eq(burst_number_get(&number, first), 9000);

    open = second;
    ck_assert_uint_eq(burst_number_get(&number, second), 0);
    ck_assert(burst_number_raise(&number, second, 20, is_open, &open));
    ck_assert(!burst_number_raise(&number, first, 9500, is_open, &open));
    ck_assert_uint_eq(burst_number_get(&number, second), 20);
    ck_assert(burst_number_raise(&number, second, UINT64_MAX, is_open, &open));
    ck_assert_uint_eq(burst_number_get(&number, second), UINT32_MAX);
}
END_TEST

Suite *
dp_meter_phantom_suite(void)
{
    Suite *suite = suite_create("dp-meter-phantom");
    TCase *tc = unit_case(suite, "phantom queue");

    tcase_add_test(tc, test_gap);
    tcase_add_test(tc, test_gap_depth);
    tcase_add_test(tc, test_exceeding);
    tcase_add_loop_test(tc, test_fresh, 0, 2);
    tcase_add_test(tc, test_open_burst);
    tcase_add_test(tc, test_need_polls);
    tcase_add_test(tc, test_burst_number);
    tcase_add_loop_test(tc, test_longest_gap, 0, N_WAYS);
    return suite;
}
