/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "meter-bucket.h"
#include "unit.h"
#include "util.h"

/* The oracle: the definition itself.  A packet conforms if for every moment
 * since the start, what passed from then until now, with the packet, is at
 * most size + rate x time (RFC 2697's Tc).  It keeps all packets and does the
 * sums in 128 bits: units are 1e-6 bit, or 1e-9 packet, so that time in
 * nanoseconds and rates in kbps, or packets/s, need no division. */
struct oracle {
    bool pktps;
    __int128 rate, size, passed;    /* Of the unit; rate is for 1 ns. */
    int64_t now;                    /* The latest time seen. */
    size_t n;
    struct {
        int64_t when;
        __int128 before;            /* What had passed. */
    } past[4096];
};

static void
oracle_init(struct oracle *o, bool pktps, uint32_t rate, uint32_t size,
            int64_t now)
{
    o->pktps = pktps;
    o->rate = rate;
    o->size = (__int128) size * 1000 * 1000 * 1000;
    o->passed = 0;
    o->now = now;
    o->n = 0;
}

static bool
oracle_take(struct oracle *o, int64_t now, uint32_t packets, uint32_t bytes)
{
    __int128 cost = (o->pktps ? (__int128) packets * 1000 * 1000 * 1000
                     : (__int128) bytes * 8 * 1000 * 1000);

    /* A clock that is late tells nothing new. */
    o->now = MAX(o->now, now);
    ck_assert_uint_lt(o->n, ARRAY_SIZE(o->past));
    o->past[o->n].when = o->now;
    o->past[o->n].before = o->passed;
    o->n++;
    for (size_t i = 0; i < o->n; i++) {
        __int128 since = o->passed - o->past[i].before + cost;

        if (since > o->size + o->rate * (o->now - o->past[i].when)) {
            return false;
        }
    }
    o->passed += cost;
    return true;
}

/* Both must decide the same, whatever happens. */
static void
take(struct meter_bucket *b, struct oracle *o, int64_t now, uint32_t packets,
     uint32_t bytes, unsigned int seed)
{
    meter_bucket_refill(b, now);
    bool is = meter_bucket_take(b, packets, bytes);
    bool should = oracle_take(o, now, packets, bytes);

    ck_assert_msg(is == should, "UNIT_SEED=%u: at %"PRId64" %u packets of %u "
                  "bytes %s", seed, now, packets, bytes,
                  is ? "passed but must not" : "must pass but did not");
}

static struct meter_bucket
bucket(enum meter_bucket_unit unit, uint32_t rate, uint32_t size)
{
    struct meter_bucket b;

    meter_bucket_init(&b, unit, rate, size, 0);
    return b;
}

/* Offers a frame of 'bytes' every 'gap_ns' for 'ns'; returns the bits that
 * passed. */
static uint64_t
offer(struct meter_bucket *b, int64_t start, int64_t ns, int64_t gap_ns,
      uint32_t bytes)
{
    uint64_t bits = 0;

    for (int64_t now = start; now <= start + ns; now += gap_ns) {
        meter_bucket_refill(b, now);
        bits += meter_bucket_take(b, 1, bytes) ? bytes * 8 : 0;
    }
    return bits;
}

/* Backlogged demand gets 'size' + rate x time, less at most a frame. */
static void
assert_rate(uint32_t kbps, uint32_t kbit, int64_t ns, int64_t gap_ns,
            uint32_t bytes)
{
    struct meter_bucket b = bucket(METER_BUCKET_KBPS, kbps, kbit);
    uint64_t bits = offer(&b, 0, ns, gap_ns, bytes);
    uint64_t due = (uint64_t) kbit * 1000 + (unsigned __int128) kbps * ns
                                            / 1000000;

    ck_assert_msg(bits <= due && bits + bytes * 8 + 1
                  + (unsigned __int128) kbps * gap_ns / 1000000 > due,
                  "%u kbps, %u kbit, a frame of %u each %"PRId64" ns: "
                  "%"PRIu64" of %"PRIu64" bits", kbps, kbit, bytes, gap_ns,
                  bits, due);
}

START_TEST(test_exact_by_hand)
{
    /* 8 kbps is a byte a millisecond; 8 kbit are 1000 bytes. */
    struct meter_bucket b = bucket(METER_BUCKET_KBPS, 8, 8);

    ck_assert(!meter_bucket_take(&b, 1, 1001));
    ck_assert(meter_bucket_take(&b, 1, 1000));
    ck_assert(!meter_bucket_take(&b, 1, 1));
    ck_assert(meter_bucket_take(&b, 1, 0));
    meter_bucket_refill(&b, 999999);
    ck_assert(!meter_bucket_take(&b, 1, 1));
    meter_bucket_refill(&b, 1000000);
    ck_assert(meter_bucket_take(&b, 1, 1));
    ck_assert(!meter_bucket_take(&b, 1, 1));
    meter_bucket_refill(&b, 500 * 1000000);
    ck_assert(!meter_bucket_take(&b, 1, 500));
    ck_assert(meter_bucket_take(&b, 1, 499));

    b = bucket(METER_BUCKET_PKTPS, 1000, 2);
    ck_assert(!meter_bucket_take(&b, 3, 0));
    ck_assert(meter_bucket_take(&b, 2, 1000000));
    meter_bucket_refill(&b, 999999);
    ck_assert(!meter_bucket_take(&b, 1, 0));
    meter_bucket_refill(&b, 1000000);
    ck_assert(meter_bucket_take(&b, 1, 9000));
}
END_TEST

