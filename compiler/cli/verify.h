/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H 1

/* The room behind "verify", and behind the proof of "apply".  What prints does
 * so on standard output; 'bridge' is what the commands name that they show. */

#include <time.h>

#include "verify/verify.h"

/* Milliseconds of CPU time since clock() was 'start'. */
double verify_since(clock_t start);

/* What it took, in milliseconds of CPU time. */
struct verify_cost {
    double read, proof;         /* Of the flows. */
};

void verify_print_table(const struct verify_task *,
                        const struct verify_result *, const char *bridge);
void verify_print_json(const struct verify_task *,
                       const struct verify_result *,
                       const struct verify_cost *, const char *bridge);

/* In hexadecimal digits. */
const char *verify_hash_intent(const struct verify_task *, struct arena *);
const char *verify_hash_flows(const struct verify_task *, struct arena *);

#endif /* cli/verify.h */
