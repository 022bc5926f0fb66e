/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RANDOM_NUMBERS_H
#define RANDOM_NUMBERS_H 1

/* Random numbers that a seed repeats on any machine: splitmix64 (Steele, Lea
 * and Flood, OOPSLA 2014). */

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t
rng_next(struct rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* From 0 to n - 1; n > 0. */
static inline unsigned int
rng_below(struct rng *rng, unsigned int n)
{
    return (rng_next(rng) >> 32) % n;
}

static inline bool
rng_chance(struct rng *rng, unsigned int percent)
{
    return rng_below(rng, 100) < percent;
}

#endif /* random.h */
