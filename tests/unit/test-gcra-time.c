/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>

#include "gcra.h"
#include "unit-gcra.h"
#include "unit.h"
#include "util.h"

/* gcra.c's age, in ns, from which a stamp is renewed. */
#define RENEW_NS(RATE) ((UINT64_C(1) << 60) / (RATE))
#define SECOND UINT64_C(1000000000)
#define YEAR (366 * 86400 * SECOND)

/* 1 kbps, 1.6 Tbps, the highest rate, powers of two, and one that divides
 * nothing. */
static const uint32_t rates[] = {
    1, 2, 8, 123457, 200000, 1u << 20, 100000000, 99999999, 400000000,
    1u << 30, 1600000000, 1u << 31, UINT32_MAX - 1, UINT32_MAX,
};

/* Fills the queue by packets at 'now' and checks that it takes no more. */
static void
fill(struct unit_gcra *u, uint64_t now)
{
    while (unit_gcra_take(u, now, 1, UINT32_MAX)) {
        continue;
    }
    for (uint32_t size = UINT32_C(1) << 31; size; size /= 2) {
        unit_gcra_take(u, now, 1, size);
    }
    ck_assert(!gcra_admit(&u->g, now, 1, 1));
}

START_TEST(test_idle_for_years)
{
    static const uint64_t years[] = { YEAR, 10 * YEAR, 100 * YEAR };

    for (size_t i = 0; i < ARRAY_SIZE(rates) * ARRAY_SIZE(years); i++) {
        uint64_t idle = years[i / ARRAY_SIZE(rates)];
        struct unit_gcra u;

        unit_gcra_pair(&u, GCRA_KBPS, rates[i % ARRAY_SIZE(rates)], 80000,
                       SECOND);
        fill(&u, SECOND);
        fill(&u, SECOND + idle);
        fill(&u, SECOND + idle + 1);
        fill(&u, SECOND + 2 * idle);
    }
}
END_TEST

/* Idle times at which now, in tokens, is 2**n more, or next to it; with rates
 * that are powers of two it is so to the token. */
START_TEST(test_idle_does_not_wrap)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        for (int bit = 59; bit <= 66; bit++) {
            unsigned __int128 tokens = (unsigned __int128) 1 << bit;
            uint64_t idle = tokens / rates[i];

            /* Beyond, no clock goes. */
            if (tokens / rates[i] > UINT64_C(1) << 62) {
                continue;
            }
            for (int64_t ns = -2; ns <= 2; ns++) {
                struct unit_gcra u;

                unit_gcra_pair(&u, GCRA_KBPS, rates[i], 80000, 12345);
                fill(&u, 12345);
                fill(&u, 12345 + idle + ns);
                unit_gcra_take(&u, 12345 + idle + 2, 1, 1);
            }
        }
    }
}
END_TEST

/* The same in between, many at once: nothing is forgotten and nothing comes
 * back, whatever the depth. */
START_TEST(test_any_idle_time)
{
    unsigned int seed = unit_gcra_seed();

    for (int i = 0; i < 20000; i++) {
        uint32_t rate = rates[rand_r(&seed) % ARRAY_SIZE(rates)];
        uint64_t idle = (uint64_t) rand_r(&seed) << 31 | rand_r(&seed);
        uint64_t burst = UINT64_C(2305843009213) >> rand_r(&seed) % 30;
        struct unit_gcra u;

        idle >>= rand_r(&seed) % 62;
        unit_gcra_pair(&u, GCRA_KBPS, rate, burst, SECOND);
        unit_gcra_take(&u, SECOND, 1, burst / 8);
        unit_gcra_take(&u, SECOND + idle, 1, burst / 8);
        unit_gcra_take(&u, SECOND + idle + 1, 1, burst / 16);
    }
}
END_TEST

/* Around the ages at which the stamp is renewed, and from which the queue is
 * taken as empty, with the greatest burst: it is empty no ns too early, and
 * none too late. */
