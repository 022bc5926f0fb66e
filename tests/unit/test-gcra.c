/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gcra.h"
#include "unit-gcra.h"
#include "unit.h"
#include "util.h"

START_TEST(test_units)
{
    struct gcra_conf conf;

    ck_assert_int_eq(gcra_conf_init(&conf, GCRA_KBPS, 7, 3), 0);
    ck_assert_int_eq(conf.unit, GCRA_KBPS);
    ck_assert_uint_eq(conf.rate, 7);
    ck_assert_uint_eq(conf.burst, 3000000);
    ck_assert_int_eq(gcra_conf_init(&conf, GCRA_PKTPS, 9, 2), 0);
    ck_assert_int_eq(conf.unit, GCRA_PKTPS);
    ck_assert_uint_eq(conf.rate, 9);
    ck_assert_uint_eq(conf.burst, 2000000000);
}
END_TEST

START_TEST(test_refused_contracts)
{
    static const struct {
        enum gcra_unit unit;
        uint64_t rate, burst;
        int error;
    } contracts[] = {
        { GCRA_KBPS, 0, 1, EDOM },
        { GCRA_KBPS, 1, 0, 0 },
        { GCRA_KBPS, UINT32_MAX, 1, 0 },
        { GCRA_KBPS, UINT64_C(1) + UINT32_MAX, 1, EDOM },
        { GCRA_KBPS, UINT64_C(1) << 32 | 1, 1, EDOM },
        { GCRA_KBPS, UINT64_MAX, 1, EDOM },
        { GCRA_PKTPS, 0, 1, EDOM },
        { GCRA_PKTPS, UINT32_MAX, 1, 0 },
        { GCRA_PKTPS, UINT64_C(1) + UINT32_MAX, 1, EDOM },
        { GCRA_KBPS, 1, UINT64_C(2305843009213), 0 },
        { GCRA_KBPS, 1, UINT64_C(2305843009214), ERANGE },
        { GCRA_KBPS, UINT32_MAX, UINT64_C(2305843009214), ERANGE },
        { GCRA_KBPS, 1, UINT64_MAX, ERANGE },
        /* Times 1e6 is 2**64 and a little. */
        { GCRA_KBPS, 1, UINT64_C(18446744073710), ERANGE },
        { GCRA_PKTPS, 1, UINT64_C(2305843009), 0 },
        { GCRA_PKTPS, 1, UINT64_C(2305843010), ERANGE },
        { GCRA_PKTPS, 1, UINT64_C(18446744074), ERANGE },
        { GCRA_PKTPS, 0, UINT64_MAX, EDOM },
    };

    for (size_t i = 0; i < ARRAY_SIZE(contracts); i++) {
        struct gcra_conf conf;
        int error = gcra_conf_init(&conf, contracts[i].unit,
                                   contracts[i].rate, contracts[i].burst);

        ck_assert_msg(error == contracts[i].error, "rate %"PRIu64", burst "
                      "%"PRIu64": %d instead of %d", contracts[i].rate,
                      contracts[i].burst, error, contracts[i].error);
        ck_assert(error || conf.burst <= GCRA_MAX_BURST);
    }
}
END_TEST

START_TEST(test_exact_by_hand)
{
    struct gcra g;

    /* 8 kbps is a byte a millisecond; 8000 bits are 1000 bytes. */
    unit_gcra_init(&g, GCRA_KBPS, 8, 8000, 0);
    ck_assert(!gcra_admit(&g, 0, 1, 1001));
    ck_assert(gcra_admit(&g, 0, 1, 1000));
    ck_assert(!gcra_admit(&g, 0, 1, 1));
    ck_assert(gcra_admit(&g, 0, 1, 0));
    ck_assert(!gcra_admit(&g, 999999, 1, 1));
    ck_assert(gcra_admit(&g, 1000000, 1, 1));
    ck_assert(!gcra_admit(&g, 1000000, 1, 1));
    ck_assert(!gcra_admit(&g, 500 * 1000000, 1, 500));
    ck_assert(gcra_admit(&g, 500 * 1000000, 1, 499));

    unit_gcra_init(&g, GCRA_PKTPS, 1000, 2, 0);
    ck_assert(!gcra_admit(&g, 0, 3, 0));
    ck_assert(gcra_admit(&g, 0, 2, 1000000));
    ck_assert(!gcra_admit(&g, 999999, 1, 0));
    ck_assert(gcra_admit(&g, 1000000, 1, 9000));
}
END_TEST

