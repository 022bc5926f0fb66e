/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PROOF_H
#define PROOF_H 1

/* What the programs of this folder share: options, chance, and verdicts.
 *
 * Each program is silent about what it checked in detail, prints a line a
 * group of checks, and stops at the first thing that is wrong: it then prints
 * what it takes to see it again. */

#include <stdbool.h>
#include <stdint.h>

struct proof_options {
    uint64_t seed;              /* --seed N; default: 1, or with --long
                                 * of the clock. */
    bool longer;                /* --long: minutes, not seconds. */
};

/* Parses 'argv', prints the seed, and exits if the options are wrong. */
struct proof_options proof_start(int argc, char *argv[]);

/* Prints "ok - " and the text. */
void proof_ok(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Prints "not ok - " and the text, and exits with 1. */
void proof_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* Fails if 'is', the number of 'what', is not 'should'. */
void proof_equal(const char *what, uint64_t is, uint64_t should);

/* Chance (xorshift64*, Vigna 2016), the same for the same seed. */
struct proof_random {
    uint64_t state;
};

void proof_random_init(struct proof_random *, uint64_t seed);
uint64_t proof_random(struct proof_random *);

/* A number from 0 to 'n' - 1. */
uint64_t proof_below(struct proof_random *, uint64_t n);

/* A number above 0, at most 1. */
double proof_unit(struct proof_random *);

/* The name of a file in a directory of the program's own, that is removed with
 * it at the end. */
const char *proof_file(void);

/* Monotonic time. */
uint64_t proof_clock_ns(void);

#endif /* proof.h */
