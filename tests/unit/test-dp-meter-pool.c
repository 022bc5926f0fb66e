/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Meters that borrow from others: what is refused, and what remains when one
 * of them changes or goes. */

#include <config.h>

#include <errno.h>

#include "borrow.h"
#include "dp-meter.h"
#include "dp-packet.h"
#include "openvswitch/ofp-meter.h"
#include "timeval.h"
#include "unit.h"

#define NOW UINT64_C(1000000000)

enum { SIZE = 1000, NONE = -1 };

static struct dp_meters meters;

static struct ofputil_meter_band
band_conf(uint16_t type, uint32_t burst, int parent)
{
    return (struct ofputil_meter_band) {
        .type = type, .rate = 1,
        .burst_size = type == OFPMBT13_DROP ? 1 : 0,
        .microburst = {
            .burst_bytes = type == OFPMBT13_DROP ? 0 : burst,
            .parent = parent == NONE ? 0 : 1,
            .provider_parent = parent == NONE ? 0 : parent,
        },
    };
}

static int
set_bands(uint32_t id, struct ofputil_meter_band bands[], uint16_t n_bands)
{
    struct ofputil_meter_config config = {
        .meter_id = id, .flags = OFPMF13_KBPS | OFPMF13_BURST,
        .n_bands = n_bands, .bands = bands,
    };

    return dp_meters_set(&meters, id, &config);
}

/* Sets meter 'id' to one band of 'type', or, if that is 0, to none. */
static int
set_meter(uint32_t id, uint16_t type, uint32_t burst, int parent)
{
    struct ofputil_meter_band band = band_conf(type, burst, parent);

    return set_bands(id, &band, type ? 1 : 0);
}

static int
set(uint32_t id, uint32_t burst, int parent)
{
    return set_meter(id, OFPMBT13_EXPERIMENTER, burst, parent);
}

/* A packet of IPv4 with this DS field. */
static struct dp_packet *
make_packet(uint8_t tos)
{
    struct dp_packet *packet = dp_packet_new(SIZE);
    struct eth_header *eth = dp_packet_put_zeros(packet, SIZE);
    struct ip_header *ip = (void *) (eth + 1);

    eth->eth_type = htons(ETH_TYPE_IP);
    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tos = tos;
    dp_packet_set_l3(packet, ip);
    pkt_metadata_init(&packet->md, 1);
    return packet;
}

/* What of 'n' packets with DS field 'tos' passes meter 'id' at 'now_ns'; sets
 * '*marked', if it is not null, to how many of these have CE, and a note of
 * it. */
static size_t
pass_at(uint64_t now_ns, uint32_t id, size_t n, uint8_t tos, size_t *marked)
{
    struct dp_meter_clock clock = { .now_ns = now_ns, .reread = true };
    struct dp_packet_batch batch;
    struct dp_packet *packet;
    size_t passed, n_ce = 0;

    dp_packet_batch_init(&batch);
    for (size_t i = 0; i < n; i++) {
        dp_packet_batch_add(&batch, make_packet(tos));
    }
    dp_meters_run(&meters, id, &batch, &clock);
    passed = dp_packet_batch_size(&batch);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        const struct ip_header *ip = dp_packet_l3(packet);
        bool ce = (ip->ip_tos & IP_ECN_MASK) == IP_ECN_CE;

        ck_assert_uint_eq(packet->md.tenant_flags & PKT_TENANT_MARKED,
                          ce ? PKT_TENANT_MARKED : 0);
        n_ce += ce;
    }
    if (marked) {
        *marked = n_ce;
    }
    dp_packet_delete_batch(&batch, true);
    return passed;
}

/* The same before the meters were made, which goes on as if it were then. */
static size_t
pass_marked(uint32_t id, size_t n, uint8_t tos, size_t *marked)
{
    return pass_at(NOW, id, n, tos, marked);
}

/* The same of packets that are not ECN-capable. */
static size_t
pass(uint32_t id, size_t n)
{
    return pass_marked(id, n, IP_ECN_NOT_ECT, NULL);
}

static struct ofputil_microburst_stats
stats_of(uint32_t id)
{
    struct ofputil_meter_band_stats band;
    struct ofputil_meter_stats stats = { .bands = &band };

    ck_assert_int_eq(dp_meters_get(&meters, id, &stats, 1), 0);
    return band.microburst;
}

static void
set_up(void)
{
    dp_meters_init(&meters, (DP_METER_DROP | DP_METER_MICROBURST
                             | DP_METER_PARENT));
}

