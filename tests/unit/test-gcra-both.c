/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Two GCRAs that are asked together. */

#include <config.h>

#include <stdlib.h>

#include "unit.h"
#include "unit-gcra.h"

/* Takes a copy of 'from' to say what it would do. */
static bool
would_admit(const struct gcra *from, uint64_t now, const uint32_t sizes[],
            uint32_t n, uint32_t bytes, uint32_t *refused)
{
    struct gcra g;

    gcra_clone(&g, from, now);
    *refused = gcra_admit_batch(&g, now, sizes, n);
    gcra_clone(&g, from, now);
    return gcra_admit(&g, now, n, bytes);
}

static uint32_t
sum(const uint32_t sizes[], uint32_t n, uint32_t refused)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        bytes += refused & UINT32_C(1) << i ? 0 : sizes[i];
    }
    return bytes;
}

/* Asks two of them at once, maybe at an old time, and copies of them one by
 * one. */
static enum gcra_answer
take_both(struct gcra *first, struct gcra *second, struct gcra_both *b)
{
    uint64_t depth, second_depth = gcra_depth(second, b->second_ns);
    bool behind = gcra_is_behind(second, b->second_ns);
    enum gcra_answer expected, answer;
    bool below, admits;
    uint32_t refused;
    struct gcra g, h;

    b->bytes = sum(b->sizes, b->n, 0);
    admits = would_admit(second, b->second_ns, b->sizes, b->n, b->bytes,
                         &refused);
    gcra_clone(&h, second, b->second_ns);
    gcra_clone(&g, first, b->since_ns);
    below = gcra_admit_below(&g, b->since_ns, b->now_ns, b->n, b->bytes,
                             b->watch, &depth);
    expected = (!admits && !b->in_turn ? GCRA_NOT_ALL
                : !below || (!admits && behind) ? GCRA_UNDECIDED
                : GCRA_BOTH);
    if (expected != GCRA_BOTH) {
        gcra_clone(&g, first, b->since_ns);
    }

    answer = gcra_admit_both(first, second, b);
    ck_assert_int_eq(answer, expected);
    ck_assert_uint_eq(gcra_depth(first, b->since_ns),
                      gcra_depth(&g, b->since_ns));
    if (answer == GCRA_BOTH) {
        ck_assert_uint_eq(b->refused, admits ? 0 : refused);
        ck_assert_uint_eq(b->admitted_bytes,
                          sum(b->sizes, b->n, b->refused));
        ck_assert_uint_eq(b->max_depth, depth);
        gcra_admit_batch(&h, b->second_ns, b->sizes, b->n);
        second_depth = gcra_depth(&h, b->second_ns);
    }
    ck_assert_uint_eq(gcra_depth(second, b->second_ns), second_depth);
    return answer;
}

START_TEST(test_both)
{
    unsigned int seed = unit_gcra_seed(), n_answers[GCRA_BOTH + 1] = { 0 };
    unsigned int n_part = 0, n_none = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t now = UINT64_C(1000000) + rand_r(&seed);
        struct gcra first, second;

        unit_gcra_init(&first, GCRA_KBPS, 1 + rand_r(&seed) % 100000000,
                       rand_r(&seed) % 400000, now);
        unit_gcra_init(&second, i % 8 ? GCRA_KBPS : GCRA_PKTPS,
                       1 + rand_r(&seed) % 100000000,
                       rand_r(&seed) % (i % 8 ? 400000 : 100), now);
        for (int j = 0; j < 20; j++) {
            uint64_t old = rand_r(&seed) % 4 ? 0 : rand_r(&seed) % 50000;
            uint32_t sizes[32], n = 1 + rand_r(&seed) % (j % 2 ? 3 : 32);
            struct gcra_both b = {
                .watch = rand_r(&seed) % 2 ? UINT64_MAX : 25000 * GCRA_BYTE,
                .in_turn = rand_r(&seed) % 4, .sizes = sizes, .n = n,
            };

            for (uint32_t k = 0; k < n; k++) {
                sizes[k] = 64 + rand_r(&seed) % 1455;
            }
            now += rand_r(&seed) % 20000;
            b.now_ns = now - old;
            b.since_ns = b.now_ns - rand_r(&seed) % 20000;
            b.second_ns = b.now_ns + rand_r(&seed) % 2 * 100;
            n_answers[take_both(&first, &second, &b)]++;
            n_none += b.refused == UINT32_MAX >> (32 - n);
            n_part += b.refused && b.refused != UINT32_MAX >> (32 - n);
        }
    }
    for (int i = 0; i <= GCRA_BOTH; i++) {
        ck_assert(i == GCRA_FIRST || n_answers[i] > 10);
    }
    ck_assert_uint_gt(n_none, 10);
    ck_assert_uint_gt(n_part, 10);
}
END_TEST

Suite *
gcra_both_suite(void)
{
    Suite *suite = suite_create("gcra-both");
    TCase *tc = unit_case(suite, "both");

    tcase_add_test(tc, test_both);
    return suite;
}