START_TEST(test_backlogged)
{
    assert_rate(1000000, 96, 100000000, 200, 1500);
    /* Bursts far below what a millisecond of the rate is. */
    assert_rate(10000000, 96, 20000000, 50, 1500);
    assert_rate(100000000, 15, 2000000, 20, 1518);
    assert_rate(400000000, 15, 1000000, 7, 1500);
    assert_rate(1000, 13, 2000000000, 777, 64);
    assert_rate(1, 13, INT64_C(60000000000), 1000003, 64);
}
END_TEST

/* A bucket that credits a whole millisecond to each packet that comes in it
 * passes twice 200 Mbps and more here. */
START_TEST(test_no_double_credit)
{
    static const int64_t gaps[] = {
        10000, 33333, 50000, 99999, 250000, 333333, 499999, 500000, 999999,
    };

    for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
        struct meter_bucket b = bucket(METER_BUCKET_KBPS, 200000, 1000);
        /* Enough for 400 Mbps, if it passed. */
        uint32_t bytes = MAX(64, gaps[i] / 20);
        uint64_t bits = offer(&b, 0, 1000000000, gaps[i], bytes);

        ck_assert_msg(bits <= 201000000, "gap %"PRId64": %"PRIu64" bits/s",
                      gaps[i], bits);
        ck_assert_msg(bits >= 199000000, "gap %"PRId64": %"PRIu64" bits/s",
                      gaps[i], bits);
    }
}
END_TEST

/* Two packets astride each millisecond: 1 ns before and 1 ns behind. */
START_TEST(test_astride_milliseconds)
{
    struct meter_bucket b = bucket(METER_BUCKET_KBPS, 200000, 200);
    uint64_t bits = 0;

    for (int ms = 1; ms <= 1000; ms++) {
        for (int i = -1; i <= 1; i += 2) {
            meter_bucket_refill(&b, ms * INT64_C(1000000) + i);
            bits += meter_bucket_take(&b, 1, 25000) ? 200000 : 0;
        }
    }
    ck_assert_uint_le(bits, 200200000);
    ck_assert_uint_ge(bits, 199800000);
}
END_TEST

START_TEST(test_idle_for_a_century)
{
    const int64_t century = INT64_C(100) * 366 * 86400 * 1000000000;
    static const uint32_t rates[] = { 1, 8, 200000, UINT32_MAX };

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        struct meter_bucket b = bucket(METER_BUCKET_KBPS, rates[i], 80);

        ck_assert(meter_bucket_take(&b, 1, 10000));
        meter_bucket_refill(&b, century);
        ck_assert(!meter_bucket_take(&b, 1, 10001));
        ck_assert(meter_bucket_take(&b, 1, 10000));
        ck_assert(!meter_bucket_take(&b, 1, 1));
    }
}
END_TEST

/* Idle times whose product with the rate is 0 in 64 bits. */
START_TEST(test_idle_does_not_wrap)
{
    for (int bit = 2; bit < 32; bit++) {
        struct meter_bucket b = bucket(METER_BUCKET_KBPS, 1u << bit, 80);

        ck_assert(meter_bucket_take(&b, 1, 10000));
        meter_bucket_refill(&b, UINT64_C(1) << (64 - bit));
        ck_assert(meter_bucket_take(&b, 1, 10000));
    }
}
END_TEST

START_TEST(test_rate_zero)
{
    struct meter_bucket b = bucket(METER_BUCKET_KBPS, 0, 8);

    ck_assert(meter_bucket_take(&b, 1, 600));
    meter_bucket_refill(&b, INT64_C(1000000000) * 86400 * 365);
    ck_assert(!meter_bucket_take(&b, 1, 401));
    ck_assert(meter_bucket_take(&b, 1, 400));
    meter_bucket_refill(&b, INT64_MAX);
    ck_assert(!meter_bucket_take(&b, 1, 1));

    b = bucket(METER_BUCKET_KBPS, 1000, 0);
    meter_bucket_refill(&b, 1000000000);
    ck_assert(!meter_bucket_take(&b, 1, 1));
    ck_assert(meter_bucket_take(&b, 1, 0));
}
END_TEST