static void
tear_down(void)
{
    dp_meters_destroy(&meters);
}

START_TEST(test_refused)
{
    set_up();
    ck_assert_int_eq(set(1, SIZE, 3), ENOENT);
    ck_assert_int_eq(set(1, SIZE, 1), ENOENT);
    ck_assert_int_eq(set_meter(3, OFPMBT13_DROP, 0, NONE), 0);
    ck_assert_int_eq(set(1, SIZE, 3), EOPNOTSUPP);
    ck_assert_int_eq(dp_meters_get(&meters, 1, NULL, 0), ENOENT);

    /* 1 under 2 under 3. */
    ck_assert_int_eq(set(3, SIZE, NONE), 0);
    ck_assert_int_eq(set(2, SIZE, 3), 0);
    ck_assert_int_eq(set(1, SIZE, 2), 0);
    ck_assert_int_eq(set(3, SIZE, 3), ELOOP);
    ck_assert_int_eq(set(3, SIZE, 2), ELOOP);
    ck_assert_int_eq(set(3, SIZE, 1), ELOOP);
    ck_assert_int_eq(set(4, SIZE, 1), ELOOP);
    ck_assert_int_eq(set(4, SIZE, NONE), 0);
    ck_assert_int_eq(set(4, SIZE, 4), ELOOP);
    ck_assert_int_eq(set(3, SIZE, 4), ELOOP);
    ck_assert_int_eq(set_meter(2, OFPMBT13_DROP, 0, NONE), EBUSY);

    /* When nobody borrows from it any more, it may be anything. */
    ck_assert_int_eq(set(1, SIZE, 4), 0);
    ck_assert_int_eq(set_meter(2, OFPMBT13_DROP, 0, NONE), 0);
    tear_down();
}
END_TEST

/* A burst that no reach can be. */
START_TEST(test_burst)
{
    struct ofputil_meter_band band = band_conf(OFPMBT13_EXPERIMENTER, 0, 3);

    set_up();
    ck_assert_int_eq(set(3, SIZE, NONE), 0);
    band.burst_size = 34359738;         /* 4 GiB less 46 bytes. */
    ck_assert_int_eq(set_bands(1, &band, 1), 0);
    band.burst_size++;
    ck_assert_int_eq(set_bands(1, &band, 1), ERANGE);
    band.microburst.parent = 0;
    ck_assert_int_eq(set_bands(1, &band, 1), 0);
    tear_down();
}
END_TEST

START_TEST(test_full)
{
    set_up();
    ck_assert_int_eq(set(0, SIZE, NONE), 0);
    for (uint32_t i = 1; i <= BORROW_MAX_MEMBERS; i++) {
        ck_assert_int_eq(set(i, SIZE, 0), 0);
    }
    ck_assert_int_eq(set(BORROW_MAX_MEMBERS + 1, SIZE, 0), ENOSPC);
    ck_assert_int_eq(set(7, 2 * SIZE, 0), 0);
    ck_assert_int_eq(dp_meters_del(&meters, 7, NULL, 0), 0);
    ck_assert_int_eq(set(BORROW_MAX_MEMBERS + 1, SIZE, 0), 0);
    tear_down();
}
END_TEST

START_TEST(test_passed)
{
    struct ofputil_microburst_stats stats;

    set_up();
    ck_assert_int_eq(set(3, 5 * SIZE, NONE), 0);
    ck_assert_int_eq(set(1, 2 * SIZE, 3), 0);
    ck_assert_int_eq(set(2, 1 * SIZE, 3), 0);
    ck_assert_uint_eq(pass(1, 10), 5);
    ck_assert_uint_eq(pass(2, 10), 1);
    stats = stats_of(1);
    ck_assert_uint_eq(stats.green.packets, 2);
    ck_assert_uint_eq(stats.borrowed.packets, 3);
    ck_assert_uint_eq(stats.borrowed.bytes, 3 * SIZE);
    ck_assert_uint_eq(stats.dropped.packets, 5);

    /* There is more to borrow, for both; and who changes keeps its counts. */
    ck_assert_int_eq(set(3, 8 * SIZE, NONE), 0);
    ck_assert_uint_eq(pass(2, 1), 1);
    ck_assert_int_eq(set(1, 2 * SIZE, NONE), 0);
    ck_assert_uint_eq(pass(1, 1), 0);
    ck_assert_int_eq(set(1, 2 * SIZE, 3), 0);
    ck_assert_uint_eq(pass(1, 2), 1);
    ck_assert_uint_eq(stats_of(1).borrowed.packets, 4);
    ck_assert_uint_eq(stats_of(1).green.packets, 2);
    tear_down();
}
END_TEST