/* At the least rate a ns is a token: a ns less, or a token less of burst, and
 * the packet does not conform. */
START_TEST(test_one_token)
{
    for (int pktps = 0; pktps <= 1; pktps++) {
        uint64_t packet = pktps ? 1000000000 : 100 * 8000000;
        struct gcra_conf conf = {
            .unit = pktps ? GCRA_PKTPS : GCRA_KBPS,
            .rate = 1,
            .burst = packet,
        };
        struct gcra g;

        gcra_init(&g, &conf, 5);
        ck_assert(gcra_admit(&g, 5, 1, 100));
        ck_assert_uint_eq(gcra_depth(&g, 5), packet);
        ck_assert_uint_eq(gcra_depth(&g, 6), packet - 1);
        ck_assert(!gcra_admit(&g, 5 + packet - 1, 1, 100));
        ck_assert_uint_eq(gcra_depth(&g, 5 + packet - 1), 1);
        ck_assert(gcra_admit(&g, 5 + packet, 1, 100));

        conf.burst--;
        gcra_init(&g, &conf, 5);
        ck_assert(!gcra_admit(&g, 5, 1, 100));
        ck_assert(!gcra_admit(&g, UINT64_C(1) << 62, 1, 100));
    }
}
END_TEST

START_TEST(test_tiny_burst)
{
    struct gcra g;

    unit_gcra_init(&g, GCRA_KBPS, 1000, 0, 0);
    ck_assert(!gcra_admit(&g, 1000000000, 1, 1));
    ck_assert(gcra_admit(&g, 1000000000, 1, 0));
    unit_gcra_init(&g, GCRA_KBPS, UINT32_MAX, 7, 0);
    ck_assert(!gcra_admit(&g, 1000000000, 1, 1));
    unit_gcra_init(&g, GCRA_KBPS, UINT32_MAX, 8, 0);
    ck_assert(gcra_admit(&g, 1000000000, 1, 1));
}
END_TEST

/* Offers a frame of 'bytes' every 'gap_ns' for 'ns'; returns the bits that
 * were admitted. */
static uint64_t
offer(struct gcra *g, uint64_t ns, uint64_t gap_ns, uint32_t bytes)
{
    uint64_t bits = 0;

    for (uint64_t now = 0; now <= ns; now += gap_ns) {
        bits += gcra_admit(g, now, 1, bytes) ? bytes * 8 : 0;
    }
    return bits;
}

/* A bucket that credits a whole millisecond to each packet that comes in it
 * passes twice 200 Mbps and more here. */
START_TEST(test_no_double_credit)
{
    static const uint64_t gaps[] = {
        10000, 33333, 50000, 99999, 250000, 333333, 499999, 500000, 999999,
    };

    for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
        /* Enough for 400 Mbps, if it passed. */
        uint32_t bytes = MAX(64, gaps[i] / 20);
        struct gcra g;

        unit_gcra_init(&g, GCRA_KBPS, 200000, 1000000, 0);
        uint64_t bits = offer(&g, 1000000000, gaps[i], bytes);
        ck_assert_msg(bits <= 201000000, "gap %"PRIu64": %"PRIu64" bits/s",
                      gaps[i], bits);
        ck_assert_msg(bits >= 199000000, "gap %"PRIu64": %"PRIu64" bits/s",
                      gaps[i], bits);
    }
}
END_TEST

/* Two packets astride each millisecond: 1 ns before and 1 ns behind. */
START_TEST(test_astride_milliseconds)
{
    uint64_t bits = 0;
    struct gcra g;

    unit_gcra_init(&g, GCRA_KBPS, 200000, 200000, 0);
    for (int ms = 1; ms <= 1000; ms++) {
        for (int i = -1; i <= 1; i += 2) {
            bits += (gcra_admit(&g, ms * INT64_C(1000000) + i, 1, 25000)
                     ? 200000 : 0);
        }
    }
    ck_assert_uint_le(bits, 200200000);
    ck_assert_uint_ge(bits, 199800000);
}
END_TEST