START_TEST(test_renewal)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        uint64_t renew = RENEW_NS(rates[i]);
        const uint64_t ages[] = {
            renew, renew + 1, 2 * renew, 2 * renew + 1, 3 * renew,
            3 * renew + 1, 3 * renew + 2, 4 * renew, 4 * renew + 2,
        };

        for (size_t j = 0; j < ARRAY_SIZE(ages) * 3; j++) {
            uint64_t now = SECOND + ages[j / 3] + j % 3 - 1;
            struct unit_gcra u;

            unit_gcra_pair(&u, GCRA_KBPS, rates[i],
                           UINT64_C(2305843009213), SECOND);
            fill(&u, SECOND);
            fill(&u, now);
            fill(&u, now + 1);

            /* Never filled before. */
            unit_gcra_pair(&u, GCRA_KBPS, rates[i],
                           UINT64_C(2305843009213), SECOND);
            fill(&u, now);

            /* Filled as late as can be without a renewal. */
            unit_gcra_pair(&u, GCRA_KBPS, rates[i],
                           UINT64_C(2305843009213), SECOND);
            fill(&u, SECOND + renew);
            if (now > SECOND + renew) {
                fill(&u, now);
            }
        }
    }
}
END_TEST

START_TEST(test_greatest_burst)
{
    struct unit_gcra u;

    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        uint64_t drained = GCRA_MAX_BURST / rates[i];

        unit_gcra_pair(&u, GCRA_KBPS, rates[i], UINT64_C(2305843009213), 0);
        fill(&u, 0);
        fill(&u, drained / 2);
        fill(&u, drained);
        fill(&u, drained + 1);
        fill(&u, 2 * drained + 1);

        unit_gcra_pair(&u, GCRA_PKTPS, rates[i], 2305843009, 0);
        unit_gcra_take(&u, 0, UINT32_MAX, 0);
        unit_gcra_take(&u, 0, 2305843010, 0);
        ck_assert(unit_gcra_take(&u, 0, 2305843009, 0));
        unit_gcra_take(&u, 0, 1, 0);
        unit_gcra_take(&u, drained - 1, 2305843009, 0);
        unit_gcra_take(&u, drained, 2305843009, 0);
        ck_assert(unit_gcra_take(&u, 2 * drained + 1, 2305843009, 0));
    }
}
END_TEST

/* A depth of the greatest burst and more than that, seen from before. */
START_TEST(test_clock_back)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        uint64_t renew = RENEW_NS(rates[i]);
        uint64_t now = MIN(3 * renew, YEAR);
        const uint64_t backs[] = { 1, 2, renew / 2, renew - 1 };

        for (size_t j = 0; j < ARRAY_SIZE(backs); j++) {
            uint64_t back = MIN(backs[j], now);
            struct unit_gcra u;

            unit_gcra_pair(&u, GCRA_KBPS, rates[i], 80000, now);
            unit_gcra_take(&u, now, 1, 5000);
            unit_gcra_take(&u, now - back, 1, 5000);
            unit_gcra_take(&u, now - back, 1, 5000);
            unit_gcra_take(&u, now, 1, 5000);
            fill(&u, now);
            unit_gcra_take(&u, now - back, 1, 1);
            fill(&u, now + 1);

            unit_gcra_pair(&u, GCRA_KBPS, rates[i],
                           UINT64_C(2305843009213), now);
            fill(&u, now);
            unit_gcra_take(&u, now - back, 1, 1);
            fill(&u, now + 1);
        }
    }
}
END_TEST

/* Times that are too old change nothing, unless they show that the clock has
 * stepped back; and only one that was just read shows that. */