START_TEST(test_largest)
{
    static struct oracle o;

    for (int pktps = 0; pktps <= 1; pktps++) {
        struct meter_bucket b = bucket(pktps ? METER_BUCKET_PKTPS
                                       : METER_BUCKET_KBPS,
                                       UINT32_MAX, UINT32_MAX);
        int64_t now = 0;

        oracle_init(&o, pktps, UINT32_MAX, UINT32_MAX, 0);
        for (int i = 0; i < 1000; i++) {
            now += i % 7 ? 1 : 400000000;
            take(&b, &o, now, i % 3 ? UINT32_MAX : 1,
                 i % 5 ? UINT32_MAX : 1500, 0);
        }
        take(&b, &o, INT64_MAX, UINT32_MAX, UINT32_MAX, 0);
    }
}
END_TEST

/* The seed of this run: UNIT_SEED, or of the clock; always said. */
static unsigned int
get_seed(void)
{
    const char *s = getenv("UNIT_SEED");
    unsigned int seed = s ? strtoul(s, NULL, 10) : (unsigned) time(NULL);

    printf("meter-bucket: UNIT_SEED=%u\n", seed);
    fflush(stdout);
    return seed;
}

/* A number of up to 32 bits, all magnitudes alike. */
static uint32_t
any_number(unsigned int *seed)
{
    uint32_t n = (uint32_t) rand_r(seed) << 16 ^ rand_r(seed);

    return n >> rand_r(seed) % 32;
}

/* A random sequence, of one thread or, if 'jitter', of several whose clocks
 * step back and forth. */
static void
random_sequence(unsigned int *seed, bool jitter)
{
    static struct oracle o;
    unsigned int first = *seed;
    bool pktps = rand_r(seed) % 4 == 0;
    uint32_t rate = any_number(seed), size = any_number(seed);
    int64_t now = any_number(seed);
    uint32_t largest_gap = 1 + any_number(seed) % 10000000;
    struct meter_bucket b;

    meter_bucket_init(&b, pktps ? METER_BUCKET_PKTPS : METER_BUCKET_KBPS,
                      rate, size, now);
    oracle_init(&o, pktps, rate, size, now);
    for (int i = 0; i < 600; i++) {
        int64_t late = jitter ? rand_r(seed) % 2000000 : 0;
        uint32_t packets = pktps ? 1 + any_number(seed) % 64 : 1;
        uint32_t bytes = (rand_r(seed) % 2 ? 64 + rand_r(seed) % 9000
                          : any_number(seed));

        now += rand_r(seed) % 50 ? rand_r(seed) % largest_gap
                                 : any_number(seed) * INT64_C(1000);
        take(&b, &o, MAX(0, now - late), packets, bytes, first);
        if (rand_r(seed) % 3 == 0) {
            meter_bucket_refill(&b, MAX(0, now - late));
        }
    }
}

START_TEST(test_random)
{
    unsigned int seed = get_seed();

    for (int i = 0; i < 100; i++) {
        random_sequence(&seed, false);
    }
}
END_TEST

START_TEST(test_random_clocks)
{
    unsigned int seed = get_seed();

    for (int i = 0; i < 100; i++) {
        random_sequence(&seed, true);
    }
}
END_TEST

/* Two threads, one 1 ms behind, in turn: the rate is still the rate. */
START_TEST(test_clock_behind)
{
    struct meter_bucket b = bucket(METER_BUCKET_KBPS, 100000, 100);
    uint64_t bits = 0;

    for (int64_t now = 1000000; now <= 1000000000; now += 2000) {
        meter_bucket_refill(&b, now);
        bits += meter_bucket_take(&b, 1, 100) ? 800 : 0;
        meter_bucket_refill(&b, now - 1000000);
        bits += meter_bucket_take(&b, 1, 100) ? 800 : 0;
    }
    ck_assert_uint_le(bits, 100100000);
    ck_assert_uint_ge(bits, 99900000);
}
END_TEST

Suite *
meter_bucket_suite(void)
{
    Suite *suite = suite_create("meter-bucket");
    TCase *tc = unit_case(suite, "rates");

    tcase_add_test(tc, test_exact_by_hand);
    tcase_add_test(tc, test_backlogged);
    tcase_add_test(tc, test_no_double_credit);
    tcase_add_test(tc, test_astride_milliseconds);
    tcase_add_test(tc, test_clock_behind);
    tc = unit_case(suite, "extremes");
    tcase_add_test(tc, test_idle_for_a_century);
    tcase_add_test(tc, test_idle_does_not_wrap);
    tcase_add_test(tc, test_rate_zero);
    tcase_add_test(tc, test_largest);
    tc = unit_case(suite, "random");
    tcase_add_test(tc, test_random);
    tcase_add_test(tc, test_random_clocks);
    return suite;
}