/* All packets or none, and the next one is none the worse for it. */
START_TEST(test_all_or_none)
{
    struct unit_gcra u;

    unit_gcra_pair(&u, GCRA_KBPS, 1000000, 80000, 1000);
    unit_gcra_take(&u, 1000, 8, 10001);
    unit_gcra_take(&u, 1000, 8, 10000);
    unit_gcra_take(&u, 1001, 1, 1);
    unit_gcra_pair(&u, GCRA_PKTPS, 1000000, 32, 1000);
    unit_gcra_take(&u, 1000, 33, 64);
    unit_gcra_take(&u, 1000, 32, 64);
    unit_gcra_take(&u, 1999, 1, 64);
    unit_gcra_take(&u, 2000, 1, 64);
}
END_TEST

/* A batch is its packets one after the other: one that is refused leaves room
 * for a smaller one behind it. */
START_TEST(test_batch)
{
    unsigned int seed = unit_gcra_seed();

    for (int i = 0; i < 3000; i++) {
        bool pktps = i % 4 == 0;
        uint64_t now = rand_r(&seed);
        uint32_t sizes[32];
        struct unit_gcra u;

        unit_gcra_pair(&u, pktps ? GCRA_PKTPS : GCRA_KBPS,
                       1 + rand_r(&seed) % 100000000,
                       pktps ? rand_r(&seed) % 64 : rand_r(&seed) % 400000,
                       now);
        for (int j = 0; j < 10; j++) {
            uint32_t n = rand_r(&seed) % 33;

            for (uint32_t k = 0; k < n; k++) {
                sizes[k] = rand_r(&seed) % 9019;
            }
            now += rand_r(&seed) % 20000;
            unit_gcra_take_batch(&u, now, sizes, n);
        }
    }
}
END_TEST

/* gcra_admit_below() takes what gcra_offer() would take whole, below the
 * watch, and leaves the rest as it was. */
static void
compare_below(struct gcra *g, struct gcra *other, struct gcra_offer *o,
              uint64_t watch)
{
    uint64_t depth = 0, bytes = 0;
    bool below;

    for (uint32_t i = 0; i < o->n; i++) {
        bytes += o->sizes[i];
    }
    gcra_offer(other, o);
    below = gcra_admit_below(g, o->since_ns, o->now_ns, o->n, bytes, watch,
                             &depth);
    ck_assert_int_eq(below, !o->refused && o->max_depth <= watch);
    if (below) {
        ck_assert_uint_eq(depth, o->max_depth);
    } else {
        gcra_offer(g, o);
    }
    ck_assert_uint_eq(gcra_depth(g, o->now_ns), gcra_depth(other, o->now_ns));
}

START_TEST(test_below)
{
    unsigned int seed = unit_gcra_seed();

    for (int i = 0; i < 3000; i++) {
        uint64_t rate = 1 + rand_r(&seed) % 100000000;
        uint64_t burst = rand_r(&seed) % 400000;
        uint64_t watch = rand_r(&seed) % 2 ? UINT64_MAX : rand_r(&seed);
        struct gcra_offer o = { .now_ns = rand_r(&seed) };
        struct gcra g, other;
        uint32_t sizes[32];

        unit_gcra_init(&g, GCRA_KBPS, rate, burst, o.now_ns);
        unit_gcra_init(&other, GCRA_KBPS, rate, burst, o.now_ns);
        o.sizes = sizes;
        for (int j = 0; j < 10; j++) {
            o.n = 1 + rand_r(&seed) % 8;
            for (uint32_t k = 0; k < o.n; k++) {
                sizes[k] = rand_r(&seed) % 9019;
            }
            o.since_ns = o.now_ns;
            o.now_ns += rand_r(&seed) % 20000;
            compare_below(&g, &other, &o, watch);
        }
    }
}
END_TEST