START_TEST(test_clock_far_back)
{
    const uint64_t now = 1000 * SECOND;
    const uint64_t renew = RENEW_NS(UINT32_MAX);
    const uint64_t backs[] = {
        renew, renew + 1, 2 * renew, 4 * renew, 8 * renew, 16 * renew,
        59 * SECOND, 60 * SECOND,
    };
    uint32_t size = 10000;

    for (size_t i = 0; i < ARRAY_SIZE(backs); i++) {
        struct unit_gcra u;

        unit_gcra_pair(&u, GCRA_KBPS, UINT32_MAX, 80000, now);
        unit_gcra_take(&u, now - backs[i], 1, size);
        unit_gcra_take_batch(&u, now - backs[i], &size, 1);
        unit_gcra_take_batch(&u, now, &size, 1);
        unit_gcra_take(&u, now - backs[i], 1, 1);
        unit_gcra_take_batch(&u, now - backs[i], &size, 1);
        unit_gcra_take(&u, now, 1, 1);
    }

    /* gcra_admit() may have been given a time that is not fresh. */
    struct unit_gcra u;
    uint64_t back = 60 * SECOND + 1;
    unit_gcra_pair(&u, GCRA_KBPS, UINT32_MAX, 80000, now);
    fill(&u, now);
    unit_gcra_take(&u, now - back, 1, size);
    unit_gcra_take(&u, now, 1, 1);

    /* Now the clock did step back. */
    unit_gcra_pair(&u, GCRA_KBPS, UINT32_MAX, 80000, now);
    ck_assert_uint_eq(gcra_admit_batch(&u.g, now - back, &size, 1), 1);
    ck_assert_uint_eq(gcra_depth(&u.g, now - back), 80000 * UINT64_C(1000000));
    unit_gcra_pair(&u, GCRA_KBPS, UINT32_MAX, 80000, now);
    gcra_admit_batch(&u.g, now - back, &size, 1);
    oracle_init(&u.o, false, UINT32_MAX, 80000, now - back);
    ck_assert(oracle_take(&u.o, now - back, 1, size));
    fill(&u, now - back + 10);
    fill(&u, now - back + 19);
    fill(&u, now);

    /* A slow one does not wait for ages either, but 2**60 tokens. */
    unit_gcra_pair(&u, GCRA_KBPS, 10000000, 80000, now);
    ck_assert_uint_eq(gcra_admit_batch(&u.g, now - RENEW_NS(10000000) + 1,
                                       &size, 1), 1);
    ck_assert(gcra_admit(&u.g, now, 1, size));
}
END_TEST

START_TEST(test_reconfigure_by_hand)
{
    struct unit_gcra u;

    /* 1 Gbps is 1 bit a ns. */
    unit_gcra_pair(&u, GCRA_KBPS, 1000000, 80000, 0);
    ck_assert(unit_gcra_take(&u, 0, 1, 10000));
    /* 40000 bits of room, whatever the rate... */
    unit_gcra_reconfigure(&u, GCRA_KBPS, 10000000, 80000, 40000);
    ck_assert(!unit_gcra_take(&u, 40000, 1, 5001));
    ck_assert(unit_gcra_take(&u, 40000, 1, 5000));
    ck_assert(unit_gcra_take(&u, 44000, 1, 5000));
    /* ... more with a greater burst ... */
    unit_gcra_reconfigure(&u, GCRA_KBPS, 10000000, 160000, 44000);
    ck_assert(!unit_gcra_take(&u, 44000, 1, 10001));
    ck_assert(unit_gcra_take(&u, 44000, 1, 10000));
    /* ... none with a smaller one; but no debt. */
    unit_gcra_reconfigure(&u, GCRA_KBPS, 10000000, 8000, 44000);
    ck_assert(!unit_gcra_take(&u, 44000, 1, 1));
    ck_assert(unit_gcra_take(&u, 44800, 1, 1000));
    /* Bits say nothing about packets. */
    unit_gcra_reconfigure(&u, GCRA_PKTPS, 1000000, 3, 44800);
    ck_assert(!unit_gcra_take(&u, 44800, 1, 0));
    ck_assert(unit_gcra_take(&u, 45800, 1, 1000));
    ck_assert(unit_gcra_take(&u, 100000, 3, 1000));
    unit_gcra_reconfigure(&u, GCRA_KBPS, 1000, 800, 100000);
    ck_assert(!unit_gcra_take(&u, 100000, 1, 1));
    ck_assert(unit_gcra_take(&u, 100000 + 8000, 1, 1));
}
END_TEST

/* A contract that is slow renews the stamp in years; the next one must not
 * take the queue as empty for that. */
START_TEST(test_reconfigure_to_faster)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(rates); j++) {
            struct unit_gcra u;

            unit_gcra_pair(&u, GCRA_KBPS, rates[i], 80000, SECOND);
            fill(&u, YEAR);
            unit_gcra_reconfigure(&u, GCRA_KBPS, rates[j], 80000, YEAR);
            fill(&u, YEAR);
            fill(&u, YEAR + 1);
            unit_gcra_reconfigure(&u, GCRA_KBPS, rates[i], 80000, 2 * YEAR);
            fill(&u, 2 * YEAR);
        }
    }
}
END_TEST

/* The queue is not cut off because the one who changes the contract comes with
 * an old time, at which it is deeper than the burst. */