/* Below a parent, what may not be borrowed is marked, and passes beside it:
 * what others may borrow is not less for it. */
START_TEST(test_exceed_ecn)
{
    struct ofputil_meter_band band = band_conf(OFPMBT13_EXPERIMENTER, SIZE, 3);
    struct ofputil_microburst_stats stats;
    size_t marked;

    band.microburst.exceed = OFPUTIL_MICROBURST_ECN;
    set_up();
    ck_assert_int_eq(set(3, 4 * SIZE, NONE), 0);
    ck_assert_int_eq(set_bands(1, &band, 1), 0);
    ck_assert_int_eq(set(2, SIZE, 3), 0);

    /* One that it is owed, and two that it borrows. */
    ck_assert_uint_eq(pass_marked(1, 3, IP_ECN_ECT_0, &marked), 3);
    ck_assert_uint_eq(marked, 0);
    ck_assert_uint_eq(pass(2, 9), 1);
    ck_assert_uint_eq(pass_marked(1, 9, IP_ECN_ECT_1, &marked), 9);
    ck_assert_uint_eq(marked, 9);
    ck_assert_uint_eq(pass(1, 9), 0);
    ck_assert_int_eq(set(3, 5 * SIZE, NONE), 0);
    ck_assert_uint_eq(pass(2, 9), 1);

    stats = stats_of(1);
    ck_assert_uint_eq(stats.green.packets, 1);
    ck_assert_uint_eq(stats.borrowed.packets, 2);
    ck_assert_uint_eq(stats.marked.packets, 9);
    ck_assert_uint_eq(stats.dropped.packets, 9);
    tear_down();
}
END_TEST

/* How far a member may borrow ahead changes with its burst. */
START_TEST(test_reach)
{
    set_up();
    ck_assert_int_eq(set(3, 1000 * SIZE, NONE), 0);
    ck_assert_int_eq(set(1, 1 * SIZE, 3), 0);
    for (int i = 0; i < 4; i++) {
        pass(1, 32);
    }
    ck_assert_uint_eq(stats_of(1).borrowed.packets, 65536 / SIZE);
    ck_assert_int_eq(set(1, 100 * SIZE, 3), 0);
    for (int i = 0; i < 8; i++) {
        pass(1, 32);
    }
    ck_assert_uint_eq(stats_of(1).green.packets, 100);
    ck_assert_uint_eq(stats_of(1).borrowed.packets, 100);
    tear_down();
}
END_TEST

/* What passes the parent itself is in the way of those that borrow. */
START_TEST(test_parent_passes)
{
    set_up();
    ck_assert_int_eq(set(3, 5 * SIZE, NONE), 0);
    ck_assert_int_eq(set(1, 1 * SIZE, 3), 0);
    ck_assert_uint_eq(pass(3, 3), 3);
    ck_assert_uint_eq(pass(1, 9), 2);
    tear_down();
}
END_TEST

/* So is what passes one that has a phantom queue. */
START_TEST(test_phantom_parent_passes)
{
    struct ofputil_meter_band band = band_conf(OFPMBT13_EXPERIMENTER,
                                               5 * SIZE, NONE);

    uint64_t now_ns;

    band.microburst.peak_rate = 1000000;
    dp_meters_init(&meters, (DP_METER_DROP | DP_METER_MICROBURST
                             | DP_METER_PARENT | DP_METER_PHANTOM));
    ck_assert_int_eq(set_bands(3, &band, 1), 0);
    ck_assert_int_eq(set(1, 1 * SIZE, 3), 0);
    now_ns = time_nsec();
    ck_assert_uint_eq(pass_at(now_ns, 3, 3, IP_ECN_NOT_ECT, NULL), 3);
    ck_assert_uint_eq(pass_at(now_ns, 1, 9, IP_ECN_NOT_ECT, NULL), 2);
    tear_down();
}
END_TEST