START_TEST(test_whole_batch)
{
    uint32_t sizes[32];
    struct gcra g;

    for (int i = 0; i < 32; i++) {
        sizes[i] = 125;
    }
    unit_gcra_init(&g, GCRA_KBPS, 1000, 32000, 0);
    ck_assert_uint_eq(gcra_admit_batch(&g, 0, sizes, 0), 0);
    ck_assert_uint_eq(gcra_admit_batch(&g, 0, sizes, 32), 0);
    ck_assert_uint_eq(gcra_admit_batch(&g, 0, sizes, 32), UINT32_MAX);
    /* A packet a millisecond. */
    ck_assert_uint_eq(gcra_admit_batch(&g, 4999999, sizes, 32), 0xfffffff0);
    ck_assert_uint_eq(gcra_admit_batch(&g, 5000000, sizes, 2), 2);
}
END_TEST

/* A number of up to 32 bits, all magnitudes alike. */
static uint32_t
any_number(unsigned int *seed)
{
    uint32_t n = (uint32_t) rand_r(seed) << 16 ^ rand_r(seed);

    return n >> rand_r(seed) % 32;
}

/* A random sequence, of one thread or, if 'jitter', of several whose clocks
 * step back and forth.  That one is too short for a renewal, after which an
 * older time may find fewer tokens than the oracle grants. */
static void
random_sequence(unsigned int *seed, bool jitter)
{
    bool pktps = rand_r(seed) % 4 == 0;
    uint32_t rate = any_number(seed) >> (jitter ? 5 : 0) | 1;
    uint64_t burst = any_number(seed);
    uint64_t now = UINT64_C(10000000) + any_number(seed);
    uint32_t largest_gap = 1 + any_number(seed) % 10000000;
    struct unit_gcra u;

    unit_gcra_pair(&u, pktps ? GCRA_PKTPS : GCRA_KBPS, rate,
                   pktps ? burst % 2305843009 : burst * 100, now);
    for (int i = 0; i < 600; i++) {
        uint64_t late = jitter ? rand_r(seed) % 2000000 : 0;
        uint32_t packets = pktps ? 1 + any_number(seed) % 64 : 1;
        uint32_t bytes = (rand_r(seed) % 2 ? 64 + rand_r(seed) % 9000
                          : any_number(seed));

        now += (rand_r(seed) % 50 ? rand_r(seed) % largest_gap
                : jitter ? rand_r(seed) % 100000000
                : any_number(seed) * UINT64_C(1000));
        unit_gcra_take(&u, now - late, packets, bytes);
    }
}

START_TEST(test_random)
{
    unsigned int seed = unit_gcra_seed();

    for (int i = 0; i < 300; i++) {
        random_sequence(&seed, false);
    }
}
END_TEST

START_TEST(test_random_clocks)
{
    unsigned int seed = unit_gcra_seed();

    for (int i = 0; i < 300; i++) {
        random_sequence(&seed, true);
    }
}
END_TEST

/* Two threads, one 1 ms behind, in turn: the rate is still the rate. */
START_TEST(test_clock_behind)
{
    uint64_t bits = 0;
    struct gcra g;

    unit_gcra_init(&g, GCRA_KBPS, 100000, 200000, 0);
    for (uint64_t now = 1000000; now <= 1000000000; now += 2000) {
        bits += gcra_admit(&g, now, 1, 100) ? 800 : 0;
        bits += gcra_admit(&g, now - 1000000, 1, 100) ? 800 : 0;
    }
    ck_assert_uint_le(bits, 100200000);
    ck_assert_uint_ge(bits, 99900000);
}
END_TEST

Suite *
gcra_suite(void)
{
    Suite *suite = suite_create("gcra");
    TCase *tc = unit_case(suite, "contracts");

    tcase_add_test(tc, test_units);
    tcase_add_test(tc, test_refused_contracts);
    tc = unit_case(suite, "rates");
    tcase_add_test(tc, test_exact_by_hand);
    tcase_add_test(tc, test_one_token);
    tcase_add_test(tc, test_tiny_burst);
    tcase_add_test(tc, test_no_double_credit);
    tcase_add_test(tc, test_astride_milliseconds);
    tcase_add_test(tc, test_clock_behind);
    tc = unit_case(suite, "batches");
    tcase_add_test(tc, test_all_or_none);
    tcase_add_test(tc, test_batch);
    tcase_add_test(tc, test_below);
    tcase_add_test(tc, test_whole_batch);
    tc = unit_case(suite, "random");
    tcase_add_test(tc, test_random);
    tcase_add_test(tc, test_random_clocks);
    return suite;
}