START_TEST(test_reconfigure_with_old_time)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        uint64_t renew = RENEW_NS(rates[i]);
        uint64_t now = MIN(2 * renew, YEAR);
        const uint64_t backs[] = {
            0, 1, 100, renew - 1, MIN(renew, 60 * SECOND),
        };

        for (size_t j = 0; j < ARRAY_SIZE(backs); j++) {
            uint64_t back = MIN(backs[j], now / 2);
            struct gcra_conf conf;
            struct gcra g;

            gcra_conf_init(&conf, GCRA_KBPS, rates[i], 80000);
            gcra_init(&g, &conf, now - back);
            ck_assert(gcra_admit(&g, now, 1, 10000));
            gcra_reconfigure(&g, &conf, now - back);
            ck_assert_uint_eq(gcra_depth(&g, now), conf.burst);
            ck_assert(!gcra_admit(&g, now, 1, 1));

            /* Too old a time is replaced. */
            gcra_init(&g, &conf, now);
            ck_assert(gcra_admit(&g, now, 1, 10000));
            gcra_reconfigure(&g, &conf, now - back);
            ck_assert_uint_eq(gcra_depth(&g, now), conf.burst);
        }
    }
}
END_TEST

START_TEST(test_reconfigure_at_random)
{
    unsigned int seed = unit_gcra_seed();

    for (int i = 0; i < 2000; i++) {
        uint64_t now = rand_r(&seed);
        struct unit_gcra u;

        unit_gcra_pair(&u, GCRA_KBPS, 1000, 80000, now);
        for (int j = 0; j < 50; j++) {
            bool pktps = rand_r(&seed) % 5 == 0;

            /* Often again in the same ns. */
            if (rand_r(&seed) % 3) {
                now += ((uint64_t) rand_r(&seed) << 20) >> rand_r(&seed) % 51;
            }
            if (rand_r(&seed) % 4 == 0) {
                unit_gcra_reconfigure(
                    &u, pktps ? GCRA_PKTPS : GCRA_KBPS,
                    rates[rand_r(&seed) % ARRAY_SIZE(rates)],
                    pktps ? 1 + rand_r(&seed) % 64
                    : 8000 + rand_r(&seed) % 80000, now);
            } else {
                unit_gcra_take(&u, now, 1 + rand_r(&seed) % 8,
                               rand_r(&seed) % 5000);
            }
        }
    }
}
END_TEST

/* A copy goes on as its original, whatever the age of that, and whatever the
 * time that is passed in. */
START_TEST(test_clone)
{
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        uint64_t renew = RENEW_NS(rates[i]);
        const uint64_t ages[] = {
            0, 1, renew, renew + 1, 3 * renew + 1, 3 * renew + 2, 6 * renew,
        };

        for (size_t j = 0; j < ARRAY_SIZE(ages) * 2; j++) {
            uint64_t now = SECOND + ages[j % ARRAY_SIZE(ages)];
            struct unit_gcra u;

            unit_gcra_pair(&u, GCRA_KBPS, rates[i],
                           UINT64_C(2305843009213), SECOND);
            fill(&u, SECOND);
            unit_gcra_clone(&u, now);
            fill(&u, now);
            unit_gcra_clone(&u, j < ARRAY_SIZE(ages) ? now : SECOND);
            fill(&u, now);
            fill(&u, now + 1);
            unit_gcra_reconfigure(&u, GCRA_PKTPS, rates[i], 10, now + 1);
            unit_gcra_clone(&u, now + 1);
            unit_gcra_take(&u, now + SECOND, 10, 64);
        }
    }
}
END_TEST

Suite *
gcra_time_suite(void)
{
    Suite *suite = suite_create("gcra-time");
    TCase *tc = unit_case(suite, "idle");

    tcase_add_test(tc, test_idle_for_years);
    tcase_add_test(tc, test_idle_does_not_wrap);
    tcase_add_test(tc, test_any_idle_time);
    tcase_add_test(tc, test_renewal);
    tcase_add_test(tc, test_greatest_burst);
    tc = unit_case(suite, "clock");
    tcase_add_test(tc, test_clock_back);
    tcase_add_test(tc, test_clock_far_back);
    tc = unit_case(suite, "reconfigure");
    tcase_add_test(tc, test_reconfigure_by_hand);
    tcase_add_test(tc, test_reconfigure_to_faster);
    tcase_add_test(tc, test_reconfigure_with_old_time);
    tcase_add_test(tc, test_reconfigure_at_random);
    tcase_add_test(tc, test_clone);
    return suite;
}