START_TEST(test_levels)
{
    set_up();
    ck_assert_int_eq(set(3, 9 * SIZE, NONE), 0);
    ck_assert_int_eq(set(2, 2 * SIZE, 3), 0);
    ck_assert_int_eq(set(1, 1 * SIZE, 2), 0);
    ck_assert_uint_eq(pass(1, 32), 9);

    /* The one in the middle goes, what it was owed itself remains. */
    ck_assert_int_eq(set(3, 20 * SIZE, NONE), 0);
    ck_assert_uint_eq(pass(1, 1), 1);
    ck_assert_int_eq(dp_meters_del(&meters, 2, NULL, 0), 0);
    ck_assert_uint_eq(pass(1, 1), 0);
    ck_assert_int_eq(set(2, 2 * SIZE, 3), 0);
    ck_assert_uint_eq(pass(1, 1), 0);
    ck_assert_int_eq(set(1, 1 * SIZE, 2), 0);
    ck_assert_uint_eq(pass(1, 1), 1);

    /* The same by a change. */
    ck_assert_int_eq(set(4, 1 * SIZE, NONE), 0);
    ck_assert_int_eq(set(2, 2 * SIZE, 4), 0);
    ck_assert_uint_eq(pass(1, 9), 1);
    ck_assert_uint_eq(pass(1, 9), 0);
    tear_down();
}
END_TEST

/* A meter that nobody borrows from any more may stop to lend.  Then it is of
 * no pool: what passes it is in nobody's way, and it may go. */
START_TEST(test_lends_no_more)
{
    static const uint16_t types[] = { 0, OFPMBT13_DROP };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        set_up();
        ck_assert_int_eq(set(3, 9 * SIZE, NONE), 0);
        ck_assert_int_eq(set(2, 2 * SIZE, 3), 0);
        ck_assert_int_eq(set(1, 1 * SIZE, 2), 0);
        ck_assert_int_eq(set(4, 1 * SIZE, 3), 0);
        ck_assert_int_eq(set_meter(2, types[i], 0, NONE), EBUSY);
        ck_assert_int_eq(dp_meters_del(&meters, 1, NULL, 0), 0);
        ck_assert_int_eq(set_meter(2, types[i], 0, NONE), 0);
        pass(2, 5);
        ck_assert_uint_eq(pass(4, 20), 9);

        /* It may lend again. */
        ck_assert_int_eq(set(2, 2 * SIZE, NONE), 0);
        ck_assert_int_eq(set(1, 1 * SIZE, 2), 0);
        ck_assert_uint_eq(pass(1, 9), 2);
        ck_assert_int_eq(dp_meters_del(&meters, 1, NULL, 0), 0);
        ck_assert_int_eq(set_meter(2, types[i], 0, NONE), 0);
        ck_assert_int_eq(dp_meters_del(&meters, 2, NULL, 0), 0);
        tear_down();
    }
}
END_TEST

/* Sets meter 'id' to two bands of SIZE bytes. */
static int
set_two(uint32_t id, int parent, int other_parent)
{
    struct ofputil_meter_band bands[] = {
        band_conf(OFPMBT13_EXPERIMENTER, SIZE, parent),
        band_conf(OFPMBT13_EXPERIMENTER, SIZE, other_parent),
    };

    return set_bands(id, bands, 2);
}

START_TEST(test_two_bands)
{
    set_up();
    ck_assert_int_eq(set(3, 9 * SIZE, NONE), 0);

    /* What is refused for one band leaves no trace of the other. */
    for (unsigned int i = 0; i <= BORROW_MAX_MEMBERS; i++) {
        ck_assert_int_eq(set_two(1, 3, 99), ENOENT);
    }
    ck_assert_int_eq(set_meter(3, OFPMBT13_DROP, 0, NONE), 0);
    ck_assert_int_eq(set(3, 9 * SIZE, NONE), 0);

    /* A band that keeps its parent borrows on, whatever the others do. */
    ck_assert_int_eq(set(1, SIZE, 3), 0);
    ck_assert_int_eq(set_two(1, 3, 3), 0);
    ck_assert_int_eq(set_meter(3, OFPMBT13_DROP, 0, NONE), EBUSY);
    ck_assert_int_eq(set(1, SIZE, 3), 0);
    ck_assert_int_eq(set_meter(3, OFPMBT13_DROP, 0, NONE), EBUSY);
    ck_assert_uint_eq(pass(1, 20), 9);
    tear_down();
}
END_TEST

Suite *
dp_meter_pool_suite(void)
{
    Suite *suite = suite_create("dp-meter-pool");
    TCase *tc = unit_case(suite, "dp-meter-pool");

    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_burst);
    tcase_add_test(tc, test_full);
    tcase_add_test(tc, test_passed);
    tcase_add_test(tc, test_exceed_ecn);
    tcase_add_test(tc, test_reach);
    tcase_add_test(tc, test_parent_passes);
    tcase_add_test(tc, test_phantom_parent_passes);
    tcase_add_test(tc, test_levels);
    tcase_add_test(tc, test_lends_no_more);
    tcase_add_test(tc, test_two_bands);
    return suite;
}
